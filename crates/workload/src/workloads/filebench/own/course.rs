//! The course of a run: its end, the one generator of events, semaphores.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use measure::now;
use units::Nanos;

use crate::engine::thread_group::ThreadGroup;

/// Longest wait after which a thread looks whether another one has failed.
const SLICE: Nanos = Nanos::from_millis(250);
/// Events that nobody takes are kept for this many seconds, as by Filebench.
const KEPT: u64 = 5;

/// What ends a run, or holds a thread up.
pub(super) struct Course {
    is_over: AtomicBool,
    /// When it ends at the latest.
    limit: Option<Nanos>,
    start: AtomicU64,
    waiting: Mutex<()>,
    changed: Condvar,
    generator: Option<Generator>,
    semaphores: Vec<Semaphore>,
    /// Threads that do not wait for others; when all of them are done, it is over.
    driving: AtomicU64,
}

/// Events at a fixed rate, of which each is taken once.
struct Generator {
    rate: u64,
    taken: Mutex<u128>,
}

/// As Filebench's semblock has them: posts that wait, and posts that still fit.
#[derive(Debug, Default)]
pub(super) struct Semaphore {
    state: Mutex<(i128, i128)>,
    changed: Condvar,
}

impl Semaphore {
    /// One that takes this many posts before it holds up those that post.
    pub(super) fn new(highwater: u64) -> Semaphore {
        Semaphore { state: Mutex::new((0, highwater.into())), changed: Condvar::new() }
    }
}

impl Course {
    pub(super) fn new(
        limit: Option<Nanos>,
        rate: Option<u64>,
        semaphores: Vec<Semaphore>,
        driving: u64,
    ) -> Course {
        Course {
            is_over: AtomicBool::new(false),
            limit,
            start: AtomicU64::new(0),
            waiting: Mutex::new(()),
            changed: Condvar::new(),
            generator: rate.map(|rate| Generator { rate, taken: Mutex::new(0) }),
            semaphores,
            driving: AtomicU64::new(driving),
        }
    }

    /// Notes when the threads were released.
    pub(super) fn begin(&self, start: Nanos) {
        self.start.store(start.0, Ordering::Relaxed);
    }

    fn start(&self) -> Nanos {
        Nanos(self.start.load(Ordering::Relaxed))
    }

    /// Whether threads go on at this moment.
    pub(super) fn goes_on(&self, at: Nanos, group: &ThreadGroup) -> bool {
        !self.is_over.load(Ordering::Relaxed)
            && !group.is_stopped()
            && self.limit.is_none_or(|limit| at < self.start() + limit)
    }

    /// Ends it for all threads.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
        for semaphore in &self.semaphores {
            drop(semaphore.state.lock().unwrap_or_else(PoisonError::into_inner));
            semaphore.changed.notify_all();
        }
    }

    /// One of the threads that do not wait for others is done.
    pub(super) fn one_is_done(&self) {
        if self.driving.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.end();
        }
    }

    /// How long a thread may wait now before it looks again; `None` when it is over.
    fn slice(&self, until: Option<Nanos>, group: &ThreadGroup) -> Option<Duration> {
        let at = now();
        if !self.goes_on(at, group) {
            return None;
        }
        let ends = self.limit.map(|limit| self.start() + limit);
        let next = [until, ends].into_iter().flatten().map(|it| Nanos(it.0.saturating_sub(at.0)));
        let longest = next.fold(SLICE, Nanos::min);
        Some(longest.max(Nanos(1)).into())
    }

    /// Waits; whether the run goes on.
    pub(super) fn wait_until(&self, moment: Nanos, group: &ThreadGroup) -> bool {
        let mut guard = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while now() < moment {
            let Some(slice) = self.slice(Some(moment), group) else { return false };
            let waited = self.changed.wait_timeout(guard, slice);
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Whether anything limits rates.
    pub(super) fn is_limited(&self) -> bool {
        self.generator.is_some()
    }

    /// Takes this many events, and waits until they have happened; whether the run goes on.
    pub(super) fn take_events(&self, events: u64, group: &ThreadGroup) -> bool {
        let Some(generator) = &self.generator else { return true };
        self.wait_until(self.start() + generator.reserve(events, now() - self.start()), group)
    }

    /// Posts to semaphores; whether the run goes on.
    pub(super) fn post(
        &self,
        to: &[usize],
        value: i128,
        blocking: bool,
        group: &ThreadGroup,
    ) -> bool {
        to.iter().all(|number| {
            let semaphore = &self.semaphores[*number];
            let fits = |state: &mut (i128, i128)| match !blocking || state.1 >= value {
                true => {
                    state.0 += value;
                    state.1 -= if blocking { value } else { 0 };
                    true
                }
                false => false,
            };
            self.wait_for(semaphore, fits, group)
        })
    }

    /// Makes room for as many posts and waits for them; whether the run goes on.
    pub(super) fn block(&self, number: usize, value: i128, group: &ThreadGroup) -> bool {
        let semaphore = &self.semaphores[number];
        semaphore.state.lock().unwrap_or_else(PoisonError::into_inner).1 += value;
        semaphore.changed.notify_all();
        let came = |state: &mut (i128, i128)| match state.0 >= value {
            true => {
                state.0 -= value;
                true
            }
            false => false,
        };
        self.wait_for(semaphore, came, group)
    }

    fn wait_for(
        &self,
        semaphore: &Semaphore,
        mut done: impl FnMut(&mut (i128, i128)) -> bool,
        group: &ThreadGroup,
    ) -> bool {
        let mut state = semaphore.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !done(&mut state) {
            let Some(slice) = self.slice(None, group) else { return false };
            let waited = semaphore.changed.wait_timeout(state, slice);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        semaphore.changed.notify_all();
        true
    }
}

impl Generator {
    /// When, after the start, these events have happened.
    fn reserve(&self, events: u64, after: Nanos) -> Nanos {
        const SECOND: u128 = 1_000_000_000;
        let rate = u128::from(self.rate);
        let happened = u128::from(after.0) * rate / SECOND;
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = (*taken).max(happened.saturating_sub(u128::from(KEPT) * rate));
        *taken += u128::from(events);
        let moment = (*taken * SECOND).div_ceil(rate);
        Nanos(u64::try_from(moment).unwrap_or(u64::MAX / 2))
    }
}
