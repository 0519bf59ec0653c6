//! The overhead of the workload engine itself, per op: the same system calls are made once through
//! [`Context`] and [`Recorder`], including histograms, digest and byte counts, and once in a bare
//! loop that reads the clock once per op and records nothing.
//!
//! Both run in this process, by turns, in many short rounds, so that any other activity of the
//! machine affects both. The figure is the ratio of their median times per op.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use measure::{Track, now};
use rustix::fs::{AtFlags, Mode, OFlags};
use units::{DeviceNumber, Nanos};

use crate::engine::path_buffer::PathBuffer;
use crate::{
    Cache, Context, Description, Failure, Headline, Host, Inputs, Op, OpDescription, OpError,
    Parameters, PhaseDescription, PhaseEvent, Recorder, Seed,
};

/// Ops in a round.
const OPS: u64 = 2000;
const FILE_BYTES: usize = 4096;

/// The time of one kind of op on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Overhead {
    /// The kind of op: `create`, `stat`, `pread`, `unlink`.
    pub op: &'static str,
    /// Which system calls it makes.
    pub calls: &'static str,
    /// Median time of an op in the bare loop, nanoseconds.
    pub bare_ns: f64,
    /// Median time of an op through the engine, nanoseconds.
    pub engine_ns: f64,
    /// The engine's ops per second divided by those of the bare loop, the median of the rounds: 1
    /// means no overhead at all.
    pub ratio: f64,
}

/// Measures in a directory of its own below `directory` (choose a tmpfs: on a disk the
/// device hides the cost). Takes about 60 ms a round.
///
/// # Errors
/// When the directory cannot be used.
///
/// # Panics
/// When `rounds` is 0.
pub fn measure(directory: &Path, rounds: usize) -> Result<Vec<Overhead>, Failure> {
    assert!(rounds > 0, "no rounds, no figures");
    let scratch = Scratch::make(directory)?;
    let mut bare = vec![Vec::with_capacity(rounds); STEPS.len()];
    let mut engine = bare.clone();
    for round in 0..rounds {
        for (at, step) in STEPS.iter().enumerate() {
            // The side that goes first finds different caches, so they take turns at going first
            // too.
            for side in [round % 2, (round + 1) % 2] {
                if side == 0 {
                    bare[at].push(run_bare(step, scratch.bare.as_fd())?);
                } else {
                    engine[at].push(run_engine(step, scratch.engine.as_fd(), &scratch.path)?);
                }
            }
        }
    }
    Ok(STEPS
        .iter()
        .zip(bare.iter_mut().zip(&mut engine))
        .map(|(step, (bare, engine))| Overhead {
            op: step.phase.name,
            calls: step.phase.summary,
            ratio: ratio(bare, engine),
            bare_ns: median(bare),
            engine_ns: median(engine),
        })
        .collect())
}

/// What it costs an op to be in the course of its phase, in nanoseconds: the fastest of many rounds,
/// since nothing but other programs makes one slower.
pub fn course_ns() -> f64 {
    const ENDED: u64 = 100_000;
    // Ops of 4 µs, of which every 625th ends an interval, as in a phase of a second.
    const TOOK: Nanos = Nanos(4_000);
    let round = |_| {
        let mut track = Track::new(Nanos::ZERO);
        let start = now();
        for op in 0..ENDED {
            let end = std::hint::black_box(Nanos(op * TOOK.0));
            track.ended(0, end, TOOK, op, op * FILE_BYTES as u64);
        }
        let took = now() - start;
        std::hint::black_box(&mut track);
        took.0 as f64 / ENDED as f64
    };
    (0..50).map(round).fold(f64::INFINITY, f64::min)
}

/// The median of the rounds' ratios: both sides of a round ran under the same conditions.
fn ratio(bare: &[Nanos], engine: &[Nanos]) -> f64 {
    let of = |(bare, engine): (&Nanos, &Nanos)| bare.0 as f64 / engine.0.max(1) as f64;
    let mut ratios: Vec<f64> = bare.iter().zip(engine).map(of).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

fn median(times: &mut [Nanos]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].0 as f64 / OPS as f64
}

