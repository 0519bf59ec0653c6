//! What was asked for. Stored with the run, so that `--resume` asks for the same.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stack::Contender;
use units::{Bytes, Nanos};

/// A whole run as asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What is done, each on a fresh filesystem, or all on one if `sequence`.
    pub workloads: Vec<WorkloadRequest>,
    /// Who competes.
    pub contenders: Vec<Contender>,
    /// Where.
    pub testbed: TestbedRequest,
    /// How many random blocks.
    pub repeats: u32,
    /// Every trial's seed derives from it.
    pub seed: u64,
    /// Multiplies what scales in the workloads.
    pub scale: f64,
    /// Read everything back after each workload.
    pub verify: bool,
    /// All workloads in one trial, one after the other, without a new filesystem.
    pub sequence: bool,
    /// Size of each data device; computed from the workloads where it is not given.
    pub size: Option<Bytes>,
    /// A size that is computed is no less than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_size: Option<Bytes>,
    /// Wall time after which a trial is given up.
    pub timeout: Nanos,
    /// The mail corpus as written on the command line.
    pub mail: String,
    /// The source tree as written on the command line.
    #[serde(default = "synthetic")]
    pub source_tree: String,
    /// The study it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<StudyTag>,
}

/// What runs had before a tree could be chosen.
fn synthetic() -> String {
    "synthetic".to_owned()
}

/// Which part of which study a run is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyTag {
    /// The study as named on the command line.
    pub study: String,
    /// What all runs of one execution of the study have in common, and no other.
    pub group: String,
    /// The part.
    pub part: String,
    /// The assumption; `None` for the study's own machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumption: Option<String>,
    /// Sets the study's text apart from any other.
    pub digest: String,
}

/// A workload as asked for: name and the parameters given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadRequest {
    /// Its name.
    pub name: String,
    /// What was set; the rest has its defaults.
    pub parameters: BTreeMap<String, String>,
}

/// Which testbed, with what it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "testbed", deny_unknown_fields)]
pub enum TestbedRequest {
    /// Directories as they are, one contender each.
    Dir {
        /// The directories.
        directories: Vec<PathBuf>,
        /// The contender that each stands for; named after their filesystems where empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        names: Vec<String>,
        /// Whether the whole machine's caches may be dropped.
        drop_caches: bool,
    },
    /// Block devices, or loop files made in a directory.
    Device {
        /// Devices; empty for loop files.
        devices: Vec<PathBuf>,
        /// The devices whose contents may be destroyed.
        destroy: Vec<PathBuf>,
        /// Where loop files are made.
        loop_directory: PathBuf,
    },
    /// The lab: a guest with virtual time and simulated disks.
    Lab {
        /// The machine profile.
        profile: String,
        /// The disk model; the profile's own where it is not given.
        disk: Option<String>,
        /// Values that differ from the profile's, by their keys in its file:
        /// `disk.options.slower` to `5%`.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        changes: BTreeMap<String, String>,
        /// Where the request logs of its disks are written, if anywhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_log: Option<PathBuf>,
    },
}

/// Reads `maildir-write:relist=once:fsync=file`: a name and options as contenders have them.
///
/// # Errors
/// When a part is not of the form `name=value`. Whether the workload exists and takes the
/// parameters is for the plan to say.
pub fn parse_workload(text: &str) -> Result<WorkloadRequest, String> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default().to_owned();
    let mut parameters = BTreeMap::new();
    for part in parts {
        let (key, value) = part.split_once('=').ok_or_else(|| {
            format!("workload `{text}`: `{part}` is not of the form parameter=value")
        })?;
        parameters.insert(key.to_owned(), value.to_owned());
    }
    Ok(WorkloadRequest { name, parameters })
}
