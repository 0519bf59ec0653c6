//! The states that a disk may be left in.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::content::mix;
use crate::log::{Entry, Log};

/// So many writes that may be lost are tried in every combination.
const ALL_SUBSETS_OF: usize = 8;

/// What the disk's cache does when the power fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// It is lost, but for what a flush or force unit access has made durable.
    Volatile,
    /// There is none, or it survives: what was completed is durable.
    Protected,
    /// It is lost, and flushes and force unit access were acknowledged without effect.
    Lying,
}

/// What is left of a write that was not durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Nothing.
    None,
    /// Everything.
    All,
    /// So many sectors from its beginning.
    First(u64),
}

/// A state: a moment, and what is left of each write that was not durable then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// So many entries of the log had happened.
    pub at: usize,
    /// How many expectations the program had then.
    pub expected: usize,
    /// Writes by their numbers.
    pub parts: Vec<(usize, Part)>,
}

impl State {
    /// Whether a write is there in part.
    pub fn is_torn(&self) -> bool {
        self.parts.iter().any(|(_, part)| matches!(part, Part::First(_)))
    }

    /// How many writes are lost or cut.
    pub fn lost(&self) -> usize {
        self.parts.iter().filter(|(_, part)| *part != Part::All).count()
    }
}

/// States to be tried, in the order in which they should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidates {
    /// Each disk with the states that leave it so, one for each count of expectations: of those of
    /// one count, that with the fewest writes lost.
    pub states: Vec<Vec<State>>,
    /// Moments that differ.
    pub moments: usize,
    /// Upper bound of the states there are, without torn writes.
    pub possible: f64,
    /// Whether every combination of every moment is among them, without torn writes.
    pub complete: bool,
}

/// A range of sectors of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The write.
    pub write: usize,
    /// So many sectors from its beginning.
    pub sectors: u64,
}

/// A moment at which the power may fail.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Moment {
    at: usize,
    expected: usize,
    pending: Vec<usize>,
}

/// Follows a log.
struct Follower<'a> {
    log: &'a Log,
    cache: Cache,
    /// Of each write: whether it was submitted, completed, durable.
    submitted: Vec<bool>,
    completed: Vec<bool>,
    durable: Vec<bool>,
    /// What each flush will make durable.
    covers: HashMap<usize, Vec<usize>>,
    expected: usize,
}

