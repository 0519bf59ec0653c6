//! The requests that are sent to a disk, and a model's answers to them.

use std::time::Duration;

use disk::{Asked, DiskDescription, Options, Replay};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use units::{Bytes, Nanos, SECTOR_BYTES};

use crate::FitError;

/// Sectors of a small request: 4 KiB.
const SMALL: u64 = 8;
/// Sectors of a large request: 1 MiB.
const LARGE: u64 = 2048;
/// The longest time of all sessions together.
pub(crate) const LONGEST: Duration = Duration::from_secs(300);
/// How often a model answers the plan when it is judged.
const TIMES_OVER: u64 = 8;
/// The size of an SSD's model, as a multiple of the measured part: large enough that it collects no
/// garbage, as a real SSD collects none in a few minutes.
const SSD_ROOM: u64 = 4;

/// The kind of disk: a rotational one needs other requests than an SSD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A mechanical drive.
    Drive,
    /// A solid-state drive.
    Ssd,
}

/// What a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Prepares the disk; its times are not used.
    Prepare,
    /// Parameters are fitted to its times.
    Reads,
    /// Parameters of writing and flushing are fitted to its times.
    Writes,
    /// Is used to judge the fit, but not for the fit itself.
    HeldOut,
}

/// Requests of one kind, with a fixed queue depth.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// What it is, for people.
    pub name: &'static str,
    /// What it is for.
    pub role: Role,
    /// Requests outstanding.
    pub depth: usize,
    /// The requests, in order.
    pub requests: Vec<Asked>,
}

/// All requests that are sent to a disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// For what kind of disk.
    pub kind: Kind,
    /// How much of the disk is used, from its start or from that of a file.
    pub span: Bytes,
    /// The sessions, in order.
    pub sessions: Vec<Session>,
}

/// Time from submission to completion of each request of a session, in order of completion.
pub type Times = Vec<Nanos>;

impl Plan {
    /// The plan for a disk of which `span` may be read and, if `writes`, overwritten.
    pub fn new(kind: Kind, span: Bytes, writes: bool, seed: u64) -> Plan {
        let sectors = span.0 / SECTOR_BYTES;
        let mut draw = Places { sectors, random: ChaCha8Rng::seed_from_u64(seed) };
        let mut sessions = match kind {
            Kind::Drive => draw.of_a_drive(),
            Kind::Ssd => draw.of_an_ssd(),
        };
        if !writes {
            let writing = |asked: &Asked| asked.operation != disk::Operation::Read;
            sessions.retain(|session| !session.requests.iter().any(writing));
        }
        Plan { kind, span, sessions }
    }

    /// The part of `answers` that a disk gives within [`LONGEST`].
    pub(crate) fn in_time(&self, answers: Vec<Times>) -> Vec<Times> {
        let mut left = LONGEST.as_nanos() as u64;
        let cut = self.sessions.iter().zip(answers).map(|(session, mut times)| {
            let mut of_session = left.saturating_mul(session.depth as u64);
            let all = times.len();
            times.retain(|time| {
                let fits = time.0 <= of_session;
                of_session = if fits { of_session - time.0 } else { 0 };
                fits
            });
            left = if times.len() < all { 0 } else { of_session / session.depth as u64 };
            times
        });
        cut.collect()
    }

    /// The same requests; the random ones are in another order.
    fn shuffled(&self, seed: u64) -> Plan {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut plan = self.clone();
        for session in &mut plan.sessions {
            // A write and its flush stay together, and sequential requests stay sequential.
            let group = if session.requests.contains(&Asked::FLUSH) { 2 } else { 1 };
            let along = session
                .requests
                .windows(2)
                .all(|two| two[0].lba.0 + two[0].sectors == two[1].lba.0);
            if !along {
                let mut groups: Vec<_> = session.requests.chunks(group).collect();
                groups.shuffle(&mut random);
                session.requests = groups.concat();
            }
        }
        plan
    }

    /// Its sessions with these roles, and those that prepare the disk.
    pub(crate) fn only(&self, roles: &[Role]) -> Plan {
        let wanted =
            |session: &&Session| session.role == Role::Prepare || roles.contains(&session.role);
        Plan { sessions: self.sessions.iter().filter(wanted).cloned().collect(), ..*self }
    }
}

struct Places {
    sectors: u64,
    random: ChaCha8Rng,
}

impl Places {
    fn anywhere(&mut self, size: u64) -> u64 {
        self.random.random_range(0..(self.sectors / size).max(1)) * size
    }

