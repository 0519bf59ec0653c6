//! Why a device must not be overwritten, in words.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use crate::contents::{Contents, Signature};
use crate::share::Share;

/// What speaks against overwriting a device without `--destroy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Objection {
    /// blkid knows what is on it, or on a partition of it.
    Signature { node: String, signature: Signature },
    /// A copy that a filesystem or the like keeps in this place.
    Known { what: &'static str, offset: u64 },
    /// A byte that is not zero.
    Data { offset: u64 },
    /// Nothing was found in this share of it; to read the rest would take so long.
    Unknown { known: Share, left: Option<Duration> },
    /// The user did not wait for the answer.
    Stopped,
}

impl Objection {
    /// What the samples and signatures object.
    pub(crate) fn of(contents: &Contents) -> Option<Objection> {
        match (contents.signature(), contents.data) {
            (Some((node, signature)), _) => {
                Some(Objection::Signature { node: node.clone(), signature: signature.clone() })
            }
            (None, Some(offset)) => Some(Objection::Data { offset }),
            (None, None) => None,
        }
    }

    /// What to type instead, for the device of this node.
    pub(crate) fn next(&self, node: &Path) -> String {
        let node = node.display();
        match self {
            Objection::Unknown { .. } => format!(
                "if nothing on it is needed, say so with --destroy {node}, or name another device"
            ),
            Objection::Stopped => {
                format!("let it be read, or give up what is on it: --destroy {node}")
            }
            _ => format!("name another device, or give up what is on this one: --destroy {node}"),
        }
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Objection::Signature { node, signature } => write!(f, "{node} carries {signature}"),
            Objection::Known { what, offset } => write!(
                f,
                "it holds {what} at byte {offset}, from which what was on it could be rescued"
            ),
            Objection::Data { offset } => {
                write!(f, "it holds data that is not recognised: byte {offset} is not zero")
            }
            Objection::Unknown { known, left } => {
                write!(f, "nothing was found in {known} of it, and the rest was not read")?;
                match left {
                    Some(left) => write!(f, ", which would take about {}", rounded(*left)),
                    None => Ok(()),
                }
            }
            Objection::Stopped => {
                f.write_str("fstrial was asked to stop before it was known whether it is empty")
            }
        }
    }
}

/// A duration in whole seconds, minutes or hours.
fn rounded(duration: Duration) -> String {
    match duration.as_secs() {
        0..120 => format!("{} s", duration.as_secs().max(1)),
        secs @ 120..7200 => format!("{} min", secs / 60),
        secs => format!("{} h", secs / 3600),
    }
}
