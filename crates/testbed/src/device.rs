//! Testbed `device`: block devices, or loop files made for the run. Needs root.

mod looking;
mod objection;

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};
use std::time::Duration;

use ::device::{
    Claim, ClaimRequest, Emptiness, Ledger, OwnedLoopFile, OwnedQueue, Reading, SMALLEST_DEVICE,
    ToolPath,
};
use stack::Refusal;
use stack::filesystems::Queue;
use stack::layouts::Role;
use store::Environment;
use trial::{DeviceKind, Event, InputFiles, Job, Outcome, Site, Step, TrialSpec};
use units::Bytes;
use workload::Space;

use self::looking::Looking;
use crate::child::{Assignment, InheritedClaim};
use crate::process::{Inherited, run_child};
use crate::{Stop, Stopped, Testbed, facts, memory};

/// The largest disk made for an external journal.
const JOURNAL_DISK_MAX: Bytes = Bytes::from_gib(1);

/// How long to wait after a trial until its devices are no longer in use.
const LETTING_GO_MAX: Duration = Duration::from_secs(60);

/// Block devices or loop files of this machine.
pub struct DeviceTestbed {
    ledger: Ledger,
    devices: Vec<PathBuf>,
    destroy: Vec<PathBuf>,
    loop_directory: PathBuf,
    inputs: InputFiles,
    tool_path: Vec<PathBuf>,
    /// What the largest trial writes.
    room: Space,
    /// Claims and loop files are kept from the first use to the end of the run, so that every
    /// contender gets the very same blocks.
    held: Mutex<Held>,
    /// Memory is touched once a run instead of once a trial, since it takes a second.
    memory_touched: Once,
    stop: Stop,
    tell: fn(&str),
}

#[derive(Default)]
struct Held {
    claims: Vec<Claim>,
    loops: Vec<OwnedLoopFile>,
}

/// Why hardware RAID is not a layout on this testbed.
const NO_CONTROLLER: &str =
    "fstrial does not configure RAID controllers: set the array up yourself; it is one device";

impl DeviceTestbed {
    /// `devices` empty means loop files in `loop_directory`. `room` is what the largest trial
    /// writes.
    pub fn new(
        ledger: Ledger,
        devices: &[PathBuf],
        destroy: &[PathBuf],
        loop_directory: &Path,
        inputs: InputFiles,
        tool_path: Vec<PathBuf>,
        room: Space,
    ) -> DeviceTestbed {
        DeviceTestbed {
            ledger,
            devices: devices.to_vec(),
            destroy: destroy.to_vec(),
            loop_directory: loop_directory.to_owned(),
            inputs,
            tool_path,
            room,
            held: Mutex::default(),
            memory_touched: Once::new(),
            stop: Stop::new(),
            tell: |_| {},
        }
    }