/// Ends an op, on either side.
trait Meter {
    fn done(&mut self, fact: u64, bytes: u64);
}

/// Reads the clock and forgets it.
struct Bare(Nanos);

impl Meter for Bare {
    #[inline]
    fn done(&mut self, _: u64, _: u64) {
        self.0 = std::hint::black_box(now());
    }
}

impl Meter for Recorder<'_> {
    #[inline]
    fn done(&mut self, fact: u64, bytes: u64) {
        self.digest(fact);
        self.wrote(bytes);
        Recorder::done(self, Op(0));
    }
}

/// One kind of op over all files.
struct Step {
    phase: &'static PhaseDescription,
    bare: fn(BorrowedFd<'_>, &mut Bare) -> Result<(), OpError>,
    engine: fn(BorrowedFd<'_>, &mut Recorder<'static>) -> Result<(), OpError>,
}

macro_rules! phase {
    ($name:literal, $calls:literal) => {
        &PhaseDescription {
            name: $name,
            summary: $calls,
            clock: "the ops alone",
            ops: &[OpDescription { name: $name, span: $calls }],
            disk_bound: false,
        }
    };
}
static CREATE: &PhaseDescription = phase!("create", "openat, write 4 KiB, close");
static STAT: &PhaseDescription = phase!("stat", "fstatat");
static PREAD: &PhaseDescription = phase!("pread", "pread 4 KiB of an open file");
static UNLINK: &PhaseDescription = phase!("unlink", "unlinkat");

static STEPS: [Step; 4] = [
    Step { phase: CREATE, bare: create, engine: create },
    Step { phase: STAT, bare: stat, engine: stat },
    Step { phase: PREAD, bare: pread, engine: pread },
    Step { phase: UNLINK, bare: unlink, engine: unlink },
];

static DESCRIPTION: Description = Description {
    name: "overhead",
    summary: "what the engine costs",
    origin: "",
    headline: Headline { question: "no work at all", phase: "", metric: "ops_rate", things: "ops" },
    presets: &[],
    inputs: &[],
    parameters: &[],
    phases: &[CREATE, STAT, PREAD, UNLINK],
};

fn name(number: u64, path: &mut PathBuffer) {
    path.clear().text("d/").number(number, 8);
}

fn create<M: Meter>(target: BorrowedFd<'_>, meter: &mut M) -> Result<(), OpError> {
    let content = [1u8; FILE_BYTES];
    let mut path = PathBuffer::new();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    for number in 0..OPS {
        name(number, &mut path);
        let file = rustix::fs::openat(target, path.c_str(), flags, Mode::RUSR | Mode::WUSR)
            .map_err(path.failed("create"))?;
        let wrote = rustix::io::write(&file, &content).map_err(path.failed("write"))?;
        drop(file);
        meter.done(number, wrote as u64);
    }
    Ok(())
}

fn stat<M: Meter>(target: BorrowedFd<'_>, meter: &mut M) -> Result<(), OpError> {
    let mut path = PathBuffer::new();
    for number in 0..OPS {
        name(number, &mut path);
        let stat = rustix::fs::statat(target, path.c_str(), AtFlags::empty())
            .map_err(path.failed("stat"))?;
        meter.done(number, std::hint::black_box(stat.st_size) as u64);
    }
    Ok(())
}

fn pread<M: Meter>(target: BorrowedFd<'_>, meter: &mut M) -> Result<(), OpError> {
    let mut buffer = [1u8; FILE_BYTES];
    let mut path = PathBuffer::new();
    name(0, &mut path);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(target, path.c_str(), flags, Mode::empty())
        .map_err(path.failed("open"))?;
    for number in 0..OPS {
        let read = rustix::io::pread(&file, &mut buffer[..], 0).map_err(path.failed("read"))?;
        meter.done(number, read as u64);
    }
    Ok(())
}

fn unlink<M: Meter>(target: BorrowedFd<'_>, meter: &mut M) -> Result<(), OpError> {
    let mut path = PathBuffer::new();
    for number in 0..OPS {
        name(number, &mut path);
        rustix::fs::unlinkat(target, path.c_str(), AtFlags::empty())
            .map_err(path.failed("unlink"))?;
        meter.done(number, 0);
    }
    Ok(())
}

/// Runs a step in the bare loop; returns how long it took.
fn run_bare(step: &Step, directory: BorrowedFd<'_>) -> Result<Nanos, Failure> {
    let start = now();
    let mut meter = Bare(start);
    (step.bare)(directory, &mut meter)
        .map_err(|error| Failure::Op { phase: step.phase.name, error })?;
    Ok(meter.0 - start)
}

/// Runs a step through the engine; returns the wall time of its phase.
fn run_engine(step: &Step, directory: BorrowedFd<'_>, path: &Path) -> Result<Nanos, Failure> {
    static INPUTS: Inputs = Inputs {
        mail: None,
        source_tree: None,
        programs: Vec::new(),
        system: None,
        program_tree: None,
    };
    let parameters = Parameters::resolve(&DESCRIPTION, &BTreeMap::new(), 1.0)
        .map_err(|error| Failure::Input(error.to_string()))?;
    let mut context =
        Context::new(&Quiet, &DESCRIPTION, path.to_owned(), parameters, &INPUTS, Seed(0), false);
    let mut wall = Nanos::ZERO;
    context.phase_with(
        step.phase,
        OPS,
        |recorder| (step.engine)(directory, recorder),
        |(), result| wall = result.wall,
    )?;
    Ok(wall)
}

/// A host that ignores all events: the engine is measured, not its listener.
pub(crate) struct Quiet;

impl Host for Quiet {
    fn make_cold(&self) -> Cache {
        Cache::Warm { why: "not asked for".to_owned() }
    }

