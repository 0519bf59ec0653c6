//! What a trial is, independent of where it runs. Stored with its results.

use serde::{Deserialize, Serialize};
use stack::Contender;
use units::{Bytes, Nanos};
use workload::{Parameters, Seed};

/// Everything that determines a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialSpec {
    /// The contender.
    pub contender: Contender,
    /// What is done on it, in order, without a new mkfs in between.
    pub workloads: Vec<WorkloadChoice>,
    /// Determines everything random: hash seeds, names, sizes, order, content, and UUIDs but for
    /// a real device's part in them ([`crate::Job::filesystem_uuid`]).
    /// Equal for all contenders of a block, so that they do the same work.
    pub seed: Seed,
    /// The random block (repeat) it belongs to, from 0.
    pub block: u32,
    /// Size of each data device or of the tmpfs; `None` where the target already exists.
    pub size: Option<Bytes>,
    /// Whether to read everything back afterwards, outside any clock.
    pub verify: bool,
    /// The wall time after which it is given up.
    pub timeout: Nanos,
}

/// What makes two trials of a plan alike: contender, and workloads with their parameters.
pub type TrialKind<'a> = (&'a str, Vec<(&'a str, Vec<(&'a str, &'a str)>)>);

impl TrialSpec {
    /// What it has in common with the trials of its plan that differ from it only in block and seed.
    pub fn kind(&self) -> TrialKind<'_> {
        let workloads = self
            .workloads
            .iter()
            .map(|choice| (choice.name.as_str(), choice.parameters.iter().collect()));
        (self.contender.name.as_str(), workloads.collect())
    }
}

/// A workload with all its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadChoice {
    /// Its name in [`workload::WORKLOADS`].
    pub name: String,
    /// Every parameter, scale applied.
    pub parameters: Parameters,
}
