//! Whether a disk turns, by how long its reads take.

use std::time::Duration;

/// Three in four reads of a disk that turns take longer than this: a quarter of a revolution takes
/// at least 1 ms, and the arm moves.
const TURNS_ABOVE: Duration = Duration::from_millis(1);

/// Whether these reads, each far from the one before, are those of a disk that turns.
pub(crate) fn turns(mut times: Vec<Duration>) -> bool {
    times.sort_unstable();
    times.get(times.len() / 4).is_some_and(|quarter| *quarter > TURNS_ABOVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_others_slow_down_does_not_turn() {
        let of = |quick: usize, slow: usize| {
            let quick = std::iter::repeat_n(Duration::from_micros(90), quick);
            turns(quick.chain(std::iter::repeat_n(Duration::from_millis(7), slow)).collect())
        };
        assert!(of(0, 101) && of(20, 81), "some reads of a drive are answered by its memory");
        assert!(!of(101, 0) && !of(40, 61), "most reads waited for those of others");
        assert!(!turns(Vec::new()));
    }
}
