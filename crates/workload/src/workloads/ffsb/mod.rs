//! FFSB: weighted ops by many threads on a set of files.

mod aging;
mod files;
mod hand;
mod profile;

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::Mode;
use units::Bytes;

use self::aging::Aging;
use self::files::{DIRECTORY, Files};
use self::hand::{Hand, Job};
use self::profile::{Kind as Does, Profile};
use super::age::fill_state;
use super::contents::{COMPRESSIBLE, Contents, DUPLICATE, Filling};
use super::copying::open_target;
use super::crew::{phase_with_threads, think};
use super::direct::open_direct;
use super::{Space, Workload, walk};
use crate::path_buffer::PathBuffer;
use crate::{
    Context, Description, Failure, InputFacts, Kind, OpDescription, OpError, Parameter, Parameters,
    PhaseDescription, PhaseResult,
};

/// See the module's own words.
pub(super) struct Ffsb;

static CREATE: PhaseDescription = PhaseDescription {
    name: "create",
    summary: "makes the set of files",
    clock: "create, writes of `create_block`, close of each file in the cache; at the end a sync",
    ops: &[OpDescription { name: "create", span: "create to close of one file" }],
    disk_bound: false,
};
static AGE: PhaseDescription = PhaseDescription {
    name: "age",
    summary: "creates, appends to and deletes other files until the filesystem is as full as asked",
    clock: "all of it and a sync; no cache drop before",
    ops: &[
        OpDescription { name: "create", span: "create, writes of 64 KiB, close" },
        OpDescription { name: "append", span: "open, writes at the end, close" },
        OpDescription { name: "delete", span: "one unlink" },
    ],
    disk_bound: true,
};
static RUN: PhaseDescription = PhaseDescription {
    name: "run",
    summary: "threads do ops of weighted kinds on files drawn at random",
    clock: "from the moment all threads are let go until each has ended its last op, and a sync; \
            no cache drop before",
    ops: &[
        OpDescription { name: "read", span: "open, reads of blocks, close" },
        OpDescription { name: "readall", span: "open, reads of the whole file, close" },
        OpDescription { name: "write", span: "open, writes of blocks, fsync if asked, close" },
        OpDescription { name: "create", span: "create, writes, fsync if asked, close" },
        OpDescription { name: "append", span: "open, writes at the end, fsync if asked, close" },
        OpDescription { name: "delete", span: "one unlink" },
        OpDescription { name: "meta", span: "two mkdirs, a rmdir, a rename" },
    ],
    disk_bound: true,
};

