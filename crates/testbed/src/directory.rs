//! Testbed `dir`: existing directories. It needs no root and runs no mkfs; each directory is one
//! contender.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ::device::Ledger;
use files::{Directory, Mount};
use rustix::fs::{Access, AtFlags, accessat, fstatvfs};
use stack::{Contender, Refusal};
use store::Environment;
use trial::{Event, InputFiles, Job, Outcome, Site, Step, TrialSpec};
use units::Bytes;
use workload::Space;

use crate::child::Assignment;
use crate::facts;
use crate::place::Place;
use crate::process::{Inherited, run_child};
use crate::programs::missing_program;
use crate::{Stop, Stopped, Testbed};

/// Directories of this machine.
pub struct DirectoryTestbed {
    ledger: Ledger,
    /// Contender names and their directories; why there are none.
    directories: Result<Vec<(String, Directory)>, Refusal>,
    drop_caches: bool,
    inputs: InputFiles,
    tool_path: Vec<PathBuf>,
    /// What the largest trial writes.
    room: Space,
}

/// The contenders for these directories, named after their filesystems, or after their paths if two
/// have the same kind of filesystem.
///
/// # Errors
/// When a path is not a writable directory, or another user could have led it elsewhere.
pub fn directory_contenders(directories: &[PathBuf]) -> Result<Vec<Contender>, Refusal> {
    Ok(hold_all(directories)?.into_iter().map(|(contender, _)| contender).collect())
}

/// The contenders, and their directories, held.
fn hold_all(directories: &[PathBuf]) -> Result<Vec<(Contender, Directory)>, Refusal> {
    let held = directories.iter().map(|path| hold(path)).collect::<Result<Vec<_>, _>>()?;
    for (nth, (_, one)) in held.iter().enumerate() {
        if let Some((_, same)) = held[..nth].iter().find(|(_, other)| is_same(one, other)) {
            let shown = format!("{} and {}", same.path().display(), one.path().display());
            return Err(Refusal::new(shown, "this is one directory")
                .with_next("name one on each filesystem that is compared"));
        }
    }
    let kinds: Vec<String> = held.iter().map(|(kind, _)| kind.clone()).collect();
    Ok(held
        .into_iter()
        .map(|(kind, directory)| {
            let mut contender = Contender::plain(&kind);
            if kinds.iter().filter(|other| **other == kind).count() > 1 {
                contender.name = directory.path().display().to_string();
            }
            (contender, directory)
        })
        .collect())
}

fn is_same(one: &Directory, other: &Directory) -> bool {
    let number = |it: &Directory| rustix::fs::fstat(it).map(|found| (found.st_dev, found.st_ino));
    matches!((number(one), number(other)), (Ok(one), Ok(other)) if one == other)
}

/// A directory that this user can write to, and the kind of its filesystem.
fn hold(path: &Path) -> Result<(String, Directory), Refusal> {
    let shown = path.display().to_string();
    let held = Directory::hold(path).map_err(|error| match error.source.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            Refusal::new(&shown, "it is not a directory").with_next("make it first")
        }
        _ => Refusal::new(&shown, error.source.to_string()),
    })?;
    accessat(&held, c".", Access::WRITE_OK, AtFlags::empty())
        .map_err(|error| Refusal::new(&shown, format!("it cannot be written: {error}")))?;
    let mount = Mount::of_open(&held)
        .map_err(|error| Refusal::new(shown, format!("its mount cannot be found: {error}")))?;
    Ok((mount.filesystem, held))
}

impl DirectoryTestbed {
    /// Holds the directories for the whole run. `names` are the names of their contenders, if they
    /// are not named after their filesystems. `room` is what the largest trial writes.
    pub fn new(
        ledger: Ledger,
        directories: &[PathBuf],
        names: &[String],
        drop_caches: bool,
        inputs: InputFiles,
        tool_path: Vec<PathBuf>,
        room: Space,
    ) -> DirectoryTestbed {
        let directories = hold_all(directories).map(|all| {
            let named = all.into_iter().enumerate().map(|(at, (contender, directory))| {
                (names.get(at).cloned().unwrap_or(contender.name), directory)
            });
            named.collect()
        });
        DirectoryTestbed { ledger, directories, drop_caches, inputs, tool_path, room }
    }

