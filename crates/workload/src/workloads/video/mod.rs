//! What is done with a recording: copied in, checked, put into another container, checked,
//! cut, and the intermediates deleted.

mod emulated;
mod real;

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use md5::{Digest, Md5};
use rustix::fs::{Advice, AtFlags, Mode, OFlags};
use units::{Bytes, Nanos};

use self::emulated::Emulated;
use self::real::Real;
use crate::engine::contents::{COMPRESSIBLE, DUPLICATE, Filling};
use crate::engine::file_io::{open_target, read};
use crate::engine::keep_going::{after_failure, not_comparable};
use crate::engine::walk;
use crate::typed::{
    ChoiceParameter, CountParameter, FILE_MAX, FractionParameter, SizeParameter, choice,
};
use crate::{
    Context, Description, Failure, Headline, InputFacts, Op, OpDescription, OpError, Parameters,
    PhaseDescription, PhaseResult, Recorder,
};
use crate::{Space, Workload};

pub(super) struct Video;

static COPY: PhaseDescription = PhaseDescription {
    name: "copy",
    summary: "copies the recording from memory onto the filesystem",
    clock: "create, writes of 32 KiB, close; no sync. What is copied was made before the clock",
    ops: &[OpDescription { name: "write", span: "one write, and the read from memory before it" }],
    disk_bound: false,
};
static MD5: PhaseDescription = PhaseDescription {
    name: "md5",
    summary: "reads the copy and computes its MD5 checksum",
    clock: "open, reads of 32 KiB with the sum of each, close; no cache drop before",
    ops: &[OpDescription { name: "read", span: "one read, and the sum of it" }],
    disk_bound: false,
};
static REMUX: PhaseDescription = PhaseDescription {
    name: "remux",
    summary: "puts it into another container, without re-encoding it",
    clock: "emulated: open of both, reads of 94 KiB, writes of clusters of 64 KiB, the index, the \
            header rewritten at the start, close; real: the whole run of ffmpeg; no sync",
    ops: &[OpDescription {
        name: "cluster",
        span: "emulated: its reads and its write; real: the whole run",
    }],
    disk_bound: false,
};
static MD5_REMUXED: PhaseDescription = PhaseDescription {
    name: "md5-remuxed",
    summary: "reads the result and computes its MD5 checksum",
    clock: "as `md5`",
    ops: &[OpDescription { name: "read", span: "one read, and the sum of it" }],
    disk_bound: false,
};
static CUT: PhaseDescription = PhaseDescription {
    name: "cut",
    summary: "copies the parts of a list, made before, into a new file",
    clock: "emulated: reads and writes of whole clusters, a seek between parts, index and header \
            as in `remux`, close; real: the whole run of ffmpeg; no sync",
    ops: &[OpDescription {
        name: "cluster",
        span: "emulated: read and write of one; real: the whole run",
    }],
    disk_bound: false,
};
static DELETE: PhaseDescription = PhaseDescription {
    name: "delete",
    summary: "deletes the copy and the remuxed file",
    clock: "two unlinks; no sync. The cut file is removed after the clock",
    ops: &[OpDescription { name: "unlink", span: "one unlink" }],
    disk_bound: false,
};
static PHASES: &[&PhaseDescription] = &[&COPY, &MD5, &REMUX, &MD5_REMUXED, &CUT, &DELETE];

pub(super) const SIZE: SizeParameter = SizeParameter::new(
    "size",
    "Size of the recording; with mode=real it is up to one clip larger.",
    Bytes::from_mib(1),
    FILE_MAX,
    "2G",
)
.scaled();
choice! {
    /// What remuxes and cuts.
    enum Tools {
        Emulated = "emulated": "fstrial itself, with the I/O of such tools",
        Real = "real": "ffmpeg, on media of its own; needs memory for the recording",
    }
}
const MODE: ChoiceParameter<Tools> =
    ChoiceParameter::of("mode", "What remuxes and cuts.", "emulated");
pub(super) const KEEP: FractionParameter =
    FractionParameter::new("keep", "How much of the recording the cut keeps.", "0.75");
const CUTS: CountParameter =
    CountParameter::new("cuts", "How many parts the cut takes out.", 0, 1000, "4");