    fn reads(&mut self, count: usize, size: u64) -> Vec<Asked> {
        (0..count).map(|_| Asked::read(self.anywhere(size), size)).collect()
    }

    fn writes(&mut self, count: usize, size: u64) -> Vec<Asked> {
        (0..count).map(|_| Asked::write(self.anywhere(size), size)).collect()
    }

    fn flushed(&mut self, count: usize, size: u64) -> Vec<Asked> {
        let writes = self.writes(count, size);
        writes.into_iter().flat_map(|write| [write, Asked::FLUSH]).collect()
    }

    fn mixed(&mut self, count: usize, size: u64) -> Vec<Asked> {
        let either = |places: &mut Places| {
            let place = places.anywhere(size);
            match places.random.random_bool(0.5) {
                true => Asked::read(place, size),
                false => Asked::write(place, size),
            }
        };
        (0..count).map(|_| either(self)).collect()
    }

    /// Sequential requests, starting at the fraction `part` of the disk.
    fn along(&self, part: f64, count: u64, size: u64, ask: fn(u64, u64) -> Asked) -> Vec<Asked> {
        let room = self.sectors / size;
        let first = (room.saturating_sub(count) as f64 * part) as u64;
        (0..count.min(room)).map(|piece| ask((first + piece) * size, size)).collect()
    }

    fn of_a_drive(&mut self) -> Vec<Session> {
        let near = Places { sectors: self.sectors.min(1 << 17), random: self.random.clone() };
        let near = { near }.reads(1500, SMALL);
        let said = session;
        vec![
            said("random reads of 4 KiB, one at a time", Role::Reads, 1, self.reads(1200, SMALL)),
            said("random reads of 4 KiB within 64 MiB", Role::Reads, 1, near),
            said("random reads of 4 KiB, 32 at a time", Role::Reads, 32, self.reads(600, SMALL)),
            said("random reads of 4 KiB, 6 at a time", Role::Reads, 6, self.reads(2000, SMALL)),
            said(
                "sequential reads outside",
                Role::Reads,
                1,
                self.along(0.0, 500, 512, Asked::read),
            ),
            said("sequential reads inside", Role::Reads, 1, self.along(1.0, 500, 512, Asked::read)),
            said("small sequential reads", Role::Reads, 1, self.along(0.3, 1500, 8, Asked::read)),
            said("random writes and flushes", Role::Writes, 1, self.flushed(800, SMALL)),
            said("random writes of 4 KiB", Role::Writes, 1, self.writes(3000, SMALL)),
            said("sequential writes", Role::Writes, 4, self.along(0.5, 400, 512, Asked::write)),
            said("random reads of 16 KiB, one", Role::HeldOut, 1, self.reads(1500, 32)),
            said(
                "sequential reads, middle",
                Role::HeldOut,
                1,
                self.along(0.5, 600, 1024, Asked::read),
            ),
            said("writes of 16 KiB, flushes", Role::HeldOut, 1, self.flushed(1000, 32)),
            // The slowest of these requests wait for others by chance. The fewer there are, the
            // more two equal disks differ. This session is the last one and gets all the time that
            // the others leave.
            said("random reads of 4 KiB, 8", Role::HeldOut, 8, self.reads(12_000, SMALL)),
        ]
    }

    fn of_an_ssd(&mut self) -> Vec<Session> {
        let all = self.sectors / LARGE;
        let said = session;
        vec![
            said("filling it", Role::Prepare, 4, self.along(0.0, all, LARGE, Asked::write)),
            said("settling", Role::Prepare, 1, vec![Asked::FLUSH]),
            said("random reads of 4 KiB, one at a time", Role::Reads, 1, self.reads(1500, SMALL)),
            said("random reads of 64 KiB, one at a time", Role::Reads, 1, self.reads(600, 128)),
            said("random reads of 4 KiB, 8 at a time", Role::Reads, 8, self.reads(2500, SMALL)),
            said("random reads of 4 KiB, 64 at a time", Role::Reads, 64, self.reads(4000, SMALL)),
            said(
                "sequential reads of 1 MiB, 4",
                Role::Reads,
                4,
                self.along(0.0, 200, LARGE, Asked::read),
            ),
            said("random writes of 4 KiB", Role::Writes, 1, self.writes(2000, SMALL)),
            said("random writes and flushes", Role::Writes, 1, self.flushed(400, SMALL)),
            said("random writes of 4 KiB, 32", Role::Writes, 32, self.writes(6000, SMALL)),
            said("writes of 128 KiB, 8", Role::Writes, 8, self.writes(1500, 256)),
            said("reads among writes, 8", Role::Writes, 8, self.mixed(3000, SMALL)),
            said("random reads of 16 KiB, one", Role::HeldOut, 1, self.reads(2000, 32)),
            said("random reads of 4 KiB, 16", Role::HeldOut, 16, self.reads(4000, SMALL)),
            said("random reads of 32 KiB, 4", Role::HeldOut, 4, self.reads(3000, 64)),
            said("writes of 16 KiB, flushes", Role::HeldOut, 1, self.flushed(1500, 32)),
            said("random writes of 8 KiB, 4", Role::HeldOut, 4, self.writes(3000, 16)),
        ]
    }
}

