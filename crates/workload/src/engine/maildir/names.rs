//! Where maildirs and mails lie below the target, and what they are called.

use crate::engine::path_buffer::PathBuffer;
use crate::{Draw, Seed};

/// The tree of maildirs: base directories, each with as many maildirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) maildirs: u32,
    pub(crate) per_base: u32,
}

impl Tree {
    pub(crate) fn bases(self) -> u32 {
        self.maildirs.div_ceil(self.per_base)
    }

    /// `maildirs/017/42`: maildir 42 of base directory 17.
    pub(crate) fn maildir(self, maildir: u32, path: &mut PathBuffer) {
        path.clear()
            .text("maildirs/")
            .number(u64::from(maildir / self.per_base), 3)
            .text("/")
            .number(u64::from(maildir % self.per_base), 2);
    }
}

/// Names of delivered mails: `1072915237.M482110P4711Q17.mail`, the form of the Maildir
/// specification. Time and microseconds come from the seed and not from a clock, so that
/// equal seeds give equal names; `Q` counts deliveries, so that names are unique.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names {
    key: u64,
    process: u64,
}

/// 2004-01-01.
pub(crate) const EPOCH: u64 = 1_072_915_200;

impl Names {
    /// `generation` distinguishes workloads of one sequence that share a seed.
    pub(crate) fn new(seed: Seed, generation: u64) -> Names {
        let mut draw: Draw = seed.stream("mail names");
        Names { key: draw.bits(), process: 1000 + draw.below(30_000) + generation }
    }

    /// Appends the name of delivery `number`.
    #[inline]
    pub(crate) fn delivered(self, number: u64, path: &mut PathBuffer) {
        path.number(EPOCH + number / 7, 10)
            .text(".M")
            .number(scatter(self.key ^ number) % 1_000_000, 6)
            .text("P")
            .number(self.process, 1)
            .text("Q")
            .number(number, 1)
            .text(".mail");
    }
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014).
pub(crate) fn scatter(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The name a reader gives a mail it has shown: seen, in `cur`.
pub(crate) const SEEN: &str = ":2,S";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_form_of_the_specification_and_differ() {
        let mut seen = std::collections::HashSet::new();
        for generation in 0..2 {
            for number in 0..1000 {
                let mut path = PathBuffer::new();
                Names::new(Seed(1), generation).delivered(number, &mut path);
                let name = path.to_string();
                assert!(name.starts_with("107291") && name.ends_with(".mail"), "{name}");
                assert!(!name.contains(['/', ':']));
                assert!(seen.insert(name));
            }
        }
    }

    #[test]
    fn numbers_are_scattered_as_splitmix64_does() {
        // Its published first outputs for the seeds 0, 1 and 1234567.
        assert_eq!(scatter(0), 16_294_208_416_658_607_535);
        assert_eq!(scatter(1), 10_451_216_379_200_822_465);
        assert_eq!(scatter(1_234_567), 6_457_827_717_110_365_317);
    }

    #[test]
    fn a_name_has_time_scattered_number_process_and_number() {
        // Seven deliveries a second: number 20 is at second 2. 1,234,579 ^ 20 = 1,234,567 (the
        // lowest five bits: 10011 ^ 10100 = 00111); what it scatters to ends in 365317, as above.
        let names = Names { key: 1_234_579, process: 4711 };
        let mut path = PathBuffer::new();
        names.delivered(20, &mut path);
        assert_eq!(path.to_string(), "1072915202.M365317P4711Q20.mail");
    }

    #[test]
    fn maildirs_are_spread_over_base_directories() {
        let tree = Tree { maildirs: 10_100, per_base: 100 };
        assert_eq!(tree.bases(), 101);
        let mut path = PathBuffer::new();
        tree.maildir(10_099, &mut path);
        assert_eq!(path.to_string(), "maildirs/100/99");
        tree.maildir(205, &mut path);
        assert_eq!(path.to_string(), "maildirs/002/05");
    }
}
