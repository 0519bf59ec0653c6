//! In which order a drive serves the commands it holds.

use serde::{Deserialize, Serialize};
use units::Nanos;

/// A queue's discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheduler {
    /// In order of arrival.
    Fifo,
    /// Upwards, then back to the lowest (C-LOOK).
    Elevator,
    /// Shortest access time first, rotation included; a command older than [`AGE_LIMIT`] goes
    /// first.
    Satf,
}

/// A command older than this is served next, whatever it costs.
const AGE_LIMIT: Nanos = Nanos::from_millis(500);

/// A command that waits for the arm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) lba: u64,
    pub(crate) arrived: Nanos,
}

impl Scheduler {
    /// Which of the waiting commands is next, at `now` with the head before `position`.
    /// `access` tells when a command's first sector would pass. `None` if none waits.
    pub(crate) fn choose<'a>(
        self,
        waiting: impl Iterator<Item = (usize, &'a Waiting)>,
        now: Nanos,
        position: u64,
        mut access: impl FnMut(usize) -> Nanos,
    ) -> Option<usize> {
        let mut waiting = waiting.peekable();
        let first = waiting.next()?;
        if waiting.peek().is_none() {
            // Only one command: the access time need not be computed.
            return Some(first.0);
        }
        let mut oldest: Option<(Nanos, usize)> = None;
        let mut best: Option<((u64, Nanos), usize)> = None;
        for (index, command) in std::iter::once(first).chain(waiting) {
            if oldest.is_none_or(|(arrived, _)| command.arrived < arrived) {
                oldest = Some((command.arrived, index));
            }
            let key = match self {
                Scheduler::Fifo => continue,
                Scheduler::Elevator => command.lba.wrapping_sub(position),
                Scheduler::Satf => access(index).0,
            };
            if best.is_none_or(|(least, _)| (key, command.arrived) < least) {
                best = Some(((key, command.arrived), index));
            }
        }
        let (arrived, oldest) = oldest?;
        if self == Scheduler::Satf && now.saturating_sub(arrived) > AGE_LIMIT {
            return Some(oldest);
        }
        Some(best.map_or(oldest, |(_, index)| index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_commands_that_arrived_at_once_the_first_is_next() {
        let waiting = [5, 3, 3].map(|at| Waiting { lba: 0, arrived: Nanos(at) });
        let all = waiting.iter().enumerate();
        assert_eq!(Scheduler::Fifo.choose(all, Nanos(9), 0, |_| Nanos::ZERO), Some(1));
    }

    #[test]
    fn a_command_goes_first_when_it_is_older_than_the_limit() {
        let waiting = [0, 400].map(|at| Waiting { lba: 0, arrived: Nanos::from_millis(at) });
        let next = |now: Nanos| {
            let access = |index: usize| now + Nanos::from_millis([9, 1][index]);
            Scheduler::Satf.choose(waiting.iter().enumerate(), now, 0, access)
        };
        assert_eq!(next(Nanos::from_millis(500)), Some(1), "as old as the limit is not older");
        assert_eq!(next(Nanos::from_millis(500) + Nanos(1)), Some(0));
    }
}