static DESCRIPTION: Description = Description {
    name: "video",
    summary: "a recording: copy in, md5, remux, md5, cut by a list, delete",
    origin: "The practice test of a study of 2011: a raw recording is copied from a RAM disk, \
checksummed, put into another container, checksummed, cut by a prepared list, and deleted together \
with the intermediate file. The study gives one total in seconds: `total_s` of the last phase. \
Programs, formats and sizes were not published.\n\n\
`mode=emulated` does the I/O of such programs on contents that neither compress nor repeat: a \
transport stream of packets of 188 bytes becomes clusters of 64 KiB without the packets' headers, \
an index follows, the header is rewritten at the start; the cut copies the parts that are kept. It \
spends no processor time on parsing streams. `mode=real` does it with ffmpeg on MPEG-2 in a \
transport stream, which ffmpeg makes before the clock (one clip, repeated up to `size`), and where \
ffmpeg is not installed it fails with that reason: one mode never replaces the other silently. \
Assumed: 2 GiB, three quarters kept, blocks of 32 KiB as `cp` and `md5sum` of 2011 used.",
    headline: Headline {
        question: "copying a video recording in",
        phase: "copy",
        metric: "write_rate",
        things: "written",
    },
    presets: &[],
    inputs: &[],
    parameters: &[SIZE.row, MODE.row, KEEP.row, CUTS.row, COMPRESSIBLE.row, DUPLICATE.row],
    phases: PHASES,
};

const DIRECTORY: &str = "video";
const RAW: &str = "video/recording.ts";
const REMUXED: &str = "video/remuxed.mkv";
const CUTTED: &str = "video/cut.mkv";
/// The read and write size of `cp` and `md5sum` of 2011.
const BLOCK: usize = 32 << 10;

impl Workload for Video {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let size = parameters.get(&SIZE);
        // The last file is removed only after the others, and a clip may come on top.
        Space { bytes: size * 3 + Bytes::from_mib(32), inodes: 4 }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run(context).inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

/// What differs between the modes.
trait Maker {
    /// Bytes of the recording.
    fn size(&self) -> u64;
    /// The recording's bytes at `offset`, a multiple of [`BLOCK`].
    fn recording<'a>(&'a mut self, offset: u64, buffer: &'a mut [u8]) -> Result<&'a [u8], OpError>;
    /// From [`RAW`] to [`REMUXED`].
    fn remux(&mut self, target: BorrowedFd<'_>, recorder: &mut Recorder<'_>)
    -> Result<(), OpError>;
    /// From [`REMUXED`] to [`CUTTED`].
    fn cut(&mut self, target: BorrowedFd<'_>, recorder: &mut Recorder<'_>) -> Result<(), OpError>;
    /// MD5 sums that the copy, the remuxed and the cut file must have, where they are known.
    fn expected(&mut self) -> Option<[Sum; 3]>;
}

type Sum = [u8; 16];

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let parameters = context.parameters();
    let (size, keep) = (parameters.get(&SIZE).0, parameters.get(&KEEP));
    let cuts = Cuts { keep, count: parameters.get(&CUTS) };
    let mut maker: Box<dyn Maker> = match parameters.get(&MODE) {
        Tools::Real => Box::new(Real::make(context.target(), size, cuts)?),
        Tools::Emulated => {
            let filling = Filling::of(parameters);
            Box::new(Emulated::new(context.seed(), size, cuts, filling))
        }
    };
    let target = open_target(context.target())?;
    rustix::fs::mkdirat(&target, DIRECTORY, Mode::from_raw_mode(0o755))
        .map_err(|error| outside(OpError::new("mkdir", DIRECTORY, error)))?;
    let done = phases(context, target.as_fd(), maker.as_mut());
    walk::remove(target.as_fd(), DIRECTORY, || ()).map_err(outside)?;
    done
}

fn outside(error: OpError) -> Failure {
    Failure::Op { phase: "outside the phases", error }
}

