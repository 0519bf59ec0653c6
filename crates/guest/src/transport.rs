//! The simulation's own overhead: measured at the start, subtracted from the models' times where
//! they are long enough, and reported per phase where they are not.
//!
//! A request makes a round trip from the kernel to the server and back, which takes virtual time
//! that no drive would have taken. *Lead* is that time for a request the server has to wait for:
//! completions are sent off earlier by the lead. *Floor* is the least time a request can take. The
//! server's own work, mainly copying, is removed from the trial's clock. Two parts remain:
//! processor time in the kernel, which is subtracted from the time of a phase where the workload
//! could have had the processor instead, and requests that come late all the same. They are the
//! *overhead* of the phase.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use measure::ProgramCpu;
use units::Nanos;
use workload::{NotComparable, PhaseResult};

use crate::region::{Region, Word, Words};
use crate::server::{FIXED, Service};

/// The number of reads over which each figure is averaged.
const READS: u64 = 16;
/// Warm-up reads before those, which find caches and tables cold.
const WARM_UP: u64 = 4;
/// If the overhead is above this share of a phase's time, the phase's figures take no part in
/// verdicts.
const TAX_LIMIT: f64 = 0.05;

/// The cost of the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost {
    lead: Nanos,
    floor: Nanos,
    round_trip: Nanos,
}

impl Cost {
    /// That of a server on a processor of its own.
    pub(crate) const NONE: Cost =
        Cost { lead: Nanos::ZERO, floor: Nanos::ZERO, round_trip: Nanos::ZERO };
}

/// Lets the disks' models serve requests, with the transport at this cost.
pub(crate) fn begin(words: &Words, cost: Cost) {
    words.set(Word::Floor, cost.floor.0);
    words.set(Word::Lead, cost.lead.0);
    words.set(Word::RoundTrip, cost.round_trip.0);
    words.set(Word::Service, Service::Models as u64);
}

/// Measures it on an empty disk, then switches to the models; `server` is the thread that serves
/// the disks.
///
/// # Errors
/// When the disk cannot be read.
pub(crate) fn calibrate(words: &Words, device: &Path, server: ProgramCpu) -> io::Result<()> {
    words.set(Word::Lead, 0);
    let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(device)?;
    // O_DIRECT wants memory on a page's boundary.
    let buffer = Region::in_memory(4096)?;
    let mut buffer = buffer.map(0, 4096)?;
    let mut mean = |service: Service| -> io::Result<Nanos> {
        words.set(Word::Service, service as u64);
        let mut began = measure::now();
        for nth in 0..WARM_UP + READS {
            if nth == WARM_UP {
                began = measure::now();
            }
            file.read_exact_at(buffer.bytes_mut(), nth * 4096)?;
        }
        Ok(Nanos((measure::now() - began).0 / READS))
    };
    let floor = mean(Service::Immediate)?;
    let before = inside(server);
    mean(Service::Immediate)?;
    let round_trip = Nanos((inside(server) - before).0 / (WARM_UP + READS));
    let lead = mean(Service::Fixed)?.saturating_sub(FIXED);
    begin(words, Cost { lead, floor, round_trip });
    Ok(())
}

/// Processor time of the server that is not removed from the clock.
fn inside(server: ProgramCpu) -> Nanos {
    server.total().unwrap_or(Nanos::ZERO).saturating_sub(measure::time_outside())
}

/// Readings at a phase's start, for its overhead at the end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    excess: u64,
    requests: u64,
    round_trip: Nanos,
    server: Nanos,
    outside: Nanos,
    at: Nanos,
    idle: Option<Nanos>,
    /// The trial's processors, and whether the server has one beside them.
    processors: u16,
    own_processor: bool,
}

impl Reading {
    /// Reads now; `server` is the thread that serves the disks, on a processor of its own if there
    /// is a number.
    pub(crate) fn take(words: &Words, server: ProgramCpu, own: Option<u16>) -> Reading {
        let processors = own.unwrap_or(1);
        Reading {
            excess: words.get(Word::Excess),
            requests: words.get(Word::Requests),
            round_trip: Nanos(words.get(Word::RoundTrip)),
            server: server.total().unwrap_or(Nanos::ZERO),
            outside: measure::time_outside(),
            at: measure::now(),
            idle: idle_time(processors),
            processors,
            own_processor: own.is_some(),
        }
    }

