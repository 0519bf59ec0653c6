//! rsync: a first copy, a second look, backups with hard links.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use measure::now;
use units::Bytes;

use super::listed::files;
use super::steps::{Behind, Steps, in_directory, remove_in, sync};
use super::text::lines;
use crate::typed::{CountParameter, SizeParameter};
use crate::{
    Context, Description, Draw, Failure, Headline, InputFacts, InputKind, OpError, Parameters,
    PhaseDescription, Preset, Program, Space, Workload,
};

/// A copy and backups of a tree by rsync.
pub(in crate::workloads) struct Rsync;

const PROGRAM: Program = Program { name: "rsync", package: "rsync" };
const DIRECTORY: &str = "rsync";
/// Files in a directory of the tree.
const FILES_IN_DIRECTORY: u64 = 50;
/// When the first files were changed, in seconds since 1970.
const FIRST_DAY: u64 = 1_700_000_000;

static COPY: PhaseDescription = PhaseDescription {
    name: "copy",
    summary: "the first copy of the tree",
    clock: "`rsync -aH` with an empty cache, and one syncfs",
    ops: &[],
    disk_bound: true,
};

static AGAIN: PhaseDescription = PhaseDescription {
    name: "again",
    summary: "the copy brought up to date after a few changes",
    clock: "as `copy`, onto its result",
    ops: &[],
    disk_bound: true,
};

static BACKUP: PhaseDescription = PhaseDescription {
    name: "backup",
    summary: "backups day by day, each a whole tree with hard links to the previous one",
    clock: "for each day: its changes to the tree, `rsync -aH --link-dest` into a new \
directory, and one syncfs; it begins with an empty cache",
    ops: &[],
    disk_bound: true,
};

static EXPIRE: PhaseDescription = PhaseDescription {
    name: "expire",
    summary: "the oldest backup removed",
    clock: "unlink and rmdir as `rm -r` does, with an empty cache, and one syncfs",
    ops: &[],
    disk_bound: true,
};

const FILES: CountParameter =
    CountParameter::new("files", "Files of the tree.", 1, 10_000_000, "2000").scaled();
const SIZE: SizeParameter =
    SizeParameter::new("size", "Mean size of a file.", Bytes(1), Bytes::from_mib(16), "8K");
const CHANGED: CountParameter = CountParameter::new(
    "changed",
    "Files that change before each further run of rsync.",
    1,
    1_000_000,
    "50",
)
.scaled();
const DAYS: CountParameter =
    CountParameter::new("days", "Backups, one after the other.", 1, 1000, "3");

static DESCRIPTION: Description = Description {
    name: "rsync",
    summary: "rsync: a copy, an update, daily backups with hard links",
    origin: "The program of Debian's package rsync. The tree, its copy and its backups lie on the \
filesystem under test. At the end the copy and the last backup are compared with the tree, and \
every file that did not change must be the same inode as in the previous backup. In the lab it \
needs `lab build --with programs`.",
    headline: Headline {
        question: "copying a tree with rsync",
        phase: "copy",
        metric: "wall",
        things: "",
    },
    presets: &[Preset {
        name: "backup",
        question: "a week of daily backups with rsync and hard links",
        set: &[("days", "7"), ("files", "5000")],
    }],
    inputs: &[InputKind::Program(PROGRAM)],
    parameters: &[FILES.row, SIZE.row, CHANGED.row, DAYS.row],
    phases: &[&COPY, &AGAIN, &BACKUP, &EXPIRE],
};

impl Workload for Rsync {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let (files, days) = (parameters.get(&FILES), parameters.get(&DAYS));
        let file = 2 * parameters.get(&SIZE).0 + 4096;
        let directories = (files / FILES_IN_DIRECTORY + 1) * (days + 3);
        // The tree, its copy, the first backup; then what changes, and the directories.
        let whole = 3 * files * file + days * parameters.get(&CHANGED).min(files) * file;
        let names = files * days * 64 + directories * 4096;
        Space { bytes: Bytes(whole + names), inodes: 4 * files + directories }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        in_directory(context, DIRECTORY, |context, directory| {
            let rsync = Steps::of(context, PROGRAM, directory, &[])?;
            let parameters = context.parameters();
            let mut tree = Tree {
                place: rsync.directory.join("tree"),
                files: parameters.get(&FILES),
                size: parameters.get(&SIZE).0,
                changed: parameters.get(&CHANGED),
                day: 0,
                draw: context.seed().stream("rsync"),
            };
            tree.make().map_err(setup)?;
            sync(&rsync.directory)?;
            copy(context, &rsync, &mut tree)?;
            back_up(context, &rsync, &mut tree)
        })
    }
}

