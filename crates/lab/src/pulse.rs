//! Detects a hung guest. Its first process counts virtual seconds. How long such a second takes on
//! the host depends on the host's load and says nothing; how many instructions it contains does.
//!
//! A virtual second has at most 10⁹ instructions of a nanosecond each for each processor
//! (proportionally more or fewer at another price), and the counting process has priority over the trial's. So a guest that
//! executes more instructions without a count does not schedule. A healthy kernel may do so for a
//! while: btrfs with SHA-256 checksums executed 2.3 × 10⁹ instructions between two counts while it
//! wrote 128 MiB. Only a guest that executes [`PATIENCE`] instructions more than that counts as
//! hung.
//!
//! A guest that executes nothing at all, while no thread of its emulator waits for a processor,
//! waits for something that never comes: idle time is skipped, so there is nothing left to wait
//! for. Only time in which it was actually observed counts, not pauses of the host or of this
//! program.

use std::time::{Duration, Instant};

use crate::error::LabError;
use crate::machine::Machine;
use crate::vm::Vm;

/// No check follows within this time after a sign of life: a query interrupts the emulator.
const GRACE_PERIOD: Duration = Duration::from_secs(2);
/// Virtual seconds that have to pass without a count before a guest counts as hung. One second
/// could fall between two counts.
const SECONDS_MAX: u64 = 2;
/// Instructions of a nanosecond each in a virtual second.
const SECOND: u64 = 1_000_000_000;
/// Instructions that a kernel may execute without scheduling, in addition to those of
/// [`SECONDS_MAX`]. Linux' own watchdog reports a soft lockup after 20 s, which is the same number
/// on a machine with one instruction a nanosecond.
pub(crate) const PATIENCE: u64 = 20_000_000_000;
/// A guest counts as dead after it was observed to execute nothing for this long in all.
const STILL_MAX: Duration = Duration::from_secs(10);
/// The most that a single check may add to that time.
const LOOK_MAX: Duration = Duration::from_secs(2);

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sign {
    /// It is alive, or it is too early to tell.
    Life,
    /// It is hung, with the reason.
    None(String),
}

/// Queries to an emulator.
pub(crate) trait Probed {
    /// Instructions executed so far.
    fn instructions(&mut self) -> Result<u64, LabError>;

    /// Whether all its threads wait for something other than a processor.
    fn sleeps(&self) -> bool;
}

impl Probed for Vm {
    fn instructions(&mut self) -> Result<u64, LabError> {
        Vm::instructions(self)
    }

    fn sleeps(&self) -> bool {
        Vm::sleeps(self)
    }
}

/// The last signs of life.
#[derive(Debug)]
pub(crate) struct Pulse {
    limit: u64,
    beat: u64,
    beaten: Instant,
    /// Instructions at the first check after the last beat.
    first: Option<u64>,
    /// Instructions at the last check.
    last: u64,
    /// Time of the last check.
    looked: Instant,
    /// How long it was observed to execute nothing.
    still: Duration,
}

impl Pulse {
    /// The pulse of a guest of this machine that has just begun. It may execute `patience`
    /// instructions without scheduling.
    pub(crate) fn new(machine: &Machine, patience: u64) -> Pulse {
        let now = Instant::now();
        let seconds = (SECONDS_MAX * SECOND * u64::from(machine.processors)) as f64;
        let seconds = (seconds / machine.price.ns()) as u64;
        Pulse {
            limit: seconds.saturating_add(patience),
            beat: 0,
            beaten: now,
            first: None,
            last: 0,
            looked: now,
            still: Duration::ZERO,
        }
    }

    /// Checks it: `beat` is the guest's own count.
    pub(crate) fn check(&mut self, beat: u64, probed: &mut impl Probed) -> Sign {
        self.check_at(Instant::now(), beat, probed)
    }

