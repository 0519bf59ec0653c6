//! Orders for trials, and what came of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use stack::Contender;
use trial::{
    Event, InputFiles, Job, Made, Outcome, Site, SpaceUse, Step, TrialSpec, WorkloadChoice,
};
use units::Nanos;
use workload::{Parameters, PhaseEvent, PhaseResult, PhaseStatus, Seed};

use crate::disks::PATH;
use crate::inner::{FOLDER, ORDER, Order, SAID, Said};

/// A filesystem with these options.
pub(crate) fn contender(filesystem: &str, options: &[(&str, &str)]) -> Contender {
    let mut contender = Contender::plain(filesystem);
    for (name, value) in options {
        contender.options.insert((*name).to_owned(), (*value).to_owned());
    }
    contender
}

/// A trial of workloads as `null ops=10`, with nothing around it.
pub(crate) fn order(contender: Contender, site: Site, workloads: &[&str]) -> Order {
    let spec = TrialSpec {
        contender,
        workloads: workloads.iter().map(|words| choice(words)).collect(),
        seed: Seed(1),
        block: 0,
        size: None,
        verify: true,
        timeout: Nanos::from_secs(60),
    };
    let tool_path = PATH.iter().map(PathBuf::from).collect();
    Order {
        job: Job { spec, site, inputs: InputFiles::default(), tool_path },
        before: String::new(),
        at: Vec::new(),
        after: String::new(),
        refused: None,
        power: false,
    }
}

fn choice(words: &str) -> WorkloadChoice {
    let mut words = words.split_whitespace();
    let name = words.next().unwrap();
    let given: BTreeMap<String, String> = words
        .map(|word| word.split_once('=').unwrap())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let description = workload::find(name).unwrap().describe();
    let parameters = Parameters::resolve(description, &given, 1.0).unwrap();
    WorkloadChoice { name: name.to_owned(), parameters }
}

/// Executes an order in a process of its own, with mounts that nobody else sees.
pub(crate) fn execute(order: &Order) -> Told {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(ORDER), serde_json::to_vec(order).unwrap()).unwrap();
    let began = Instant::now();
    // A trial that waits for something forever is a failure.
    let output = Command::new("timeout")
        .args(["--signal=KILL", "300", "unshare", "--mount", "--propagation", "private"])
        .arg(std::env::current_exe().unwrap())
        .env(FOLDER, folder.path())
        .env("PATH", PATH.join(":"))
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    let took = Nanos::from(began.elapsed());
    let lines = std::fs::read_to_string(folder.path().join(SAID)).unwrap_or_default();
    let said: Vec<Said> =
        lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}\n{said:#?}", output.status);
    Told { said, took }
}

/// What a trial's process said.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) said: Vec<Said>,
    /// From its start to its end.
    pub(crate) took: Nanos,
}

impl Told {
    fn events(&self) -> impl Iterator<Item = &Event> {
        self.said.iter().filter_map(|said| match said {
            Said::Event(event) => Some(event),
            _ => None,
        })
    }

    pub(crate) fn steps(&self) -> Vec<Step> {
        let step = |event: &Event| match event {
            Event::Step(step) => Some(*step),
            _ => None,
        };
        self.events().filter_map(step).collect()
    }

    /// The outcomes reported: one, in the last event, unless it panicked.
    pub(crate) fn outcomes(&self) -> Vec<&Outcome> {
        let ended = self.events().filter_map(|event| match event {
            Event::Ended(outcome) => Some(outcome),
            _ => None,
        });
        ended.collect()
    }

    /// Expects that everything was done.
    pub(crate) fn expect_done(&self) {
        assert_eq!(self.outcomes(), [&Outcome::Done], "{self:#?}");
        assert!(matches!(self.events().last(), Some(Event::Ended(_))), "{self:#?}");
    }

    /// Where it failed, and why.
    pub(crate) fn failure(&self) -> (Step, &str) {
        let outcomes = self.outcomes();
        assert_eq!(outcomes.len(), 1, "{self:#?}");
        match outcomes[0] {
            Outcome::Failed { step, reason } => (*step, reason.as_str()),
            _ => panic!("no failure: {self:#?}"),
        }
    }

    pub(crate) fn made(&self) -> &Made {
        let made = self.events().find_map(|event| match event {
            Event::Made(made) => Some(&**made),
            _ => None,
        });
        made.unwrap_or_else(|| panic!("nothing made: {self:#?}"))
    }

    pub(crate) fn space(&self) -> &SpaceUse {
        let space = self.events().find_map(|event| match event {
            Event::Space(space) => Some(space),
            _ => None,
        });
        space.unwrap_or_else(|| panic!("no space: {self:#?}"))
    }

    pub(crate) fn notes(&self) -> Vec<&str> {
        let notes = self.events().filter_map(|event| match event {
            Event::Note(note) => Some(note.as_str()),
            _ => None,
        });
        notes.collect()
    }

    /// The phases that began.
    pub(crate) fn begun(&self) -> Vec<&str> {
        let begun = self.events().filter_map(|event| match event {
            Event::Phase(PhaseEvent::Started { phase, .. }) => Some(phase.as_str()),
            _ => None,
        });
        begun.collect()
    }

    /// The first result of a phase.
    pub(crate) fn phase(&self, name: &str) -> &PhaseResult {
        let phase = self.events().find_map(|event| match event {
            Event::Phase(PhaseEvent::Finished(result)) if result.phase == name => Some(&**result),
            _ => None,
        });
        phase.unwrap_or_else(|| panic!("no phase {name}: {self:#?}"))
    }

    /// The first result of a phase that took some time, which is a part of the trial's.
    pub(crate) fn timed(&self, name: &str) -> &PhaseResult {
        let phase = self.phase(name);
        assert_eq!(phase.status, PhaseStatus::Completed, "{name}");
        assert!(phase.wall > Nanos::ZERO, "{name}");
        assert!(phase.wall < self.took, "{name} took {} of {}", phase.wall, self.took);
        phase
    }

    /// Why a phase is missing.
    pub(crate) fn skipped(&self, name: &str) -> &str {
        match &self.phase(name).status {
            PhaseStatus::Skipped { reason } => reason,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// What the guard heard, as `asked wipefs`, `ran wipefs`.
    pub(crate) fn guarded(&self) -> Vec<String> {
        let heard = |said: &Said| match said {
            Said::Asked(command) => Some(format!("asked {}", command.program)),
            Said::Ran(command) => Some(format!("ran {}", command.program)),
            _ => None,
        };
        self.said.iter().filter_map(heard).collect()
    }

    /// What scripts printed, one after the other.
    pub(crate) fn printed(&self) -> Vec<&str> {
        let printed = self.said.iter().filter_map(|said| match said {
            Said::Printed(text) => Some(text.as_str()),
            _ => None,
        });
        printed.collect()
    }

    /// Whether something was mounted on the mount point in the end.
    pub(crate) fn left_mounted(&self) -> bool {
        self.said.contains(&Said::LeftMounted(true))
    }
}
