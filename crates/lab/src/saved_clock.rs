//! The clock in a saved machine. A guest boots with a coarser clock than the one trials use. While
//! it boots, a kernel spends much time in loops that wait for time to pass: it measures its timers,
//! and it compares routines for a number of ticks. Each round of these loops is emulated, so if an
//! instruction takes longer, the wait takes fewer rounds. No trial measures anything in that time.
//!
//! QEMU stores the number of executed instructions and a bias: nanoseconds to be added to the time
//! that the instructions took. When the clock is changed, the sum has to stay the same, so the bias
//! is rewritten.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::LabError;
use crate::machine::Price;

/// The bytes before the two numbers: the mark of a subsection, the length of its name, its name,
/// its version.
const BEFORE: &[u8] = b"\x05\x0ctimer/icount\0\0\0\x01";

/// Changes the state of devices in a file, saved by an emulator whose instructions took `from`, so
/// that it continues at the same moment in an emulator whose instructions take `to`.
///
/// # Errors
/// When the file has no such clock, or cannot be read or written.
pub(crate) fn change(path: &Path, from: Price, to: Price) -> Result<(), LabError> {
    let state = std::fs::read(path).map_err(LabError::at("read", path))?;
    let unknown =
        || LabError::value(path.display().to_string(), "QEMU's clock is not where it was expected");
    let (at, [bias, count]) = numbers(&state).ok_or_else(unknown)?;
    let bias = moved(bias, count, from, to).ok_or_else(unknown)?;
    let file = File::options().write(true).open(path).map_err(LabError::at("open", path))?;
    file.write_all_at(&bias.to_be_bytes(), at as u64).map_err(LabError::at("write", path))
}

/// The offset of the two numbers and their values; `None` where they are not found exactly once.
fn numbers(state: &[u8]) -> Option<(usize, [i64; 2])> {
    let mut found = state.windows(BEFORE.len()).enumerate().filter(|(_, it)| *it == BEFORE);
    let (Some((start, _)), None) = (found.next(), found.next()) else { return None };
    let at = start + BEFORE.len();
    let number = |at: usize| {
        let bytes = state.get(at..at + 8)?;
        Some(i64::from_be_bytes(bytes.try_into().ok()?))
    };
    Some((at, [number(at)?, number(at + 8)?]))
}

/// The bias for the other clock.
fn moved(bias: i64, count: i64, from: Price, to: Price) -> Option<i64> {
    bias.checked_add(taken(count, from)?)?.checked_sub(taken(count, to)?)
}

/// Nanoseconds that `count` instructions take, as the emulators compute it: [`fine_clock`] drops
/// fractions.
///
/// [`fine_clock`]: crate::emulator
fn taken(count: i64, price: Price) -> Option<i64> {
    let count = count.checked_mul(i64::from(price.times))?;
    match price.shift {
        shift @ 0.. => count.checked_mul(1 << shift),
        shift => Some(count >> -shift),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn power(shift: i8) -> Price {
        Price { times: 1, shift }
    }

    fn state(bias: i64, count: i64) -> Vec<u8> {
        let mut state = b"before timer \x05\x17timer/icount/warp_timer".to_vec();
        state.extend(BEFORE);
        state.extend(bias.to_be_bytes());
        state.extend(count.to_be_bytes());
        state.extend(b"after");
        state
    }

    #[test]
    fn the_moment_stays_the_same_and_nothing_else_changes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("devices");
        let other = Price { times: 45, shift: -7 };
        for to in [power(-3), power(-2), power(0), power(2), other] {
            std::fs::write(&path, state(1000, 4_000_001)).unwrap();
            change(&path, power(3), to).unwrap();
            let changed = std::fs::read(&path).unwrap();
            let (at, [bias, count]) = numbers(&changed).unwrap();
            assert_eq!(count, 4_000_001);
            assert_eq!(bias + taken(count, to).unwrap(), 1000 + 8 * 4_000_001, "{to:?}");
            let mut same = state(1000, 4_000_001);
            same[at..at + 8].copy_from_slice(&bias.to_be_bytes());
            assert_eq!(changed, same);
        }
    }

    #[test]
    fn a_state_without_one_such_clock_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("devices");
        let twice = [state(0, 1), state(0, 1)].concat();
        let cut = state(0, 1)[..state(0, 1).len() - 8].to_vec();
        for state in [b"nothing".to_vec(), twice, cut] {
            std::fs::write(&path, &state).unwrap();
            assert!(change(&path, power(3), power(-2)).is_err());
            assert_eq!(std::fs::read(&path).unwrap(), state);
        }
    }
}
