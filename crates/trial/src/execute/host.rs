//! The host of a trial's workloads: what they may ask of the trial, and to whom they report.

use std::cell::RefCell;

use stack::Command;
use units::Nanos;
use workload::{Host, PhaseEvent};

use super::place::Stand;
use super::target::Target;
use super::{Execution, cold};
use crate::Event;

/// The host of the workloads of one trial.
pub(super) struct TrialHost<'a, 'j> {
    pub(super) execution: &'a Execution<'j>,
    pub(super) target: RefCell<Target>,
    pub(super) cooling: cold::Cooling<'a>,
    /// The devices below it; `None` for a directory.
    pub(super) stand: Option<&'a Stand<'a>>,
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

    fn devices(&self) -> Vec<units::DeviceNumber> {
        self.target.borrow().devices.clone()
    }

    fn emit(&self, event: PhaseEvent) {
        self.execution.tell(Event::Phase(event));
    }
}

#[cfg(test)]
mod tests {
    use stack::filesystems::Request;
    use units::Bytes;

    use super::*;
    use crate::execute::Mounted;
    use crate::{InputFiles, Job, Site, TrialSpec, Unguarded};

    #[test]
    fn the_time_of_the_last_mount_is_passed_on() {
        let directory = tempfile::tempdir().unwrap();
        let contender = stack::Contender::plain("tmpfs");
        let request = Request {
            contender: &contender,
            data: None,
            members: Vec::new(),
            journal: None,
            size: Bytes::from_mib(1),
            uuid: String::new(),
            hash_seed: String::new(),
        };
        let plan = stack::filesystems::find("tmpfs").unwrap().plan(&request).unwrap();
        let job = Job {
            spec: TrialSpec {
                contender: contender.clone(),
                workloads: Vec::new(),
                seed: workload::Seed(1),
                block: 0,
                size: None,
                verify: false,
                timeout: Nanos::from_secs(60),
            },
            site: Site::Directory { path: directory.path().to_owned(), drop_machine_caches: false },
            inputs: InputFiles::default(),
            tool_path: Vec::new(),
        };
        let guard = Unguarded::default();
        let mut ignored = |_: Event| ();
        let sink: &mut dyn FnMut(Event) = &mut ignored;
        let execution = Execution::of(&job, &guard, sink);
        let mounted = Mounted::formerly(directory.path(), Nanos(7));
        let took = |cooling| {
            let target = RefCell::new(Target::of(directory.path()).unwrap());
            TrialHost { execution: &execution, target, cooling, stand: None }.mount_took()
        };
        let remount = cold::Cooling::Remount {
            mounted: &mounted,
            plan: &plan,
            devices: Vec::new(),
            alone: false,
        };
        assert_eq!(took(remount), Some(Nanos(7)));
        assert_eq!(took(cold::Cooling::Directory { drop_machine_caches: false }), None);
    }
}