impl<'a> Follower<'a> {
    fn new(log: &'a Log, cache: Cache) -> Follower<'a> {
        let none = vec![false; log.writes.len()];
        Follower {
            log,
            cache,
            submitted: none.clone(),
            completed: none.clone(),
            durable: none,
            covers: HashMap::new(),
            expected: 0,
        }
    }

    /// Takes an entry; returns the writes that it made durable.
    fn take(&mut self, entry: Entry) -> Vec<usize> {
        let durable = match entry {
            Entry::Submitted(nth) => {
                self.submitted[nth] = true;
                Vec::new()
            }
            Entry::Completed(nth) => {
                self.completed[nth] = true;
                match self.cache {
                    Cache::Protected => vec![nth],
                    Cache::Volatile if self.log.writes[nth].fua => vec![nth],
                    Cache::Volatile | Cache::Lying => Vec::new(),
                }
            }
            Entry::FlushSubmitted(flush) => {
                let disk = self.log.flushes[flush];
                let cached = |nth: &usize| {
                    self.completed[*nth]
                        && !self.durable[*nth]
                        && self.log.writes[*nth].disk == disk
                };
                self.covers.insert(flush, (0..self.durable.len()).filter(cached).collect());
                Vec::new()
            }
            Entry::FlushCompleted(flush) => match self.cache {
                Cache::Lying => Vec::new(),
                _ => self.covers.remove(&flush).unwrap_or_default(),
            },
            Entry::Expected => {
                self.expected += 1;
                Vec::new()
            }
        };
        durable.iter().for_each(|nth| self.durable[*nth] = true);
        durable
    }

    fn makes_durable(&self, entry: Entry) -> bool {
        match entry {
            Entry::Completed(nth) => {
                self.cache == Cache::Protected
                    || (self.cache == Cache::Volatile && self.log.writes[nth].fua)
            }
            Entry::FlushCompleted(flush) => {
                self.cache != Cache::Lying
                    && self.covers.get(&flush).is_some_and(|it| !it.is_empty())
            }
            _ => false,
        }
    }

    fn pending(&self) -> Vec<usize> {
        (0..self.durable.len()).filter(|nth| self.submitted[*nth] && !self.durable[*nth]).collect()
    }
}

/// The pieces of writes that lie on the disk in a state, to be applied in this order to what it
/// held when recording began.
pub fn pieces(log: &Log, cache: Cache, state: &State) -> Vec<Piece> {
    let mut follower = Follower::new(log, cache);
    log.entries[..state.at.min(log.entries.len())].iter().for_each(|entry| {
        follower.take(*entry);
    });
    let parts: HashMap<usize, Part> = state.parts.iter().copied().collect();
    let piece = |write: usize| {
        let whole = log.writes[write].sectors();
        let sectors = match parts.get(&write) {
            _ if follower.durable[write] => whole,
            Some(Part::All) => whole,
            Some(Part::First(sectors)) => whole.min(*sectors),
            Some(Part::None) | None => 0,
        };
        (sectors > 0).then_some(Piece { write, sectors })
    };
    (0..log.writes.len()).filter_map(piece).collect()
}

/// The states to be tried: at most `most` of them, evenly over the moments; a write may be cut
/// where a multiple of `unit` sectors of it is there. Between two moments at which something
/// becomes durable or the program expects something else, what may be lost only grows, so only the
/// last moment before is looked at.
pub fn explore(log: &Log, cache: Cache, unit: u64, most: usize, seed: u64) -> Candidates {
    let moments = moments(log, cache);
    let possible = moments.iter().map(|moment| (moment.pending.len() as f64).exp2()).sum();
    let each = (4 * most / moments.len().max(1)).max(16);
    let mut complete = true;
    let mut surface = Surface::new(log, cache);
    let mut queues: Vec<std::vec::IntoIter<(State, u64)>> = Vec::new();
    for moment in &moments {
        surface.advance(moment.at);
        let (mut choices, whole) = choices(log, &moment.pending, unit, seed ^ moment.at as u64);
        complete &= whole && choices.len() <= each;
        choices.truncate(each);
        let states = choices.into_iter().map(|parts| {
            let hash = surface.hash(&parts);
            (State { at: moment.at, expected: moment.expected, parts }, hash)
        });
        queues.push(states.collect::<Vec<_>>().into_iter());
    }
    let mut states: Vec<Vec<State>> = Vec::new();
    let mut known: HashMap<u64, Option<usize>> = HashMap::new();
    let mut left = true;
    while left {
        left = false;
        for queue in &mut queues {
            let Some((state, hash)) = queue.next() else { continue };
            left = true;
            match known.get(&hash) {
                Some(Some(nth)) => add(&mut states[*nth], state),
                Some(None) => {}
                None if states.len() >= most => {
                    complete = false;
                    known.insert(hash, None);
                }
                None => {
                    known.insert(hash, Some(states.len()));
                    states.push(vec![state]);
                }
            }
        }
    }
    Candidates { states, moments: moments.len(), possible, complete }
}

/// Another state that leaves the same disk.
fn add(same: &mut Vec<State>, state: State) {
    match same.iter_mut().find(|known| known.expected == state.expected) {
        Some(known) if known.lost() <= state.lost() => {}
        Some(known) => *known = state,
        None => same.push(state),
    }
}

fn moments(log: &Log, cache: Cache) -> Vec<Moment> {
    let mut follower = Follower::new(log, cache);
    let mut moments: Vec<Moment> = Vec::new();
    let mut look = |follower: &Follower<'_>, at: usize| {
        let moment = Moment { at, expected: follower.expected, pending: follower.pending() };
        let same = moments.last().is_some_and(|last| {
            (last.expected, &last.pending) == (moment.expected, &moment.pending)
        });
        if !same {
            moments.push(moment);
        }
    };
    for (at, entry) in log.entries.iter().enumerate() {
        if follower.makes_durable(*entry) || *entry == Entry::Expected {
            look(&follower, at);
        }
        follower.take(*entry);
        if *entry == Entry::Expected {
            look(&follower, at + 1);
        }
    }
    look(&follower, log.entries.len());
    moments
}

