//! Ages a filesystem: fills it to a share of its size and replaces its files many times over.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use units::Bytes;

use crate::engine::contents::{COMPRESSIBLE, Contents, DUPLICATE, Filling};
use crate::engine::file_io::{open_target, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::typed::{
    ChoiceParameter, CountParameter, FILE_MAX, FractionParameter, SizeParameter, choice,
};
use crate::{
    Context, Description, Draw, Failure, Headline, InputFacts, Op, OpDescription, OpError,
    Parameters, PhaseDescription, PhaseResult, Recorder,
};
use crate::{Space, Workload};

mod score;

use score::{SCORE, score};

pub(super) struct Age;

const CREATE_OP: OpDescription =
    OpDescription { name: "create", span: "create, writes of up to 1 MiB, close of one file" };

static FILL: PhaseDescription = PhaseDescription {
    name: "fill",
    summary: "creates files until the filesystem is as full as requested",
    clock: "mkdirs, creates, writes, closes; at the end a sync",
    ops: &[CREATE_OP],
    disk_bound: true,
};
static CHURN: PhaseDescription = PhaseDescription {
    name: "churn",
    summary: "deletes randomly chosen files and creates new ones in their place",
    clock: "unlinks, creates, writes, closes; at the end a sync; no cache drop before",
    ops: &[CREATE_OP, OpDescription { name: "delete", span: "one unlink" }],
    disk_bound: true,
};
const FULLNESS: FractionParameter =
    FractionParameter::new("fullness", "How full the filesystem becomes.", "0.8");
const OVERWRITES: CountParameter = CountParameter::new(
    "overwrites",
    "How many times the total size of the files is then rewritten.",
    0,
    10_000,
    "5",
);
choice! {
    /// Which sizes files have.
    enum Profile {
        Agrawal = "agrawal": "desktops of 2004",
        Meyer = "meyer": "desktops of 2009",
        Mail = "mail": "one mail a file",
    }
}
const PROFILE: ChoiceParameter<Profile> =
    ChoiceParameter::of("profile", "Which sizes files have.", "agrawal");
const LARGEST: SizeParameter =
    SizeParameter::new("largest", "Largest size of a file.", Bytes(1), FILE_MAX, "64M");
const CAPACITY: SizeParameter = SizeParameter::new(
    "capacity",
    "Fill this much instead of the whole filesystem; 0 fills the whole filesystem, which must be \
                   less than half full beforehand.",
    Bytes::from_kib(4),
    FILE_MAX,
    "0",
)
.or_zero();

static DESCRIPTION: Description = Description {
    name: "age",
    summary: "ages a filesystem for the workloads that follow it in a --sequence",
    origin: "After Smith and Seltzer (1997), who introduced the layout score, and Geriatrix \
(Kadekodi, Nagarajan and Ganger, 2018). By their measurements, results on an unaged filesystem are \
too good by up to 30 % on a disk and 75 % on an SSD. Files are created until the filesystem is \
`fullness` full; then randomly chosen files are deleted and replaced by new ones, until \
`overwrites` times the amount it holds has been written. All files are left in place.\n\n\
`layout_score` is the share of blocks that directly follow the previous block of their file on the \
device: 1 is perfect; files of a single block do not count.\n\n\
Sizes are lognormal: `agrawal` median 13.1 KB, mean 268 KB (the fit of Impressions to 63,398 \
filesystems of 2004), `meyer` median 4 KB, mean 318 KB (2009), `mail` median 2.7 KB, σ 1.4. Each \
directory holds about ten files. Departures from Geriatrix: neither the age of files nor the depth \
of directories follows a distribution, and contents are written. The amount of work depends on the \
size of the filesystem unless `capacity` sets one.",
    headline: Headline {
        question: "ageing a filesystem: files replaced at random until nearly full",
        phase: "churn",
        metric: "ops_rate",
        things: "files",
    },
    presets: &[],
    inputs: &[],
    parameters: &[
        FULLNESS.row,
        OVERWRITES.row,
        PROFILE.row,
        LARGEST.row,
        CAPACITY.row,
        COMPRESSIBLE.row,
        DUPLICATE.row,
    ],
    phases: &[&FILL, &CHURN, &SCORE],
};

const DIRECTORY: &str = "age";
const BLOCK: usize = 1 << 20;
/// The unit in which the room of a file is counted.
const PAGE: u64 = 4096;
const FILES_PER_DIRECTORY: u64 = 10;
/// Directories in a directory.
const FAN_OUT: u64 = 32;
/// Limit of a phase's files that do not fit: after so many, the reason is no longer the size of a
/// single file.
const IN_VAIN_MAX: u64 = 100;

impl Workload for Age {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let bytes = parameters.get(&CAPACITY).0 as f64 * parameters.get(&FULLNESS);
        let files = bytes as u64 / law(parameters.get(&PROFILE)).mean() as u64;
        Space { bytes: Bytes(bytes as u64), inodes: files + files / FILES_PER_DIRECTORY + 1 }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run(context).inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

/// A lognormal law of sizes.
#[derive(Debug, Clone, Copy)]
struct Law {
    mu: f64,
    sigma: f64,
}

fn law(profile: Profile) -> Law {
    match profile {
        Profile::Agrawal => Law { mu: 9.48, sigma: 2.457 },
        Profile::Meyer => Law { mu: 8.294, sigma: 2.958 },
        Profile::Mail => Law { mu: 7.901, sigma: 1.4 },
    }
}

impl Law {
    fn mean(self) -> f64 {
        (self.mu + self.sigma * self.sigma / 2.0).exp()
    }

    /// A size from 1 to `largest`.
    fn draw(self, draw: &mut Draw, largest: u64) -> u64 {
        ((self.mu + self.sigma * draw.normal()).exp() as u64).clamp(1, largest.max(1))
    }
}

/// The files there are, and how new ones are made.
struct Aging<'t> {
    target: BorrowedFd<'t>,
    files: Vec<(u64, u64)>,
    /// Running number of the next file.
    next: u64,
    /// Bytes the files take, in whole pages.
    held: u64,
    written: u64,
    in_vain: u64,
    law: Law,
    largest: u64,
    draw: Draw,
    contents: Contents,
    path: PathBuffer,
    fixed: bool,
}

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let parameters = context.parameters();
    let (fullness, overwrites) = (parameters.get(&FULLNESS), parameters.get(&OVERWRITES));
    let capacity = parameters.get(&CAPACITY).0;
    let target = open_target(context.target())?;
    let goal = match capacity {
        0 => {
            let (size, used) = fill_state(target.as_fd()).map_err(Failure::before)?;
            if used * 2 > size {
                return Err(Failure::Input(format!(
                    "the filesystem is in use, {} of {}: age would fill it; give capacity=SIZE \
                     to age a part of it",
                    Bytes(used),
                    Bytes(size)
                )));
            }
            ((size as f64 * fullness) as u64).saturating_sub(used)
        }
        capacity => (capacity as f64 * fullness) as u64,
    };
    let filling = Filling::of(parameters);
    let mut aging = Aging {
        target: target.as_fd(),
        files: Vec::new(),
        next: 0,
        held: 0,
        written: 0,
        in_vain: 0,
        law: law(parameters.get(&PROFILE)),
        largest: parameters.get(&LARGEST).0,
        draw: context.seed().stream("age"),
        contents: Contents::new(context.seed(), DIRECTORY, BLOCK, filling),
        path: PathBuffer::new(),
        fixed: capacity > 0,
    };
    rustix::fs::mkdirat(&target, DIRECTORY, Mode::from_raw_mode(0o755))
        .map_err(|error| Failure::before(OpError::new("mkdir", DIRECTORY, error)))?;
    let planned = goal / aging.law.mean() as u64;
    let aging = context.phase_with(
        &FILL,
        planned,
        |recorder| {
            aging.fill(goal, recorder)?;
            aging.sync()?;
            Ok(aging)
        },
        note_state,
    )?;
    let to_write = aging.held.saturating_mul(overwrites);
    let files = aging.files.len() as u64;
    let aging = context.phase_with(
        &CHURN,
        2 * files * overwrites,
        |recorder| {
            let mut aging = aging;
            aging.churn(goal, to_write, recorder)?;
            aging.sync()?;
            Ok(aging)
        },
        note_state,
    )?;
    score(context, &aging)
}

