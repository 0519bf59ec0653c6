//! What an exploration is asked for, and what it tells.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::alike::{Image, Reads};
use crate::log::Log;
use crate::promise::{Column, Found, Lost};
use crate::states::{Cache, Piece, State};

/// What is to be tried once the disk is frozen. It arrives apart from the order, so that it changes
/// nothing of what the disk sees before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The cache of the disk.
    pub cache: Cache,
    /// Sectors that the disk writes at once.
    pub unit: u64,
    /// States at most.
    pub states: usize,
    /// For samples.
    pub seed: u64,
    /// This state alone, and no shrinking.
    pub only: Option<State>,
    /// Mounts and checks each state, also where another was alike to all who looked at it.
    pub each: bool,
}

/// What was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Writes.
    pub writes: usize,
    /// Flushes.
    pub flushes: usize,
    /// Moments that differ.
    pub moments: usize,
    /// Upper bound of the states there are.
    pub possible: f64,
    /// States that will be tried.
    pub states: usize,
    /// Whether these are all, without torn writes.
    pub complete: bool,
    /// Distinguishes recordings.
    pub digest: u64,
}

/// Whether the filesystem could be mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mounted {
    /// After so many nanoseconds.
    After(u64),
    /// With the reason.
    Refused(String),
}

/// What the filesystem's own check said afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    /// It found nothing.
    Clean,
    /// It found this.
    Damaged(String),
    /// There is no check.
    Missing,
}

/// A state that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Which: of those that leave the same disk, the first.
    pub state: State,
    /// Whether it could be mounted.
    pub mounted: Mounted,
    /// What the check said.
    pub checked: Checked,
    /// Expectations that were not met, each once.
    pub lost: Vec<Lost>,
}

/// A kind of problem, as it is counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    /// It ended the machine.
    Died,
    /// It could not be mounted.
    Refused,
    /// Its check found damage.
    Damaged,
    /// An expectation was not met.
    Lost {
        /// Who says so.
        column: Column,
        /// Why it was expected.
        because: String,
        /// How.
        how: How,
    },
}

/// How an expectation was not met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The file is not there.
    Missing,
    /// It should not be there.
    Present,
    /// It cannot be read.
    Unreadable,
    /// It is empty, or its end is missing.
    Short,
    /// Zeroes instead of contents.
    Zeroes,
    /// Another version.
    Version,
    /// Other contents.
    Other,
    /// The program's own check refuses it.
    Refused,
}

impl Problem {
    fn of(lost: &Lost) -> Problem {
        let how = match lost.found {
            Found::Missing => How::Missing,
            Found::Present => How::Present,
            Found::Unreadable(_) => How::Unreadable,
            Found::Empty | Found::Short(_) => How::Short,
            Found::Zeroes(_) => How::Zeroes,
            Found::Version => How::Version,
            Found::Other(_) => How::Other,
            Found::Refused(_) => How::Refused,
        };
        let Lost { expectation, .. } = lost;
        Problem::Lost { column: expectation.column, because: expectation.because.clone(), how }
    }
}

impl Tried {
    /// The state that shows this problem, of those that leave the same disk.
    pub fn state_of(&self, problem: &Problem) -> &State {
        let lost = self.lost.iter().find(|lost| Problem::of(lost) == *problem);
        lost.map_or(&self.state, |lost| &lost.state)
    }

    /// What is wrong, each kind once.
    pub fn problems(&self) -> Vec<Problem> {
        let refused = matches!(self.mounted, Mounted::Refused(_)).then_some(Problem::Refused);
        let damaged = self.is_damaged().then_some(Problem::Damaged);
        let lost = self.lost.iter().map(Problem::of);
        let all: BTreeSet<_> = refused.into_iter().chain(damaged).chain(lost).collect();
        all.into_iter().collect()
    }

    /// Whether it could be mounted, and its check found damage afterwards. Where it could not be
    /// mounted, a check finds the same, or a journal that was not replayed.
    pub fn is_damaged(&self) -> bool {
        let mounted = matches!(self.mounted, Mounted::After(_));
        mounted && matches!(self.checked, Checked::Damaged(_))
    }

    /// Whether it shows the same as another, however long the mount took.
    pub fn shows_the_same(&self, other: &Tried) -> bool {
        let mounted = |tried: &Tried| match &tried.mounted {
            Mounted::After(_) => None,
            Mounted::Refused(why) => Some(why.clone()),
        };
        (mounted(self), &self.checked, &self.lost) == (mounted(other), &other.checked, &other.lost)
    }