    fn check_target(&self) -> Result<(), String> {
        Ok(())
    }

    fn devices(&self) -> Vec<DeviceNumber> {
        Vec::new()
    }

    fn emit(&self, event: PhaseEvent) {
        std::hint::black_box(event);
    }
}

/// A directory that goes away with this value, with one directory for each side.
struct Scratch {
    path: PathBuf,
    bare: OwnedFd,
    engine: OwnedFd,
}

impl Scratch {
    fn make(directory: &Path) -> Result<Scratch, Failure> {
        use std::os::unix::fs::DirBuilderExt;
        let path = directory.join(format!("fstrial-overhead-{}", std::process::id()));
        // Always newly made, never reused: an existing entry may be another user's, or a symbolic
        // link to elsewhere.
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(|source| Failure::Op {
            phase: "overhead",
            error: OpError::new("create", path.clone(), source),
        })?;
        let side = |name: &str| {
            let path = path.join(name);
            let failed = |op: &'static str| {
                let path = path.clone();
                move |source: std::io::Error| Failure::Op {
                    phase: "overhead",
                    error: OpError::new(op, path, source),
                }
            };
            // The files lie one directory further down, as they do in workloads.
            fs::create_dir_all(path.join("d")).map_err(failed("create"))?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::openat(rustix::fs::CWD, &path, flags, Mode::empty())
                .map_err(|error| failed("open")(error.into()))
        };
        let (bare, engine) = (side("bare")?, side("tool")?);
        Ok(Scratch { path, bare, engine })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Best effort: it holds some empty directories, or files of a failed round.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_is_measured_on_both_sides_and_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let figures = measure(dir.path(), 2).unwrap();
        let ops: Vec<_> = figures.iter().map(|figure| figure.op).collect();
        assert_eq!(ops, ["create", "stat", "pread", "unlink"]);
        assert!(figures.iter().all(|figure| figure.bare_ns > 0.0 && figure.engine_ns > 0.0));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_another_put_there_is_not_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let planted = dir.path().join(format!("fstrial-overhead-{}", std::process::id()));
        fs::create_dir(&planted).unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), planted.join("bare")).unwrap();
        assert!(measure(dir.path(), 1).unwrap_err().to_string().contains("exists"));
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        assert!(planted.join("bare").is_symlink(), "it is not ours to remove");
    }

    #[test]
    fn a_missing_directory_is_named() {
        let message = measure(Path::new("/proc/nowhere"), 1).unwrap_err().to_string();
        assert!(message.contains("create /proc/nowhere/fstrial-overhead"), "{message}");
    }
}
