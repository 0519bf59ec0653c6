//! Executing a run: what has no outcome yet, in its order, over as many lanes as the
//! testbed allows.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use store::{Store, StoreError, StoredRun};
use testbed::{Lane, Lanes, Stop, Stopped, Testbed};
use trial::{Outcome, Step, TrialRecord, TrialSpec};

use crate::{RunEnd, RunEvent};

/// Runs every trial of `run` that has no outcome, and stores each as it ends. A trial that
/// fails does not stop the others. Trials beyond the limit of time or number are left for later.
///
/// # Errors
/// When the store cannot be read or written. Running trials are stopped then.
pub(crate) fn run(
    store: &mut Store,
    run: &str,
    testbed: &dyn Testbed,
    stop: &Stop,
    (machine, most): (Option<&Lanes>, Option<usize>),
    observer: &mut (dyn FnMut(RunEvent<'_>) + Send),
) -> Result<RunEnd, StoreError> {
    let total = store.trial_count(run)?;
    let mut pending = store.unfinished(run)?;
    let again = store.run_again(run)?;
    let specs: Vec<TrialSpec> = pending.iter().map(|(_, spec)| spec.clone()).collect();
    let lanes = testbed.lanes(&specs).clamp(1, pending.len().max(1));

    let next = AtomicUsize::new(0);
    let done = total - pending.len();
    pending.truncate(most.unwrap_or(usize::MAX));
    let shared = Mutex::new(Shared {
        store,
        observer,
        done,
        total,
        again,
        waited: false,
        ended: 0,
        is_hopeless: false,
        error: None,
    });
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while stop.may_begin() && !lock(&shared).is_hopeless {
                    let Some((ordinal, spec)) = pending.get(next.fetch_add(1, Ordering::SeqCst))
                    else {
                        break;
                    };
                    let began = Instant::now();
                    let Ok(_lane) = lane(machine, testbed, stop, &shared) else { break };
                    let waited = began.elapsed();
                    run_one(run, (*ordinal, spec, waited), testbed, stop, &shared);
                }
            });
        }
    });
    // A lane that panicked has already been reported by the scope; the data is intact.
    let shared = shared.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    match shared.error {
        Some(error) => Err(error),
        None if shared.done == total => Ok(RunEnd::Complete),
        None if shared.is_hopeless => Ok(RunEnd::Hopeless),
        None => Ok(RunEnd::Stopped),
    }
}

/// Why a run ended [`RunEnd::Hopeless`], with the next step.
pub(crate) fn hopeless(run: &StoredRun) -> String {
    let left = run.trials.iter().filter(|trial| trial.outcome.is_none()).count();
    let reason = run.trials.iter().find_map(|trial| match &trial.outcome {
        Some(Outcome::Failed { step: Step::Start, reason }) => Some(reason.as_str()),
        _ => None,
    });
    format!(
        "{}\nthe first trial failed before it wrote anything, so the other {left} were not run; to run \
         them all the same: fstrial run --resume {}",
        reason.unwrap_or("its first trial failed"),
        run.header.id
    )
}

/// What the lanes share.
struct Shared<'a> {
    store: &'a mut Store,
    observer: &'a mut (dyn FnMut(RunEvent<'_>) + Send),
    done: usize,
    total: usize,
    /// How often trials were ended before by something outside of them.
    again: BTreeMap<u32, u32>,
    /// Whether it was reported that there are others to wait for.
    waited: bool,
    /// Trials that ended in this execution.
    ended: usize,
    /// Whether the first trial of the run ended before its work began: the others would too.
    is_hopeless: bool,
    error: Option<StoreError>,
}

fn lock<'l, 's>(shared: &'l Mutex<Shared<'s>>) -> MutexGuard<'l, Shared<'s>> {
    shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Shared<'_> {
    /// Notes the end of a trial.
    fn ended(&mut self, run: &str, outcome: &Outcome) -> Result<(), StoreError> {
        self.done += 1;
        self.ended += 1;
        if self.ended > 1 || !matches!(outcome, Outcome::Failed { step: Step::Start, .. }) {
            return Ok(());
        }
        // The user who resumes the run wants the others all the same.
        let began = |outcome: &Option<Outcome>| {
            outcome.as_ref().is_some_and(|it| !matches!(it, Outcome::Refused { .. }))
        };
        let trials = self.store.run(run)?.trials;
        self.is_hopeless = trials.iter().filter(|trial| began(&trial.outcome)).count() == 1;
        Ok(())
    }

    fn tell(&mut self, event: RunEvent<'_>) {
        (self.observer)(event);
    }
}

/// Takes the trial's share of the machine; other fstrials of this user wait until it is released.
fn lane(
    machine: Option<&Lanes>,
    testbed: &dyn Testbed,
    stop: &Stop,
    shared: &Mutex<Shared<'_>>,
) -> Result<Option<Lane>, Stopped> {
    let mut waits = |queue| {
        let mut shared = lock(shared);
        if !std::mem::replace(&mut shared.waited, true) {
            shared.tell(RunEvent::TakesTurns { queue });
        }
    };
    machine.map(|lanes| lanes.take(testbed.share(), stop, &mut waits)).transpose()
}

fn run_one(
    run: &str,
    (ordinal, spec, waited): (u32, &TrialSpec, Duration),
    testbed: &dyn Testbed,
    stop: &Stop,
    shared: &Mutex<Shared<'_>>,
) {
    {
        let mut shared = lock(shared);
        let (done, total) = (shared.done, shared.total);
        shared.tell(RunEvent::TrialStarted { ordinal, done, total, spec, waited });
    }
    let mut record = TrialRecord::default();
    let began = Instant::now();
    let ended = testbed.run(spec, stop, &mut |event| {
        lock(shared).tell(RunEvent::Trial { ordinal, event: &event });
        record.take(event);
    });
    if ended.is_err() {
        return;
    }
    let took = *record.host.get_or_insert_with(|| began.elapsed());
    let outcome = record.outcome.get_or_insert_with(|| Outcome::GuestDied {
        reason: "the testbed reported no end".to_owned(),
        kernel_log: String::new(),
    });
    let outcome = outcome.clone();
    let mut shared = lock(shared);
    if let Some(times) = shared.again.get(&ordinal) {
        let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
        record.notes.push(format!("run again: something outside of it had ended it {times}"));
    }
    let stored = shared.store.finish_trial(run, ordinal, &record);
    match stored.and_then(|()| shared.ended(run, &outcome)) {
        Ok(()) => {
            shared.tell(RunEvent::TrialStored { ordinal, spec, outcome: &outcome, took });
        }
        Err(error) => {
            shared.error = Some(error);
            stop.ask();
        }
    }
}