    /// Adds the overhead from `self` to `now` to a phase.
    pub(crate) fn add_overhead(self, now: Reading, result: &mut PhaseResult) {
        let excess = Nanos(now.excess.saturating_sub(self.excess));
        let busy = now.server.saturating_sub(self.server);
        let requests = now.requests.saturating_sub(self.requests);
        // Most of it is removed from the clock. The rest is the kernel's: its round trip to the
        // server, and the work of completing a request, such as releasing each page of a write,
        // which it would do for a real disk as well.
        let outside = now.outside - self.outside;
        let round_trips = match self.own_processor {
            true => Nanos::ZERO,
            false => busy.saturating_sub(outside).min(Nanos(self.round_trip.0 * requests)),
        };
        // Where the processor was idle for at least as long, it cost the workload nothing.
        let idle = now.idle.zip(self.idle).map(|(now, then)| now.saturating_sub(then));
        // Where the kernel does not record idle time, too much might be subtracted, so nothing is.
        let displaced = idle.map_or(Nanos::ZERO, |idle| round_trips.saturating_sub(idle));
        let kept = Nanos(u64::from(idle.is_none()) * round_trips.0);
        let measured = result.wall;
        result.wall = measured.saturating_sub(displaced);
        let of = |part: Nanos, whole: Nanos| match whole.0 {
            0 => 0.0,
            whole => (part.0 as f64 / whole as f64).min(1.0),
        };
        let share = of(excess + kept, result.wall);
        result.figures.insert("disk_requests".to_owned(), requests as f64);
        result.figures.insert(trial::OVERHEAD_SHARE.to_owned(), share);
        result.figures.insert(trial::SUBTRACTED_SHARE.to_owned(), of(displaced, measured));
        result.figures.insert("transport_latency_ns".to_owned(), excess.0 as f64);
        result.figures.insert("transport_cpu_ns".to_owned(), busy.0 as f64);
        // Of the trial's processors, to the nanosecond; the kernel's own sums are in ticks.
        let of_all = Nanos((now.at - self.at).0 * u64::from(self.processors));
        let at_work = idle.map(|idle| of_all.saturating_sub(idle));
        result.machine_cpu = at_work.map(|at_work| at_work.saturating_sub(displaced));
        if share > TAX_LIMIT {
            let (limit, idle_known) = (TAX_LIMIT, idle.is_some());
            let why = NotComparable::Transport { share, limit, idle_known };
            result.not_comparable.get_or_insert(why);
        }
    }
}

/// Takes the transport's share out of a phase on nbd: the kernel moves each request's data through a
/// socket, by the workload's thread and by workers of its own, and nothing counts that time. A share
/// without it would say that nbd costs as little as ublk.
pub(crate) fn unknown_share(result: &mut PhaseResult) {
    result.figures.remove(trial::OVERHEAD_SHARE);
}

/// Idle time of the first processors together, waiting for disks included. `/proc/timer_list` gives
/// it to the nanosecond; `/proc/stat` counts in hundredths of a second, longer than a short phase
/// waits in total.
fn idle_time(processors: u16) -> Option<Nanos> {
    idle_of(&std::fs::read_to_string("/proc/timer_list").unwrap_or_default(), processors)
}

/// The two sums in the text of `/proc/timer_list`, over the first processors; `None` from a kernel
/// that records neither.
fn idle_of(timers: &str, processors: u16) -> Option<Nanos> {
    let mut of = 0;
    let sleeps = timers.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        if name == "cpu" {
            of = value.trim().parse().unwrap_or(0);
        }
        if of >= processors {
            return None;
        }
        let idle = matches!(name.trim(), ".idle_sleeptime" | ".iowait_sleeptime");
        value.split_whitespace().next()?.parse::<u64>().ok().filter(|_| idle)
    });
    sleeps.reduce(|sum, sleep| sum + sleep).map(Nanos)
}