    /// Whether a file has contents that are not its own, and neither mount nor check said so.
    pub fn is_silent_damage(&self) -> bool {
        let clean = matches!(self.mounted, Mounted::After(_)) && self.checked == Checked::Clean;
        clean && self.lost.iter().any(|lost| lost.found.is_wrong_contents())
    }
}

/// What is done with a state, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It is compared with those that were tried; a state begins with that.
    Compare,
    /// It is mounted.
    Mount,
    /// The program's files are read.
    Look,
    /// It is unmounted.
    Unmount,
    /// Its own check runs.
    Check,
}

/// What an exploration tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "told", content = "what")]
pub enum Told {
    /// The disk is frozen.
    Recorded(Recorded),
    /// This state is tried next: if nothing follows, it ended the machine.
    Begins(State),
    /// What is done with it now.
    Stage(Stage),
    /// It was tried.
    Tried(Tried),
    /// It was not mounted: wherever another was read while it was tried, it has the same.
    Alike(Tried),
    /// The same is wrong with fewer writes lost.
    Shrunk {
        /// Place among the states tried, from 0.
        of: usize,
        /// With fewer.
        to: Tried,
    },
}

/// A disk that records, and can be put into a state.
pub trait Tape {
    /// Begins to record.
    fn record(&self);
    /// Records that the program expects something else from here on.
    fn expected(&self);
    /// Lets no write reach the disk any more, and returns what was recorded.
    fn freeze(&self) -> Log;
    /// What is to be tried.
    ///
    /// # Errors
    /// When the host has not said so.
    fn plan(&self) -> Result<Plan, String>;
    /// Puts the disk into a state. From here on it is followed what is read and written, and the
    /// clock begins at the same moment for each state.
    fn set(&self, pieces: Vec<Piece>);
    /// What was read, but for what had been written since it is followed, and what was written.
    /// From here on it is followed anew, and the clock begins at that moment again.
    fn followed(&self) -> (Reads, Image);
    /// Whether the disk takes its time, as its model says, or answers at once.
    fn timed(&self, timed: bool);
    /// Why the disk was not what was recorded or set, if it was not.
    fn trouble(&self) -> Option<String>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, Expectation, Version};

    #[test]
    fn a_state_counts_once_for_each_kind_of_problem() {
        let lost = |path: &str, found| Lost {
            expectation: Expectation {
                column: Column::Promised,
                path: path.to_owned(),
                allowed: vec![Version::Is(Content { seed: 1, len: 10 })],
                because: "fsync".to_owned(),
            },
            state: State { at: 0, expected: 0, parts: Vec::new() },
            found,
        };
        let tried = Tried {
            state: State { at: 0, expected: 0, parts: Vec::new() },
            mounted: Mounted::After(1),
            checked: Checked::Clean,
            lost: vec![
                lost("a", Found::Missing),
                lost("b", Found::Missing),
                lost("c", Found::Empty),
                lost("d", Found::Version),
            ],
        };
        assert_eq!(tried.problems().len(), 3);
        let mut later = tried.clone();
        later.lost[2].state.expected = 4;
        assert_eq!(later.state_of(&Problem::of(&later.lost[2])).expected, 4);
        assert_eq!(later.state_of(&Problem::Damaged).expected, 0);
        assert!(!tried.is_silent_damage(), "an old version is lost, not damaged");
        let foreign = Tried { lost: vec![lost("a", Found::Other(0))], ..tried.clone() };
        assert!(foreign.is_silent_damage());
        let checked = Checked::Damaged("it says so".to_owned());
        assert!(!Tried { checked, ..foreign }.is_silent_damage());
    }

    #[test]
    fn what_cannot_be_mounted_is_not_damaged_beside_that() {
        let damaged = Tried {
            state: State { at: 0, expected: 0, parts: Vec::new() },
            mounted: Mounted::After(1),
            checked: Checked::Damaged("a journal that was not replayed".to_owned()),
            lost: Vec::new(),
        };
        assert_eq!(damaged.problems(), [Problem::Damaged]);
        let refused = Tried { mounted: Mounted::Refused("dirty".to_owned()), ..damaged };
        assert_eq!(refused.problems(), [Problem::Refused]);
    }
}
