//! Random reads and writes of one large file by several threads.

mod draws;

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use units::Nanos;

use self::draws::{Drand48, Drawn, Shared, Terms};
use super::bigfile::ZEROS;
use crate::engine::cold_cache::{COLD, reopen_cold};
use crate::engine::contents::{COMPRESSIBLE, Contents, DUPLICATE, Filling};
use crate::engine::direct_io::{Aligned, open_direct};
use crate::engine::file_io::{open_target, write_all};
use crate::engine::thread_group::{ThreadGroup, phase_with_threads};
use crate::typed::{
    ChoiceParameter, CountParameter, FractionParameter, SizeParameter, SwitchParameter,
    TimeParameter,
};
use crate::{
    Context, Description, Failure, Headline, InputFacts, Op, OpDescription, OpError, Parameters,
    PhaseDescription, PhaseResult, Preset, Recorder,
};
use crate::{Space, Workload};

pub(super) struct RandomIo;

static PREPARE: PhaseDescription = PhaseDescription {
    name: "prepare",
    summary: "writes the file, unless an earlier workload has left one",
    clock: "create, writes of 1 MiB, fsync, close",
    ops: &[
        OpDescription { name: "write", span: "one write of 1 MiB" },
        OpDescription { name: "fsync", span: "the fsync at the end" },
    ],
    disk_bound: false,
};
static RANDOM: PhaseDescription = PhaseDescription {
    name: "random",
    summary: "threads read and write at random offsets",
    clock: "from the moment all threads are released until the last has ended its last I/O. No \
            warm-up; the file is opened before. Begins cold if `cold` asks for it",
    ops: &[
        OpDescription { name: "read", span: "one pread, and drawing its offset" },
        OpDescription { name: "write", span: "one pwrite, and the fsync if one follows" },
    ],
    disk_bound: true,
};
const READ: Op = Op(0);
const WRITE: Op = Op(1);

pub(super) const SIZE: SizeParameter = SizeParameter::new(
    "size",
    "Size of the file, where an earlier workload has not left one.",
    "4G",
)
.scaled();
pub(super) const THREADS: CountParameter =
    CountParameter::new("threads", "Threads.", 1, 1024, "10");
pub(super) const WRITE_SHARE: FractionParameter =
    FractionParameter::new("write_share", "Share of writes among the I/Os.", "0.25");
const FSYNC_SHARE: FractionParameter =
    FractionParameter::new("fsync_share", "Share of the writes that an fsync follows.", "0.01");
pub(super) const IO_SIZE: SizeParameter =
    SizeParameter::new("io_size", "Bytes of an I/O, a multiple of 512.", "2048");
pub(super) const TIME: TimeParameter =
    TimeParameter::new("time", "How long the threads run.", "60s").scaled();
pub(super) const OPS: CountParameter = CountParameter::new(
    "ops",
    "End after this many I/Os instead; 0 for the time.",
    0,
    u64::MAX,
    "0",
);
pub(super) const DIRECT: SwitchParameter =
    SwitchParameter::new("direct", "Whether I/Os bypass the page cache (O_DIRECT).", "on");
const DRAWS: ChoiceParameter = ChoiceParameter::new(
    "draws",
    "Where the sequence comes from.",
    &[
        ("original", "the unseeded generator: the same in every trial"),
        ("seed", "the same generator, seeded from the trial's seed"),
    ],
    "original",
);

static DESCRIPTION: Description = Description {
    name: "randomio",
    summary: "randomio 1.3: threads read and write a large file at random offsets",
    origin: "randomio 1.3 (Dean Gaudet) as the study of 2007 calls it: `randomio bigfile 10 .25 \
.01 2048 60 1`. All threads share one descriptor with O_DIRECT and one unseeded `drand48`; two \
draws give the offset and the kind of an I/O; the latency of a write includes its fsync. Figures \
are those of the original's output row, in ms, with the sample standard deviation; histograms and \
the I/Os of each second are given beside them.\n\n\
`consistency` is the measured I/Os per second divided by those expected from the mean latencies if \
this many threads never waited for anything else; all rows of the study lie within 0.98 and \
1.02.\n\n\
The file is the `bigfile` that an earlier workload of that name has left (`keep=on`); otherwise \
the workload writes its own, which neither compresses nor repeats. Departures: writing that file \
ends with fsync, so that its write-back does not compete with the random I/Os; each write stores \
its offset; `ops` ends the phase after this many I/Os instead of after a time, and a digest then \
covers them.",
    headline: Headline {
        question: "random reads and writes in a large file",
        phase: "random",
        metric: "ops_rate",
        things: "I/Os",
    },
    presets: &[
        Preset {
            name: "database",
            question: "a database's pages: 8 KiB, three reads to a write",
            set: &[("io_size", "8K"), ("threads", "16"), ("fsync_share", "0.1")],
        },
        Preset {
            name: "vm-image",
            question: "a virtual machine's disk in a file: 4 KiB, half of them writes, some made durable",
            set: &[
                ("io_size", "4K"),
                ("threads", "8"),
                ("write_share", "0.5"),
                ("fsync_share", "0.05"),
            ],
        },
    ],
    inputs: &[],
    parameters: &[
        SIZE.row,
        THREADS.row,
        WRITE_SHARE.row,
        FSYNC_SHARE.row,
        IO_SIZE.row,
        TIME.row,
        OPS.row,
        DIRECT.row,
        DRAWS.row,
        COLD.row,
        COMPRESSIBLE.row,
        DUPLICATE.row,
    ],
    phases: &[&PREPARE, &RANDOM],
};