#[cfg(test)]
impl Reading {
    /// One of this moment, at which nothing had happened yet.
    pub(crate) fn at(at: Nanos) -> Reading {
        let none = Nanos::ZERO;
        let (round_trip, server, outside, idle) = (Nanos(1000), none, none, Some(none));
        let (excess, requests, processors, own_processor) = (0, 0, 1, false);
        Reading {
            excess,
            requests,
            round_trip,
            server,
            outside,
            at,
            idle,
            processors,
            own_processor,
        }
    }

    pub(crate) fn moment(&self) -> Nanos {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::CpuTime;
    use units::Bytes;
    use workload::{Cache, PhaseStatus};

    /// A phase of a millisecond after ten requests, for which the server worked 10 microseconds.
    fn phase(change: impl Fn(&mut Reading)) -> PhaseResult {
        let mut result = PhaseResult {
            workload: "null".to_owned(),
            phase: "spin".to_owned(),
            status: PhaseStatus::Completed,
            wall: Nanos::from_millis(1),
            cpu: CpuTime { user: Nanos::ZERO, sys: Nanos::ZERO },
            machine_cpu: None,
            ops: 1,
            read_bytes: Bytes::ZERO,
            write_bytes: Bytes::ZERO,
            device: None,
            cache: Cache::Warm { why: "it is new".to_owned() },
            latencies: Default::default(),
            course: None,
            figures: Default::default(),
            digest: 0,
            not_comparable: None,
            notes: Vec::new(),
        };
        let mut now = Reading::at(Nanos::from_millis(1));
        (now.requests, now.server) = (10, Nanos(10_000));
        change(&mut now);
        let from = Reading { own_processor: now.own_processor, ..Reading::at(Nanos::ZERO) };
        from.add_overhead(now, &mut result);
        result
    }

    #[test]
    fn what_the_transport_displaced_is_taken_off_and_what_ran_while_idle_is_not() {
        let shown = |result: PhaseResult| (result.wall, result.machine_cpu.unwrap());
        let displaced = phase(|now| now.idle = Some(Nanos(4_000)));
        assert_eq!(displaced.figures[trial::SUBTRACTED_SHARE], 0.006);
        assert_eq!(shown(displaced), (Nanos(994_000), Nanos(990_000)));
        let idle = phase(|now| now.idle = Some(Nanos(400_000)));
        assert_eq!(shown(idle), (Nanos::from_millis(1), Nanos(600_000)));
        let elsewhere = phase(|now| now.own_processor = true);
        assert_eq!(shown(elsewhere), (Nanos::from_millis(1), Nanos::from_millis(1)));
        let unknown = phase(|now| now.idle = None);
        assert_eq!((unknown.wall, unknown.machine_cpu), (Nanos::from_millis(1), None));
        assert_eq!(unknown.figures[trial::OVERHEAD_SHARE], 0.01, "it is not taken off");
    }

    #[test]
    fn a_phase_of_which_much_is_transport_is_not_compared() {
        let why = |excess| {
            let late = |now: &mut Reading| (now.excess, now.idle) = (excess, Some(now.at));
            phase(late).not_comparable
        };
        assert_eq!(why(50_000), None);
        let expected =
            NotComparable::Transport { share: 0.051, limit: TAX_LIMIT, idle_known: true };
        assert_eq!(why(51_000), Some(expected));
    }

    #[test]
    fn idle_time_is_what_the_processor_slept_with_and_without_a_disk_to_wait_for() {
        let timers = "\
cpu: 0
 clock 0:
  .resolution: 1 nsecs
  .tick_stopped   : 0
  .idle_calls     : 87123
  .idle_entrytime : 5000000000 nsecs
  .idle_sleeptime : 4000000123 nsecs
  .iowait_sleeptime: 1000000 nsecs
  .last_jiffies   : 4294893700
";
        assert_eq!(idle_of(timers, 1), Some(Nanos(4_001_000_123)));
        let second = "cpu: 1\n  .idle_sleeptime : 7 nsecs\n";
        let both = format!("{timers}{second}");
        assert_eq!(idle_of(&both, 1), Some(Nanos(4_001_000_123)), "the second is the server's");
        assert_eq!(idle_of(&both, 2), Some(Nanos(4_001_000_130)));
        let none = "cpu: 0\n  .idle_calls     : 87123\n";
        assert_eq!(idle_of(none, 1), None, "missing, not 0");
    }
}
