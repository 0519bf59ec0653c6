//! The one path of a trial: layout, mkfs, mount, settle, workloads, unmount, check.

mod care;
mod cold;
mod crash;
mod devices;
mod guard;
mod host;
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
use units::Nanos;
use workload::{Context, Inputs, Parameters};

pub use self::care::shut_down;
pub use self::crash::{CrashTask, try_power_cuts};
pub use self::guard::{Guard, Unguarded};
use self::host::TrialHost;
pub(crate) use self::machine::kernel_release;
pub(crate) use self::mounting::Mounted;
use self::program::ProgramError;
pub(crate) use self::program::Programs;
pub(crate) use self::record::tool_versions;
pub use self::space::after_workloads;
use self::target::Target;
use crate::{Event, InputFiles, Job, Made, Outcome, Site, SpaceUse, Step, TrialSpec};

/// Executes `job` and reports to `sink` what happens; the last event is [`Event::Ended`].
///
/// Must run in a process of its own. With a device site that process must have a private
/// mount namespace (or be PID 1 of a guest), so that its mounts die with it.
pub fn execute(job: &Job, guard: &dyn Guard, sink: &mut dyn FnMut(Event)) {
    let execution = Execution::of(job, guard, sink);
    execution.to_its_end();
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
    /// Instead of workloads: the states that a power cut may leave.
    cuts: Option<crash::PowerCuts<'a>>,
}

impl<'a> Execution<'a> {
    fn of(job: &'a Job, guard: &'a dyn Guard, sink: &'a mut dyn FnMut(Event)) -> Execution<'a> {
        Execution {
            job,
            guard,
            sink: RefCell::new(sink),
            step: RefCell::new(Step::Prepare),
            programs: Programs::new(&job.tool_path),
            cuts: None,
        }
    }

    fn to_its_end(&self) {
        let outcome = match self.run() {
            Ok(()) => Outcome::Done,
            Err(outcome) => outcome,
        };
        self.tell(Event::Ended(outcome));
    }

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
            served_by: mount.filesystem.clone(),
            features: Vec::new(),
            mount_options: mount.options.clone(),
            device: format!("a directory of an existing {}", mount.filesystem),
            size: Some(target.size),
            free: Some(target.free),
            raw: None,
            durability: stack::Durability::of_mount_options(&mount.filesystem, &mount.options),
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
                context.taint(failed);
            }
            let Err(failure) = workload.run(&mut context) else { continue };
            let mut outcome = self.failed(format!("{}: {failure}", choice.name));
            if let (workload::Failure::Unbegun(_), Outcome::Failed { step, .. }) =
                (&failure, &mut outcome)
            {
                *step = Step::Start;
            }
            if matches!(failure, workload::Failure::TargetLost(_)) {
                return Err(outcome);
            }
            // The next workload may not depend on this one; if it does, it fails with its own
            // message.
            first.get_or_insert((choice.name.clone(), outcome));
        }
        first.map_or(Ok(()), |(_, outcome)| Err(outcome))
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
