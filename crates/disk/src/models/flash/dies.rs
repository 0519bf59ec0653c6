//! When channels and dies are free. Reservations are made immediately and in order, so when a
//! command arrives it is known how long it has to wait.

use std::collections::VecDeque;

use units::Nanos;

use super::parameters::SsdParameters;

#[derive(Debug, Default)]
struct Die {
    free: Nanos,
    /// Pages being programmed, and when each is done; ascending.
    programming: VecDeque<(u64, Nanos)>,
}

/// The flash behind the controller.
#[derive(Debug)]
pub(crate) struct Dies {
    dies: Vec<Die>,
    channels: Vec<Nanos>,
    read: Nanos,
    program: Nanos,
    erase: Nanos,
    suspend: Option<Nanos>,
    channel_ns_per_mib: u64,
}

impl Dies {
    pub(crate) fn new(ssd: &SsdParameters) -> Dies {
        let mut dies = Vec::new();
        dies.resize_with(ssd.dies() as usize, Die::default);
        Dies {
            dies,
            channels: vec![Nanos::ZERO; ssd.channels as usize],
            read: ssd.read,
            program: ssd.program,
            erase: ssd.erase,
            suspend: ssd.suspend,
            channel_ns_per_mib: (1_048_576.0 * 1e3 / ssd.channel_mb_per_s) as u64,
        }
    }

    /// Moves `bytes` over a die's channel, from `from` at the earliest; returns when they have been
    /// transferred. Only the channel's total work is tracked, so that a transfer that starts late
    /// does not delay one that could go before it.
    fn channel(&mut self, die: u32, bytes: u64, from: Nanos, ready: Nanos) -> Nanos {
        let channel = die as usize % self.channels.len();
        let time = Nanos(bytes.saturating_mul(self.channel_ns_per_mib) >> 20);
        let free = self.channels[channel].max(from) + time;
        self.channels[channel] = free;
        free.max(ready + time)
    }

    /// Reads `bytes` of a page, asked for at `now`; returns when they are in the controller.
    pub(crate) fn read(&mut self, die: u32, bytes: u64, now: Nanos) -> Nanos {
        let suspend = self.suspend;
        let read = self.read;
        let state = &mut self.dies[die as usize];
        let programming = state.programming.back().is_some_and(|(_, done)| *done > now);
        let ready = match suspend {
            // The program continues after the read, delayed by it.
            Some(wait) if programming && state.free > now + wait => {
                state.free += wait + read;
                now + wait + read
            }
            _ => {
                state.free = state.free.max(now) + read;
                state.free
            }
        };
        self.channel(die, bytes, now, ready)
    }

    /// Programs a page whose data is in the controller at `now`; returns when it is durable.
    pub(crate) fn program(&mut self, die: u32, page: u64, bytes: u64, now: Nanos) -> Nanos {
        let loaded = self.channel(die, bytes, now, now);
        let program = self.program;
        let state = &mut self.dies[die as usize];
        while state.programming.front().is_some_and(|(_, done)| *done <= now) {
            state.programming.pop_front();
        }
        state.free = state.free.max(loaded) + program;
        state.programming.push_back((page, state.free));
        state.free
    }

    /// Keeps a die busy with garbage collection: `reads` and `programs` of its own pages and
    /// `erases`, started at `now` or as soon as it is free.
    pub(crate) fn collect(&mut self, die: u32, reads: u32, programs: u32, erases: u32, now: Nanos) {
        let times = |time: Nanos, count: u32| Nanos(time.0 * u64::from(count));
        let busy =
            times(self.read, reads) + times(self.program, programs) + times(self.erase, erases);
        let state = &mut self.dies[die as usize];
        state.free = state.free.max(now) + busy;
    }

    /// When a page will be durable, if it is not yet at `now`.
    pub(crate) fn pending(&self, die: u32, page: u64, now: Nanos) -> Option<Nanos> {
        let state = &self.dies[die as usize];
        let found = state.programming.iter().rev().find(|(number, _)| *number == page);
        found.map(|(_, done)| *done).filter(|done| *done > now)
    }

    /// When everything that is being programmed will be durable.
    pub(crate) fn all_programmed(&self, now: Nanos) -> Nanos {
        let last = self.dies.iter().filter_map(|die| die.programming.back());
        last.map(|(_, done)| *done).fold(now, Nanos::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::flash::parameters::tests_support::small;

    const PAGE: u64 = 16 * 1024;
    const UNIT: u64 = 4096;

    fn micros(count: u64) -> Nanos {
        Nanos::from_micros(count)
    }

    /// A read takes 50 µs and waits 20 µs until a program, which takes 400 µs, is suspended. A KiB
    /// takes a microsecond on a channel.
    fn dies() -> Dies {
        let suspend = Some(micros(20));
        Dies::new(&SsdParameters { suspend, channel_mb_per_s: 1024.0, ..small(4096) })
    }

    #[test]
    fn a_read_suspends_a_program_but_not_what_goes_on_after_it() {
        let after_program_and_erase = |now| {
            let mut dies = dies();
            assert_eq!(dies.program(0, 1, PAGE, Nanos::ZERO), micros(416));
            dies.collect(0, 0, 0, 1, Nanos::ZERO);
            dies.read(0, UNIT, now)
        };
        let last = Nanos(415_999);
        assert_eq!(after_program_and_erase(last), last + micros(20 + 50 + 4));
        // The erase takes 3 ms.
        assert_eq!(after_program_and_erase(micros(416)), micros(3416 + 50 + 4));
    }

    #[test]
    fn a_program_that_ends_by_the_time_it_would_be_suspended_is_not() {
        let mut dies = dies();
        assert_eq!(dies.program(0, 1, PAGE, Nanos::ZERO), micros(416));
        assert_eq!(dies.read(0, UNIT, micros(396)), micros(416 + 50 + 4));
        // The die is free at 466 µs.
        assert_eq!(dies.read(0, UNIT, micros(420)), micros(466 + 50 + 4));
    }

    #[test]
    fn a_page_is_pending_until_it_is_programmed_even_if_another_follows() {
        let mut dies = dies();
        assert_eq!(dies.program(0, 1, PAGE, Nanos::ZERO), micros(416));
        assert_eq!(dies.program(0, 2, PAGE, micros(100)), micros(816));
        let pending = |page, now| dies.pending(0, page, micros(now));
        assert_eq!(pending(1, 415), Some(micros(416)));
        assert_eq!(pending(1, 416), None);
        assert_eq!(pending(2, 416), Some(micros(816)));
    }
}