    fn all(&self) -> &[(String, Directory)] {
        self.directories.as_deref().unwrap_or_default()
    }

    fn directory(&self, spec: &TrialSpec) -> Option<&Directory> {
        let found = self.all().iter().find(|(name, _)| *name == spec.contender.name)?;
        Some(&found.1)
    }

    fn objection(&self, spec: &TrialSpec) -> Option<Refusal> {
        let elsewhere = facts::only_in_guest(spec).or_else(|| facts::needs_own_filesystem(spec));
        if elsewhere.is_some() {
            return elsewhere;
        }
        if let Err(refusal) = &self.directories {
            return Some(refusal.clone());
        }
        let name = &spec.contender.name;
        let Some(directory) = self.directory(spec) else {
            return Some(Refusal::new(name, "no directory of this run lies on it any more"));
        };
        if let Some(refusal) = missing_program(spec, &self.tool_path) {
            return Some(refusal);
        }
        let shown = directory.path().display().to_string();
        match fstatvfs(directory) {
            Err(error) => Some(Refusal::new(shown, error.to_string())),
            Ok(found) => {
                let refused = |rule: String| {
                    Some(Refusal::new(shown, rule).with_next(facts::to_need_less(spec)))
                };
                let Space { bytes, inodes } = self.room;
                let free = Bytes(found.f_bavail.saturating_mul(found.f_frsize));
                if free < bytes {
                    return refused(format!("{bytes} are needed, {free} are free"));
                }
                // Where inodes are made as they are needed, there are none to count.
                if found.f_files > 0 && found.f_favail < inodes {
                    let free = found.f_favail;
                    return refused(format!("{inodes} inodes are needed, {free} are free"));
                }
                facts::too_large_for_memory(&spec.contender.filesystem, bytes).and_then(refused)
            }
        }
    }
}

impl Testbed for DirectoryTestbed {
    fn name(&self) -> &'static str {
        "dir"
    }

    fn environment(&self) -> Environment {
        let mut environment = facts::machine_facts();
        let paths: Vec<_> =
            self.all().iter().map(|(_, held)| held.path().display().to_string()).collect();
        environment.0.insert("target_path".to_owned(), paths.join(", "));
        environment
    }

    fn admit(&self, specs: &[TrialSpec]) -> Vec<(usize, Refusal)> {
        specs
            .iter()
            .enumerate()
            .filter_map(|(index, spec)| Some((index, self.objection(spec)?)))
            .collect()
    }

    fn run(
        &self,
        spec: &TrialSpec,
        stop: &Stop,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), Stopped> {
        let failed = |reason: String| Event::Ended(Outcome::Failed { step: Step::Prepare, reason });
        let Some(directory) = self.directory(spec) else {
            sink(failed(format!("there is no directory for {}", spec.contender.name)));
            return Ok(());
        };
        let place = match Place::make(&self.ledger, directory) {
            Ok(place) => place,
            Err(reason) => {
                sink(failed(reason));
                return Ok(());
            }
        };
        let job = Job {
            spec: spec.clone(),
            site: Site::Directory {
                path: place.path.clone(),
                drop_machine_caches: self.drop_caches,
            },
            inputs: self.inputs.clone(),
            tool_path: self.tool_path.clone(),
        };
        let held = place.held();
        let inherited: Vec<_> = held.iter().map(|held| Inherited(held.directory)).collect();
        let assignment = Assignment { job, claims: Vec::new(), mounts: held.is_some(), held };
        run_child(&assignment, &inherited, spec.timeout, stop, sink)
    }
}