    fn check_at(&mut self, now: Instant, beat: u64, probed: &mut impl Probed) -> Sign {
        if beat != self.beat {
            (self.beat, self.beaten, self.first) = (beat, now, None);
            return Sign::Life;
        }
        if now.duration_since(self.beaten) < GRACE_PERIOD {
            return Sign::Life;
        }
        // An emulator that does not answer has ended; that is reported elsewhere.
        let Ok(count) = probed.instructions() else { return Sign::Life };
        let look = now.duration_since(self.looked).min(LOOK_MAX);
        let stands = count == self.last && probed.sleeps();
        (self.last, self.looked) = (count, now);
        let Some(first) = self.first else {
            (self.first, self.still) = (Some(count), Duration::ZERO);
            return Sign::Life;
        };
        self.still = if stands { self.still + look } else { Duration::ZERO };
        let executed = count.saturating_sub(first);
        if executed > self.limit {
            let million = executed / 1_000_000;
            let why = format!("no process was scheduled while it executed {million} million");
            Sign::None(format!("{why} instructions"))
        } else if self.still >= STILL_MAX {
            let seconds = self.still.as_secs();
            Sign::None(format!("it executed nothing for {seconds} s and waited for nothing"))
        } else {
            Sign::Life
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(ns: f64) -> Machine {
        let price = crate::machine::Price::of(ns).unwrap();
        Machine { ram: units::Bytes::from_mib(64), price, processors: 1 }
    }

    struct Guest {
        count: u64,
        sleeps: bool,
    }

    impl Probed for Guest {
        fn instructions(&mut self) -> Result<u64, LabError> {
            Ok(self.count)
        }

        fn sleeps(&self) -> bool {
            self.sleeps
        }
    }

    fn second(nth: u64, pulse: &mut Pulse, beat: u64, guest: &mut Guest) -> Sign {
        let start = pulse.beaten;
        let sign = pulse.check_at(start + Duration::from_secs(nth), beat, guest);
        if beat != 0 {
            pulse.beaten = start;
        }
        sign
    }

    #[test]
    fn a_slow_host_is_no_hang() {
        let mut pulse = Pulse::new(&machine(1.0), 0);
        let mut guest = Guest { count: 5, sleeps: false };
        for nth in 0..3600 {
            // An hour of wall time for nine tenths of a virtual second, or for nothing at
            // all while the emulator waits for a processor.
            guest.count += if nth < 1000 { 900_000 } else { 0 };
            assert_eq!(second(nth, &mut pulse, 0, &mut guest), Sign::Life, "{nth}");
        }
    }

    #[test]
    fn instructions_without_a_beat_are_a_hang_and_fewer_at_a_slower_processor() {
        for (ns, instructions) in [(1.0, 2_100_000_000), (4.0, 600_000_000), (0.25, 8_100_000_000)]
        {
            let mut pulse = Pulse::new(&machine(ns), 0);
            let mut guest = Guest { count: 0, sleeps: false };
            assert_eq!(second(3, &mut pulse, 0, &mut guest), Sign::Life);
            guest.count = instructions;
            let sign = second(4, &mut pulse, 0, &mut guest);
            assert!(matches!(&sign, Sign::None(why) if why.contains("scheduled")), "{sign:?}");
        }
    }

    #[test]
    fn a_beat_is_life_whatever_was_executed() {
        let mut pulse = Pulse::new(&machine(1.0), 0);
        let mut guest = Guest { count: 0, sleeps: false };
        for nth in 1..100 {
            guest.count += 1_900_000_000;
            assert_eq!(second(3 * nth, &mut pulse, nth, &mut guest), Sign::Life);
        }
    }

    #[test]
    fn standing_still_with_nothing_to_wait_for_is_a_hang() {
        let mut pulse = Pulse::new(&machine(1.0), 0);
        let mut guest = Guest { count: 7, sleeps: true };
        assert_eq!(second(3, &mut pulse, 0, &mut guest), Sign::Life);
        for nth in 4..13 {
            assert_eq!(second(nth, &mut pulse, 0, &mut guest), Sign::Life, "{nth}");
        }
        let sign = second(13, &mut pulse, 0, &mut guest);
        assert!(matches!(&sign, Sign::None(why) if why.contains("nothing")), "{sign:?}");
    }

    #[test]
    fn a_pause_of_the_host_is_no_hang() {
        let mut pulse = Pulse::new(&machine(1.0), 0);
        let mut guest = Guest { count: 7, sleeps: true };
        // Nobody looked for an hour, three times; the guest had no time to go on yet.
        for nth in [3, 3603, 7203, 10_803] {
            assert_eq!(second(nth, &mut pulse, 0, &mut guest), Sign::Life, "{nth}");
        }
        guest.count += 1;
        for nth in 10_804..10_813 {
            assert_eq!(second(nth, &mut pulse, 0, &mut guest), Sign::Life, "{nth}");
        }
    }

    #[test]
    fn what_a_kernel_computes_in_one_go_is_no_hang() {
        for ns in [0.125, 1.0, 4.0] {
            let mut pulse = Pulse::new(&machine(ns), PATIENCE);
            let mut guest = Guest { count: 0, sleeps: false };
            assert_eq!(second(3, &mut pulse, 0, &mut guest), Sign::Life);
            // Some times what btrfs was seen to need for checksums.
            guest.count = 18_000_000_000;
            assert_eq!(second(4, &mut pulse, 0, &mut guest), Sign::Life, "{ns}");
            guest.count = 40_000_000_000;
            assert!(matches!(second(5, &mut pulse, 0, &mut guest), Sign::None(_)), "{ns}");
        }
    }
}
