//! Goes through the states, and looks for the smallest that shows a problem.

use std::collections::HashSet;

use crash::{Candidates, Part, Plan, Problem, Recorded, Stage, State, Told, Tried};

use super::attempt::Attempts;
use crate::Outcome;

/// States that are tried at most to find one with fewer writes lost.
const SHRINKING: usize = 60;
/// Findings that are shrunk at most.
const SHRUNK: usize = 6;
/// Of so many states that are alike to others, one is tried all the same.
const CONFIRMED: usize = 16;

pub(super) struct Explorer<'a, 'j> {
    attempts: Attempts<'a, 'j>,
    /// States that were alike to others.
    alike: usize,
}

impl<'a, 'j> Explorer<'a, 'j> {
    pub(super) fn new(attempts: Attempts<'a, 'j>) -> Explorer<'a, 'j> {
        Explorer { attempts, alike: 0 }
    }

    pub(super) fn run(mut self) -> Result<(), Outcome> {
        let log = &self.attempts.log;
        let Plan { cache, unit, states, seed, only, .. } = self.attempts.plan.clone();
        let candidates = match &only {
            None => crash::explore(log, cache, unit, states, seed),
            Some(only) => Candidates {
                states: vec![vec![only.clone()]],
                moments: 1,
                possible: 1.0,
                complete: false,
            },
        };
        self.attempts.tell(Told::Recorded(Recorded {
            writes: log.writes.len(),
            flushes: log.flushes.len(),
            moments: candidates.moments,
            possible: candidates.possible,
            states: candidates.states.len(),
            complete: candidates.complete,
            digest: log.digest(),
        }));
        let mut known = HashSet::new();
        for (nth, same) in candidates.states.iter().enumerate() {
            let Some(first) = same.first() else { continue };
            let tried = self.tried(first, same)?;
            let new = tried.problems().into_iter().find(|problem| !known.contains(problem));
            let Some(new) = new.filter(|_| only.is_none() && known.len() < SHRUNK) else {
                continue;
            };
            known.insert(new.clone());
            if let Some(to) = self.shrink(&tried, &new)? {
                self.attempts.tell(Told::Shrunk { of: nth, to });
            }
        }
        Ok(())
    }

    /// Tries a state, unless it is alike to others. `same` are the states that leave the same disk.
    fn tried(&mut self, state: &State, same: &[State]) -> Result<Tried, Outcome> {
        self.attempts.tell(Told::Stage(Stage::Compare));
        let alike = self.attempts.alike(state, same);
        self.alike += usize::from(alike.is_some());
        if let Some(alike) = alike.as_ref().filter(|_| !self.alike.is_multiple_of(CONFIRMED)) {
            self.attempts.tell(Told::Alike(alike.clone()));
            return Ok(alike.clone());
        }
        self.attempts.tell(Told::Begins(state.clone()));
        let tried = self.attempts.attempt(state, same, alike.is_some())?;
        if let Some(alike) = alike.filter(|alike| !alike.shows_the_same(&tried)) {
            return Err(self.attempts.execution.failed(format!(
                "a state was to show the same as others that have the same bytes wherever these \
                 were read, and did not: {tried:?}, not {alike:?}; `--each` mounts every state"
            )));
        }
        self.attempts.tell(Told::Tried(tried.clone()));
        Ok(tried)
    }

    /// The same problem with fewer writes lost, if there is such a state.
    fn shrink(&mut self, from: &Tried, problem: &Problem) -> Result<Option<Tried>, Outcome> {
        let mut best = None;
        let mut state = from.state_of(problem).clone();
        let mut step = state.lost();
        let mut left = SHRINKING;
        while step > 0 && left > 0 {
            let lost = |state: &State| -> Vec<usize> {
                let parts = state.parts.iter().enumerate();
                parts.filter(|(_, (_, part))| *part != Part::All).map(|(nth, _)| nth).collect()
            };
            let mut at = 0;
            while at < state.lost() && left > 0 {
                left -= 1;
                let mut fewer = state.clone();
                for nth in lost(&state).into_iter().skip(at).take(step) {
                    fewer.parts[nth].1 = Part::All;
                }
                let same = std::slice::from_ref(&fewer);
                let tried = match self.attempts.alike(&fewer, same) {
                    Some(tried) => tried,
                    None => self.attempts.attempt(&fewer, same, false)?,
                };
                if tried.problems().contains(problem) {
                    (state, best) = (fewer, Some(tried));
                } else {
                    at += step;
                }
            }
            step /= 2;
        }
        Ok(best)
    }
}
