//! The process that executes one trial: it reads its order from a file and writes what happens,
//! in order, to another.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stack::Command;
use trial::{Event, Guard, Job, Site};
use workload::PhaseEvent;

/// The variable that makes this program an inner process, with the folder of its files.
pub(crate) const FOLDER: &str = "FSTRIAL_WHOLE_TRIAL";
/// The file of the [`Order`].
pub(crate) const ORDER: &str = "order.json";
/// The file with one [`Said`] a line.
pub(crate) const SAID: &str = "said.jsonl";

/// A trial, and what is done around it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) job: Job,
    /// A script before it.
    pub(crate) before: String,
    /// What is done when a phase of this name begins, before its clock starts.
    pub(crate) at: Vec<(String, Deed)>,
    /// A script after it.
    pub(crate) after: String,
    /// The program that the guard does not permit.
    pub(crate) refused: Option<String>,
    /// Whether the guard has a switch for the power.
    pub(crate) power: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Deed {
    /// A script, which must succeed.
    Script(String),
    /// Opens this and keeps it open until the process ends.
    Hold(PathBuf),
    Panic,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Said {
    Event(Event),
    /// The guard was asked.
    Asked(Command),
    /// The guard was told.
    Ran(Command),
    Power(bool),
    /// What a script printed.
    Printed(String),
    /// Whether something is mounted on the mount point when the trial is over.
    LeftMounted(bool),
}

struct Log(RefCell<File>);

impl Log {
    fn say(&self, said: &Said) {
        let mut line = serde_json::to_vec(said).unwrap();
        line.push(b'\n');
        self.0.borrow_mut().write_all(&line).unwrap();
    }

    fn shell(&self, script: &str) {
        if script.is_empty() {
            return;
        }
        let output = std::process::Command::new("sh").args(["-euc", script]).output().unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        self.say(&Said::Printed(String::from_utf8(output.stdout).unwrap()));
    }
}

struct Recording<'a> {
    order: &'a Order,
    log: &'a Log,
}

impl Guard for Recording<'_> {
    fn permit(&self, command: &Command) -> Result<(), String> {
        self.log.say(&Said::Asked(command.clone()));
        match self.order.refused.as_ref() == Some(&command.program) {
            true => Err("somebody wrote to it".to_owned()),
            false => Ok(()),
        }
    }

    fn ran(&self, command: &Command) {
        self.log.say(&Said::Ran(command.clone()));
    }

    fn switch_power(&self, on: bool) -> bool {
        if self.order.power {
            self.log.say(&Said::Power(on));
        }
        self.order.power
    }
}

/// Executes the order in this folder.
pub(crate) fn act(folder: &Path) {
    let order: Order = serde_json::from_slice(&fs::read(folder.join(ORDER)).unwrap()).unwrap();
    let log = Log(RefCell::new(File::create(folder.join(SAID)).unwrap()));
    log.shell(&order.before);
    let guard = Recording { order: &order, log: &log };
    let mut held = Vec::new();
    let mut sink = |event: Event| {
        let begun = match &event {
            Event::Phase(PhaseEvent::Started { phase, .. }) => Some(phase.clone()),
            _ => None,
        };
        log.say(&Said::Event(event));
        for (_, deed) in order.at.iter().filter(|(phase, _)| Some(phase) == begun.as_ref()) {
            match deed {
                Deed::Script(script) => log.shell(script),
                Deed::Hold(path) => held.push(File::open(path).unwrap()),
                Deed::Panic => panic!("as ordered"),
            }
        }
    };
    // What was said until then is judged outside; so is a panic that nobody ordered, by the event
    // of the end that is missing then.
    let _ = catch_unwind(AssertUnwindSafe(|| trial::execute(&order.job, &guard, &mut sink)));
    log.shell(&order.after);
    if let Site::Devices { mount_point, .. } = &order.job.site {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let point = mount_point.to_str().unwrap();
        log.say(&Said::LeftMounted(mounts.split(' ').any(|word| word == point)));
    }
}
