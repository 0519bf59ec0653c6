//! The one path of a trial: layout, mkfs, mount, settle, workloads, unmount, check.

mod care;
mod cold;
#[cfg(test)]
mod host_tests;
mod machine;
mod mounting;
mod place;
mod program;
mod queue;
mod record;
mod service;
mod space;
mod target;

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use stack::Command;
use stack::filesystems::Request;
use units::{Bytes, Nanos};
use workload::{Context, Host, Inputs, Parameters, PhaseEvent};

pub(crate) use self::machine::kernel_release;
pub(crate) use self::mounting::Mounted;
use self::place::{Place, Stand};
use self::program::ProgramError;
pub(crate) use self::program::Programs;
pub(crate) use self::record::tool_versions;
use self::target::Target;
use crate::{DeviceKind, Event, InputFiles, Job, Made, Outcome, Site, SpaceUse, Step, TrialSpec};

/// Asked immediately before, and notified after, each command that overwrites a device.
pub trait Guard {
    /// Whether the trial's devices are still what was claimed.
    ///
    /// # Errors
    /// With what changed; the command is not run then.
    fn permit(&self, command: &Command) -> Result<(), String>;

    /// The command has run: signatures it left are the trial's own.
    fn ran(&self, command: &Command);

    /// Cuts the disks' power, so that they accept no write from now on, or restores it. Returns
    /// whether it can do that.
    fn switch_power(&self, _on: bool) -> bool {
        false
    }
}

/// For devices that no one else can have: simulated disks.
#[derive(Default)]
pub struct Unguarded<'a> {
    power: Option<&'a dyn Fn(bool)>,
}

impl<'a> Unguarded<'a> {
    /// For disks whose power `switch` cuts and restores.
    pub fn with_power(switch: &'a dyn Fn(bool)) -> Unguarded<'a> {
        Unguarded { power: Some(switch) }
    }
}

impl Guard for Unguarded<'_> {
    fn permit(&self, _: &Command) -> Result<(), String> {
        Ok(())
    }

    fn ran(&self, _: &Command) {}

    fn switch_power(&self, on: bool) -> bool {
        self.power.inspect(|switch| switch(on)).is_some()
    }
}

/// Executes `job` and reports to `sink` what happens; the last event is [`Event::Ended`].
///
/// Must run in a process of its own. With a device site that process must have a private
/// mount namespace (or be PID 1 of a guest), so that its mounts die with it.
pub fn execute(job: &Job, guard: &dyn Guard, sink: &mut dyn FnMut(Event)) {
    let execution = Execution {
        job,
        guard,
        sink: RefCell::new(sink),
        step: RefCell::new(Step::Prepare),
        programs: Programs::new(&job.tool_path),
    };
    let outcome = match execution.run() {
        Ok(()) => Outcome::Done,
        Err(outcome) => outcome,
    };
    execution.tell(Event::Ended(outcome));
}

/// How a specification's layout is assembled from these devices, and taken apart.
///
/// # Errors
/// When there is no such layout or it refuses.
pub fn layout_plan(
    spec: &TrialSpec,
    devices: &[PathBuf],
) -> Result<stack::layouts::Plan, stack::Refusal> {
    let choice = &spec.contender.layout;
    choice.layout()?.plan(&stack::layouts::Request {
        choice,
        disks: devices,
        uuid: spec.seed.derive(&spec.contender.name).uuid("layout"),
    })
}

struct Execution<'a> {
    job: &'a Job,
    guard: &'a dyn Guard,
    sink: RefCell<&'a mut dyn FnMut(Event)>,
    step: RefCell<Step>,
    programs: Programs,
}

