//! `fstrial lab verify`: checks that a specification always gives the same result. Runs it several
//! times, one after the other and in parallel, with and without busy loops on every core, and
//! compares the nanoseconds of every phase and every request.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use disk::RequestLog;
use testbed::Stop;
use trial::{Event, Outcome, TrialSpec};
use units::Nanos;
use workload::PhaseEvent;

use crate::error::LabError;
use crate::lab::Lab;
use crate::session::Extras;

/// The results of one repeat that have to be equal in all repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    /// Name and clock of each phase.
    pub phases: Vec<(String, Nanos)>,
    /// Digest of all results of each phase, latencies and device counts included.
    pub digest: String,
    /// Requests the disks served.
    pub requests: u64,
    /// SHA-256 of the request log.
    pub log_digest: String,
    /// The first request that differs from the first repeat's, in words; `None` if none does.
    pub other_request: Option<String>,
    /// The record of how the filesystem was made: commands and dumps, with hash seeds and UUIDs.
    pub made: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// The circumstances under which a repeat ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circumstances {
    /// Side by side with others.
    pub parallel: bool,
    /// With a busy loop on each core.
    pub busy: bool,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// Every repeat with its circumstances, in order.
    pub repeats: Vec<(Circumstances, Repeat)>,
}

impl Verification {
    /// Whether all repeats agree and ended well.
    pub fn holds(&self) -> bool {
        self.first_failure().is_none() && self.first_difference().is_none()
    }

    /// The first repeat that did not end well, and how it ended.
    pub fn first_failure(&self) -> Option<String> {
        let failed = self.repeats.iter().enumerate().find(|(_, (_, it))| !it.outcome.is_done());
        failed.map(|(nth, (_, repeat))| format!("repeat {nth}: {}", repeat.outcome))
    }

    /// The first repeat that differs from the first one, with what differs.
    pub fn first_difference(&self) -> Option<String> {
        let (_, first) = self.repeats.first()?;
        for (nth, (_, repeat)) in self.repeats.iter().enumerate() {
            if repeat.outcome != first.outcome {
                return Some(format!("repeat {nth}: {}, first {}", repeat.outcome, first.outcome));
            }
            for ((name, expected), (_, found)) in first.phases.iter().zip(&repeat.phases) {
                if expected != found {
                    return Some(format!(
                        "repeat {nth}, phase {name}: {} ns, first {} ns",
                        found.0, expected.0
                    ));
                }
            }
            if repeat.made != first.made {
                return Some(format!("repeat {nth}: the filesystem was made differently"));
            }
            if repeat.log_digest != first.log_digest {
                let request = repeat.other_request.as_deref().unwrap_or("its number is all");
                return Some(format!(
                    "repeat {nth}: another request log ({} requests, first {}): {request}",
                    repeat.requests, first.requests
                ));
            }
            if repeat != first {
                return Some(format!("repeat {nth}: other figures of a phase"));
            }
        }
        None
    }
}

/// Runs `spec` `times` times: the first half in sequence, the second half side by side on
/// as many cores as there are; every other one of each half beside busy loops.
///
/// # Errors
/// When no guest could be started, or it was asked to stop.
pub fn verify(
    lab: &Lab,
    spec: &TrialSpec,
    times: u32,
    stop: &Stop,
    progress: &(dyn Fn(Circumstances, &Repeat) + Sync),
) -> Result<Verification, LabError> {
    lab.warm_up(stop)?;
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let sequential = times.div_ceil(2);
    let mut repeats = Vec::new();
    // The first repeat's requests, to find the first one that differs in another repeat.
    let first = OnceLock::new();
    for nth in 0..sequential {
        let circumstances = Circumstances { parallel: false, busy: nth % 2 == 1 };
        let repeat = with_load(circumstances.busy, cores, || repeat(lab, spec, &first, stop))?;
        progress(circumstances, &repeat);
        repeats.push((circumstances, repeat));
    }
    let mut left = times - sequential;
    let mut busy = false;
    while left > 0 {
        let now = left.min(cores.max(2) as u32);
        let circumstances = Circumstances { parallel: true, busy };
        let done = Mutex::new(Vec::new());
        with_load(busy, cores, || {
            std::thread::scope(|scope| {
                for _ in 0..now {
                    scope.spawn(|| {
                        let result = repeat(lab, spec, &first, stop);
                        if let Ok(repeat) = &result {
                            progress(circumstances, repeat);
                        }
                        done.lock().unwrap_or_else(|broken| broken.into_inner()).push(result);
                    });
                }
            });
        });
        for result in done.into_inner().unwrap_or_else(|broken| broken.into_inner()) {
            repeats.push((circumstances, result?));
        }
        left -= now;
        busy = !busy;
    }
    Ok(Verification { repeats })
}