fn session(name: &'static str, role: Role, depth: usize, requests: Vec<Asked>) -> Session {
    Session { name, role, depth, requests }
}

/// A model's answers to a plan, session after session with a pause between.
///
/// # Errors
/// When the model stalls.
pub fn serve(model: &DiskDescription, seed: u64, plan: &Plan) -> Result<Vec<Times>, FitError> {
    let room = match plan.kind {
        Kind::Drive => plan.span,
        Kind::Ssd => Bytes(plan.span.0 * SSD_ROOM),
    };
    let options = Options { capacity: Some(room), ..Options::default() };
    let mut model = model.build(seed, &options);
    let mut replay = Replay::new(model.as_mut());
    let mut answers = Vec::with_capacity(plan.sessions.len());
    for session in &plan.sessions {
        replay.idle(Nanos::from_secs(2));
        let mut times = Times::with_capacity(session.requests.len());
        let requests = session.requests.iter().map(|asked| (Nanos::ZERO, *asked));
        replay
            .closed(session.depth, requests, |served| {
                if counts(session, &served.asked) {
                    times.push(served.latency());
                }
            })
            .map_err(|stalled| FitError::Unfit(stalled.to_string()))?;
        answers.push(times);
    }
    Ok(answers)
}

/// A model's answers to a plan that is repeated several times, session by session. A disk's time is
/// limited, but a model can give more answers, which describe it more exactly. An SSD's answers
/// depend on the order of the requests, so the order stays the same. A drive's answers in one order
/// are as good as those in another, since the slightest difference in its tracks would give each
/// sector another angle; `seed` decides which orders.
///
/// # Errors
/// When the model stalls.
pub fn answers(model: &DiskDescription, seed: u64, plan: &Plan) -> Result<Vec<Times>, FitError> {
    let mut all = serve(model, seed, plan)?;
    for nth in 1..TIMES_OVER {
        let more = match plan.kind {
            Kind::Drive => serve(model, seed, &plan.shuffled(seed.wrapping_add(nth)))?,
            Kind::Ssd => serve(model, seed.wrapping_add(nth), plan)?,
        };
        all.iter_mut().zip(more).for_each(|(all, more)| all.extend(more));
    }
    Ok(all)
}

/// Whether a request's time counts in its session. In a session with flushes, the times of writes
/// do not count, since they only fill a cache.
pub(crate) fn counts(session: &Session, asked: &Asked) -> bool {
    asked.operation == disk::Operation::Flush || !session.requests.contains(&Asked::FLUSH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sessions_have_what_time_is_left() {
        let of =
            |depth, count| session("reads", Role::Reads, depth, vec![Asked::read(0, SMALL); count]);
        let plan = Plan {
            kind: Kind::Drive,
            span: Bytes(0),
            sessions: vec![of(1, 3), of(2, 5), of(1, 1)],
        };
        let of_seconds = |seconds: &[u64]| -> Times {
            seconds.iter().map(|seconds| Nanos::from_secs(*seconds)).collect()
        };
        let answers = |last: u64| {
            vec![of_seconds(&[50, 50, 50]), of_seconds(&[60, 60, 60, 60, last]), of_seconds(&[30])]
        };
        // Two at a time take half as long: 150 s and 120 s and 10 s leave 20 s.
        let cut = plan.in_time(answers(20));
        assert_eq!(cut.iter().map(Vec::len).collect::<Vec<_>>(), [3, 5, 0]);
        // What ends the time ends the session, and there is none for those after it.
        let cut = plan.in_time(answers(80));
        assert_eq!(cut.iter().map(Vec::len).collect::<Vec<_>>(), [3, 4, 0]);
        assert_eq!(plan.in_time(vec![of_seconds(&[1]); 3]), vec![of_seconds(&[1]); 3]);
    }
}
