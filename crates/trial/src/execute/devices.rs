//! A trial on devices: the layout is assembled, the filesystem made, mounted, worked on, unmounted
//! and checked, and the layout is taken apart.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use stack::Command;
use stack::filesystems::Request;
use units::Bytes;
use workload::{Host, Inputs};

use super::host::TrialHost;
use super::mounting::{BUSY_MAX, Mounted, again_while};
use super::place::{Place, Stand};
use super::record::tool_versions;
use super::target::{self, Target};
use super::{Execution, cold, layout_plan, machine, queue, record, service, space};
use crate::{DeviceKind, Event, Made, Outcome, SpaceUse, Step};

impl Execution<'_> {
    pub(super) fn run_on_devices(
        &self,
        devices: &[PathBuf],
        kind: DeviceKind,
        mount_point: &Path,
        inputs: &Inputs,
    ) -> Result<(), Outcome> {
        let contender = &self.job.spec.contender;
        let refuse = |refusal: stack::Refusal| Outcome::Refused { reason: refusal.to_string() };
        let filesystem = stack::filesystems::find(&contender.filesystem).ok_or_else(|| {
            self.failed(format!("there is no filesystem `{}`", contender.filesystem))
        })?;

        let queue = stack::filesystems::Queue::of(filesystem, contender).map_err(refuse)?;
        let mut record = Vec::new();
        let layout = match filesystem.describe().needs_device {
            true => Some(layout_plan(&self.job.spec, devices).map_err(refuse)?),
            false => None,
        };
        self.step(Step::Layout);
        if layout.is_some() {
            queue::set_scheduler(&queue, devices).map_err(refuse)?;
            self.clear(devices, kind, &mut record)?;
        }
        let mut assembled = Ok(());
        for command in layout.iter().flat_map(|plan| &plan.assemble) {
            assembled = assembled.and_then(|()| self.run_command(command, &mut record));
        }
        let place = Place { kind, mount_point, layout: layout.as_ref(), disks: devices, queue };
        let ended = assembled
            .and_then(|()| self.run_on_filesystem(filesystem, &place, inputs, &mut record));
        let dismantled = layout.map_or(Ok(()), |plan| self.dismantle(&plan, ended.is_ok()));
        // The first error is the one that is reported.
        ended.and(dismantled)
    }

    /// Takes the layout apart, continuing with each part even if another failed. After an earlier
    /// failure some parts may never have existed, so errors here are not reported.
    fn dismantle(&self, plan: &stack::layouts::Plan, whole: bool) -> Result<(), Outcome> {
        if plan.dismantle.is_empty() {
            return Ok(());
        }
        if whole {
            self.step(Step::Dismantle);
        }
        let run = |command| self.run_command(command, &mut Vec::new());
        let results: Vec<_> = plan.dismantle.iter().map(run).collect();
        results.into_iter().collect()
    }

    fn run_on_filesystem(
        &self,
        filesystem: &dyn stack::Filesystem,
        place: &Place<'_>,
        inputs: &Inputs,
        record: &mut Vec<(String, String)>,
    ) -> Result<(), Outcome> {
        let spec = &self.job.spec;
        let data = place.layout.map(|layout| layout.data.clone());
        let size = match &data {
            Some(device) => machine::device_size(device)
                .map_err(|error| self.failed(format!("{}: {error}", device.display())))?,
            None => spec.size.unwrap_or(Bytes::from_gib(1)),
        };
        let request = Request {
            contender: &spec.contender,
            data,
            members: place.layout.map(|layout| layout.members.clone()).unwrap_or_default(),
            journal: place.layout.and_then(|layout| layout.journal.clone()),
            size,
            uuid: self.job.filesystem_uuid(),
            hash_seed: spec.seed.uuid("directory hash"),
        };
        let plan = filesystem
            .plan(&request)
            .map_err(|refusal| Outcome::Refused { reason: refusal.to_string() })?;
        let whose = filesystem.read_ahead(&request.uuid);
        let reading = queue::Reading::of(&place.queue, &whose, request.data.as_deref());

        self.step(Step::Mkfs);
        let service = plan.attachment.as_ref().and_then(|attachment| attachment.service.as_ref());
        let _serving = service
            .map(|service| service::Serving::start(service, &self.programs))
            .transpose()
            .map_err(|error| self.failed(error))?;
        for command in &plan.make {
            self.run_command(command, record)?;
        }
        let ended = self.run_made(
            filesystem,
            &Stand { filesystem, place, plan: &plan, reading },
            inputs,
            record,
        );
        if let Some(attachment) = &plan.attachment {
            // Done however the trial ended: a pool outlives the process that made it. It is busy
            // until its server has closed the files of the filesystem that was unmounted; zfs-fuse
            // was seen to take a moment for that on a busy machine.
            let remove = || self.run_guarded(&attachment.remove);
            let (output, _) =
                again_while(BUSY_MAX, |_| true, remove).map_err(|it| self.failed(it))?;
            record.push((attachment.remove.to_string(), output));
        }
        ended
    }

    fn run_made(
        &self,
        filesystem: &dyn stack::Filesystem,
        stand: &Stand<'_>,
        inputs: &Inputs,
        record: &mut Vec<(String, String)>,
    ) -> Result<(), Outcome> {
        let Stand { place, plan, .. } = *stand;
        self.step(Step::Mount);
        let service = plan.attachment.as_ref().and_then(|attachment| attachment.service.as_ref());
        let mounted = match service {
            None => Mounted::mount(&plan.mount, place.mount_point),
            Some(service) => Mounted::by_service(service, &self.programs, place.mount_point),
        };
        let mounted = mounted.map_err(|error| self.failed(error.to_string()))?;
        if let Some(cuts) = &self.cuts {
            return self.explore(cuts, stand, mounted);
        }
        let ended = self.work_on_mounted(filesystem, stand, &mounted, inputs, record);
        self.step(Step::Unmount);
        mounted.unmount().map_err(|error| self.failed(error.to_string()))?;
        // A filesystem that a failed workload filled is checked too: damage is a finding.
        if !plan.check.is_empty() {
            self.step(Step::Check);
        }
        for check in &plan.check {
            self.run_command(check, record)?;
        }
        ended
    }

    fn work_on_mounted(
        &self,
        filesystem: &dyn stack::Filesystem,
        stand: &Stand<'_>,
        mounted: &Mounted,
        inputs: &Inputs,
        record: &mut Vec<(String, String)>,
    ) -> Result<(), Outcome> {
        let Stand { place, plan, .. } = *stand;
        self.step(Step::Settle);
        self.settle(stand)?;
        let dumps = self.inspect(filesystem, stand);
        let mut target = Target::of(mounted.path()).map_err(|error| self.failed(error))?;
        target.expect_mount(&plan.mount.kernel_type).map_err(|error| self.failed(error))?;
        if place.layout.is_some() {
            target.count_devices(place.disks);
        }
        let made = Made {
            kernel: machine::kernel_release(),
            served_by: plan.served_by.clone(),
            features: filesystem.features(&dumps),
            mount_options: target.mount.options.clone(),
            device: match place.layout {
                None => "memory".to_owned(),
                Some(_) => place.words(&self.job.spec.contender.layout),
            },
            size: Some(target.size),
            free: Some(target.free),
            raw: place.raw(&self.job.spec.contender.layout),
            durability: plan.durability,
            record: record.drain(..).chain(dumps).chain(stand.reading.shown(place.disks)).collect(),
            tools: tool_versions(&self.programs, filesystem),
        };
        self.tell(Event::Made(Box::new(made)));
        for command in place.layout.iter().flat_map(|layout| &layout.set_off) {
            self.run_command(command, &mut Vec::new())?;
        }
        let path = mounted.path().to_owned();
        let used_when_new = space::used(&path).ok();
        self.step(Step::Work);
        let alone = place.is_simulated();
        let cooling = cold::Cooling::Remount { mounted, plan, devices: place.buffered(), alone };
        let host = TrialHost {
            execution: self,
            target: RefCell::new(target),
            cooling,
            stand: Some(stand),
        };
        let ended = self.run_workloads(&host, &path, inputs);
        for command in place.layout.iter().flat_map(|layout| &layout.observe) {
            let said = self.programs.run(command).unwrap_or_else(|error| error.to_string());
            self.tell(Event::Note(format!("after the workloads: {}", record::states(&said))));
        }
        // A sequence is measured only as a whole: a look between two of its workloads would warm
        // caches and write out data that the next one finds.
        let lost = host.check_target().err();
        self.tell(Event::Space(match lost {
            Some(why) => SpaceUse::Missing { why },
            None => {
                space::after_workloads(&path, used_when_new, alone, || match &plan.attachment {
                    None => Ok(()),
                    Some(pool) => {
                        self.programs.run(&pool.commit).map(drop).map_err(|e| e.to_string())
                    }
                })
            }
        }));
        ended
    }

    /// What the filesystem and its layout say of themselves once they are mounted: the output of
    /// each command that inspects them, and lines of the kernel's own files.
    fn inspect(
        &self,
        filesystem: &dyn stack::Filesystem,
        stand: &Stand<'_>,
    ) -> Vec<(String, String)> {
        let Stand { place, plan, .. } = *stand;
        let mut dumps = Vec::new();
        for command in
            plan.inspect.iter().chain(place.layout.iter().flat_map(|layout| &layout.inspect))
        {
            // If an inspection fails, its output is missing from the record and the trial
            // continues.
            match self.programs.run(command) {
                Ok(output) => dumps.push((command.to_string(), output)),
                Err(error) => self.tell(Event::Note(format!("not inspected: {error}"))),
            }
        }
        for (file, beginnings) in filesystem.kernel_files() {
            // Missing where this version of the driver has no such file.
            let Ok(text) = std::fs::read_to_string(file) else { continue };
            let wanted =
                |line: &&str| beginnings.iter().any(|beginning| line.starts_with(beginning));
            let lines: Vec<_> = text.lines().filter(wanted).collect();
            dumps.push(((*file).to_owned(), lines.join("\n")));
        }
        dumps
    }

    /// Removes an earlier trial's filesystem from the disks, since the remains that mkfs leaves (a
    /// btrfs superblock survives every other mkfs) would be found by the next filesystem. A real
    /// SSD is trimmed, so that every contender gets it in the same state.
    fn clear(
        &self,
        disks: &[PathBuf],
        kind: DeviceKind,
        record: &mut Vec<(String, String)>,
    ) -> Result<(), Outcome> {
        for disk in disks.iter().map(|disk| disk.display().to_string()) {
            match kind {
                // New for each trial.
                DeviceKind::Simulated => {}
                DeviceKind::LoopFile | DeviceKind::Block => {
                    let wipe = Command::new("wipefs", ["--all", "--quiet", &disk]).destructive();
                    self.run_command(&wipe, record)?;
                }
            }
            if kind == DeviceKind::Block {
                let trim = Command::new("blkdiscard", ["--force", &disk]).destructive();
                if let Err(Outcome::Failed { .. }) = self.run_command(&trim, record) {
                    self.tell(Event::Note(format!("{disk} cannot be trimmed: not trimmed")));
                }
            }
        }
        Ok(())
    }

    /// After each mount: sets the settings that a mount resets, and waits until background work of
    /// mkfs and mount has ended.
    pub(super) fn settle(&self, stand: &Stand<'_>) -> Result<(), Outcome> {
        use stack::filesystems::Settle;
        stand.reading.set().map_err(|error| self.failed(error))?;
        for what in &stand.plan.settle {
            let settled = match what {
                Settle::KernelThreadGone(name) => {
                    let devices = target::block_device_numbers(stand.place.disks);
                    machine::wait_for_thread_end(name, &devices)
                }
                Settle::ReadAhead { thread, file } => {
                    let data = stand.place.layout.map(|layout| layout.data.as_path());
                    machine::read_ahead_ended(
                        stand.place.is_simulated(),
                        || machine::read_ahead_at_once(file, data),
                        || {
                            let devices = target::block_device_numbers(stand.place.disks);
                            machine::wait_for_thread_end(thread, &devices)
                        },
                    )
                }
                Settle::CommandSucceeds(command) => {
                    machine::wait_until(|| self.programs.run(command).is_ok())
                }
            };
            if !settled {
                return Err(self.failed(format!("still busy after 5 minutes: {what:?}")));
            }
        }
        Ok(())
    }
}
