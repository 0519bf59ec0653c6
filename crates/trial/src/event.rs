//! What a trial reports while it runs. Progress bars, the log and the store consume this one enum;
//! code that measures never prints.

use serde::{Deserialize, Serialize};
use stack::Durability;
use units::Bytes;
use workload::PhaseEvent;

use crate::capabilities::Found;
use crate::{Outcome, Step};

/// Something that happened in a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "body")]
pub enum Event {
    /// A step begins.
    Step(Step),
    /// What was actually made: after mounting, before the first workload.
    Made(Box<Made>),
    /// From a workload.
    Phase(PhaseEvent),
    /// Something worth a footnote.
    Note(String),
    /// What the workloads left: after the last of them, before unmounting.
    Space(SpaceUse),
    /// What was found while capabilities were tried.
    Found(Found),
    /// What was found while states after a power cut were tried.
    Crash(crash::Told),
    /// What it cost the machine that ran it, where that is not the machine that keeps the results.
    Took(std::time::Duration),
    /// The trial is over. Always the last event, exactly once.
    Ended(Outcome),
}

/// What a trial actually ran on. Every table's footer comes from here, so that it names what was
/// used and not what was requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// Kernel release, `uname -r`.
    pub kernel: String,
    /// The driver that served: `ext4.ko, feature set of ext2`; for `dir` the type found.
    pub served_by: String,
    /// Feature flags as the filesystem's own tool or the kernel shows them.
    pub features: Vec<String>,
    /// Mount options as the kernel shows them.
    pub mount_options: String,
    /// What is under it, in words for a table: `loop file, direct I/O, fully allocated`.
    pub device: String,
    /// Size of the filesystem as statfs shows it when new.
    pub size: Option<Bytes>,
    /// Room free on it when new.
    pub free: Option<Bytes>,
    /// Room of all disks that hold it, what goes into redundancy included; not of a journal's.
    #[serde(default)]
    pub raw: Option<Bytes>,
    /// What an fsync promises.
    pub durability: Durability,
    /// The commands that made it, as one would type them, and the geometry dumps with
    /// their output.
    pub record: Vec<(String, String)>,
    /// Versions of the tools used.
    pub tools: Vec<(String, String)>,
}

/// The room in use after the workloads. Taken once they have all ended, outside every clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "space")]
pub enum SpaceUse {
    /// As statfs shows it, everything written out.
    Known {
        /// In use when new, before the first workload: the filesystem's own structures, as
        /// far as it counts them.
        new: Bytes,
        /// In use after the last workload.
        used: Bytes,
        /// What the workloads left; `None` where there is too much of it to count.
        left: Option<Left>,
    },
    /// Not known.
    Missing {
        /// Why.
        why: String,
    },
}

/// Files and directories that workloads left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// The lengths of the files added up; of links to one file one.
    pub bytes: Bytes,
    /// Files of every kind that are no directories.
    pub files: u64,
    /// Directories, without the first.
    pub directories: u64,
}