    /// The same; while a device is read to see whether it is empty, `tell` gets lines for the user,
    /// and `stop` ends it.
    pub fn watched(self, stop: Stop, tell: fn(&str)) -> DeviceTestbed {
        DeviceTestbed { stop, tell, ..self }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn uses_loops(&self) -> bool {
        self.devices.is_empty()
    }

    /// Claims the named devices once; all or none.
    fn claim_devices(&self) -> Result<(), Refusal> {
        let mut held = self.held();
        if !held.claims.is_empty() || self.uses_loops() {
            return Ok(());
        }
        let mut claims = Vec::new();
        for path in &self.devices {
            let tools = ToolPath::of(self.tool_path.iter().cloned());
            let looking = Looking::new(path, &self.stop, self.tell);
            let follow = |progress| looking.follow(progress);
            let request = ClaimRequest {
                path,
                destroy: &self.destroy,
                minimum: SMALLEST_DEVICE,
                tools,
                emptiness: Emptiness::Read(Reading { follow: &follow, ..Reading::default() }),
            };
            claims.push(request.take()?);
        }
        held.claims = claims;
        Ok(())
    }

    /// Provides loop files for the trial's layout: made at first use, and reallocated later.
    fn ready_loops(&self, spec: &TrialSpec) -> Result<(), String> {
        let mut held = self.held();
        let size = spec.size.unwrap_or(Bytes::from_gib(1));
        let roles = roles(spec);
        while held.loops.len() < roles.len() {
            let index = held.loops.len();
            let size = match roles[index] {
                Role::Data => size,
                Role::Journal => size.min(JOURNAL_DISK_MAX),
                Role::Controller(_) => return Err(NO_CONTROLLER.to_owned()),
            };
            let directory = files::Directory::hold_or_make(&self.loop_directory)
                .map_err(|error| error.to_string())?;
            let file = self
                .ledger
                .make_loop_file_in(&directory, size)
                .map_err(|error| error.to_string())?;
            let node = file.device();
            let tools = ToolPath::of(self.tool_path.iter().cloned());
            let request = ClaimRequest {
                path: &node,
                destroy: &[],
                minimum: SMALLEST_DEVICE,
                tools,
                emptiness: Emptiness::Zeroed,
            };
            let claim = request.take().map_err(|refusal| refusal.to_string())?;
            held.claims.push(claim);
            held.loops.push(file);
        }
        for file in &held.loops {
            file.reallocate().map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn job(&self, spec: &TrialSpec, devices: Vec<PathBuf>, mount_point: PathBuf) -> Job {
        let kind = if self.uses_loops() { DeviceKind::LoopFile } else { DeviceKind::Block };
        Job {
            spec: spec.clone(),
            site: Site::Devices { devices, kind, mount_point },
            inputs: self.inputs.clone(),
            tool_path: self.tool_path.clone(),
        }
    }

    fn prepare(&self, spec: &TrialSpec) -> Result<(Assignment, Vec<Inherited>), String> {
        let count = roles(spec).len();
        let needs_device = stack::filesystems::find(&spec.contender.filesystem)
            .is_some_and(|filesystem| filesystem.describe().needs_device);
        // A fixed place: each trial mounts in its own namespace, so trials of several fstrial
        // processes do not disturb each other.
        let mount_point = self.ledger.mount_point().map_err(|error| error.to_string())?;
        if !needs_device {
            let job = self.job(spec, Vec::new(), mount_point);
            return Ok((
                Assignment { job, claims: Vec::new(), mounts: true, held: None },
                Vec::new(),
            ));
        }
        if self.uses_loops() {
            self.ready_loops(spec)?;
        } else {
            self.claim_devices().map_err(|refusal| refusal.to_string())?;
        }
        let held = self.held();
        let used = &held.claims[..count.min(held.claims.len())];
        let claims = used
            .iter()
            .map(|claim| {
                let (device, disk) = claim.descriptors();
                InheritedClaim {
                    device: device.as_raw_fd(),
                    disk: disk.map(|disk| disk.as_raw_fd()),
                    state: claim.state().clone(),
                }
            })
            .collect::<Vec<_>>();
        let inherited = claims
            .iter()
            .flat_map(|claim| std::iter::once(claim.device).chain(claim.disk))
            .map(Inherited)
            .collect();
        let devices = used.iter().map(|claim| claim.path().to_owned()).collect();
        let job = self.job(spec, devices, mount_point);
        Ok((Assignment { job, claims, mounts: true, held: None }, inherited))
    }

    /// Records the queue settings of the trial's disks if the trial changes them. Dropping the
    /// returned values restores the settings.
    fn note_queues(&self, spec: &TrialSpec, disks: usize) -> Result<Vec<OwnedQueue>, String> {
        let changes = stack::filesystems::find(&spec.contender.filesystem)
            .and_then(|filesystem| Queue::of(filesystem, &spec.contender).ok())
            .is_some_and(|queue| !queue.is_untouched());
        let held = self.held();
        let claims = held.claims.iter().take(if changes { disks } else { 0 });
        claims
            .map(|claim| self.ledger.note_queue(claim).map_err(|error| error.to_string()))
            .collect()
    }

    /// Cleans up after a trial that was killed or failed: stops the array or mapping that it may
    /// have left, by its name, and makes the kernel forget the members of its filesystem. Nothing
    /// on a disk is changed, and it is not an error if there is nothing to stop.
    fn take_apart(&self, spec: &TrialSpec, devices: &[PathBuf]) {
        let Ok(plan) = trial::layout_plan(spec, devices) else { return };
        let tools = ToolPath::of(self.tool_path.iter().cloned());
        for command in plan.dismantle.iter().filter(|command| !command.destructive) {
            if let Some(program) = tools.find(&command.program) {
                let _ = std::process::Command::new(program)
                    .args(&command.args)
                    .env("LC_ALL", "C")
                    .envs(command.env.iter().map(|(name, value)| (name, value)))
                    .stdin(std::process::Stdio::null())
                    .stdout(std::process::Stdio::null())
                    .stderr(std::process::Stdio::null())
                    .status();
            }
        }
    }

    /// After a trial: waits until the kernel has released the devices (a killed trial's mounts
    /// disappear with its namespace, a moment later) and records their present contents.
    fn release(&self) -> Result<(), String> {
        for claim in &mut self.held().claims {
            let mut released = Ok(());
            facts::wait_for(LETTING_GO_MAX, || {
                if let Err(lost) = claim.note_ours() {
                    // The device is gone, another one, or unreadable: waiting does not help.
                    released = Err(lost);
                    return true;
                }
                released = claim.recheck();
                released.is_ok()
            });
            released.map_err(|refusal| refusal.to_string())?;
        }
        Ok(())
    }
}

fn roles(spec: &TrialSpec) -> Vec<Role> {
    stack::layouts::find(&spec.contender.layout.name)
        .and_then(|layout| layout.disks(&spec.contender.layout).ok())
        .unwrap_or_else(|| vec![Role::Data])
}

impl Testbed for DeviceTestbed {
    fn name(&self) -> &'static str {
        "device"
    }

    fn environment(&self) -> Environment {
        let mut environment = facts::machine_facts();
        let facts = &mut environment.0;
        if self.uses_loops() {
            facts.insert("device".to_owned(), DeviceKind::LoopFile.words().to_owned());
            if let Ok(directory) = files::Directory::hold(&self.loop_directory) {
                let path = directory.present_path().display().to_string();
                facts.insert("target_path".to_owned(), path);
            }
            facts.extend(facts::backing_facts(&self.loop_directory));
        }
        for (index, claim) in self.held().claims.iter().enumerate().filter(|_| !self.uses_loops()) {
            let suffix = if index == 0 { String::new() } else { format!("_{}", index + 1) };
            facts.insert(format!("device_path{suffix}"), claim.path().display().to_string());
            facts.insert(format!("device{suffix}"), format!("block device of {}", claim.size()));
        }
        environment
    }

    fn admit(&self, specs: &[TrialSpec]) -> Vec<(usize, Refusal)> {
        if !rustix::process::geteuid().is_root() {
            let refusal = Refusal::new("testbed device", "mkfs and mount need root")
                .with_next("run it with sudo, or use --testbed dir");
            return (0..specs.len()).map(|index| (index, refusal.clone())).collect();
        }
        if let Err(refusal) = self.claim_devices() {
            return (0..specs.len()).map(|index| (index, refusal.clone())).collect();
        }
        specs
            .iter()
            .enumerate()
            .filter_map(|(index, spec)| Some((index, self.objection(spec)?)))
            .collect()
    }

    fn run(
        &self,
        spec: &TrialSpec,
        stop: &Stop,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), Stopped> {
        let (assignment, inherited) = match self.prepare(spec) {
            Ok(prepared) => prepared,
            Err(reason) => {
                sink(Event::Ended(Outcome::Failed { step: Step::Prepare, reason }));
                return Ok(());
            }
        };
        let devices = match &assignment.job.site {
            Site::Devices { devices, .. } => devices.clone(),
            Site::Directory { .. } => Vec::new(),
        };
        let queues = match self.note_queues(spec, devices.len()) {
            Ok(queues) => queues,
            Err(reason) => {
                sink(Event::Ended(Outcome::Failed { step: Step::Prepare, reason }));
                return Ok(());
            }
        };
        self.memory_touched.call_once(memory::touch);
        let mut ended = None;
        let result =
            run_child(&assignment, &inherited, spec.timeout, stop, &mut |event| match event {
                Event::Ended(outcome) => ended = Some(outcome),
                event => sink(event),
            });
        if !matches!(ended, Some(Outcome::Done)) {
            self.take_apart(spec, &devices);
        }
        drop(queues);
        let released = self.release();
        result?;
        if let Some(outcome) = ended {
            sink(Event::Ended(match (outcome, released) {
                (Outcome::Done, Err(reason)) => Outcome::Failed { step: Step::Dismantle, reason },
                (outcome, _) => outcome,
            }));
        }
        Ok(())
    }
}
