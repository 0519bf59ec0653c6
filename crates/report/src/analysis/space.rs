//! What workloads left on each contender, and the room that is in use for it.

use serde::Serialize;
use store::StoredTrial;
use trial::{Left, Outcome, SpaceUse, WorkloadChoice};
use units::Bytes;

use super::arrange::title;
use crate::numbers::counted;

/// The room in use after one kind of trial: means over those of its trials in which it is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpaceLeft {
    /// The workload, or the sequence of them.
    pub after: String,
    /// In use when the filesystem was new, in bytes, as statfs shows it.
    pub new_bytes: Option<f64>,
    /// In use after the last workload, in bytes.
    pub used_bytes: Option<f64>,
    /// The lengths of the files left, added up, in bytes; `None` where they were not counted.
    pub file_bytes: Option<f64>,
    /// Files left.
    pub files: Option<f64>,
    /// Directories left.
    pub directories: Option<f64>,
    /// Trials these are means of.
    pub trials: usize,
    /// Why nothing is known; `None` where something is.
    pub missing: Option<String>,
}

impl SpaceLeft {
    /// `maildir-write: 21.4 MiB more in use than when new, for 16.0 MiB in 2,000 files (33.8 %
    /// more)`.
    pub fn words(&self) -> String {
        let after = &self.after;
        let (Some(new), Some(used)) = (self.new_bytes, self.used_bytes) else {
            let why = self.missing.as_deref().unwrap_or("not taken");
            return format!("{after}: missing ({why})");
        };
        let grown = used - new;
        let size = |bytes: f64| Bytes(bytes.abs().round() as u64);
        let than = if grown < 0.0 { "less" } else { "more" };
        let use_of_room = format!("{after}: {} {than} in use than when new", size(grown));
        let (Some(bytes), Some(files)) = (self.file_bytes, self.files) else {
            return format!("{use_of_room}; the files left were too many to count");
        };
        if files < 0.5 {
            return format!("{use_of_room}; no file is left");
        }
        let files = counted(files.round() as usize, "file");
        let beside = match grown - bytes {
            _ if bytes < 1.0 => String::new(),
            more => format!(
                " ({:.1} % {})",
                100.0 * more.abs() / bytes,
                if more < 0.0 { "less" } else { "more" }
            ),
        };
        format!("{use_of_room}, for {} in {files}{beside}", size(bytes))
    }
}

/// One entry for each kind of trial of a contender that was done. Empty if all were run by versions
/// of fstrial that did not record space.
pub(super) fn of_trials(trials: &[&StoredTrial]) -> Vec<SpaceLeft> {
    let mut sequences: Vec<&[WorkloadChoice]> = Vec::new();
    for trial in trials {
        if !sequences.contains(&&trial.spec.workloads[..]) {
            sequences.push(&trial.spec.workloads);
        }
    }
    let mut found: Vec<SpaceLeft> = sequences
        .iter()
        .filter_map(|sequence| {
            let of_sequence = trials.iter().filter(|trial| trial.spec.workloads == **sequence);
            let uses: Vec<&SpaceUse> = of_sequence
                .filter(|trial| matches!(trial.outcome, Some(Outcome::Done)))
                .filter_map(|trial| trial.space.as_ref())
                .collect();
            (!uses.is_empty()).then(|| of_uses(name(sequence, &sequences), &uses))
        })
        .collect();
    // Trials are shuffled.
    found.sort_by(|a, b| a.after.cmp(&b.after));
    found
}

fn name(sequence: &[WorkloadChoice], all: &[&[WorkloadChoice]]) -> String {
    match sequence {
        [_] | [] => title(sequence, all),
        several => several.iter().map(|choice| choice.name.as_str()).collect::<Vec<_>>().join(", "),
    }
}

fn of_uses(after: String, uses: &[&SpaceUse]) -> SpaceLeft {
    let known: Vec<(Bytes, Bytes, Option<Left>)> = uses
        .iter()
        .filter_map(|space| match space {
            SpaceUse::Known { new, used, left } => Some((*new, *used, *left)),
            SpaceUse::Missing { .. } => None,
        })
        .collect();
    let missing = uses.iter().find_map(|space| match space {
        SpaceUse::Missing { why } if known.is_empty() => Some(why.clone()),
        _ => None,
    });
    // A mean over some of the files would not fit the room they are compared with.
    let left: Option<Vec<Left>> = known.iter().map(|(.., left)| *left).collect();
    let mean_left = |of: &dyn Fn(&Left) -> u64| {
        left.as_ref().and_then(|left| mean(left.iter().map(|left| of(left) as f64)))
    };
    SpaceLeft {
        after,
        new_bytes: mean(known.iter().map(|(new, ..)| new.0 as f64)),
        used_bytes: mean(known.iter().map(|(_, used, _)| used.0 as f64)),
        file_bytes: mean_left(&|left| left.bytes.0),
        files: mean_left(&|left| left.files),
        directories: mean_left(&|left| left.directories),
        trials: known.len(),
        missing,
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(new: u64, used: u64, left: Option<(u64, u64)>) -> SpaceUse {
        let left = left.map(|(bytes, files)| Left { bytes: Bytes(bytes), files, directories: 1 });
        SpaceUse::Known { new: Bytes(new), used: Bytes(used), left }
    }

    fn words(uses: &[SpaceUse]) -> String {
        of_uses("maildir".to_owned(), &uses.iter().collect::<Vec<_>>()).words()
    }

    #[test]
    fn what_the_filesystem_takes_stands_beside_what_it_was_asked_to_hold() {
        let mib = 1 << 20;
        let two = [
            known(mib, 13 * mib, Some((10 * mib, 99))),
            known(mib, 13 * mib, Some((10 * mib, 101))),
        ];
        let said = words(&two);
        assert_eq!(
            said,
            "maildir: 12 MiB more in use than when new, for 10 MiB in 100 files (20.0 % more)"
        );
        let packed = words(&[known(mib, 3 * mib, Some((4 * mib, 1)))]);
        assert!(packed.ends_with("for 4 MiB in 1 file (50.0 % less)"), "{packed}");
        let shrunk = words(&[known(3 * mib, mib, Some((0, 0)))]);
        assert_eq!(shrunk, "maildir: 2 MiB less in use than when new; no file is left");
    }

    #[test]
    fn missing_is_missing_and_no_mean_is_taken_over_it() {
        let why = SpaceUse::Missing { why: "others write there".to_owned() };
        assert_eq!(words(std::slice::from_ref(&why)), "maildir: missing (others write there)");
        let uses = [why, known(0, 4096, None), known(0, 4096, Some((10, 1)))];
        let found = of_uses(String::new(), &uses.iter().collect::<Vec<_>>());
        assert_eq!((found.trials, found.used_bytes, found.file_bytes), (2, Some(4096.0), None));
        assert!(found.words().ends_with("too many to count"), "{}", found.words());
    }
}
