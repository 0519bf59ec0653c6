//! What is kept of a run: a JSON file for each, beside the results' database.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crash::{Cache, Column, Problem, Recorded, Stage, Tried};
use serde::{Deserialize, Serialize};
use stack::Contender;
use store::Store;
use trial::{CrashTask, Outcome};

use crate::exit::{Exit, Failure};

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) lab: Option<String>,
    pub(super) profile: String,
    pub(super) disk: Option<String>,
    pub(super) changes: BTreeMap<String, String>,
    pub(super) cache: Cache,
    /// Bytes that the disk writes at once.
    pub(super) tear: u64,
    pub(super) states: usize,
    /// Whether each is mounted and checked, whatever it is alike to.
    #[serde(default)]
    pub(super) each: bool,
    pub(super) rounds: u64,
    pub(super) seed: u64,
    pub(super) programs: Vec<String>,
    /// The job of a program of the user's own, which is the only one then.
    #[serde(default)]
    pub(super) own: Option<String>,
    pub(super) contenders: Vec<Contender>,
}

impl Asked {
    /// What one of its programs is in the guest.
    pub(super) fn task(&self, program: &str) -> CrashTask {
        match &self.own {
            Some(job) => CrashTask::Own(job.clone()),
            None => CrashTask::Program { name: program.to_owned(), rounds: self.rounds },
        }
    }
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// `c1`.
    pub(super) id: String,
    pub(super) lab_id: String,
    pub(super) kernel: String,
    pub(super) asked: Asked,
    /// Whether it was stopped before everything was tried.
    pub(super) stopped: bool,
    pub(super) cells: Vec<Cell>,
}

/// One contender and one program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) contender: Contender,
    pub(super) program: String,
    pub(super) outcome: Outcome,
    pub(super) recorded: Option<Recorded>,
    pub(super) tried: usize,
    /// Those of them that were not mounted, since others were alike.
    #[serde(default)]
    pub(super) alike: usize,
    /// States in which a promise was lost; in which something was lost that is relied on; in which
    /// the check found damage; in which neither did and a file has other contents; that could not be
    /// mounted, or ended the machine.
    pub(super) promised: usize,
    pub(super) relied: usize,
    pub(super) damaged: usize,
    pub(super) silent: usize,
    pub(super) refused: usize,
    /// Nanoseconds until it was mounted again: the middle and the longest.
    pub(super) mount_median: Option<u64>,
    pub(super) mount_longest: Option<u64>,
    /// Seconds of this machine, one core, that each stage of the states took.
    pub(super) seconds: Vec<(Stage, f64)>,
    pub(super) findings: Vec<Finding>,
}

/// A kind of problem, with the state that shows it with the fewest writes lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Finding {
    /// `c1-2`.
    pub(super) id: String,
    pub(super) contender: Contender,
    pub(super) program: String,
    pub(super) problem: Problem,
    /// States that show it.
    pub(super) states: usize,
    /// Those of them in which a write is there in part.
    pub(super) torn: usize,
    pub(super) example: Tried,
    /// The digest of the recording.
    pub(super) digest: u64,
}

impl Finding {
    /// Whether it takes a write that is there in part.
    pub(super) fn is_of_torn_writes(&self) -> bool {
        self.torn == self.states
    }

    /// Whether this shows the same. How long the mount took is left aside: that depends on what the
    /// machine did before.
    pub(super) fn is_shown_by(&self, tried: &Tried) -> bool {
        tried.problems().contains(&self.problem)
    }

    /// Whether it speaks against filesystem or disk, and not against a program alone.
    fn is_promise(&self) -> bool {
        !matches!(self.problem, Problem::Lost { column: Column::Relied, .. })
    }
}

impl Cell {
    /// Seconds in which its states were tried.
    pub(super) fn in_all(&self) -> f64 {
        self.seconds.iter().map(|(_, seconds)| seconds).sum()
    }
}

impl Kept {
    fn directory() -> Result<PathBuf, Failure> {
        let beside = Store::default_path().with_file_name("crash");
        ::files::private_directory(&beside).map_err(Failure::from(Exit::Refused))
    }

    /// Gives the run the next id, which no other command takes, and its findings theirs.
    pub(super) fn number(&mut self) -> Result<(), Failure> {
        let directory = Kept::directory()?;
        let failed = |error: std::io::Error| {
            Failure::new(Exit::Store, format!("{}: {error}", directory.display()))
        };
        let mut last: u64 = 0;
        for entry in std::fs::read_dir(&directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_string_lossy().into_owned();
            let number = name.strip_prefix('c').and_then(|it| it.strip_suffix(".json"));
            last = last.max(number.and_then(|it| it.parse().ok()).unwrap_or(0));
        }
        self.id = loop {
            last += 1;
            let path = directory.join(format!("c{last}.json"));
            match std::fs::File::create_new(path) {
                Ok(_) => break format!("c{last}"),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        };
        let findings = self.cells.iter_mut().flat_map(|cell| &mut cell.findings);
        for (nth, finding) in (1..).zip(findings) {
            finding.id = format!("{}-{nth}", self.id);
        }
        Ok(())
    }

    /// As JSON.
    pub(super) fn to_json(&self) -> Result<String, Failure> {
        let text = serde_json::to_string_pretty(self).map_err(Failure::from(Exit::Output))?;
        Ok(text + "\n")
    }

    /// Keeps it.
    pub(super) fn write(&self, text: &str) -> Result<(), Failure> {
        let path = Kept::directory()?.join(format!("{}.json", self.id));
        crate::files::write_whole(&path, text.as_bytes())
            .map_err(|error| Failure::new(Exit::Store, format!("{}: {error}", path.display())))
    }

    /// A finding, by its id, and its run.
    pub(super) fn of_finding(id: &str) -> Result<(Kept, Finding), Failure> {
        let run = id.split_once('-').map(|(run, _)| run).filter(|run| {
            run.strip_prefix('c').is_some_and(|number| number.parse::<u64>().is_ok())
        });
        let none = |what: String| Failure::new(Exit::Usage, what);
        let run = run.ok_or_else(|| {
            none(format!("`{id}` is no finding's id: they are like c1-2, below `fstrial crash`"))
        })?;
        let path = Kept::directory()?.join(format!("{run}.json"));
        let text = ::files::read_text(&path)
            .map_err(|error| none(format!("there is no run {run}: {error}")))?;
        let kept: Kept = serde_json::from_str(&text)
            .map_err(|error| Failure::new(Exit::Input, format!("{}: {error}", path.display())))?;
        let finding = kept.cells.iter().flat_map(|cell| &cell.findings).find(|one| one.id == id);
        let finding = finding.cloned().ok_or_else(|| {
            none(format!("run {run} has no finding {id}; its file is {}", path.display()))
        })?;
        Ok((kept, finding))
    }

    /// How the command ends; `relied` counts what no manual page promises.
    pub(super) fn exit(&self, relied: bool) -> Exit {
        if self.stopped {
            return Exit::Stopped;
        }
        let mut findings = self.cells.iter().flat_map(|cell| &cell.findings);
        if findings.any(|finding| relied || finding.is_promise()) {
            return Exit::Loses;
        }
        match self.cells.iter().all(|cell| cell.outcome.is_done()) {
            true => Exit::Done,
            false => Exit::SomeFailed,
        }
    }
}