/// Adds how many files there are, how full they make the filesystem, and how many did not fit.
fn note_state(aging: &Aging<'_>, result: &mut PhaseResult) {
    result.figures.insert("files".to_owned(), aging.files.len() as f64);
    if let Ok((size, used)) = fill_state(aging.target) {
        result.figures.insert("fullness".to_owned(), used as f64 / size.max(1) as f64);
    }
    if aging.in_vain > 0 {
        result.notes.push(format!("{} files did not fit and were left out", aging.in_vain));
    }
}

/// Bytes the filesystem has, and has in use.
pub(super) fn fill_state(target: BorrowedFd<'_>) -> Result<(u64, u64), OpError> {
    let stat =
        rustix::fs::fstatvfs(target).map_err(|error| OpError::new("statvfs", DIRECTORY, error))?;
    let used = stat.f_blocks.saturating_sub(stat.f_bfree);
    Ok((stat.f_blocks * stat.f_frsize, used * stat.f_frsize))
}

/// The room that a file of this size is assumed to take.
fn taken(size: u64) -> u64 {
    size.next_multiple_of(PAGE)
}

impl Aging<'_> {
    fn fill(&mut self, goal: u64, recorder: &mut Recorder<'_>) -> Result<(), OpError> {
        while self.held < goal {
            let size = self.law.draw(&mut self.draw, self.largest.min(goal - self.held));
            self.create(size, recorder)?;
        }
        Ok(())
    }

    fn churn(
        &mut self,
        goal: u64,
        to_write: u64,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        (self.written, self.in_vain) = (0, 0);
        while self.written < to_write && !self.files.is_empty() {
            let size = self.law.draw(&mut self.draw, self.largest.min(goal));
            while self.held + taken(size) > goal && !self.files.is_empty() {
                let place = self.draw.below(self.files.len() as u64) as usize;
                let (number, size) = self.files.swap_remove(place);
                self.path_of(number);
                rustix::fs::unlinkat(self.target, self.path.c_str(), AtFlags::empty())
                    .map_err(self.path.failed("unlink"))?;
                self.held -= taken(size);
                self.note(recorder, number << 1);
                recorder.done(Op(1));
            }
            self.create(size, recorder)?;
        }
        Ok(())
    }

    /// Creates a file, in a new directory after every tenth. One for which there is no room
    /// is removed again.
    fn create(&mut self, size: u64, recorder: &mut Recorder<'_>) -> Result<(), OpError> {
        let number = self.next;
        self.next += 1;
        let made = self.write(number, size);
        self.note(recorder, size << 1 | 1);
        match made {
            Ok(()) => {
                self.files.push((number, size));
                self.held += taken(size);
                self.written += size;
                recorder.wrote(size);
                recorder.done(Op(0));
                Ok(())
            }
            // Where there was no room for a directory, there is none for its files.
            Err(error)
                if self.in_vain < IN_VAIN_MAX
                    && (error.is_out_of_space()
                        || (self.in_vain > 0
                            && error.source.kind() == std::io::ErrorKind::NotFound)) =>
            {
                self.in_vain += 1;
                self.path_of(number);
                match rustix::fs::unlinkat(self.target, self.path.c_str(), AtFlags::empty()) {
                    Ok(()) | Err(Errno::NOENT) => Ok(()),
                    Err(error) => Err(self.path.failed("unlink")(error)),
                }
            }
            Err(error) => Err(error),
        }
    }

    fn write(&mut self, number: u64, size: u64) -> Result<(), OpError> {
        let mode = Mode::from_raw_mode(0o755);
        let directory = number / FILES_PER_DIRECTORY;
        if number.is_multiple_of(FILES_PER_DIRECTORY) {
            if directory.is_multiple_of(FAN_OUT) {
                self.parent_of(directory);
                rustix::fs::mkdirat(self.target, self.path.c_str(), mode)
                    .map_err(self.path.failed("mkdir"))?;
            }
            self.directory_of(directory);
            rustix::fs::mkdirat(self.target, self.path.c_str(), mode)
                .map_err(self.path.failed("mkdir"))?;
        }
        self.path_of(number);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        let file = rustix::fs::openat(self.target, self.path.c_str(), flags, mode)
            .map_err(self.path.failed("create"))?;
        let mut left = size;
        while left > 0 {
            let length = BLOCK.min(left as usize);
            let at = number.wrapping_mul(1 << 36).wrapping_add(size - left);
            let piece = self.contents.at(at, length);
            write_all(&file, piece).map_err(self.path.failed("write"))?;
            left -= length as u64;
        }
        Ok(())
    }

    fn parent_of(&mut self, directory: u64) {
        self.path.clear().text(DIRECTORY).text("/").number(directory / FAN_OUT, 4);
    }

    fn directory_of(&mut self, directory: u64) {
        self.parent_of(directory);
        self.path.text("/").number(directory % FAN_OUT, 2);
    }

    fn path_of(&mut self, number: u64) {
        self.directory_of(number / FILES_PER_DIRECTORY);
        self.path.text("/f").number(number, 7);
    }

    /// The ops are the same on every filesystem only where the capacity is given.
    fn note(&self, recorder: &mut Recorder<'_>, fact: u64) {
        if self.fixed {
            recorder.digest(fact);
        }
    }

    fn sync(&self) -> Result<(), OpError> {
        rustix::fs::syncfs(self.target).map_err(|error| OpError::new("syncfs", DIRECTORY, error))
    }
}

#[cfg(test)]
mod tests;