fn repeat(
    lab: &Lab,
    spec: &TrialSpec,
    first: &OnceLock<Vec<RequestLog>>,
    stop: &Stop,
) -> Result<Repeat, LabError> {
    let mut phases = Vec::new();
    let mut told = Vec::new();
    let mut made = String::new();
    let mut outcome = None;
    let extras = Extras { keep_requests: true, ..Extras::default() };
    let carried = lab.carry_out(spec, &extras, stop, &mut |event| match event {
        Event::Phase(PhaseEvent::Finished(phase)) => {
            phases.push((format!("{} {}", phase.workload, phase.phase), phase.wall));
            told.push(serde_json::to_vec(&phase).unwrap_or_default());
        }
        Event::Made(what) => made = format!("{what:?}"),
        Event::Ended(how) => outcome = Some(how),
        _ => {}
    })?;
    let logs = carried.logs;
    let other_request = match first.get() {
        Some(first) => first_other_request(first, &logs),
        None => {
            let _ = first.set(logs);
            None
        }
    };
    let told: Vec<&[u8]> = told.iter().map(Vec::as_slice).collect();
    Ok(Repeat {
        phases,
        digest: crate::cache::key(&told),
        requests: carried.requests,
        log_digest: carried.log_digest,
        other_request,
        made,
        outcome: outcome.unwrap_or(Outcome::GuestDied {
            reason: "it reported no outcome".to_owned(),
            kernel_log: String::new(),
        }),
    })
}

/// The first request in which two repeats differ, disk by disk: its number, and the request of each
/// repeat.
fn first_other_request(first: &[RequestLog], other: &[RequestLog]) -> Option<String> {
    for (disk, (first, other)) in first.iter().zip(other).enumerate() {
        let longest = first.records.len().max(other.records.len());
        for nth in 0..longest {
            let (expected, found) = (first.records.get(nth), other.records.get(nth));
            if expected != found {
                let words = |record: Option<&disk::Record>| {
                    record.map_or_else(|| "none".to_owned(), |record| format!("{record:?}"))
                };
                return Some(format!(
                    "request {nth} of disk {disk} is {}, first {}",
                    words(found),
                    words(expected)
                ));
            }
        }
    }
    None
}

/// Does `work`, with a busy loop on each core beside it if `busy`.
fn with_load<T>(busy: bool, cores: usize, work: impl FnOnce() -> T) -> T {
    let enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if busy {
            for _ in 0..cores {
                scope.spawn(|| {
                    while !enough.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
        }
        // The loops must end even if `work` panics, or the scope would wait forever.
        struct End<'a>(&'a AtomicBool);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _end = End(&enough);
        work()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(nanos: u64, log: &str) -> (Circumstances, Repeat) {
        let repeat = Repeat {
            phases: vec![("null spin".to_owned(), Nanos(nanos))],
            digest: nanos.to_string(),
            requests: 3,
            log_digest: log.to_owned(),
            other_request: None,
            made: String::new(),
            outcome: Outcome::Done,
        };
        (Circumstances { parallel: false, busy: false }, repeat)
    }

    #[test]
    fn a_nanosecond_is_a_difference_and_is_named() {
        let same = Verification { repeats: vec![repeat(7, "a"), repeat(7, "a")] };
        assert!(same.holds());
        let other = Verification { repeats: vec![repeat(7, "a"), repeat(8, "a")] };
        let difference = other.first_difference().unwrap();
        assert!(difference.contains("null spin: 8 ns, first 7 ns"), "{difference}");
        let log = Verification { repeats: vec![repeat(7, "a"), repeat(7, "b")] };
        assert!(log.first_difference().unwrap().contains("request log"));
    }

    #[test]
    fn the_first_other_request_is_named() {
        let record = |at| disk::Record {
            submitted: Nanos(at),
            completed: None,
            operation: disk::Operation::Write,
            lba: units::Lba(at * 8),
            sectors: 8,
            fua: false,
            phase: 1,
            payload: 0,
            disk: 0,
        };
        let log = |ats: &[u64]| RequestLog {
            records: ats.iter().copied().map(record).collect(),
            dropped: 0,
        };
        assert_eq!(first_other_request(&[log(&[1, 2])], &[log(&[1, 2])]), None);
        let other = first_other_request(&[log(&[5]), log(&[1, 2])], &[log(&[5]), log(&[1, 3])]);
        assert!(other.unwrap().starts_with("request 1 of disk 1 is "));
        let shorter = first_other_request(&[log(&[1, 2])], &[log(&[1])]).unwrap();
        assert!(shorter.starts_with("request 1 of disk 0 is none, first "), "{shorter}");
    }

    #[test]
    fn what_did_not_end_well_does_not_hold() {
        let (circumstances, mut failed) = repeat(7, "a");
        failed.outcome = Outcome::Refused { reason: "no room".to_owned() };
        let alike = vec![(circumstances, failed.clone()), (circumstances, failed)];
        let failing = Verification { repeats: alike.clone() };
        assert!(!failing.holds());
        assert!(failing.first_failure().unwrap().contains("no room"));
        assert_eq!(failing.first_difference(), None);
        let one = Verification { repeats: vec![repeat(7, "a"), alike[0].clone()] };
        assert!(one.first_difference().unwrap().contains("no room"));
    }

    #[test]
    fn busy_loops_end_with_the_work() {
        assert_eq!(with_load(true, 2, || 42), 42);
    }
}
