//! The spool: a directory shared by the submitting machine and all nodes, one for each run.
//!
//! | path | what |
//! |---|---|
//! | `order.json` | what every task needs to know; written last |
//! | `fstrial` | the program itself |
//! | `lab.tar` | the lab, where one is needed |
//! | `inputs/` | what workloads read |
//! | `trials/N.json` | the trial with place N in the run's order |
//! | `results/N.events` | its events, a line each; appears whole when the trial has ended |
//! | `logs/A-B` | what the task of place 1,000 A + B wrote to standard output and error |

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use trial::{InputFiles, TrialSpec};

use crate::{Options, SlurmError};

/// Tasks in one array. Slurm takes no index above 1,000 where it is not configured otherwise.
pub(crate) const ARRAY: u32 = 1000;

/// The largest file of trials and results; a result has a line for each phase.
pub(crate) const FILE_MAX: u64 = 1 << 30;

/// What every task of a run needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Sets the jobs of this run apart from all others: the beginning of their names.
    pub token: String,
    /// How they were submitted.
    pub options: Options,
    /// The testbed as the program's own request for it.
    pub testbed: serde_json::Value,
    /// What workloads read; in the spool.
    pub inputs: InputFiles,
    /// What the largest trial writes, in bytes.
    pub room: u64,
    /// Files and directories that it makes.
    pub inodes: u64,
    /// The id of the lab that each node's lab must equal; `None` outside the lab.
    pub lab_id: Option<String>,
    /// Names the lab's software by content, if there is any.
    pub lab_software: Option<String>,
}

/// A spool directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spool {
    directory: PathBuf,
}

impl Spool {
    /// Names a spool; nothing is made.
    pub fn at(directory: &Path) -> Spool {
        Spool { directory: directory.to_owned() }
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether a run was submitted from it, as far as its order was written.
    pub fn exists(&self) -> bool {
        self.order_path().is_file()
    }

    /// Makes the directories, readable by their owner alone.
    ///
    /// # Errors
    /// When they cannot be made, or another user could change them.
    pub fn make(&self) -> Result<(), SlurmError> {
        let private = |path: &Path| {
            files::private_directory(path)
                .map(drop)
                .map_err(|error| SlurmError::at("make", path)(error.source))
        };
        private(&self.directory)?;
        ["trials", "results", "inputs", "logs"]
            .iter()
            .try_for_each(|name| private(&self.directory.join(name)))
    }

    /// Copies a file into it, once.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn take(&self, from: &Path, name: &str) -> Result<PathBuf, SlurmError> {
        let to = self.directory.join(name);
        if !to.exists() {
            let part = self.part(name);
            fs::copy(from, &part).map_err(SlurmError::at("copy", from))?;
            fs::rename(&part, &to).map_err(SlurmError::at("name", &to))?;
        }
        Ok(to)
    }

    /// The same for all inputs; their places in the spool.
    ///
    /// # Errors
    /// As [`Spool::take`].
    pub fn take_inputs(&self, inputs: &InputFiles) -> Result<InputFiles, SlurmError> {
        inputs.placed(|from, name| self.take(from, &format!("inputs/{name}")))
    }

    /// Where the lab is exported to.
    pub fn lab(&self) -> PathBuf {
        self.directory.join("lab.tar")
    }

    /// The program that tasks run.
    pub fn program(&self) -> PathBuf {
        self.directory.join("fstrial")
    }

    fn order_path(&self) -> PathBuf {
        self.directory.join("order.json")
    }

    /// Writes the order.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_order(&self, order: &Order) -> Result<(), SlurmError> {
        self.write_json("order.json", order)
    }

    /// Reads the order.
    ///
    /// # Errors
    /// When it is missing or of another version of the program.
    pub fn order(&self) -> Result<Order, SlurmError> {
        read_json(&self.order_path())
    }

    /// Writes a trial, once.
    pub(crate) fn write_trial(&self, ordinal: u32, spec: &TrialSpec) -> Result<(), SlurmError> {
        let name = format!("trials/{ordinal}.json");
        if self.directory.join(&name).exists() {
            return Ok(());
        }
        self.write_json(&name, spec)
    }

    /// Reads a trial.
    pub(crate) fn trial(&self, ordinal: u32) -> Result<TrialSpec, SlurmError> {
        read_json(&self.directory.join(format!("trials/{ordinal}.json")))
    }

    /// Where the events of a trial appear.
    pub(crate) fn result(&self, ordinal: u32) -> PathBuf {
        self.directory.join(format!("results/{ordinal}.events"))
    }

    /// What the task of a trial wrote.
    pub(crate) fn log(&self, ordinal: u32) -> PathBuf {
        self.directory.join(format!("logs/{}-{}", ordinal / ARRAY, ordinal % ARRAY))
    }

    /// The trials whose results are there.
    pub(crate) fn arrived(&self) -> Result<BTreeSet<u32>, SlurmError> {
        let directory = self.directory.join("results");
        let entries = fs::read_dir(&directory).map_err(SlurmError::at("read", &directory))?;
        Ok(entries
            .filter_map(|entry| {
                let name = entry.ok()?.file_name();
                name.to_str()?.strip_suffix(".events")?.parse().ok()
            })
            .collect())
    }

    /// Removes all of it, once every result is in the store. What cannot be removed stays:
    /// nothing depends on it.
    pub fn remove(&self) {
        let _ = fs::remove_dir_all(&self.directory);
    }

    /// Writes a small script that tasks begin with.
    pub(crate) fn write_script(&self, name: &str, text: &str) -> Result<PathBuf, SlurmError> {
        let path = self.directory.join(name);
        self.write_whole(name, text.as_bytes())?;
        Ok(path)
    }

    fn write_json<T: Serialize>(&self, name: &str, value: &T) -> Result<(), SlurmError> {
        let text = serde_json::to_vec(value).map_err(|error| SlurmError::Malformed {
            path: self.directory.join(name),
            problem: error.to_string(),
        })?;
        self.write_whole(name, &text)
    }

    /// A reader sees all of it or nothing.
    pub(crate) fn write_whole(&self, name: &str, bytes: &[u8]) -> Result<(), SlurmError> {
        let (part, path) = (self.part(name), self.directory.join(name));
        let write = || {
            let mut file = File::create(&part)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&part, &path)
        };
        write().map_err(SlurmError::at("write", &path))
    }

    /// A name that no other process writes to: one task may run twice if a node was
    /// believed lost.
    fn part(&self, name: &str) -> PathBuf {
        let host = std::env::var("SLURMD_NODENAME").unwrap_or_default();
        self.directory.join(format!("{name}.{host}.{}.part", std::process::id()))
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, SlurmError> {
    let text = files::read_file(path, FILE_MAX).map_err(SlurmError::reading)?;
    serde_json::from_slice(&text).map_err(|error| SlurmError::Malformed {
        path: path.to_owned(),
        problem: format!("written by another version of fstrial, begin a new run: {error}"),
    })
}
