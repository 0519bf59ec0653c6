//! PostMark: a mail or news server's many small short-lived files.

mod plan;
mod totals;
mod twister;

#[cfg(test)]
mod tests;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use measure::now;
use rustix::fs::{AtFlags, Mode, OFlags, SeekFrom};
use units::{Bytes, Nanos};

use self::plan::{File, Plan, Settings, Step};
pub(super) use self::totals::Totals;
use crate::engine::file_io::{holds, open_target, read, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::typed::{CountParameter, SizeParameter, SwitchParameter};
use crate::{
    Context, Description, Failure, Headline, InputFacts, Op, OpDescription, OpError, Parameters,
    PhaseDescription, Recorder,
};
use crate::{Space, Workload};

pub(super) struct PostMark;

const CREATE_OP: OpDescription =
    OpDescription { name: "create", span: "open (truncating), fstat, writes, close of a new file" };
const DELETE_OP: OpDescription = OpDescription { name: "delete", span: "one unlink" };

static CREATE: PhaseDescription = PhaseDescription {
    name: "create",
    summary: "creates the initial files",
    clock: "the creates with their closes; no sync. Subdirectories are made before the clock",
    ops: &[CREATE_OP],
    disk_bound: false,
};
static TRANSACTIONS: PhaseDescription = PhaseDescription {
    name: "transactions",
    summary: "each transaction reads or appends to a file, then creates or deletes one",
    clock: "all transactions with their closes; no sync, no cache drop before",
    ops: &[
        CREATE_OP,
        OpDescription { name: "read", span: "open, fstat, reads of the whole file, close" },
        OpDescription { name: "append", span: "open, seek to the end, fstat, writes, close" },
        DELETE_OP,
    ],
    disk_bound: false,
};
static DELETE: PhaseDescription = PhaseDescription {
    name: "delete",
    summary: "deletes the files that are left",
    clock: "the unlinks in the order of the file table. Subdirectories are removed after it. With \
            verification every file is read back beforehand, outside the clock",
    ops: &[DELETE_OP],
    disk_bound: false,
};

pub(super) const NUMBER: CountParameter =
    CountParameter::new("number", "Files created at the beginning.", 1, 100_000_000, "500")
        .scaled();
const TRANSACTIONS_PARAMETER: CountParameter =
    CountParameter::new("transactions", "Transactions, each of two ops.", 1, 100_000_000, "500")
        .scaled();
pub(super) const SUBDIRECTORIES: CountParameter = CountParameter::new(
    "subdirectories",
    "Directories over which files are spread; 0 and 1: none.",
    0,
    1_000_000,
    "0",
);
pub(super) const SIZE_LOW: SizeParameter =
    SizeParameter::new("size_low", "Smallest size of a new file.", "500");
pub(super) const SIZE_HIGH: SizeParameter =
    SizeParameter::new("size_high", "Largest size of a file; new ones stay below it.", "10000");
pub(super) const READ_BLOCK: SizeParameter =
    SizeParameter::new("read_block", "Size of a read when unbuffered.", "512");
pub(super) const WRITE_BLOCK: SizeParameter =
    SizeParameter::new("write_block", "Size of a write when unbuffered.", "512");
pub(super) const BIAS_READ: CountParameter = CountParameter::new(
    "bias_read",
    "Tenths of the transactions that read; the others append.",
    0,
    10,
    "5",
);
pub(super) const BIAS_CREATE: CountParameter = CountParameter::new(
    "bias_create",
    "Tenths of the transactions that create; the others delete.",
    0,
    10,
    "5",
);
pub(super) const BUFFERED: SwitchParameter = SwitchParameter::new(
    "buffered",
    "Whether reads and writes go through a buffer as the C library's do.",
    "on",
);
pub(super) const PM_SEED: CountParameter = CountParameter::new(
    "pm_seed",
    "PostMark's own seed; 0 takes it from the trial's.",
    0,
    u32::MAX as u64,
    "42",
);

static DESCRIPTION: Description = Description {
    name: "postmark",
    summary: "PostMark 1.51: many small short-lived files of a mail server",
    origin: "PostMark 1.51 (Katcher, Network Appliance TR3022, 1997). The generator is the \
original's, MT19937 in its version of 1999, and so is every draw from it: with equal settings the \
same files are created, read, appended and deleted in the same order. `number=10000 \
transactions=10000 subdirectories=1`, 10 and 100 are the *postmark 1, 10, 100* of the study of \
2007. System calls are those of the original with glibc's buffered streams: a buffer of the file's \
preferred block, at most 8 KiB.\n\n\
In addition to the times of fstrial's clock, the phase `delete` has the original's figures, \
computed from whole seconds, at least one (`original_total_s`, `original_transactions_s` and rates \
in MB of 1024² bytes over the total).\n\n\
Departures: the sequence is drawn before the clocks start; there is only one location; a bias \
cannot be switched off; an error ends the phase, where the original prints it and exits \
successfully; when no file is left the phase fails with that reason, where the original crashes. \
The seed is PostMark's own and by default the same in every trial; `pm_seed=0` takes it from the \
trial.",
    headline: Headline {
        question: "a mail server's small files (PostMark)",
        phase: "transactions",
        metric: "ops_rate",
        things: "ops",
    },
    presets: &[],
    inputs: &[],
    parameters: &[
        NUMBER.row,
        TRANSACTIONS_PARAMETER.row,
        SUBDIRECTORIES.row,
        SIZE_LOW.row,
        SIZE_HIGH.row,
        READ_BLOCK.row,
        WRITE_BLOCK.row,
        BIAS_READ.row,
        BIAS_CREATE.row,
        BUFFERED.row,
        PM_SEED.row,
    ],
    phases: &[&CREATE, &TRANSACTIONS, &DELETE],
};

/// Everything is below this directory of the target.
const DIRECTORY: &str = "postmark";

impl Workload for PostMark {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        space(parameters)
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run(context).inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

/// Room for the files of a run, of our workload or of the original.
pub(super) fn space(parameters: &Parameters) -> Space {
    // The table has twice as many places as there are files at the beginning, but
    // creates and deletes balance unless they are biased.
    let number = parameters.get(&NUMBER);
    let grown =
        number + parameters.get(&TRANSACTIONS_PARAMETER) * parameters.get(&BIAS_CREATE) / 10;
    let files = grown.min(2 * number);
    let directories = parameters.get(&SUBDIRECTORIES) + 1;
    Space {
        bytes: Bytes(parameters.get(&SIZE_HIGH).0.div_ceil(4096) * 4096) * files
            + Bytes(4096) * directories,
        inodes: files + directories,
    }
}

fn settings(context: &Context<'_>) -> Result<Settings, Failure> {
    let parameters = context.parameters();
    let size = |parameter: &SizeParameter| {
        let (name, size) = (parameter.row.name, parameters.get(parameter));
        u32::try_from(size.0)
            .ok()
            .filter(|bytes| (1..1 << 30).contains(bytes))
            .ok_or_else(|| Failure::Input(format!("{name}={size} is not between 1 byte and 1 GiB")))
    };
    let (size_low, size_high) = (size(&SIZE_LOW)?, size(&SIZE_HIGH)?);
    if size_low > size_high {
        return Err(Failure::Input("size_low is above size_high".to_owned()));
    }
    let seed = match parameters.get(&PM_SEED) {
        0 => context.seed().stream("postmark").bits() as u32,
        seed => seed as u32,
    };
    Ok(Settings {
        seed,
        number: parameters.get(&NUMBER) as u32,
        transactions: parameters.get(&TRANSACTIONS_PARAMETER) as u32,
        subdirectories: parameters.get(&SUBDIRECTORIES) as u32,
        size_low,
        size_high,
        bias_read: parameters.get(&BIAS_READ) as u32,
        bias_create: parameters.get(&BIAS_CREATE) as u32,
    })
}

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let settings = settings(context)?;
    let plan = Plan::draw(settings);
    let before = |op: &'static str, path: &str, error: rustix::io::Errno| Failure::Op {
        phase: "before the first",
        error: OpError::new(op, path, error),
    };
    let root = open_target(context.target())?;
    rustix::fs::mkdirat(&root, DIRECTORY, Mode::RWXU)
        .map_err(|error| before("mkdir", DIRECTORY, error))?;
    let target = open_target(&context.target().join(DIRECTORY))?;
    let subdirectories = if settings.subdirectories > 1 { settings.subdirectories } else { 0 };
    let mut path = PathBuffer::new();
    for subdirectory in 0..subdirectories {
        path.clear().text("s").number(u64::from(subdirectory), 1);
        rustix::fs::mkdirat(&target, path.c_str(), Mode::RWXU)
            .map_err(|error| before("mkdir", &path.to_string(), error))?;
    }

    let mut runner = Runner::new(context.parameters(), &plan, target.as_fd(), subdirectories > 0);
    let start = now();
    let creates = [Op(0); 4];
    context.phase(&CREATE, plan.creates.len() as u64, |recorder| {
        plan.creates.iter().try_for_each(|step| runner.perform(*step, creates, recorder))
    })?;
    let transactions_start = now();
    let kinds = [Op(0), Op(1), Op(2), Op(3)];
    context.phase_with(
        &TRANSACTIONS,
        plan.transactions.len() as u64,
        |recorder| {
            plan.transactions.iter().try_for_each(|step| runner.perform(*step, kinds, recorder))?;
            if plan.transactions_done < settings.transactions {
                let reason = format!(
                    "no file was left after {} transactions; ask for more files (number) or \
                     fewer transactions",
                    plan.transactions_done
                );
                return Err(OpError::new("go on in", DIRECTORY, std::io::Error::other(reason)));
            }
            Ok(())
        },
        |(), result| {
            result.figures.insert("transactions".to_owned(), f64::from(settings.transactions));
        },
    )?;
    let transactions_end = now();
    if context.verify() {
        verify(&plan, target.as_fd(), subdirectories > 0)?;
    }
    let delete_start = now();
    let deletes = [Op(0); 4];
    let totals = runner.totals();
    context.phase_with(
        &DELETE,
        plan.left.len() as u64,
        |recorder| {
            plan.left.iter().try_for_each(|(file, _)| {
                runner.perform(Step::Delete { file: *file }, deletes, recorder)
            })
        },
        |(), result| {
            let end = now();
            let times = Times { start, transactions_start, transactions_end, delete_start, end };
            result.figures.extend(times.figures(totals));
            Totals::of(&plan).figures(&mut result.figures);
        },
    )?;
    for subdirectory in 0..subdirectories {
        path.clear().text("s").number(u64::from(subdirectory), 1);
        // A directory that is not empty shows in the next mkdir or in verification.
        let _ = rustix::fs::unlinkat(&target, path.c_str(), AtFlags::REMOVEDIR);
    }
    rustix::fs::unlinkat(&root, DIRECTORY, AtFlags::REMOVEDIR).map_err(|error| {
        Failure::Verify(format!("{DIRECTORY} should be empty when all files are deleted: {error}"))
    })
}

