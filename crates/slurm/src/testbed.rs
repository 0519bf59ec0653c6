//! A testbed whose trials run on the nodes of a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use stack::Refusal;
use store::Environment;
use testbed::{Share, Stop, Stopped, Testbed};
use trial::{Event, Outcome, Step, TrialSpec, protocol};

use crate::commands::processors;
use crate::queue::{ATTEMPTS, Queue};
use crate::spool::FILE_MAX;
use crate::{Order, SlurmError, Spool};

/// How often the spool is checked for results.
const LOOK: Duration = Duration::from_millis(500);

/// How often Slurm is asked for its queue.
const ASK: Duration = Duration::from_secs(3);

/// Grace period for a task that has left the queue without a result, before it counts as lost: on
/// some shared filesystems a file written by another node appears late.
const GRACE: Duration = Duration::from_secs(6);

/// The most results that are waited for at the same time.
const LANES_MAX: usize = 256;

/// Prints a line for the user.
pub type Tell = Box<dyn Fn(String) + Send + Sync>;

/// Runs the trials of another testbed on the nodes of a cluster.
pub struct SlurmTestbed {
    inner: Box<dyn Testbed>,
    spool: Spool,
    order: Order,
    tell: Tell,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    queue: Queue,
    /// Trials that were handed over and have not been waited for to their end.
    waiting: BTreeMap<u32, Wait>,
    arrived: BTreeSet<u32>,
    /// Trials that differ only in their place in the order get these places in turn.
    places: Vec<(TrialSpec, u32)>,
    looked: Option<Instant>,
    asked: Option<Instant>,
    complained: Option<Instant>,
    stopped: bool,
}

/// The state of a trial's task.
#[derive(Debug, Clone, PartialEq)]
enum Wait {
    /// As far as is known, it waits or runs.
    Queued,
    /// It has been missing from the queue since then.
    Missing(Instant),
    /// Somebody cancelled it.
    Cancelled,
    /// It was lost too often.
    Lost(Outcome),
}

