//! The contents of a device, comparable with later ones: the signatures blkid finds on it and on
//! its partitions, and samples at the start, at the end and in between.
//!
//! Fails closed: if blkid is missing, fails, is killed or prints an error, the result is an error
//! and never "no signature"; contradictory signatures count as signatures.
//! Samples show a change, not that a device is empty: module `search` reads for that.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::medium::{Medium, ReadError, first_data};
use crate::{ToolPath, ioctl};

const MIB: u64 = 1 << 20;
/// Bytes read at each end of the device.
const END_BYTES: u64 = MIB;
/// Bytes read at each place between.
const SAMPLE_BYTES: u64 = 64 << 10;
/// Places between, evenly spread.
const SAMPLES: u64 = 16;
/// Where btrfs keeps its second superblock, which survives when the start is wiped.
const BTRFS_MIRROR: u64 = 64 * MIB;
/// Samples begin at multiples of this.
const ALIGNMENT: u64 = 64 << 10;

/// Keys of blkid that say where a device lies or how it takes requests, not what is on it.
/// Every other key counts as a signature, so that a newer blkid's findings do too.
const NOT_CONTENT: [&str; 8] = [
    "DEVNAME",
    "MINIMUM_IO_SIZE",
    "OPTIMAL_IO_SIZE",
    "PHYSICAL_SECTOR_SIZE",
    "LOGICAL_SECTOR_SIZE",
    "ALIGNMENT_OFFSET",
    "DISKSEQ",
    "DAX",
];
const PARTITION_ENTRY: &str = "PART_ENTRY_";

/// blkid's finding for one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signature {
    /// Nothing that it knows.
    None,
    /// What it found: `TYPE=ext4`, `UUID=…`.
    Found(BTreeMap<String, String>),
    /// Several that contradict each other.
    Ambivalent,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = match self {
            Signature::None => return f.write_str("nothing known"),
            Signature::Ambivalent => return f.write_str("several contradictory signatures"),
            Signature::Found(keys) => keys,
        };
        match (keys.get("TYPE"), keys.get("PTTYPE")) {
            (Some(name), _) => write!(f, "a signature of {name}")?,
            (None, Some(name)) => write!(f, "a partition table ({name})")?,
            (None, None) => {
                let keys: Vec<_> =
                    keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
                write!(f, "a signature ({})", keys.join(" "))?;
            }
        }
        match keys.get("LABEL") {
            Some(label) => write!(f, " labelled `{label}`"),
            None => Ok(()),
        }
    }
}

/// The state of a device's contents, comparable with a later one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// blkid's finding for the device (first) and for each of its partitions.
    pub signatures: Vec<(String, Signature)>,
    /// The place of the first sampled byte that is not zero.
    pub data: Option<u64>,
    /// Digest of the sampled bytes. Only compared within one build of fstrial.
    pub digest: u64,
}

impl Contents {
    /// The first node with a signature.
    pub(crate) fn signature(&self) -> Option<&(String, Signature)> {
        self.signatures.iter().find(|(_, signature)| *signature != Signature::None)
    }
}

/// Why the contents could not be determined.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unknown {
    #[error("blkid was not found, so what is on it is unknown")]
    NoBlkid,
    #[error("blkid could not be started: {0}")]
    Start(io::Error),
    #[error("blkid failed on {node} ({status}{})", complaint(.stderr))]
    Failed { node: String, status: String, stderr: String },
    #[error(transparent)]
    Read(#[from] ReadError),
}

fn complaint(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!(": {stderr}") }
}

/// Reads the state. `nodes` are the device itself (first) and its partitions, open.
pub(crate) fn read(
    nodes: &[(String, &File)],
    size: u64,
    tools: &ToolPath,
) -> Result<Contents, Unknown> {
    let mut signatures = Vec::new();
    for (node, file) in nodes {
        // A mounted filesystem writes past the device's own page cache, which is therefore dropped.
        // Where that is not permitted, the sampled direct reads below still see the medium.
        let _ = ioctl::flush_buffers(file);
        signatures.push((node.clone(), probe(node, file, tools)?));
    }
    let Some((node, file)) = nodes.first() else {
        return Ok(Contents { signatures, data: None, digest: 0 });
    };
    let (data, digest) = sample(Medium::open(node, file, size)?)?;
    Ok(Contents { signatures, data, digest })
}

fn probe(node: &str, file: &File, tools: &ToolPath) -> Result<Signature, Unknown> {
    let program = tools.find("blkid").ok_or(Unknown::NoBlkid)?;
    // blkid gets the open descriptor, not a name that could mean another device by now.
    let device = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let output = Command::new(program)
        .args(["-p", "-o", "export", &device])
        .env_clear()
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(Unknown::Start)?;
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    judge(output.status.code(), &String::from_utf8_lossy(&output.stdout), &stderr).ok_or_else(
        || Unknown::Failed { node: node.to_owned(), status: output.status.to_string(), stderr },
    )
}

