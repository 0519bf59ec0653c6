//! Between a filesystem and its disks: the I/O scheduler of each disk, and how far the kernel
//! reads ahead in files. Both belong to the block layer, so every filesystem on disks takes the
//! same options, and no driver translates them.

use serde::{Deserialize, Serialize};
use units::Bytes;

use super::Filesystem;
use super::options::Options;
use super::vocabulary::{READ_AHEAD, SCHEDULER};
use crate::{Contender, Refusal};

/// The kernel counts read-ahead in pages.
const PAGE: Bytes = Bytes::from_kib(4);
/// A larger value is a typing error.
const READ_AHEAD_MAX: Bytes = Bytes::from_gib(1);

/// The queue settings that a contender asks for; `None` leaves a setting unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// The I/O scheduler of each disk, by the kernel's name.
    pub scheduler: Option<String>,
    /// How far the kernel reads ahead in a file that is read in sequence.
    pub read_ahead: Option<Bytes>,
}

/// Where the read-ahead of a filesystem's files is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadAhead {
    /// The device it sits on, in `queue/read_ahead_kb`.
    Device,
    /// The mounted filesystem, in this file of sysfs, which comes with each mount.
    Mounted(String),
    /// The filesystem has its own rules, described here; the kernel's setting has no effect.
    Own(&'static str),
}

/// The scheduler in use, from the text of a disk's `queue/scheduler`: the word in brackets of
/// `none [mq-deadline] bfq`, or the single word `none` of a disk that supports no other.
pub fn scheduler_in_use(offered: &str) -> Option<&str> {
    offered
        .split_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
        .or_else(|| Some(offered.trim()).filter(|word| *word == "none"))
}

impl Queue {
    /// What the contender asks for.
    ///
    /// # Errors
    /// When a value is not one, or the filesystem reads ahead by rules of its own.
    pub fn of(filesystem: &dyn Filesystem, contender: &Contender) -> Result<Queue, Refusal> {
        let options = Options::of(filesystem.describe(), contender)?;
        let read_ahead = options.size(&READ_AHEAD);
        if let Some(size) = read_ahead {
            if size.0 % PAGE.0 != 0 || size > READ_AHEAD_MAX {
                let rule = format!("whole pages of {PAGE}, up to {READ_AHEAD_MAX}");
                return Err(options.refuse(&READ_AHEAD, rule));
            }
            if let ReadAhead::Own(rule) = filesystem.read_ahead("") {
                return Err(options.refuse(&READ_AHEAD, rule));
            }
        }
        Ok(Queue { scheduler: options.text(&SCHEDULER).map(str::to_owned), read_ahead })
    }

    /// Whether every setting is to be left unchanged.
    pub fn is_untouched(&self) -> bool {
        *self == Queue::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_in_use_stands_in_brackets() {
        assert_eq!(scheduler_in_use("none [mq-deadline] kyber bfq \n"), Some("mq-deadline"));
        assert_eq!(scheduler_in_use("none\n"), Some("none"));
        assert_eq!(scheduler_in_use(""), None);
        assert_eq!(scheduler_in_use("none mq-deadline\n"), None);
    }
}