type Choice = Vec<(usize, Part)>;

/// What may be left of these writes, and whether that is every combination of them whole.
fn choices(log: &Log, pending: &[usize], unit: u64, seed: u64) -> (Vec<Choice>, bool) {
    let keep = |kept: &dyn Fn(usize) -> bool| -> Choice {
        let part = |(nth, write): (usize, &usize)| {
            (*write, if kept(nth) { Part::All } else { Part::None })
        };
        pending.iter().enumerate().map(part).collect()
    };
    let n = pending.len();
    let mut torn = Vec::new();
    for (nth, write) in pending.iter().enumerate() {
        let units = log.writes[*write].sectors().div_ceil(unit);
        if units > 1 {
            let cut = unit * (1 + mix(seed, nth as u64) % (units - 1));
            for others in [true, false] {
                let mut choice = keep(&|_| others);
                choice[nth].1 = Part::First(cut);
                torn.push(choice);
            }
        }
    }
    if n <= ALL_SUBSETS_OF {
        let mut masks: Vec<u32> = (0..1 << n).collect();
        masks.sort_by_key(|mask| mask.count_ones().min(n as u32 - mask.count_ones()));
        let mut all: Vec<Choice> =
            masks.into_iter().map(|mask| keep(&|nth| mask >> nth & 1 == 1)).collect();
        all.extend(torn);
        return (all, true);
    }
    let mut all = vec![keep(&|_| false), keep(&|_| true)];
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|nth| mix(seed, *nth as u64));
    let mut torn = torn.into_iter();
    for this in order {
        all.push(keep(&|nth| nth != this));
        all.push(keep(&|nth| nth <= this));
        all.push(keep(&|nth| nth == this));
        all.push(keep(&|nth| mix(mix(seed, this as u64), nth as u64) & 1 == 1));
        all.extend(torn.by_ref().take(2));
    }
    (all, false)
}

/// What lies on top of each sector, as far as it is durable.
struct Surface<'a> {
    follower: Follower<'a>,
    at: usize,
    top: HashMap<(usize, u64), (usize, u64)>,
    sum: u64,
}

impl<'a> Surface<'a> {
    fn new(log: &'a Log, cache: Cache) -> Surface<'a> {
        Surface { follower: Follower::new(log, cache), at: 0, top: HashMap::new(), sum: 0 }
    }

    fn advance(&mut self, to: usize) {
        let log = self.follower.log;
        for entry in &log.entries[self.at..to] {
            for nth in self.follower.take(*entry) {
                let write = &log.writes[nth];
                for (sector, digest) in (write.lba..).zip(&write.digests) {
                    let place = (write.disk, sector);
                    let old = self.top.get(&place).copied();
                    if old.is_none_or(|(by, _)| by < nth) {
                        let gone = old.map_or(0, |(_, digest)| one(place, digest));
                        self.sum = self.sum.wrapping_sub(gone).wrapping_add(one(place, *digest));
                        self.top.insert(place, (nth, *digest));
                    }
                }
            }
        }
        self.at = to;
    }

    /// The same for the same disk, whatever writes made it.
    fn hash(&self, parts: &Choice) -> u64 {
        let mut over: HashMap<(usize, u64), u64> = HashMap::new();
        for (nth, part) in parts {
            let write = &self.follower.log.writes[*nth];
            let sectors = match part {
                Part::None => 0,
                Part::All => write.digests.len(),
                Part::First(sectors) => *sectors as usize,
            };
            for (sector, digest) in (write.lba..).zip(write.digests.iter().take(sectors)) {
                let place = (write.disk, sector);
                if self.top.get(&place).is_none_or(|(by, _)| by < nth) {
                    over.insert(place, *digest);
                }
            }
        }
        over.into_iter().fold(self.sum, |sum, (place, digest)| {
            let under = self.top.get(&place).map_or(0, |(_, digest)| one(place, *digest));
            sum.wrapping_sub(under).wrapping_add(one(place, digest))
        })
    }
}

fn one((disk, sector): (usize, u64), digest: u64) -> u64 {
    mix(digest, mix(disk as u64, sector))
}

#[cfg(test)]
#[path = "states_tests.rs"]
mod tests;