/// The meaning of blkid's exit code and output; `None` where it is not certain.
///
/// blkid(8): 0 is "found", 2 is "nothing found" and also "impossible to gather any
/// information", 4 is an error, 8 is ambivalent. A 2 with a complaint is therefore not an
/// answer.
fn judge(code: Option<i32>, stdout: &str, stderr: &str) -> Option<Signature> {
    match code {
        Some(8) => Some(Signature::Ambivalent),
        Some(2) if stdout.trim().is_empty() && stderr.is_empty() => Some(Signature::None),
        Some(0) if stderr.is_empty() => {
            let mut keys = BTreeMap::new();
            for line in stdout.lines().filter(|line| !line.trim().is_empty()) {
                let (key, value) = line.split_once('=')?;
                if !NOT_CONTENT.contains(&key) && !key.starts_with(PARTITION_ENTRY) {
                    keys.insert(key.to_owned(), value.to_owned());
                }
            }
            // blkid never exits with 0 without any output.
            if stdout.trim().is_empty() {
                return None;
            }
            Some(if keys.is_empty() { Signature::None } else { Signature::Found(keys) })
        }
        _ => None,
    }
}

/// The sampled areas of a device of this size.
fn areas(size: u64) -> Vec<Range<u64>> {
    let mut offsets: Vec<u64> =
        (1..=SAMPLES).map(|place| size / (SAMPLES + 1) * place / ALIGNMENT * ALIGNMENT).collect();
    offsets.push(BTRFS_MIRROR);
    offsets.sort_unstable();
    offsets.dedup();
    let last = size.saturating_sub(END_BYTES);
    let between = offsets.into_iter().map(|offset| offset..offset + SAMPLE_BYTES);
    let between = between.filter(|area| area.start >= END_BYTES && area.end <= last);
    let ends = (last > 0).then_some(last..size);
    std::iter::once(0..END_BYTES.min(size)).chain(between).chain(ends).collect()
}

fn sample(mut medium: Medium<'_>) -> Result<(Option<u64>, u64), ReadError> {
    let mut hasher = DefaultHasher::new();
    let mut data = None;
    for area in areas(medium.size()) {
        let start = area.start;
        let bytes = medium.read(area)?;
        data = data.or_else(|| first_data(bytes).map(|place| start + place));
        hasher.write(bytes);
    }
    Ok((data, hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_silent_two_means_nothing_found() {
        assert_eq!(judge(Some(2), "", ""), Some(Signature::None));
        assert_eq!(judge(Some(2), "", "blkid: error: /dev/x: No such file"), None);
        assert_eq!(judge(Some(4), "", ""), None);
        assert_eq!(judge(Some(8), "", "ambivalent"), Some(Signature::Ambivalent));
        assert_eq!(judge(Some(0), "", ""), None);
        assert_eq!(judge(Some(0), "not a key", ""), None);
        assert_eq!(judge(Some(127), "", ""), None);
        assert_eq!(judge(None, "", ""), None, "killed by a signal");
    }

    #[test]
    fn a_partitions_place_is_not_a_signature_and_an_unknown_key_is() {
        let place = "DEVNAME=/dev/sdb1\nPART_ENTRY_SCHEME=gpt\nPART_ENTRY_NUMBER=1\n";
        assert_eq!(judge(Some(0), place, ""), Some(Signature::None));
        let found = judge(Some(0), "DEVNAME=/dev/sdb\nNEWKEY=1\n", "").unwrap();
        assert_eq!(found.to_string(), "a signature (NEWKEY=1)");
        let table = judge(Some(0), "PTUUID=1\nPTTYPE=gpt\n", "").unwrap();
        assert_eq!(table.to_string(), "a partition table (gpt)");
        let labelled = judge(Some(0), "TYPE=ext4\nLABEL=home\n", "").unwrap();
        assert_eq!(labelled.to_string(), "a signature of ext4 labelled `home`");
    }

    proptest::proptest! {
        #[test]
        fn areas_cover_both_ends_and_never_leave_the_device(sectors in 1u64..1 << 36) {
            let size = sectors * 512;
            let areas = areas(size);
            proptest::prop_assert_eq!(areas[0].start, 0);
            proptest::prop_assert_eq!(areas.last().unwrap().end, size);
            for pair in areas.windows(2) {
                proptest::prop_assert!(pair[0].end <= pair[1].start || size < 2 * END_BYTES);
            }
            proptest::prop_assert!(areas.iter().all(|area| area.end - area.start <= END_BYTES));
        }
    }
}
