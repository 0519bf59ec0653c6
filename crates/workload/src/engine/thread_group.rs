//! Several threads in one phase: started before its clock, released together, joined within it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use measure::now;
use units::Nanos;

use crate::recorder::PROGRESS_EVERY;
use crate::{Context, Failure, OpError, PhaseDescription, PhaseResult, Recorded, Recorder};

/// What the threads of a phase share.
#[derive(Debug, Default)]
pub(crate) struct ThreadGroup {
    stopped: AtomicBool,
    start: AtomicU64,
}

impl ThreadGroup {
    /// Whether a thread has failed, so that the others end too.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Ends the work of all threads after their current op.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// When the threads were released.
    pub(crate) fn start(&self) -> Nanos {
        Nanos(self.start.load(Ordering::Relaxed))
    }
}

/// Waits for the whole time.
pub(crate) fn think(time: Duration) {
    waiting::pause(time, "the user thinks");
}

/// Where threads wait until all have arrived and the clock runs.
#[derive(Default)]
struct Gate {
    state: Mutex<(usize, Option<bool>)>,
    changed: Condvar,
}

impl Gate {
    /// Waits for the gate to open; returns whether there is work.
    fn pass(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += 1;
        self.changed.notify_all();
        loop {
            if let Some(work) = state.1 {
                return work;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn wait_for(&self, count: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.0 < count {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Opens the gate, unless it is open.
    fn open(&self, work: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.1.get_or_insert(work);
        self.changed.notify_all();
    }
}

/// How many threads have ended.
#[derive(Default)]
struct Ended {
    count: Mutex<usize>,
    changed: Condvar,
}

/// Counts a thread as ended when it is dropped, even by a panic.
struct Ending<'a>(&'a Ended);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        *self.0.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.changed.notify_all();
    }
}

impl Ended {
    /// Waits for all of `count`, and calls `meanwhile` a few times a second.
    fn wait_for(&self, count: usize, mut meanwhile: impl FnMut()) {
        let mut ended = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        while *ended < count {
            let waited = self.changed.wait_timeout(ended, PROGRESS_EVERY.into());
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            ended = guard;
            if timeout.timed_out() {
                meanwhile();
            }
        }
    }
}

/// Lets all threads end when it is dropped, however the phase ended: those that still wait have no
/// work, the others stop after their current op. The scope waits for them even during a panic.
struct LetEnd<'a>(&'a Gate, &'a ThreadGroup);

impl Drop for LetEnd<'_> {
    fn drop(&mut self) {
        self.0.open(false);
        self.1.stop();
    }
}

/// Runs a phase in which each of `workers` has a thread of its own. `last` is called within the
/// clock when all threads have ended. Recorders are merged in the order of `workers`, also when a
/// thread failed, so that what was done is counted.
///
/// # Errors
/// As [`Context::phase`]; the first failed thread's error in the order of `workers`.
pub(crate) fn phase_with_threads<H: Send, R: Send>(
    context: &mut Context<'_>,
    phase: &'static PhaseDescription,
    ops_planned: u64,
    workers: Vec<H>,
    work: impl Fn(H, &ThreadGroup, &mut Recorder<'static>) -> Result<R, OpError> + Sync,
    last: impl FnOnce(&mut Recorder<'_>) -> Result<(), OpError>,
    annotate: impl FnOnce(&[R], &mut PhaseResult),
) -> Result<Vec<R>, Failure> {
    let (gate, group, work) = (&Gate::default(), &ThreadGroup::default(), &work);
    let count = workers.len();
    let ended = &Ended::default();
    let seen: Vec<Arc<AtomicU64>> = (0..count).map(|_| Arc::default()).collect();
    thread::scope(|scope| {
        let _let_end = LetEnd(gate, group);
        let mut threads = Vec::with_capacity(count);
        for (worker, seen) in workers.into_iter().zip(&seen) {
            let body = move || {
                let _ending = Ending(ended);
                let mut recorder = Recorder::for_thread(phase);
                recorder.seen_at(seen.clone());
                if !gate.pass() {
                    return None;
                }
                recorder.start_thread(group.start());
                let done = work(worker, group, &mut recorder);
                if done.is_err() {
                    group.stop();
                }
                Some((recorder.finish(), done))
            };
            match thread::Builder::new().spawn_scoped(scope, body) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    let error = OpError::new("start", "a thread", error);
                    return Err(Failure::Op { phase: phase.name, error });
                }
            }
        }
        gate.wait_for(count);
        context.phase_with(
            phase,
            ops_planned,
            |recorder| {
                group.start.store(now().0, Ordering::Relaxed);
                gate.open(true);
                ended.wait_for(count, || {
                    recorder.tell(seen.iter().map(|seen| seen.load(Ordering::Relaxed)).sum());
                });
                let results = join(threads, recorder)?;
                recorder.restart();
                last(recorder)?;
                Ok(results)
            },
            |results, result| annotate(results, result),
        )
    })
}

/// What a thread has recorded and how its work ended; nothing if there was no work.
type Worked<R> = Option<(Recorded, Result<R, OpError>)>;

/// Waits for the threads, merges their recorders in order and returns their results.
fn join<R>(
    threads: Vec<ScopedJoinHandle<'_, Worked<R>>>,
    recorder: &mut Recorder<'_>,
) -> Result<Vec<R>, OpError> {
    let mut results = Vec::with_capacity(threads.len());
    let mut failed = None;
    for thread in threads {
        match thread.join() {
            Ok(Some((theirs, done))) => {
                recorder.merge(theirs);
                match done {
                    Ok(result) => results.push(result),
                    Err(error) => _ = failed.get_or_insert(error),
                }
            }
            Ok(None) => {}
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(results),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use rustix::io::Errno;
    use units::DeviceNumber;

    use super::*;
    use crate::overhead::Quiet;
    use crate::{Cache, Host, Inputs, Parameters, PhaseEvent, Seed};

    #[test]
    fn when_one_thread_fails_the_others_end() {
        let group = ThreadGroup::default();
        assert!(!group.is_stopped());
        group.stop();
        assert!(group.is_stopped());

        let description = crate::find("bigfile").unwrap().describe();
        let parameters = Parameters::resolve(description, &BTreeMap::new(), 1.0).unwrap();
        let (inputs, target) = (Inputs::default(), PathBuf::new());
        let mut context =
            Context::new(&Quiet, description, target, parameters, &inputs, Seed(1), false);
        let failed = phase_with_threads(
            &mut context,
            description.phases[0],
            0,
            vec![true, false],
            |waits, group, _| {
                if waits {
                    let (limit, every) = (Duration::from_secs(60), Duration::from_millis(1));
                    assert!(waiting::until(limit, every, || group.is_stopped()));
                }
                if waits { Ok(()) } else { Err(OpError::new("write", "a file", Errno::IO)) }
            },
            |_| Ok(()),
            |_, _| {},
        );
        assert!(matches!(&failed, Err(Failure::Op { error, .. }) if error.op == "write"));
    }

    /// Panics as soon as a phase begins.
    struct Panicking;

    impl Host for Panicking {
        fn make_cold(&self) -> Cache {
            Quiet.make_cold()
        }

        fn check_target(&self) -> Result<(), String> {
            Ok(())
        }

        fn devices(&self) -> Vec<DeviceNumber> {
            Vec::new()
        }

        fn emit(&self, event: PhaseEvent) {
            assert!(!matches!(event, PhaseEvent::Started { .. }), "nobody listens");
        }
    }

    #[test]
    fn a_panic_before_the_threads_are_released_ends_them() {
        let description = crate::find("bigfile").unwrap().describe();
        let parameters = Parameters::resolve(description, &BTreeMap::new(), 1.0).unwrap();
        let (inputs, target) = (Inputs::default(), PathBuf::new());
        let mut context =
            Context::new(&Panicking, description, target, parameters, &inputs, Seed(1), false);
        let worked = AtomicBool::new(false);
        let run = std::panic::AssertUnwindSafe(|| {
            phase_with_threads(
                &mut context,
                description.phases[0],
                0,
                vec![(), ()],
                |(), _, _| {
                    worked.store(true, Ordering::Relaxed);
                    Ok(())
                },
                |_| Ok(()),
                |_, _| {},
            )
        });
        assert!(std::panic::catch_unwind(run).is_err());
        assert!(!worked.into_inner(), "no thread was released");
    }

    // In the next two, what does not wait is nearly always too early in one of the rounds.

    #[test]
    fn the_gate_stays_shut_until_all_have_arrived() {
        for _ in 0..20 {
            let (gate, arrived) = (Gate::default(), AtomicU64::new(0));
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        thread::yield_now();
                        arrived.fetch_add(1, Ordering::Relaxed);
                        gate.pass()
                    });
                }
                gate.wait_for(4);
                let seen = arrived.load(Ordering::Relaxed);
                // Before anything can fail: who waits for ever is waited for by the scope.
                gate.open(true);
                assert_eq!(seen, 4);
            });
        }
    }

    #[test]
    fn all_have_ended_when_their_end_was_waited_for() {
        for _ in 0..20 {
            let (ended, done) = (Ended::default(), AtomicU64::new(0));
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let _ending = Ending(&ended);
                        thread::yield_now();
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                }
                ended.wait_for(4, || {});
                assert_eq!(done.load(Ordering::Relaxed), 4);
            });
        }
    }
}