impl Execution<'_> {
    fn tell(&self, event: Event) {
        (self.sink.borrow_mut())(event);
    }

    fn step(&self, step: Step) {
        *self.step.borrow_mut() = step;
        self.tell(Event::Step(step));
    }

    /// The outcome for something that went wrong in the current step.
    fn failed(&self, reason: impl Into<String>) -> Outcome {
        Outcome::Failed { step: *self.step.borrow(), reason: reason.into() }
    }

    fn run(&self) -> Result<(), Outcome> {
        self.step(Step::Prepare);
        let inputs = self.open_inputs()?;
        match &self.job.site {
            Site::Directory { path, drop_machine_caches } => {
                self.run_in_directory(path, *drop_machine_caches, &inputs)
            }
            Site::Devices { devices, kind, mount_point } => {
                self.run_on_devices(devices, *kind, mount_point, &inputs)
            }
        }
    }

    fn open_inputs(&self) -> Result<Inputs, Outcome> {
        let mail = match &self.job.inputs.mail {
            None => None,
            Some(path) => Some(
                workload::corpora::MailCorpus::open(path)
                    .map_err(|error| self.failed(error.to_string()))?,
            ),
        };
        let InputFiles { source_tree, system, program, .. } = self.job.inputs.clone();
        let programs = self.job.tool_path.clone();
        Ok(Inputs { mail, source_tree, system, programs, program_tree: program })
    }

    fn run_in_directory(
        &self,
        path: &Path,
        drop_machine_caches: bool,
        inputs: &Inputs,
    ) -> Result<(), Outcome> {
        let target = Target::of(path).map_err(|error| self.failed(error))?;
        let mount = target.mount.clone();
        let made = Made {
            kernel: machine::kernel_release(),
            served_by: mount.kernel_type.clone(),
            features: Vec::new(),
            mount_options: mount.options.clone(),
            device: format!("a directory of an existing {}", mount.kernel_type),
            size: Some(target.size),
            free: Some(target.free),
            raw: None,
            durability: stack::Durability::of_mount_options(&mount.kernel_type, &mount.options),
            record: Vec::new(),
            tools: Vec::new(),
        };
        self.tell(Event::Made(Box::new(made)));
        let cooling = cold::Cooling::Directory { drop_machine_caches };
        self.step(Step::Work);
        let host =
            TrialHost { execution: self, target: RefCell::new(target), cooling, stand: None };
        let ended = self.run_workloads(&host, path, inputs);
        let why = "others write to the same filesystem".to_owned();
        self.tell(Event::Space(SpaceUse::Missing { why }));
        ended
    }

    fn run_on_devices(
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
            // Done however the trial ended: a pool outlives the process that made it.
            self.run_command(&attachment.remove, record)?;
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
            None => space::after_workloads(&path, used_when_new, || match &plan.attachment {
                None => Ok(()),
                Some(pool) => self.programs.run(&pool.commit).map(drop).map_err(|e| e.to_string()),
            }),
        }));
        ended
    }

    fn run_workloads(
        &self,
        host: &TrialHost<'_, '_>,
        path: &Path,
        inputs: &Inputs,
    ) -> Result<(), Outcome> {
        let spec = &self.job.spec;
        let mut first: Option<(String, Outcome)> = None;
        for choice in &spec.workloads {
            let workload = workload::find(&choice.name)
                .ok_or_else(|| self.failed(format!("there is no workload `{}`", choice.name)))?;
            let parameters: Parameters = choice.parameters.clone();
            let seed = spec.seed.derive(&choice.name);
            let mut context = Context::new(
                host,
                workload.describe(),
                path.to_owned(),
                parameters,
                inputs,
                seed,
                spec.verify,
            );
            if let Some((failed, _)) = &first {
                context.taint(&format!("follows the workload {failed}, which failed"));
            }
            let Err(failure) = workload.run(&mut context) else { continue };
            let outcome = self.failed(format!("{}: {failure}", choice.name));
            if matches!(failure, workload::Failure::TargetLost(_)) {
                return Err(outcome);
            }
            // The next workload may not depend on this one; if it does, it fails with its own
            // message.
            first.get_or_insert((choice.name.clone(), outcome));
        }
        first.map_or(Ok(()), |(_, outcome)| Err(outcome))
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
    fn settle(&self, stand: &Stand<'_>) -> Result<(), Outcome> {
        use stack::filesystems::Settle;
        stand.reading.set().map_err(|error| self.failed(error))?;
        for what in &stand.plan.settle {
            let settled = match what {
                Settle::KernelThreadGone(name) => {
                    let devices = target::block_device_ids(stand.place.disks);
                    machine::wait_for_thread_end(name, &devices)
                }
                Settle::ReadAhead { thread, file } => {
                    let data = stand.place.layout.map(|layout| layout.data.as_path());
                    machine::read_ahead_ended(
                        stand.place.is_simulated(),
                        || machine::read_ahead_at_once(file, data),
                        || {
                            let devices = target::block_device_ids(stand.place.disks);
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

    fn run_command(
        &self,
        command: &Command,
        record: &mut Vec<(String, String)>,
    ) -> Result<(), Outcome> {
        let (output, _) = self.run_guarded(command).map_err(|error| self.failed(error))?;
        record.push((command.to_string(), output));
        Ok(())
    }

    /// What a command printed, and how long it took without the guard's check of the devices.
    fn run_guarded(&self, command: &Command) -> Result<(String, Nanos), String> {
        if command.destructive {
            self.permit(command)?;
        }
        let began = measure::now();
        let mut output = self.programs.run(command);
        // Repeated while the command succeeds without printing the awaited words; one that fails
        // will never print them.
        while command.awaited && matches!(output, Err(ProgramError::Unsaid { .. })) {
            let _ = machine::wait_until(|| {
                output = self.programs.run(command);
                !matches!(output, Err(ProgramError::Unsaid { .. }))
            });
        }
        let took = measure::now() - began;
        if command.destructive {
            self.guard.ran(command);
        }
        output.map(|output| (output, took)).map_err(|error| error.to_string())
    }

    fn permit(&self, command: &Command) -> Result<(), String> {
        self.guard
            .permit(command)
            .map_err(|changed| format!("`{command}` was not run, the device changed: {changed}"))
    }
}

/// The host of the workloads of one trial.
struct TrialHost<'a, 'j> {
    execution: &'a Execution<'j>,
    target: RefCell<Target>,
    cooling: cold::Cooling<'a>,
    /// The devices below it; `None` for a directory.
    stand: Option<&'a Stand<'a>>,
}

impl Host for TrialHost<'_, '_> {
    fn make_cold(&self) -> workload::Cache {
        let settle = || match self.stand {
            Some(stand) => self.execution.settle(stand).map_err(|outcome| outcome.to_string()),
            None => Ok(()),
        };
        let run = |command: &Command| match self.execution.programs.run(command) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        self.cooling.make_cold(&mut self.target.borrow_mut(), &run, &settle)
    }

    fn mount_took(&self) -> Option<Nanos> {
        self.cooling.mount_took()
    }

    fn care(&self, what: &workload::Care) -> Result<Nanos, workload::Uncared> {
        self.care_for(what)
    }

    fn check_target(&self) -> Result<(), String> {
        self.target.borrow().check()
    }

    fn devices(&self) -> Vec<measure::DeviceId> {
        self.target.borrow().devices.clone()
    }

    fn emit(&self, event: PhaseEvent) {
        self.execution.tell(Event::Phase(event));
    }
}
