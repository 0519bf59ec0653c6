//! The results of a phase.

use std::collections::BTreeMap;

use measure::{Course, CpuTime, DeviceUse, Latencies};
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos};

/// State of the target's cache when a phase began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Cache {
    /// Nothing of the target is cached.
    Cold {
        /// How that was achieved: `remount`, `drop_caches`.
        how: String,
    },
    /// Earlier phases' data may be cached.
    Warm {
        /// Why it is not cold: not asked for, or not possible here.
        why: String,
    },
}

/// How a phase ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum PhaseStatus {
    /// All ops done.
    Completed,
    /// An op failed; figures cover what was done until then and are not comparable.
    Failed {
        /// Op, path and the system's reason.
        reason: String,
    },
    /// Not begun: something it depends on failed or is missing.
    Skipped {
        /// What is missing.
        reason: String,
    },
}

/// Why a phase's figures must not be compared with others'. Reports put it into words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum NotComparable {
    /// The lab's transport to its disks took too much of its time. The disk's requests are counted
    /// exactly all the same.
    Transport {
        /// The share of its time (0.1: 10 %).
        share: f64,
        /// The share up to which figures are compared.
        limit: f64,
        /// Whether the kernel records how long the processor was idle. Without it all of the
        /// transport's processor time counts, also what the workload only waited for.
        idle_known: bool,
    },
    /// An earlier phase failed and left the filesystem in another state.
    AfterPhase {
        /// Its name.
        phase: String,
    },
    /// An earlier workload of the sequence did.
    AfterWorkload {
        /// Its name.
        workload: String,
    },
    /// It was meant to reach the device, and no request did.
    DeviceNotReached,
    /// Something of this workload's own.
    Other {
        /// What, for a reader.
        why: String,
    },
}

/// One phase's raw measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseResult {
    /// The workload it belongs to.
    pub workload: String,
    /// Its name in that workload's description.
    pub phase: String,
    /// How it ended.
    pub status: PhaseStatus,
    /// Wall time by the trial's clock.
    pub wall: Nanos,
    /// CPU of the process and its children.
    pub cpu: CpuTime,
    /// CPU of the whole machine, in the lab exact, elsewhere to 10 ms; `None` where the kernel does
    /// not report it.
    pub machine_cpu: Option<Nanos>,
    /// Ops completed, of all kinds.
    pub ops: u64,
    /// Bytes the workload read from files.
    pub read_bytes: Bytes,
    /// Bytes the workload wrote to files.
    pub write_bytes: Bytes,
    /// The requests to the device; `None` where the target has no block device.
    pub device: Option<DeviceUse>,
    /// The cache when it began.
    pub cache: Cache,
    /// Latencies by kind of op; a kind that never occurred is absent.
    pub latencies: BTreeMap<String, Latencies>,
    /// What happened when; of phases of a second and more that end ops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course: Option<Course>,
    /// Figures beyond the usual ones: name with unit as its ending (`fragments_per_file`).
    pub figures: BTreeMap<String, f64>,
    /// Digest of the sequence of ops: equal for equal seed and parameters.
    pub digest: u64,
    /// Why the figures must not be compared with others', if so.
    pub not_comparable: Option<NotComparable>,
    /// Remarks for the report's footnotes.
    pub notes: Vec<String>,
}

impl PhaseResult {
    /// An empty result of a completed phase, to be filled in.
    pub(crate) fn empty(workload: &str, phase: &str, cache: Cache) -> PhaseResult {
        PhaseResult {
            workload: workload.to_owned(),
            phase: phase.to_owned(),
            status: PhaseStatus::Completed,
            wall: Nanos::ZERO,
            cpu: CpuTime::default(),
            machine_cpu: None,
            ops: 0,
            read_bytes: Bytes::ZERO,
            write_bytes: Bytes::ZERO,
            device: None,
            cache,
            latencies: BTreeMap::new(),
            course: None,
            figures: BTreeMap::new(),
            digest: 0,
            not_comparable: None,
            notes: Vec::new(),
        }
    }
}

/// What a running workload reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum PhaseEvent {
    /// A phase's clock is about to start.
    Started {
        /// The workload.
        workload: String,
        /// The phase.
        phase: String,
        /// Ops it will do; 0 where unknown.
        ops_planned: u64,
    },
    /// Ops done so far; at most a few a second.
    Progress {
        /// Ops completed in the running phase.
        ops_done: u64,
    },
    /// A phase has ended, completed or failed.
    Finished(Box<PhaseResult>),
}