fn phases(
    context: &mut Context<'_>,
    target: BorrowedFd<'_>,
    maker: &mut dyn Maker,
) -> Result<(), Failure> {
    let total = Cell::new(Nanos::ZERO);
    let add = |result: &mut PhaseResult| total.set(total.get() + result.wall);
    let blocks = maker.size().div_ceil(BLOCK as u64);
    context.phase_with(&COPY, blocks, |r| copy(maker, target, r), |(), result| add(result))?;
    let with_sum = |sum: &Sum, result: &mut PhaseResult| {
        add(result);
        result.notes.push(format!("MD5 {}", hex(sum)));
    };
    let copied = context.phase_with(&MD5, blocks, |r| md5(target, RAW, r), with_sum)?;
    context.phase_with(&REMUX, 0, |r| maker.remux(target, r), |(), result| add(result))?;
    let remuxed = context.phase_with(&MD5_REMUXED, 0, |r| md5(target, REMUXED, r), with_sum)?;
    context.phase_with(&CUT, 0, |r| maker.cut(target, r), |(), result| add(result))?;
    if context.verify() {
        let mut unseen = Recorder::for_thread(&MD5);
        let cut = md5(target, CUTTED, &mut unseen).map_err(outside)?;
        let found = [(RAW, copied), (REMUXED, remuxed), (CUTTED, cut)];
        for ((path, found), expected) in found.iter().zip(maker.expected().iter().flatten()) {
            if found != expected {
                let (found, expected) = (hex(found), hex(expected));
                let what = format!("{path} has the MD5 sum {found} instead of {expected}");
                return Err(Failure::Verify(what));
            }
        }
    }
    let after = after_failure(context);
    context.phase_with(
        &DELETE,
        2,
        |recorder| {
            for path in [RAW, REMUXED] {
                rustix::fs::unlinkat(target, path, AtFlags::empty())
                    .map_err(|error| OpError::new("unlink", path, error))?;
                recorder.done(Op(0));
            }
            Ok(())
        },
        |(), result| {
            add(result);
            result.figures.insert("total_s".to_owned(), total.get().0 as f64 / 1e9);
            not_comparable(result, after);
        },
    )
}

fn copy(
    maker: &mut dyn Maker,
    target: BorrowedFd<'_>,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let made = create(target, RAW)?;
    let mut buffer = vec![1; BLOCK];
    let (mut at, size) = (0, maker.size());
    recorder.restart();
    while at < size {
        let length = BLOCK.min((size - at) as usize);
        let piece = maker.recording(at, &mut buffer[..length])?;
        crate::engine::file_io::write_all(&made, piece)
            .map_err(|error| OpError::new("write", RAW, error))?;
        at += length as u64;
        recorder.wrote(length as u64);
        recorder.done(Op(0));
    }
    recorder.digest(size);
    Ok(())
}

fn md5(
    target: BorrowedFd<'_>,
    path: &'static str,
    recorder: &mut Recorder<'_>,
) -> Result<Sum, OpError> {
    let file = open(target, path)?;
    // The same fadvise as md5sum, which doubles the kernel's read-ahead.
    let _ = rustix::fs::fadvise(&file, 0, None, Advice::Sequential);
    let mut buffer = vec![1; BLOCK];
    let mut sum = Md5::new();
    recorder.restart();
    loop {
        let got = read(&file, &mut buffer).map_err(|error| OpError::new("read", path, error))?;
        if got == 0 {
            break;
        }
        sum.update(&buffer[..got]);
        recorder.read(got as u64);
        recorder.done(Op(0));
    }
    let sum: Sum = sum.finalize().into();
    recorder.digest(u64::from_le_bytes([
        sum[0], sum[1], sum[2], sum[3], sum[4], sum[5], sum[6], sum[7],
    ]));
    Ok(sum)
}

fn hex(sum: &Sum) -> String {
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn create(target: BorrowedFd<'_>, path: &'static str) -> Result<OwnedFd, OpError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    rustix::fs::openat(target, path, flags, Mode::from_raw_mode(0o644))
        .map_err(|error| OpError::new("create", path, error))
}

fn open(target: BorrowedFd<'_>, path: &'static str) -> Result<OwnedFd, OpError> {
    rustix::fs::openat(target, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| OpError::new("open", path, error))
}

/// Which parts a cut keeps.
#[derive(Debug, Clone, Copy)]
struct Cuts {
    keep: f64,
    count: u64,
}

impl Cuts {
    /// The parts kept of `length`, as (begin, end): as many breaks as asked for, of equal
    /// length, evenly spread, so that a part of the programme is at both ends.
    fn parts(self, length: f64) -> Vec<(f64, f64)> {
        let kept = length * self.keep / (self.count + 1) as f64;
        let lost =
            if self.count == 0 { 0.0 } else { length * (1.0 - self.keep) / self.count as f64 };
        (0..=self.count)
            .map(|part| part as f64 * (kept + lost))
            .map(|begin| (begin, begin + kept))
            .collect()
    }
}

#[cfg(test)]
mod tests;