/// `time(2)` as a difference sees it.
fn whole_seconds(time: Nanos) -> u64 {
    time.0 / 1_000_000_000
}

/// When the parts of a run began and ended.
struct Times {
    start: Nanos,
    transactions_start: Nanos,
    transactions_end: Nanos,
    delete_start: Nanos,
    end: Nanos,
}

impl Times {
    /// The original's figures of a run that has read and written so many bytes.
    fn figures(&self, (read, written): (u64, u64)) -> [(String, f64); 4] {
        // Reading back lies between and is left out.
        let end = self.transactions_end + (self.end - self.delete_start);
        let seconds = |from: Nanos, to: Nanos| (whole_seconds(to) - whole_seconds(from)).max(1);
        let total = seconds(self.start, end) as f64;
        let transactions = seconds(self.transactions_start, self.transactions_end) as f64;
        let rate = |bytes: u64| bytes as f64 / 1_048_576.0 / total;
        let figures = [
            ("original_total_s", total),
            ("original_transactions_s", transactions),
            ("original_read_mb_per_s", rate(read)),
            ("original_write_mb_per_s", rate(written)),
        ];
        figures.map(|(name, value)| (name.to_owned(), value))
    }
}

/// Performs steps.
struct Runner<'a> {
    target: BorrowedFd<'a>,
    text: &'a [u8],
    in_subdirectories: bool,
    buffered: bool,
    read_block: usize,
    write_block: usize,
    buffer: Vec<u8>,
    path: PathBuffer,
    bytes_read: u64,
    bytes_written: u64,
}

