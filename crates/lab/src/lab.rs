//! A lab ready for trials: software, machine and disks put together.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use guest::{FrontEndKind, MOUNT_POINT, Order};
use testbed::Stop;
use trial::{DeviceKind, Event, InputFiles, Job, Site, TrialSpec, protocol};
use units::{Bytes, Nanos};

use crate::cache::{key, open_cache, prune, sweep_unfinished, touch, write_whole};
use crate::checkpoint;
use crate::disks;
use crate::error::LabError;
use crate::image::{Initramfs, initramfs};
use crate::inputs::Inputs;
use crate::machine::{Emulator, Inherited, Machine, Use};
use crate::offer::Offer;
use crate::parts::Parts;
use crate::profile::MachineProfile;
use crate::record::RequestLogs;
use crate::session::{self, Carried, Extras};
use crate::vm::Software;

/// Virtual time after which a trial is always ended. Idle virtual time costs no wall time, so
/// without this limit a trial that waits forever would end only at its wall time limit.
const VIRTUAL_LIMIT: Nanos = Nanos::from_secs(7 * 24 * 3600);

/// Images and checkpoints kept, the most recently used ones: enough for a few machines, with and
/// without inputs.
const KEPT: usize = 12;

/// The largest kernel. Debian's has 8 MB.
const KERNEL_MAX: u64 = 512 << 20;

/// A lab with one machine profile.
#[derive(Debug)]
pub struct Lab {
    parts: Parts,
    profile: MachineProfile,
    machine: Machine,
    inputs: Inputs,
    initramfs: PathBuf,
    checkpoints: PathBuf,
    checked: OnceLock<()>,
    key: String,
    id: String,
    missing: Vec<String>,
    offer: Offer,
    front_end: FrontEndKind,
    emulator_version: String,
    request_logs: Option<RequestLogs>,
}

impl Lab {
    /// Puts a lab together: `cache` is the directory for images and checkpoints, `files` what
    /// workloads read.
    ///
    /// # Errors
    /// When a part or an input cannot be read or is not usable.
    pub fn open(
        parts: Parts,
        cache: &Path,
        profile: MachineProfile,
        files: &InputFiles,
    ) -> Result<Lab, LabError> {
        open_cache(cache)?;
        let offer = Offer::of(&parts)?;
        let inputs = Inputs::of(files)?;
        let kernel = files::read_file(&parts.kernel, KERNEL_MAX)?;
        let emulator_version = parts.emulator.version()?;
        let (machine, image) = machine_and_image(&parts, &profile, inputs.resident())?;
        profile.starts(machine, &image)?;
        let images = cache.join("images");
        let checkpoints = cache.join("checkpoints");
        for directory in [&images, &checkpoints] {
            std::fs::create_dir_all(directory).map_err(LabError::at("create", directory))?;
            sweep_unfinished(directory);
            prune(directory, KEPT);
        }
        let image_key = key(&[&image.bytes]);
        let path = images.join(format!("{image_key}.cpio"));
        touch(&path);
        if !path.exists() {
            write_whole(&path, |mut file: &File| {
                file.write_all(&image.bytes).map_err(LabError::at("write", &path))
            })?;
        }
        let booted = key_of(&kernel, &image_key, &emulator_version, &machine);
        let profile_text = serde_json::to_vec(&profile)
            .map_err(|error| LabError::value("the profile", error.to_string()))?;
        let id = key(&[booted.as_bytes(), &profile_text]);
        Ok(Lab {
            parts,
            profile,
            machine,
            inputs,
            initramfs: path,
            checkpoints,
            checked: OnceLock::new(),
            key: booted,
            id: id[..12].to_owned(),
            missing: image.missing,
            offer,
            front_end: image.front_end,
            emulator_version,
            request_logs: None,
        })
    }

    /// Makes every trial write its request logs into `directory`. This affects nothing else.
    ///
    /// # Errors
    /// When they cannot be written there.
    pub fn keep_request_logs(&mut self, directory: &Path) -> Result<(), LabError> {
        self.request_logs = Some(RequestLogs::into(directory)?);
        Ok(())
    }

    /// Where request logs go, if anywhere.
    pub(crate) fn request_logs(&self) -> Option<&RequestLogs> {
        self.request_logs.as_ref()
    }

    /// The lab's id: equal only if kernel, emulator, guest program, tools, machine and disks are
    /// equal. Figures of labs with different ids are not compared exactly.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its profile.
    pub fn profile(&self) -> &MachineProfile {
        &self.profile
    }

    /// The emulated machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Bytes of the input files.
    pub(crate) fn inputs_size(&self) -> Bytes {
        self.inputs.size()
    }

    /// Facts about its inputs, such as the mean size of a mail (0 without a corpus).
    pub(crate) fn input_facts(&self) -> &workload::InputFacts {
        self.inputs.facts()
    }

    /// Whether workloads that need mails find them.
    pub(crate) fn has_mail(&self) -> bool {
        self.inputs.has_mail()
    }

    /// Whether workloads that boot a system find one.
    pub(crate) fn has_system(&self) -> bool {
        self.inputs.has_system()
    }

    /// Which of the programs and modules that filesystems need this lab has.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Whether a program is missing in the guest.
    pub(crate) fn lacks(&self, program: &str) -> bool {
        self.missing.iter().any(|missing| missing == program)
    }

