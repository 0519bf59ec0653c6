//! git, on a repository that is made beforehand.

use std::fmt::Write;

use units::Bytes;

use super::steps::{Behind, Steps, in_directory, sync};
use super::text::lines;
use crate::typed::{CountParameter, SizeParameter};
use crate::{
    Context, Description, Draw, Failure, Headline, InputFacts, InputKind, Parameters,
    PhaseDescription, Program, Space, Workload,
};

/// Clone, checkout, status and gc.
pub(in crate::workloads) struct Git;

const PROGRAM: Program = Program { name: "git", package: "git" };
const DIRECTORY: &str = "git";
/// Files in a directory of the repository.
const FILES_IN_DIRECTORY: u64 = 20;

static CLONE: PhaseDescription = PhaseDescription {
    name: "clone",
    summary: "a clone of a repository beside it, with its files",
    clock: "`git clone --no-local` with an empty cache, and one syncfs",
    ops: &[],
    disk_bound: true,
};

static CHECKOUT: PhaseDescription = PhaseDescription {
    name: "checkout",
    summary: "from the newest commit to the oldest",
    clock: "`git checkout`, and one syncfs",
    ops: &[],
    disk_bound: true,
};

static STATUS: PhaseDescription = PhaseDescription {
    name: "status",
    summary: "a look at every file, with an empty cache",
    clock: "`git status`",
    ops: &[],
    disk_bound: true,
};

static GC: PhaseDescription = PhaseDescription {
    name: "gc",
    summary: "all objects into one pack",
    clock: "`git gc`, and one syncfs",
    ops: &[],
    disk_bound: true,
};

const FILES: CountParameter =
    CountParameter::new("files", "Files of a commit.", 1, 10_000_000, "2000").scaled();
const SIZE: SizeParameter =
    SizeParameter::new("size", "Mean size of a file.", Bytes(1), Bytes::from_mib(16), "4K");
const COMMITS: CountParameter =
    CountParameter::new("commits", "Commits after the first.", 1, 100_000, "10");
const CHANGED: CountParameter =
    CountParameter::new("changed", "Files that a commit changes.", 1, 1_000_000, "100").scaled();

static DESCRIPTION: Description = Description {
    name: "git",
    summary: "git clone, checkout, status and gc",
    origin: "The program of Debian's package git, with its default settings, except that \
background gc is off. The repository is drawn from the seed and made by `git fast-import` before \
the clock starts. At the end `git fsck` checks both repositories, and their commits are compared. \
In the lab it needs `lab build --with programs`.",
    headline: Headline {
        question: "cloning a git repository with its files",
        phase: "clone",
        metric: "wall",
        things: "",
    },
    presets: &[],
    inputs: &[InputKind::Program(PROGRAM)],
    parameters: &[FILES.row, SIZE.row, COMMITS.row, CHANGED.row],
    phases: &[&CLONE, &CHECKOUT, &STATUS, &GC],
};

impl Workload for Git {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let files = parameters.get(&FILES);
        let changed = parameters.get(&CHANGED) * parameters.get(&COMMITS);
        // The repository, its clone before and after gc, the clone's files.
        let objects = (files + changed) * (2 * parameters.get(&SIZE).0 + 200);
        let worktree = files * (2 * parameters.get(&SIZE).0 + 4096);
        Space { bytes: Bytes(3 * objects + worktree + (4 << 20)), inodes: 2 * files + 1000 }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        in_directory(context, DIRECTORY, |context, directory| {
            let environment = [
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_CONFIG_COUNT", "2"),
                ("GIT_CONFIG_KEY_0", "gc.auto"),
                ("GIT_CONFIG_VALUE_0", "0"),
                ("GIT_CONFIG_KEY_1", "maintenance.auto"),
                ("GIT_CONFIG_VALUE_1", "false"),
            ];
            let git = Steps::of(context, PROGRAM, directory, &environment)?;
            work(context, &git)
        })
    }
}

fn work(context: &mut Context<'_>, git: &Steps<'_>) -> Result<(), Failure> {
    let parameters = context.parameters();
    let (files, commits) = (parameters.get(&FILES), parameters.get(&COMMITS));
    let size = parameters.get(&SIZE).0;
    let changed = parameters.get(&CHANGED).min(files);
    let stream = history(&mut context.seed().stream("git"), files, size, commits, changed);

    git.run(&["init", "--quiet", "--bare", "--template=", "--initial-branch=main", "origin"], "")?;
    git.run(&["-C", "origin", "fast-import", "--quiet"], &stream)?;
    drop(stream);
    let newest = git.run(&["-C", "origin", "rev-parse", "main"], "")?;
    let oldest = git.run(&["-C", "origin", "rev-list", "--max-parents=0", "main"], "")?;
    let oldest = oldest.trim();
    sync(&git.directory)?;

    let upload = "--upload-pack=git upload-pack";
    let clone = ["clone", "--quiet", "--no-local", "--template=", upload, "origin", "clone"];
    context.make_cold();
    git.time(context, &CLONE, files, Behind::Sync, &clone, "")?;

    let checkout = ["-C", "clone", "checkout", "--quiet", oldest];
    git.time(context, &CHECKOUT, (changed * commits).min(files), Behind::Sync, &checkout, "")?;

    context.make_cold();
    let status = ["-C", "clone", "status", "--porcelain"];
    let said = git.time(context, &STATUS, files, Behind::Nothing, &status, "")?;
    if !said.is_empty() {
        let first = said.lines().next().unwrap_or_default();
        return Err(Failure::Verify(format!("git status finds changed files: {first}")));
    }

    git.time(context, &GC, 0, Behind::Sync, &["-C", "clone", "gc", "--quiet"], "")?;

    for repository in ["origin", "clone"] {
        git.check(&["-C", repository, "fsck", "--full", "--strict", "--no-progress"], "")?;
    }
    let cloned = git.check(&["-C", "clone", "rev-parse", "origin/main"], "")?;
    match cloned == newest {
        true => Ok(()),
        false => Err(Failure::Verify(format!("the clone has {cloned}, not {newest}"))),
    }
}

/// A history as `git fast-import` reads it.
fn history(draw: &mut Draw, files: u64, size: u64, commits: u64, changed: u64) -> String {
    let mut stream = String::new();
    for commit in 0..=commits {
        // Dates are fixed, so that equal seeds give equal commits.
        let date = 1_700_000_000 + commit * 3600;
        let message = format!("Commit {commit}\n");
        let _ = write!(
            stream,
            "commit refs/heads/main\ncommitter A U Thor <author@example.org> {date} +0000\n\
             data {}\n{message}",
            message.len()
        );
        let count = if commit == 0 { files } else { changed };
        for nth in 0..count {
            let file = if commit == 0 { nth } else { draw.below(files) };
            // From half to one and a half of the mean.
            let length = usize::try_from(size / 2 + draw.below(size + 1)).unwrap_or(usize::MAX);
            let text = lines(draw, length);
            let directory = file / FILES_IN_DIRECTORY;
            let _ = write!(
                stream,
                "M 100644 inline d{directory:05}/f{file:07}\ndata {}\n{text}\n",
                text.len()
            );
        }
    }
    stream.push_str("done\n");
    stream
}