fn copy(context: &mut Context<'_>, rsync: &Steps<'_>, tree: &mut Tree) -> Result<(), Failure> {
    let arguments = ["-aH", "--numeric-ids", "tree/", "copy/"];
    context.make_cold();
    rsync.time(context, &COPY, tree.files, Behind::Sync, &arguments, "")?;
    tree.change().map_err(setup)?;
    sync(&rsync.directory)?;
    context.make_cold();
    rsync.time(context, &AGAIN, tree.files, Behind::Sync, &arguments, "")?;
    compare(&tree.place, &rsync.directory.join("copy")).map(drop)
}

fn back_up(context: &mut Context<'_>, rsync: &Steps<'_>, tree: &mut Tree) -> Result<(), Failure> {
    let days = context.parameters().get(&DAYS);
    let whole = ["-aH", "--numeric-ids", "tree/", "day0/"];
    rsync.run(&whole, "")?;
    sync(&rsync.directory)?;
    context.make_cold();
    let all_days = |rsync: &Steps<'_>| {
        let start = now();
        let mut last = None;
        for day in 1..=days {
            tree.change().map_err(|error| Failure::Op { phase: BACKUP.name, error })?;
            let before = format!("--link-dest=../day{}", day - 1);
            let here = format!("day{day}/");
            let words = ["-aH", "--numeric-ids", &before, "tree/", &here];
            last = Some(rsync.part(&words)?);
            rsync.synced(Behind::Sync)?;
        }
        let wall = now() - start;
        last.map(|done| (done, wall)).ok_or_else(|| Failure::Input("no days".to_owned()))
    };
    rsync.timed(context, &BACKUP, days, all_days, |_| {})?;

    let of = |day: u64| rsync.directory.join(format!("day{day}"));
    let files = compare(&tree.place, &of(days))?;
    let linked = linked(&of(days), &of(days - 1)).map_err(setup)?;
    if linked + tree.changed < files {
        return Err(Failure::Verify(format!(
            "of {files} files only {linked} are hard links to the backup before"
        )));
    }

    context.make_cold();
    let directory = rsync.directory.clone();
    context.phase(&EXPIRE, tree.files, |_| remove_in(&directory, "day0"))
}

fn setup(error: OpError) -> Failure {
    Failure::Op { phase: "outside the phases", error }
}

/// The tree that is copied.
struct Tree {
    place: PathBuf,
    files: u64,
    size: u64,
    changed: u64,
    day: u64,
    draw: Draw,
}

impl Tree {
    fn make(&mut self) -> Result<(), OpError> {
        let directories = self.files.div_ceil(FILES_IN_DIRECTORY);
        for directory in 0..directories {
            let path = self.place.join(format!("d{directory:05}"));
            fs::create_dir_all(&path).map_err(OpError::at("mkdir", &path))?;
        }
        (0..self.files).try_for_each(|file| self.write(file))
    }

    /// A day's work: some files at random get other contents.
    fn change(&mut self) -> Result<(), OpError> {
        self.day += 1;
        (0..self.changed).try_for_each(|_| {
            let file = self.draw.below(self.files);
            self.write(file)
        })
    }

    fn write(&mut self, file: u64) -> Result<(), OpError> {
        // From half to one and a half of the mean.
        let length = self.size / 2 + self.draw.below(self.size + 1);
        let text = lines(&mut self.draw, usize::try_from(length).unwrap_or(usize::MAX));
        let directory = file / FILES_IN_DIRECTORY;
        let path = self.place.join(format!("d{directory:05}/f{file:07}"));
        fs::write(&path, text).map_err(OpError::at("write", &path))?;
        // rsync takes a file of the same size and time for unchanged.
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(FIRST_DAY + self.day * 86_400);
        fs::File::options()
            .write(true)
            .open(&path)
            .and_then(|opened| opened.set_modified(time))
            .map_err(OpError::at("utimens", &path))
    }
}

/// Compares two trees by names and contents; how many files they have.
fn compare(tree: &Path, copy: &Path) -> Result<u64, Failure> {
    let names = files(tree).map_err(setup)?;
    if names != files(copy).map_err(setup)? {
        return Err(Failure::Verify(format!("{} has other files than the tree", copy.display())));
    }
    for name in &names {
        let read = |place: &Path| {
            let path = place.join(name);
            fs::read(&path).map_err(OpError::at("read", &path)).map_err(setup)
        };
        if read(tree)? != read(copy)? {
            let path = copy.join(name);
            return Err(Failure::Verify(format!("{} has other contents", path.display())));
        }
    }
    Ok(names.len() as u64)
}

/// How many files of a tree are the same as those of another.
fn linked(tree: &Path, before: &Path) -> Result<u64, OpError> {
    let mut linked = 0;
    for name in files(tree)? {
        let found = |place: &Path| {
            let path = place.join(&name);
            fs::metadata(&path).map_err(OpError::at("stat", &path))
        };
        let (here, there) = (found(tree)?, found(before)?);
        linked += u64::from((here.dev(), here.ino()) == (there.dev(), there.ino()));
    }
    Ok(linked)
}