    /// Tools that filesystems or layouts need and this lab does not have.
    pub fn missing_tools(&self) -> &[String] {
        &self.missing
    }

    /// How its kernel reaches its disks.
    pub fn front_end(&self) -> FrontEndKind {
        self.front_end
    }

    /// The emulator's name and version.
    pub fn emulator_version(&self) -> &str {
        &self.emulator_version
    }

    /// The paths of its software.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// The directory for images and checkpoints.
    pub(crate) fn cache(&self) -> &Path {
        self.checkpoints.parent().unwrap_or(&self.checkpoints)
    }

    pub(crate) fn software(&self) -> Software<'_> {
        let Parts { emulator, kernel, .. } = &self.parts;
        Software { emulator, kernel, initramfs: &self.initramfs }
    }

    /// Makes the checkpoint if there is none, and checks it.
    ///
    /// # Errors
    /// When the guest does not boot, there is no room, or it was asked to stop.
    pub fn warm_up(&self, stop: &Stop) -> Result<(), LabError> {
        let software = self.software();
        checkpoint::obtain(&self.checkpoints, &self.key, &self.machine, software, true, stop)?;
        self.checked.set(()).unwrap_or_default();
        Ok(())
    }

    /// Runs one trial; `sink` gets its events, [`Event::Ended`] last and once.
    ///
    /// # Errors
    /// When no guest could be started, the specification does not fit, or it was asked to
    /// stop: `Ended` was not sent then.
    pub fn carry_out(
        &self,
        spec: &TrialSpec,
        extras: &Extras,
        stop: &Stop,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Carried, LabError> {
        let order = self.order(spec, extras)?;
        let software = self.software();
        // A trial's time does not include making the checkpoint, which only the first trial does.
        let mut began = std::time::Instant::now();
        let mut resume = || {
            // Its digest is compared once for each lab that is opened.
            if self.checked.get().is_none() {
                self.warm_up(stop)?;
            }
            let (directory, machine) = (&self.checkpoints, &self.machine);
            let path = checkpoint::obtain(directory, &self.key, machine, software, false, stop)?;
            began = std::time::Instant::now();
            checkpoint::resume(&path, machine, software, extras.backing)
        };
        // A checkpoint that does not load is removed and made again, once.
        let vm = match resume() {
            Err(LabError::Program { .. }) => resume()?,
            other => other?,
        };
        self.inputs.put(vm.region())?;
        session::carry_out(vm, &order, stop, sink, began, extras)
    }

    fn order(&self, spec: &TrialSpec, extras: &Extras) -> Result<Order, LabError> {
        let disks = disks::of(&self.profile, spec)?;
        let disks: Vec<_> = disks.into_iter().map(|disk| disk.order).collect();
        Ok(Order {
            version: protocol::VERSION,
            job: Job {
                spec: spec.clone(),
                site: Site::Devices {
                    devices: (0..disks.len()).map(|nth| self.front_end.device_path(nth)).collect(),
                    kind: DeviceKind::Simulated,
                    mount_point: MOUNT_POINT.into(),
                },
                inputs: self.inputs.in_guest(),
                tool_path: vec!["/sbin".into()],
            },
            disks,
            front_end: self.front_end,
            inputs: self.inputs.orders(),
            server_processor: self.machine.server_processor().map(u16::from),
            virtual_limit: extras.virtual_limit.unwrap_or(VIRTUAL_LIMIT),
            prepare_system: extras.prepare_system.is_some(),
            capabilities: extras.capabilities,
            crash: extras.crash.as_ref().map(|cuts| cuts.task.clone()),
            available: self.profile.available,
            sabotage: extras.sabotage,
        })
    }
}

/// The machine of a profile, with room for `inputs` bytes of inputs, and the image that it boots.
fn machine_and_image(
    parts: &Parts,
    profile: &MachineProfile,
    inputs: u64,
) -> Result<(Machine, Initramfs), LabError> {
    // The image contains the region's address, which depends on the RAM, which depends on the
    // image's size. Starting with an assumed address, this settles in at most two rounds.
    let mut machine = profile.machine(inputs);
    loop {
        let place = machine.region_base();
        let image = initramfs(parts, place, profile.front_end)?;
        let with_room = profile.machine(image.resident + inputs);
        let settled = with_room.region_base() == machine.region_base();
        machine = with_room;
        if settled {
            return Ok((machine, image));
        }
    }
}

/// The key of a guest that has booted: a digest of everything its state depends on.
fn key_of(kernel: &[u8], image_key: &str, emulator_version: &str, machine: &Machine) -> String {
    let (kernel_name, image_name) = (Path::new("kernel"), Path::new("initramfs"));
    // The emulator's path is not part of the key: an exported lab has the same key elsewhere.
    let placeless = Emulator::at(PathBuf::from("emulator"));
    let options = [Use::Checkpoint, Use::Trial].map(|purpose| {
        let files = Inherited { ram: 3, region: 4, monitor: 5, devices: 6 };
        machine.command(&placeless, kernel_name, image_name, files, purpose)
    });
    let options = format!("{options:?}");
    key(&[kernel, image_key.as_bytes(), emulator_version.as_bytes(), options.as_bytes()])
}