/// Largest buffer of a glibc stream.
const STREAM_MAX: usize = 8192;

impl<'a> Runner<'a> {
    fn new(
        parameters: &Parameters,
        plan: &'a Plan,
        target: BorrowedFd<'a>,
        in_subdirectories: bool,
    ) -> Runner<'a> {
        let block =
            |size: &SizeParameter| (parameters.get(size).0 as usize).clamp(1, plan.text.len());
        let read_block = block(&READ_BLOCK);
        Runner {
            target,
            text: &plan.text,
            in_subdirectories,
            buffered: parameters.get(&BUFFERED),
            read_block,
            write_block: block(&WRITE_BLOCK),
            buffer: vec![1; read_block.max(STREAM_MAX)],
            path: PathBuffer::new(),
            bytes_read: 0,
            bytes_written: 0,
        }
    }

    /// Bytes read and written so far.
    fn totals(&self) -> (u64, u64) {
        (self.bytes_read, self.bytes_written)
    }

    /// Performs one step; `kinds` are its ops for create, read, append and delete.
    fn perform(
        &mut self,
        step: Step,
        kinds: [Op; 4],
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let (fact, kind) = match step {
            Step::Create { file, bytes } => {
                self.write(file, bytes, false)?;
                recorder.wrote(u64::from(bytes));
                (bytes, 0)
            }
            Step::Read { file, bytes } => {
                self.read(file, bytes)?;
                recorder.read(u64::from(bytes));
                (file.number, 1)
            }
            Step::Append { file, bytes } => {
                self.write(file, bytes, true)?;
                recorder.wrote(u64::from(bytes));
                (bytes, 2)
            }
            Step::Delete { file } => {
                name(file, self.in_subdirectories, &mut self.path);
                rustix::fs::unlinkat(self.target, self.path.c_str(), AtFlags::empty())
                    .map_err(self.path.failed("unlink"))?;
                (file.number, 3)
            }
        };
        recorder.digest(u64::from(fact) << 2 | kind as u64);
        recorder.done(kinds[kind]);
        Ok(())
    }

    /// Writes the first `bytes` of the text to a new file or to the end of an old one.
    fn write(&mut self, file: File, bytes: u32, append: bool) -> Result<(), OpError> {
        name(file, self.in_subdirectories, &mut self.path);
        let flags = match (self.buffered, append) {
            (true, false) => OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC,
            (true, true) => OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND,
            (false, false) => OFlags::RDWR | OFlags::CREATE,
            (false, true) => OFlags::RDWR | OFlags::APPEND,
        };
        let mode = Mode::from_raw_mode(if self.buffered { 0o666 } else { 0o644 });
        let opened = rustix::fs::openat(self.target, self.path.c_str(), flags, mode)
            .map_err(self.path.failed("open"))?;
        if self.buffered && append {
            rustix::fs::seek(&opened, SeekFrom::End(0)).map_err(self.path.failed("seek"))?;
        }
        let piece = self.piece(&opened, self.write_block)?;
        let text = &self.text[..bytes as usize];
        for piece in text.chunks(piece) {
            write_all(&opened, piece).map_err(self.path.failed("write"))?;
        }
        if !self.buffered && text.len().is_multiple_of(piece) {
            // The original writes what is left after whole blocks, even if that is nothing.
            rustix::io::write(&opened, &[]).map_err(self.path.failed("write"))?;
        }
        self.bytes_written += u64::from(bytes);
        Ok(())
    }

    fn read(&mut self, file: File, bytes: u32) -> Result<(), OpError> {
        name(file, self.in_subdirectories, &mut self.path);
        let opened =
            rustix::fs::openat(self.target, self.path.c_str(), OFlags::RDONLY, Mode::empty())
                .map_err(self.path.failed("open"))?;
        let piece = self.piece(&opened, self.read_block)?;
        let mut left = bytes as usize;
        while left > 0 {
            // A stream reads its whole buffer; the unbuffered original reads what is left.
            let want = if self.buffered { piece } else { piece.min(left) };
            let got = read(&opened, &mut self.buffer[..want]).map_err(self.path.failed("read"))?;
            if got == 0 {
                let short = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
                return Err(self.path.failed("read")(short));
            }
            left = left.saturating_sub(got);
        }
        if !self.buffered && (bytes as usize).is_multiple_of(piece) {
            // Likewise for a read of zero bytes.
            read(&opened, &mut []).map_err(self.path.failed("read"))?;
        }
        self.bytes_read += u64::from(bytes);
        Ok(())
    }

    /// Size of one read or write: that of the stream's buffer, for which glibc asks fstat
    /// when the stream is first used, or the block asked for.
    fn piece(&self, opened: &OwnedFd, block: usize) -> Result<usize, OpError> {
        if !self.buffered {
            return Ok(block);
        }
        let stat = rustix::fs::fstat(opened).map_err(self.path.failed("stat"))?;
        Ok(usize::try_from(stat.st_blksize).unwrap_or(STREAM_MAX).clamp(512, STREAM_MAX))
    }
}

/// `s3/17`, or `17` without subdirectories.
fn name(file: File, in_subdirectories: bool, path: &mut PathBuffer) {
    path.clear();
    if in_subdirectories {
        path.text("s").number(u64::from(file.subdirectory), 1).text("/");
    }
    path.number(u64::from(file.number), 1);
}

/// Compares every file that is left with the pieces it was written in.
fn verify(plan: &Plan, target: BorrowedFd<'_>, in_subdirectories: bool) -> Result<(), Failure> {
    let mut path = PathBuffer::new();
    let mut expected = Vec::new();
    for (file, pieces) in &plan.left {
        expected.clear();
        for piece in pieces {
            expected.extend_from_slice(&plan.text[..*piece as usize]);
        }
        name(*file, in_subdirectories, &mut path);
        match holds(target, path.c_str(), &expected) {
            Ok(true) => {}
            Ok(false) => {
                return Err(Failure::Verify(format!("{path} has other contents than written")));
            }
            Err(error) => return Err(Failure::Verify(format!("{path}: {error}"))),
        }
    }
    Ok(())
}