const OWN: &str = "randomio";
const BLOCK: usize = 1 << 20;
/// What a written block holds after its place.
const FILL: u8 = 0xa5;

impl Workload for RandomIo {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        let io = parameters.get(&IO_SIZE).0;
        match io == 0 || !io.is_multiple_of(512) || io > 64 << 20 {
            true => Err(format!("io_size={io} is no multiple of 512 up to 64 MiB")),
            false => Ok(()),
        }
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        Space { bytes: parameters.get(&SIZE), inodes: 1 }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run(context).inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let target = open_target(context.target())?;
    let (path, size) = file(context, target.as_fd())?;
    let cold = context.parameters().get(&COLD);
    let target = if cold { reopen_cold(context, target)? } else { target };
    let done = on_file(context, target.as_fd(), path, size);
    if path == OWN {
        // By the directory that is open: another may have its path by now.
        return done.and(remove(target.as_fd()));
    }
    done
}

fn remove(target: BorrowedFd<'_>) -> Result<(), Failure> {
    rustix::fs::unlinkat(target, OWN, AtFlags::empty()).map_err(|error| Failure::Op {
        phase: "after the last",
        error: OpError::new("unlink", OWN, error),
    })
}

fn on_file(
    context: &mut Context<'_>,
    target: BorrowedFd<'_>,
    path: &'static str,
    size: u64,
) -> Result<(), Failure> {
    let parameters = context.parameters();
    let io = parameters.get(&IO_SIZE).0;
    if size < 2 * io {
        return Err(Failure::Input(format!("{path} of {size} bytes has no room for two I/Os")));
    }
    let terms = Terms {
        size,
        io,
        write_share: parameters.get(&WRITE_SHARE),
        fsync_share: parameters.get(&FSYNC_SHARE),
        ops: parameters.get(&OPS),
    };
    let generator = match parameters.get(&DRAWS) {
        "original" => Drand48::default(),
        _ => Drand48::from_state(context.seed().stream("drand48").bits()),
    };
    random(context, target, path, terms, generator)?;
    if context.verify() {
        verify(context, target, path, terms)?;
    }
    Ok(())
}

/// The file and its size: one that is there, or phase `prepare`.
fn file(context: &mut Context<'_>, target: BorrowedFd<'_>) -> Result<(&'static str, u64), Failure> {
    match rustix::fs::statat(target, ZEROS, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => {
            context.skip(&PREPARE, "an earlier workload has left the file");
            return Ok((ZEROS, stat.st_size as u64));
        }
        Err(Errno::NOENT) => {}
        Err(error) => {
            let error = OpError::new("stat", ZEROS, error);
            return Err(Failure::Op { phase: "before the first", error });
        }
    }
    let size = context.parameters().get(&SIZE).0;
    let mut contents = Contents::new(context.seed(), OWN, BLOCK, Filling::of(context.parameters()));
    context.phase(&PREPARE, size.div_ceil(BLOCK as u64), |recorder| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(target, OWN, flags, Mode::from_raw_mode(0o644))
            .map_err(|error| OpError::new("create", OWN, error))?;
        let made = fill(&file, size, &mut contents, recorder);
        made.inspect_err(|_| _ = rustix::fs::unlinkat(target, OWN, AtFlags::empty()))
    })?;
    Ok((OWN, size))
}

fn fill(
    file: &OwnedFd,
    size: u64,
    contents: &mut Contents,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let mut at = 0;
    while at < size {
        let piece = contents.at(at, BLOCK.min((size - at) as usize));
        write_all(file, piece).map_err(|error| OpError::new("write", OWN, error))?;
        at += piece.len() as u64;
        recorder.wrote(piece.len() as u64);
        recorder.done(Op(0));
    }
    rustix::fs::fsync(file).map_err(|error| OpError::new("fsync", OWN, error))?;
    recorder.part(Op(1));
    recorder.digest(size);
    Ok(())
}