static DESCRIPTION: Description = Description {
    name: "ffsb",
    summary: "FFSB 5.2.1: many threads read, write, create, delete by weights",
    origin: "FFSB 5.2.1 (IBM), the version of the study of 2007, whose four profiles were not \
published: `read`, `write`, `mixed` and `huge` are assumed from its figures (direct I/O, many \
threads, 4 KiB; huge moves 1 MiB in blocks of 4 KiB). A profile of one's own is a TOML file: \
docs/howto/ffsb.md shows one. `weights`, `op_size`, `block`, `places`, `threads`, `fsync` and \
`delay` change each of a profile's groups.\n\n\
With `age` the filesystem is filled before the ops: files of 4 KiB to 1 MiB are created, \
grow by as much and are deleted, 10 : 10 : 1, until it is as full as asked for; they stay until \
the end.\n\n\
FFSB counts every call for a block as an operation, so `huge` counts 256 for what moves 1 MiB: \
the figure `transactions_per_sec`. Ops of this table are whole ones (`ops_per_sec`), and both \
stand beside MiB/s. As in the original the time includes the last ops and a final sync, and a \
file that is written, appended or deleted is not touched by others meanwhile.\n\n\
Departures: draws come from the trial's seed, one stream for each thread; files have the \
names of places in a table of twice as many, and an op that finds no file, or no empty place, \
is left out; several filesystems are not offered; ageing is done by one thread; sync is syncfs.",
    inputs: &[],
    parameters: &[
        Parameter {
            name: "profile",
            help: "What the threads do.",
            kind: Kind::Document(&[
                ("read", "reads of 4 KiB at random places"),
                ("write", "writes of 4 KiB at random places"),
                ("mixed", "four reads for each write, 4 KiB at random places"),
                ("huge", "reads and writes of 1 MiB in blocks of 4 KiB"),
            ]),
            default: "mixed",
            scales: false,
        },
        Parameter {
            name: "weights",
            help: "Weights of ops instead of the profile's, such as `read=4 write=1`; kinds are \
                   read, readall, write, create, append, delete, meta.",
            kind: Kind::Text,
            default: "",
            scales: false,
        },
        Parameter {
            name: "op_size",
            help: "Bytes of a read, write or append; 0 for the profile's.",
            kind: Kind::Size,
            default: "0",
            scales: false,
        },
        Parameter {
            name: "block",
            help: "Bytes of one call; 0 for the profile's.",
            kind: Kind::Size,
            default: "0",
            scales: false,
        },
        Parameter {
            name: "places",
            help: "Where the blocks of an op lie.",
            kind: Kind::Choice(&[
                ("profile", "as the profile says"),
                ("random", "each at a place of its own"),
                ("sequential", "one after the other from a random start"),
            ]),
            default: "profile",
            scales: false,
        },
        Parameter {
            name: "files",
            help: "Files at the beginning.",
            kind: Kind::Count { min: 1, max: 10_000_000 },
            default: "100",
            scales: true,
        },
        Parameter {
            name: "directories",
            help: "Directories they are spread over.",
            kind: Kind::Count { min: 1, max: 9999 },
            default: "10",
            scales: false,
        },
        Parameter {
            name: "min_size",
            help: "Smallest size of a new file.",
            kind: Kind::Size,
            default: "40M",
            scales: false,
        },
        Parameter {
            name: "max_size",
            help: "Largest size of a new file.",
            kind: Kind::Size,
            default: "40M",
            scales: false,
        },
        Parameter {
            name: "create_block",
            help: "Bytes of a write when the set of files is made.",
            kind: Kind::Size,
            default: "4096",
            scales: false,
        },
        Parameter {
            name: "threads",
            help: "Threads of each group; 0 for the profile's, which is 32 in those shipped.",
            kind: Kind::Count { min: 0, max: 1024 },
            default: "0",
            scales: false,
        },
        Parameter {
            name: "time",
            help: "How long threads begin new ops.",
            kind: Kind::Time,
            default: "300s",
            scales: true,
        },
        Parameter {
            name: "ops",
            help: "End after so many ops of each thread instead; 0 for the time.",
            kind: Kind::Count { min: 0, max: u64::MAX },
            default: "0",
            scales: false,
        },
        Parameter {
            name: "direct",
            help: "Whether ops go past the cache (O_DIRECT).",
            kind: Kind::Switch,
            default: "on",
            scales: false,
        },
        Parameter {
            name: "align",
            help: "Whether places are multiples of 4 KiB; with direct I/O always.",
            kind: Kind::Switch,
            default: "on",
            scales: false,
        },
        Parameter {
            name: "fsync",
            help: "Whether fsync follows each write, also where the profile says nothing of it.",
            kind: Kind::Switch,
            default: "off",
            scales: false,
        },
        Parameter {
            name: "delay",
            help: "How long a thread waits after an op; 0 for the profile's.",
            kind: Kind::Time,
            default: "0s",
            scales: false,
        },
        Parameter {
            name: "age",
            help: "How full the filesystem is made before the ops; 0 leaves it as it is.",
            kind: Kind::Fraction,
            default: "0",
            scales: false,
        },
        COMPRESSIBLE,
        DUPLICATE,
    ],
    phases: &[&CREATE, &AGE, &RUN],
};

impl Workload for Ffsb {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        checked(parameters).map(drop)
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        // Creates may fill as many places again.
        let creates = Profile::of(parameters).is_ok_and(|profile| profile.has(Does::Create));
        let files = parameters.count("files") * if creates { 2 } else { 1 };
        Space {
            bytes: parameters.size("max_size").max(parameters.size("min_size")) * files,
            inodes: files + parameters.count("directories") + 1,
        }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run(context).inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

/// The profile, if all parameters fit each other.
fn checked(parameters: &Parameters) -> Result<Profile, String> {
    let profile = Profile::of(parameters)?;
    let (min, max) = (parameters.size("min_size").0, parameters.size("max_size").0);
    if min > max || min == 0 {
        return Err("min_size is 0 or above max_size".to_owned());
    }
    let whole = profile.groups.iter().all(|group| group.block.is_multiple_of(512));
    if parameters.switch("direct") && (!whole || !min.is_multiple_of(4096) || min != max) {
        return Err("direct I/O needs blocks of whole sectors and files of one size, whole \
                    blocks of 4 KiB; or set direct=off"
            .to_owned());
    }
    Ok(profile)
}

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let parameters = context.parameters();
    let profile = checked(parameters).map_err(Failure::Input)?;
    let (min, max) = (parameters.size("min_size").0, parameters.size("max_size").0);
    let direct = parameters.switch("direct");
    let directories = parameters.count("directories");
    let files = Files::draw(context.seed(), parameters.count("files"), min, max, directories);
    let target = open_target(context.target())?;
    let target = target.as_fd();
    let outside = |error| Failure::Op { phase: "before the first", error };
    if parameters.fraction("age") > 0.0 {
        let (size, used) = fill_state(target).map_err(outside)?;
        if used * 2 > size {
            return Err(Failure::Input(format!(
                "the filesystem is in use, {} of {}: age would fill it",
                Bytes(used),
                Bytes(size)
            )));
        }
    }
    make_directories(target, directories).map_err(outside)?;
    let job = Job {
        target,
        files: &files,
        direct,
        align: parameters.switch("align"),
        filling: Filling::of(parameters),
        min,
        max,
    };
    let done = phases(context, &job, &profile);
    walk::remove(target, DIRECTORY, || ()).map_err(outside)?;
    done
}