impl SlurmTestbed {
    /// Wraps a testbed. The spool has to hold all that `order` names.
    pub fn new(inner: Box<dyn Testbed>, spool: Spool, order: Order, tell: Tell) -> SlurmTestbed {
        let queue = Queue::new(spool.clone(), order.token.clone(), order.options.clone());
        let state = State {
            queue,
            waiting: BTreeMap::new(),
            arrived: BTreeSet::new(),
            places: Vec::new(),
            looked: None,
            asked: None,
            complained: None,
            stopped: false,
        };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        SlurmTestbed { inner, spool, order, tell, state, changed }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Submits the trials that have no result and are not in the queue already.
    fn submit(&self, pending: &[(u32, TrialSpec)]) -> Result<(), SlurmError> {
        let mut state = self.lock();
        self.spool.write_order(&self.order)?;
        for (ordinal, spec) in pending {
            self.spool.write_trial(*ordinal, spec)?;
        }
        state.queue.expect(pending.iter().map(|(ordinal, _)| *ordinal));
        state.arrived = self.spool.arrived()?;
        let alive = state.queue.alive()?;
        let missing: BTreeSet<u32> = pending
            .iter()
            .map(|(ordinal, _)| *ordinal)
            .filter(|ordinal| !state.arrived.contains(ordinal) && !alive.contains(ordinal))
            .collect();
        let jobs = state.queue.submit(&missing)?;
        let (there, running) = (
            pending.iter().filter(|(ordinal, _)| state.arrived.contains(ordinal)).count(),
            pending.len() - missing.len(),
        );
        if running > 0 {
            (self.tell)(format!(
                "slurm: {there} results are there already, {} tasks still wait or run",
                running - there
            ));
        }
        if !jobs.is_empty() {
            let jobs = jobs.join(" ");
            (self.tell)(format!(
                "slurm: job {jobs}: {} tasks, logs in {}; to end them: scancel {jobs}",
                missing.len(),
                self.spool.directory().join("logs").display()
            ));
        }
        state.waiting = pending.iter().map(|(ordinal, _)| (*ordinal, Wait::Queued)).collect();
        state.places = pending.iter().rev().map(|(at, spec)| (spec.clone(), *at)).collect();
        Ok(())
    }

    /// Looks for results, and for tasks that are gone without one.
    fn look(&self, state: &mut State) {
        let now = Instant::now();
        if state.looked.is_some_and(|last| now - last < LOOK) {
            return;
        }
        state.looked = Some(now);
        match self.spool.arrived() {
            Ok(arrived) => state.arrived = arrived,
            Err(error) if error.is_missing() => return self.lose_spool(state),
            Err(error) => return self.complain(state, &error),
        }
        if state.asked.is_some_and(|last| now - last < ASK) {
            return;
        }
        state.asked = Some(now);
        match state.queue.alive() {
            Ok(alive) => self.account(state, &alive, now),
            // Not fatal: Slurm's controller may be restarting, and tasks run on without it.
            Err(error) => self.complain(state, &error),
        }
        self.changed.notify_all();
    }

    /// The spool was removed: no result will ever arrive there.
    fn lose_spool(&self, state: &mut State) {
        let spool = self.spool.directory().display();
        (self.tell)(format!("slurm: {spool} was removed; its tasks are cancelled"));
        state.queue.cancel();
        state.stopped = true;
        state.waiting.values_mut().for_each(|wait| *wait = Wait::Cancelled);
        self.changed.notify_all();
    }

    fn complain(&self, state: &mut State, error: &SlurmError) {
        if state.complained.is_none_or(|last| last.elapsed() > Duration::from_secs(60)) {
            (self.tell)(format!("slurm: {error}; waiting"));
            state.complained = Some(Instant::now());
        }
    }

    /// Notes which tasks are gone, and submits again those that were lost.
    fn account(&self, state: &mut State, alive: &BTreeSet<u32>, now: Instant) {
        let mut lost = BTreeSet::new();
        for (ordinal, wait) in &mut state.waiting {
            if alive.contains(ordinal) || state.arrived.contains(ordinal) {
                *wait = Wait::Queued;
                continue;
            }
            match wait {
                Wait::Queued => *wait = Wait::Missing(now),
                Wait::Missing(since) if now - *since >= GRACE => {
                    lost.insert(*ordinal);
                }
                Wait::Missing(_) | Wait::Cancelled | Wait::Lost(_) => {}
            }
        }
        let again: BTreeSet<u32> =
            lost.into_iter().filter(|ordinal| self.is_to_be_repeated(state, *ordinal)).collect();
        if again.is_empty() {
            return;
        }
        match state.queue.submit(&again) {
            Ok(jobs) => {
                let jobs = jobs.join(" ");
                (self.tell)(format!(
                    "slurm: {} lost tasks submitted again, as job {jobs}",
                    again.len()
                ));
                state.waiting.extend(again.into_iter().map(|ordinal| (ordinal, Wait::Queued)));
            }
            Err(error) => self.complain(state, &error),
        }
    }

    /// Whether a lost task is submitted again; if not, records why it was lost.
    fn is_to_be_repeated(&self, state: &mut State, ordinal: u32) -> bool {
        let ended = state.queue.ended(ordinal);
        let word = ended.as_ref().map_or("forgotten", |ended| ended.state.as_str());
        if word == "CANCELLED" {
            state.waiting.insert(ordinal, Wait::Cancelled);
            return false;
        }
        if state.queue.attempts(ordinal) < ATTEMPTS {
            return true;
        }
        let node = ended.as_ref().map(|ended| ended.node.as_str()).filter(|node| !node.is_empty());
        let on = node.map(|node| format!(" on {node}")).unwrap_or_default();
        let reason = format!(
            "its task ended {ATTEMPTS} times without a result, last{on}: Slurm says {word}; see {}",
            self.spool.log(ordinal).display()
        );
        state.waiting.insert(ordinal, Wait::Lost(Outcome::Lost { reason }));
        false
    }

    /// The place in the run of a trial that is about to be waited for.
    fn place(&self, spec: &TrialSpec) -> Option<u32> {
        let mut state = self.lock();
        let at = state.places.iter().rposition(|(known, _)| known == spec)?;
        Some(state.places.remove(at).1)
    }

    /// Waits for a trial's result.
    fn wait(&self, ordinal: u32, stop: &Stop) -> Result<Option<Outcome>, Stopped> {
        let mut state = self.lock();
        loop {
            if stop.asked() {
                if !state.stopped {
                    state.stopped = true;
                    state.queue.cancel();
                }
                return Err(Stopped);
            }
            self.look(&mut state);
            if state.arrived.contains(&ordinal) {
                return Ok(None);
            }
            match state.waiting.get(&ordinal) {
                Some(Wait::Lost(outcome)) => {
                    let outcome = outcome.clone();
                    return Ok(Some(outcome));
                }
                Some(Wait::Cancelled) => return Err(Stopped),
                _ => {}
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }
}

/// Hands on the events of a result.
fn replay(path: &Path, sink: &mut dyn FnMut(Event)) {
    let read = files::read_file(path, FILE_MAX).map_err(|error| error.source.to_string());
    let told = read.and_then(|bytes| {
        let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
        let events = text.lines().map(protocol::decode_event);
        events.collect::<Result<Vec<Event>, _>>().map_err(|error| error.to_string())
    });
    match told {
        Ok(events) => events.into_iter().for_each(sink),
        Err(problem) => {
            let reason = format!("its result cannot be read: {}: {problem}", path.display());
            sink(Event::Ended(Outcome::Failed { step: Step::Prepare, reason }));
        }
    }
}

impl Testbed for SlurmTestbed {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn environment(&self) -> Environment {
        self.inner.environment()
    }

    fn lab_id(&self) -> Option<String> {
        self.inner.lab_id()
    }

    fn lanes(&self, specs: &[TrialSpec]) -> usize {
        let options = &self.order.options;
        let most = options.at_once.and_then(|tasks| usize::try_from(tasks).ok());
        let room = processors(options.partition.as_deref()).unwrap_or(LANES_MAX);
        room.min(most.unwrap_or(LANES_MAX)).min(LANES_MAX).min(specs.len()).max(1)
    }

    fn share(&self) -> Share {
        Share::Nothing
    }

    fn admit(&self, specs: &[TrialSpec]) -> Vec<(usize, Refusal)> {
        self.inner.admit(specs)
    }

    fn begin(&self, pending: &[(u32, TrialSpec)]) -> Result<(), Refusal> {
        self.submit(pending).map_err(|error| Refusal::new("--on slurm", error.to_string()))
    }

    fn run(
        &self,
        spec: &TrialSpec,
        stop: &Stop,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), Stopped> {
        let Some(ordinal) = self.place(spec) else {
            let reason = "it was not handed over to Slurm".to_owned();
            sink(Event::Ended(Outcome::Failed { step: Step::Prepare, reason }));
            return Ok(());
        };
        match self.wait(ordinal, stop)? {
            Some(outcome) => sink(Event::Ended(outcome)),
            None => replay(&self.spool.result(ordinal), sink),
        }
        Ok(())
    }
}