fn random(
    context: &mut Context<'_>,
    target: BorrowedFd<'_>,
    path: &'static str,
    terms: Terms,
    generator: Drand48,
) -> Result<(), Failure> {
    let parameters = context.parameters();
    let failed =
        |error| Failure::Op { phase: RANDOM.name, error: OpError::new("open", path, error) };
    let opened = if parameters.get(&DIRECT) {
        match open_direct(target, path, terms.io as usize).map_err(failed)? {
            Ok(file) => file,
            Err(reason) => {
                context.skip(&RANDOM, reason);
                return Ok(());
            }
        }
    } else {
        rustix::fs::openat(target, path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(failed)?
    };
    let threads = parameters.get(&THREADS);
    let time = if terms.ops == 0 { Some(parameters.get(&TIME)) } else { None };
    let workers: Vec<Worker> = (0..threads)
        .map(|_| Worker {
            buffer: Aligned::new(terms.io as usize, 0),
            written: Aligned::new(terms.io as usize, FILL),
            tally: Tally::new(time),
        })
        .collect();
    let shared = Shared::new(terms, generator);
    phase_with_threads(
        context,
        &RANDOM,
        terms.ops,
        workers,
        |worker, group, recorder| worker.work(&opened, path, &shared, time, group, recorder),
        |recorder| {
            if terms.ops != 0 {
                recorder.digest(shared.digest());
            }
            Ok(())
        },
        |tallies, result| figures(tallies, terms, result),
    )?;
    Ok(())
}

/// One thread.
struct Worker {
    buffer: Aligned,
    written: Aligned,
    tally: Tally,
}

/// The sums of a thread for the original's output row.
#[derive(Debug, Default)]
struct Tally {
    read: Sums,
    write: Sums,
    /// I/Os that ended in each second.
    seconds: Vec<u64>,
}

impl Tally {
    /// Without I/Os, and with room for each second of this time and for I/Os that end after it.
    fn new(time: Option<Nanos>) -> Tally {
        let seconds = time.map_or(0, |time| (time.0 / 1_000_000_000) as usize + 2);
        Tally { seconds: vec![0; seconds], ..Tally::default() }
    }
}

#[derive(Debug, Clone, Copy)]
struct Sums {
    count: u64,
    sum_ms: f64,
    squares_ms: f64,
    min_ms: f64,
    max_ms: f64,
}

impl Default for Sums {
    fn default() -> Sums {
        let min_ms = f64::INFINITY;
        Sums { count: 0, sum_ms: 0.0, squares_ms: 0.0, min_ms, max_ms: 0.0 }
    }
}

impl Sums {
    #[inline]
    fn add(&mut self, latency: Nanos) {
        let ms = latency.0 as f64 / 1e6;
        self.count += 1;
        self.sum_ms += ms;
        self.squares_ms += ms * ms;
        self.min_ms = self.min_ms.min(ms);
        self.max_ms = self.max_ms.max(ms);
    }

    fn plus(self, other: Sums) -> Sums {
        Sums {
            count: self.count + other.count,
            sum_ms: self.sum_ms + other.sum_ms,
            squares_ms: self.squares_ms + other.squares_ms,
            min_ms: self.min_ms.min(other.min_ms),
            max_ms: self.max_ms.max(other.max_ms),
        }
    }

    fn mean(self) -> f64 {
        self.sum_ms / self.count as f64
    }

    /// The sample's standard deviation.
    fn deviation(self) -> Option<f64> {
        let count = self.count as f64;
        (self.count > 1).then(|| {
            ((self.squares_ms - self.sum_ms * self.sum_ms / count) / (count - 1.0)).max(0.0).sqrt()
        })
    }
}

impl Worker {
    fn work(
        mut self,
        file: &OwnedFd,
        path: &'static str,
        shared: &Shared,
        time: Option<Nanos>,
        group: &ThreadGroup,
        recorder: &mut Recorder<'_>,
    ) -> Result<Tally, OpError> {
        let start = group.start();
        let io = self.buffer.len() as u64;
        loop {
            let begun = recorder.lap();
            if group.is_stopped() || time.is_some_and(|time| begun - start >= time) {
                break;
            }
            let Some(Drawn { offset, write, fsync }) = shared.next() else { break };
            if write {
                self.written[..8].copy_from_slice(&offset.to_le_bytes());
                let wrote = rustix::io::pwrite(file, &self.written, offset)
                    .map_err(|error| OpError::new("write", path, error))?;
                complete(wrote, io, "write", path)?;
                if fsync {
                    rustix::fs::fsync(file).map_err(|e| OpError::new("fsync", path, e))?;
                }
                recorder.wrote(io);
                recorder.done(WRITE);
                self.tally.write.add(recorder.lap() - begun);
            } else {
                let got = rustix::io::pread(file, &mut *self.buffer, offset)
                    .map_err(|error| OpError::new("read", path, error))?;
                complete(got, io, "read", path)?;
                recorder.read(io);
                recorder.done(READ);
                self.tally.read.add(recorder.lap() - begun);
            }
            let second = ((recorder.lap() - start).0 / 1_000_000_000) as usize;
            if let Some(second) = self.tally.seconds.get_mut(second) {
                *second += 1;
            }
        }
        Ok(self.tally)
    }
}

fn complete(did: usize, io: u64, op: &'static str, path: &'static str) -> Result<(), OpError> {
    if did as u64 == io {
        return Ok(());
    }
    let short = std::io::Error::other(format!("{did} bytes of {io}"));
    Err(OpError::new(op, path, short))
}

fn figures(tallies: &[Tally], terms: Terms, result: &mut PhaseResult) {
    let wall = result.wall.0.max(1) as f64 / 1e9;
    let sums = |of: fn(&Tally) -> Sums| tallies.iter().map(of).fold(Sums::default(), Sums::plus);
    let (reads, writes) = (sums(|tally| tally.read), sums(|tally| tally.write));
    let mut figure = |name: String, value: f64| {
        result.figures.insert(name, value);
    };
    let iops = (reads.count + writes.count) as f64 / wall;
    figure("iops".to_owned(), iops);
    let mut expected_ms = 0.0;
    for (name, sums, share) in
        [("read", reads, 1.0 - terms.write_share), ("write", writes, terms.write_share)]
    {
        if sums.count > 0 {
            figure(format!("{name}_iops"), sums.count as f64 / wall);
            figure(format!("{name}_min_ms"), sums.min_ms);
            figure(format!("{name}_avg_ms"), sums.mean());
            figure(format!("{name}_max_ms"), sums.max_ms);
            if let Some(deviation) = sums.deviation() {
                figure(format!("{name}_sdev_ms"), deviation);
            }
            expected_ms += share * sums.mean();
        }
    }
    if expected_ms > 0.0 {
        figure("consistency".to_owned(), iops * expected_ms / 1e3 / tallies.len() as f64);
    }
    // The last second is not complete.
    let whole = (result.wall.0 / 1_000_000_000) as usize;
    let longest = tallies.iter().map(|tally| tally.seconds.len()).max().unwrap_or(0);
    let rows: Vec<u64> = (0..whole.min(longest))
        .map(|second| tallies.iter().filter_map(|tally| tally.seconds.get(second)).sum())
        .collect();
    if let (Some(least), Some(most)) = (rows.iter().min(), rows.iter().max()) {
        figure("iops_least_second".to_owned(), *least as f64);
        figure("iops_most_second".to_owned(), *most as f64);
        let rows: Vec<String> = rows.iter().map(u64::to_string).collect();
        result.notes.push(format!("I/Os in each second: {}", rows.join(" ")));
    }
}

/// Every block is what it was before, or what a write stores there.
fn verify(
    context: &Context<'_>,
    target: BorrowedFd<'_>,
    path: &'static str,
    terms: Terms,
) -> Result<(), Failure> {
    use std::io::Read;
    let wrong = |what: String| Failure::Verify(format!("{path}: {what}"));
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(target, path, flags, Mode::empty())
        .map_err(|error| wrong(error.to_string()))?;
    let mut file = File::from(opened);
    let io = terms.io as usize;
    let mut contents = Contents::new(context.seed(), OWN, BLOCK, Filling::of(context.parameters()));
    let (mut expected, mut found) = (vec![0; io], vec![0; io]);
    let mut at = 0;
    while at < terms.size {
        let length = io.min((terms.size - at) as usize);
        file.read_exact(&mut found[..length]).map_err(|error| wrong(error.to_string()))?;
        let written = length == io
            && found[..8] == at.to_le_bytes()
            && found[8..].iter().all(|byte| *byte == FILL);
        if path == OWN {
            contents.copy(at, &mut expected[..length]);
        }
        if !written && found[..length] != expected[..length] {
            return Err(wrong(format!("other contents than written at byte {at}")));
        }
        at += length as u64;
    }
    match file.read(&mut found) {
        Ok(0) => Ok(()),
        Ok(_) => Err(wrong(format!("is longer than {} bytes", terms.size))),
        Err(error) => Err(wrong(error.to_string())),
    }
}

#[cfg(test)]
mod tests;