fn make_directories(target: BorrowedFd<'_>, directories: u64) -> Result<(), OpError> {
    let mut path = PathBuffer::new();
    path.text(DIRECTORY);
    let mode = Mode::from_raw_mode(0o755);
    rustix::fs::mkdirat(target, path.c_str(), mode).map_err(path.failed("mkdir"))?;
    for number in 0..directories {
        path.clear().text(DIRECTORY).text("/d").number(number, 4);
        rustix::fs::mkdirat(target, path.c_str(), mode).map_err(path.failed("mkdir"))?;
    }
    Ok(())
}

fn phases(context: &mut Context<'_>, job: &Job<'_>, profile: &Profile) -> Result<(), Failure> {
    let parameters = context.parameters();
    let seed = context.seed();
    let block = parameters.size("create_block").0.clamp(1, 64 << 20) as usize;
    let (ops, age) = (parameters.count("ops"), parameters.fraction("age"));
    let time = parameters.time("time");
    let mut contents = vec![1; block];
    job.filling.fill(&mut seed.stream("ffsb contents"), &mut contents);
    let mut maker = Hand::new(job, &profile.groups[0], 0, seed, "ffsb maker");
    let count = (job.files.len() / 2) as u64;
    let sync =
        || rustix::fs::syncfs(job.target).map_err(|error| OpError::new("syncfs", DIRECTORY, error));
    context.phase(&CREATE, count, |recorder| {
        for place in 0..job.files.len() {
            if let Some(size) = *job.files.read(place) {
                maker.fill(place, size, &mut contents, recorder)?;
            }
        }
        sync()
    })?;
    if age > 0.0 {
        let contents = Contents::new(seed, "ffsb aged", 64 << 10, job.filling);
        let mut aging = Aging::new(job.target, seed.stream("ffsb aging"), contents);
        context.phase_with(
            &AGE,
            0,
            |recorder| {
                let full = aging.until(age, recorder)?;
                sync()?;
                Ok(full)
            },
            |full, result| {
                result.figures.insert("fullness".to_owned(), *full);
                if *full < age {
                    let note = "no more files fitted: it is less full than asked for";
                    result.notes.push(note.to_owned());
                }
            },
        )?;
    } else {
        context.skip(&AGE, "not asked for");
    }
    if job.direct {
        job.files.path(0, &mut maker.path);
        let path = maker.path.to_string();
        let tried = open_direct(job.target, &path, profile.groups[0].block);
        match tried
            .map_err(|e| Failure::Op { phase: RUN.name, error: maker.path.failed("open")(e) })?
        {
            Ok(_) => {}
            Err(reason) => {
                context.skip(&RUN, reason);
                return Ok(());
            }
        }
    }
    let groups = profile.groups.iter();
    let each = groups.flat_map(|group| (0..group.threads).map(move |_| group));
    let hands: Vec<Hand<'_>> = (0..)
        .zip(each)
        .map(|(number, group)| {
            Hand::new(job, group, number, seed, &format!("ffsb thread {number}"))
        })
        .collect();
    let threads = hands.len() as u64;
    phase_with_threads(
        context,
        &RUN,
        threads * ops,
        hands,
        |mut hand, crew, recorder| {
            let start = crew.start();
            let mut performed = 0;
            while !crew.is_stopped()
                && if ops == 0 { recorder.lap() - start < time } else { performed < ops }
            {
                hand.perform(recorder, ops != 0)?;
                performed += 1;
                if !hand.group.delay.is_zero() {
                    think(hand.group.delay);
                    // What it waited is no part of the next op.
                    recorder.restart();
                }
            }
            Ok(hand.transactions)
        },
        |_| sync(),
        figures,
    )?;
    if context.verify() {
        verify(job)?;
    }
    Ok(())
}

fn figures(transactions: &[u64], result: &mut PhaseResult) {
    let seconds = result.wall.0.max(1) as f64 / 1e9;
    let mib = |bytes: Bytes| bytes.0 as f64 / 1_048_576.0 / seconds;
    let all: u64 = transactions.iter().sum();
    let figures = [
        ("transactions", all as f64),
        ("transactions_per_sec", all as f64 / seconds),
        ("ops_per_sec", result.ops as f64 / seconds),
        ("read_mib_per_s", mib(result.read_bytes)),
        ("write_mib_per_s", mib(result.write_bytes)),
        ("cpu_percent", result.cpu.total().0 as f64 / result.wall.0.max(1) as f64 * 100.0),
    ];
    result.figures.extend(figures.map(|(name, value)| (name.to_owned(), value)));
}

/// Every file has the size that the ops must have left it with.
fn verify(job: &Job<'_>) -> Result<(), Failure> {
    let mut path = PathBuffer::new();
    for place in 0..job.files.len() {
        job.files.path(place, &mut path);
        let found = match rustix::fs::statat(
            job.target,
            path.c_str(),
            rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
        ) {
            Ok(stat) => Some(stat.st_size as u64),
            Err(rustix::io::Errno::NOENT) => None,
            Err(error) => return Err(Failure::Verify(format!("{path}: {error}"))),
        };
        let expected = *job.files.read(place);
        if found != expected {
            return Err(Failure::Verify(format!("{path}: {found:?} bytes, not {expected:?}")));
        }
    }
    Ok(())
}
