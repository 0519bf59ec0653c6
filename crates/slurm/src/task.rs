//! What a task does on its node: it runs one trial and writes its events to the spool.

use std::path::Path;
use std::time::Instant;

use testbed::{Stop, Testbed};
use trial::{Event, Outcome, Step, TrialSpec, protocol};

use crate::{Order, SlurmError, Spool};

/// One task: which trial, and what it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// What all tasks of the run need to know.
    pub order: Order,
    /// The trial.
    pub spec: TrialSpec,
    spool: Spool,
    ordinal: u32,
}

impl Task {
    /// Reads the task that Slurm began: `first` is the place in the run of its array's first.
    ///
    /// # Errors
    /// When it was not begun by Slurm, or the spool cannot be read.
    pub fn read(spool: &Path, first: u32) -> Result<Task, SlurmError> {
        let index = std::env::var("SLURM_ARRAY_TASK_ID").ok().and_then(|text| text.parse().ok());
        let index: u32 = index.ok_or_else(|| {
            SlurmError::Option("slurm-task is begun by Slurm, not by hand".to_owned())
        })?;
        let spool = Spool::at(spool);
        let ordinal = first + index;
        Ok(Task { order: spool.order()?, spec: spool.trial(ordinal)?, spool, ordinal })
    }

    /// The spool it belongs to.
    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    /// Whether its result exists already: Slurm may start a task twice.
    pub fn is_done(&self) -> bool {
        self.spool.result(self.ordinal).exists()
    }

    /// Runs the trial and leaves its events in the spool.
    ///
    /// # Errors
    /// When they cannot be written. A trial that was stopped leaves none, and that is no error.
    pub fn run(&self, testbed: &dyn Testbed, stop: &Stop) -> Result<(), SlurmError> {
        if testbed.lab_id() != self.order.lab_id {
            let name = |id: &Option<String>| id.clone().unwrap_or_else(|| "none".to_owned());
            let reason = format!(
                "this node's lab is {}, the run's is {}: its program is another version",
                name(&testbed.lab_id()),
                name(&self.order.lab_id)
            );
            return self.fail(reason);
        }
        let mut lines = Vec::new();
        let began = Instant::now();
        let mut failed = None;
        let ended = testbed.run(&self.spec, stop, &mut |event| {
            if let Event::Ended(_) = event {
                let took = Event::Took(began.elapsed());
                failed = protocol::write_event(&mut lines, &took).err();
            }
            if let Err(error) = protocol::write_event(&mut lines, &event) {
                failed = Some(error);
            }
        });
        if ended.is_err() {
            return Ok(());
        }
        match failed {
            Some(error) => self.fail(error.to_string()),
            None => self.leave(&lines),
        }
    }

    /// Leaves the reason why the trial could not be begun.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn fail(&self, reason: String) -> Result<(), SlurmError> {
        let ended = Event::Ended(Outcome::Failed { step: Step::Prepare, reason });
        let mut line = Vec::new();
        protocol::write_event(&mut line, &ended).map_err(|error| SlurmError::Malformed {
            path: self.spool.result(self.ordinal),
            problem: error.to_string(),
        })?;
        self.leave(&line)
    }

    fn leave(&self, lines: &[u8]) -> Result<(), SlurmError> {
        self.spool.write_whole(&format!("results/{}.events", self.ordinal), lines)
    }
}
