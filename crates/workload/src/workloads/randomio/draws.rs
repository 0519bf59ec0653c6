//! The draws of randomio: the C library's `drand48`, shared by all threads.

use std::sync::{Mutex, PoisonError};

/// The 48-bit linear congruential generator of POSIX, as glibc has it: without a seed it
/// begins at 0.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Drand48(u64);

const MASK: u64 = (1 << 48) - 1;

impl Drand48 {
    /// A generator in this state (48 bits).
    pub(super) fn from_state(state: u64) -> Drand48 {
        Drand48(state & MASK)
    }

    #[inline]
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & MASK;
        self.0 as f64 / (1u64 << 48) as f64
    }
}

/// One I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Drawn {
    pub(super) offset: u64,
    pub(super) write: bool,
    pub(super) fsync: bool,
}

/// What I/Os are drawn from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) size: u64,
    pub(super) io: u64,
    pub(super) write_share: f64,
    pub(super) fsync_share: f64,
    /// I/Os altogether; 0 for no limit.
    pub(super) ops: u64,
}

impl Terms {
    #[inline]
    fn draw(&self, generator: &mut Drand48) -> Drawn {
        let (place, kind) = (generator.next(), generator.next());
        let places = ((self.size - self.io) / self.io) as f64;
        Drawn {
            offset: self.io * (place * places) as u64,
            write: kind < self.write_share,
            fsync: kind < self.write_share * self.fsync_share,
        }
    }
}

struct State {
    generator: Drand48,
    issued: u64,
    digest: u64,
}

/// The sequence from which all threads take their I/Os, in the order in which they ask.
pub(super) struct Shared {
    terms: Terms,
    state: Mutex<State>,
}

impl Shared {
    pub(super) fn new(terms: Terms, generator: Drand48) -> Shared {
        Shared { terms, state: Mutex::new(State { generator, issued: 0, digest: 0 }) }
    }

    /// The next I/O; `None` when all have been handed out.
    #[inline]
    pub(super) fn next(&self) -> Option<Drawn> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.terms.ops != 0 && state.issued == self.terms.ops {
            return None;
        }
        let drawn = self.terms.draw(&mut state.generator);
        state.issued += 1;
        let fact = drawn.offset << 1 | u64::from(drawn.write);
        state.digest = (state.digest ^ fact).wrapping_mul(0x100_0000_01b3).rotate_left(23);
        Some(drawn)
    }

    /// Digest of all I/Os handed out, in order, whichever thread took them.
    pub(super) fn digest(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_c_library() {
        let mut ours = Drand48::default();
        for number in 0..1000 {
            // SAFETY: drand48 has no arguments; its hidden state is used by this test alone.
            let theirs = unsafe { libc::drand48() };
            assert_eq!(ours.next(), theirs, "draw {number}");
        }
    }

    #[test]
    fn shares_and_places_of_the_study_of_2007() {
        let terms =
            Terms { size: 4 << 30, io: 2048, write_share: 0.25, fsync_share: 0.01, ops: 100_000 };
        let shared = Shared::new(terms, Drand48::default());
        let all: Vec<Drawn> = std::iter::from_fn(|| shared.next()).collect();
        assert_eq!(all.len(), 100_000);
        assert!(all.iter().all(|io| io.offset % 2048 == 0 && io.offset + 4096 <= 4 << 30));
        let count = |what: fn(&Drawn) -> bool| all.iter().filter(|io| what(io)).count();
        assert_eq!((count(|io| io.write), count(|io| io.fsync)), (25_113, 252));
        assert!(all.iter().all(|io| io.write || !io.fsync), "only writes are followed by fsync");
        assert_eq!(all[0], Drawn { offset: 0, write: true, fsync: true });
    }
}
