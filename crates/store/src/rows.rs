//! What the store gives back.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use trial::{Outcome, Step, TrialRecord, TrialSpec};
use units::Nanos;

/// Facts about where a run took place: kernel, CPU, memory, device, tool versions. Keys are
/// snake_case; those in [`Environment::PRIVATE`] are left out of redacted exports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Environment(pub BTreeMap<String, String>);

impl Environment {
    /// Keys whose values name a person, a machine or a device.
    pub const PRIVATE: &'static [&'static str] = &[
        "hostname",
        "device_serial",
        "device_path",
        "target_path",
        "mail_source",
        "command_line",
        "kernel_command_line",
    ];
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Trials remain; `--resume` goes on.
    Open,
    /// Every planned trial has an outcome, and none is to be run again.
    Complete,
}

/// Until when a run adds repeats: until its figures decide (`stats::look`), or its trials together
/// would take longer than this of the host's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The host's time for all trials.
    pub budget: Nanos,
}

/// What is known of a run beside its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Short name, unique in the store: `r7`.
    pub id: String,
    /// When it began, RFC 3339 with offset.
    pub created: String,
    /// The version of fstrial that planned it.
    pub fstrial_version: String,
    /// The testbed: `dir`, `device`, `lab`.
    pub testbed: String,
    /// The lab's id, where it ran in one. Exact comparison across ids is refused.
    pub lab_id: Option<String>,
    /// Where it took place.
    pub environment: Environment,
    /// The run's seed, from which every trial's derives.
    pub seed: u64,
    /// The contenders' names in the order asked for.
    pub contenders: Vec<String>,
    /// The workloads' names in the order asked for, as often as they were; empty where what was
    /// asked for does not name them.
    pub workloads: Vec<String>,
    /// Repeats asked for; so far, where the run adds some until its figures decide.
    pub repeats: u32,
    /// Until when the run adds repeats, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// The scale asked for.
    pub scale: f64,
    /// How far it has come.
    pub state: RunState,
}

impl RunHeader {
    /// Whether its machine was simulated and its time virtual, as in a lab.
    pub fn is_simulated(&self) -> bool {
        self.lab_id.is_some()
    }
}

/// A planned trial with what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredTrial {
    /// Its place in the order of execution, from 0.
    pub ordinal: u32,
    /// What it was.
    pub spec: TrialSpec,
    /// What became of it.
    #[serde(flatten)]
    pub record: TrialRecord,
}

impl Deref for StoredTrial {
    type Target = TrialRecord;

    fn deref(&self) -> &TrialRecord {
        &self.record
    }
}

impl DerefMut for StoredTrial {
    fn deref_mut(&mut self) -> &mut TrialRecord {
        &mut self.record
    }
}

impl StoredTrial {
    /// Stands for a trial whose record was changed after it was written; holds none of its figures.
    pub(crate) fn damaged(ordinal: u32, spec: TrialSpec) -> StoredTrial {
        let reason = "its record in the store was changed after it was written (checksum); run it \
                      again in a new run"
            .to_owned();
        let record = TrialRecord::ended(Outcome::Failed { step: Step::Record, reason });
        StoredTrial { ordinal, spec, record }
    }
}

/// A run with all its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredRun {
    /// The header.
    pub header: RunHeader,
    /// The trials in order of execution.
    pub trials: Vec<StoredTrial>,
}

impl StoredRun {
    /// What its trials took of the host's time, one after the other.
    pub fn host_time(&self) -> Duration {
        self.trials.iter().filter_map(|trial| trial.host).sum()
    }
}
