//! Optional parts of a lab: those that take long to build or that few users need. Each part has a
//! file of its own; [`OPTIONAL_PARTS`] is the only list of them. `fstrial lab build --with NAME`
//! adds a part to an existing lab. A trial that needs a part which is not built is refused, and the
//! refusal names that command; `fstrial study run` builds the parts that its study needs.
//!
//! A part is kept in `parts/NAME` of the lab's software, in up to three directories, which reach
//! the guest in different ways:
//!
//! * `tools`: a tree of unpacked packages; the programs the part names are taken from it
//!   with the libraries they load, into `/sbin`;
//! * `modules`: kernel modules, loaded before the checkpoint if a driver wants them;
//! * `files`: every file, at the same path in the guest.

pub(crate) mod boot;
mod fio;
mod npm;
mod originals;
mod postgresql;
mod programs;
mod zfs;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use units::Bytes;

use crate::apt::{Archives, Package};
use crate::building::last_lines;
use crate::error::LabError;
use crate::packages::Source;
use crate::progress::BuildProgress;

pub(crate) use boot::SYSTEM;

/// Every optional part.
pub static OPTIONAL_PARTS: &[&dyn OptionalPart] = &[
    &boot::Boot,
    &fio::Fio,
    &npm::Npm,
    &originals::Originals,
    &postgresql::Postgresql,
    &programs::Programs,
    &zfs::Zfs,
];

/// The part that contains the system which a lab boots.
pub(crate) static SYSTEM_PART: &dyn OptionalPart = &boot::Boot;

/// A part of the lab that is built on request.
pub trait OptionalPart: Sync {
    /// The constant facts about it.
    fn describe(&self) -> &'static PartDescription;

    /// Builds it in the workshop's directory. What it leaves there is the part. If it fails, the
    /// lab is left without the part.
    ///
    /// # Errors
    /// No network, no compiler, a package that is gone: each says what to do.
    fn build(&self, workshop: &mut Workshop<'_>) -> Result<(), LabError>;

    /// A key for what this program puts into the part in addition to packages; empty for nothing.
    fn own(&self) -> String {
        String::new()
    }
}

/// The constant facts about a part.
#[derive(Debug)]
pub struct PartDescription {
    /// Name for `--with`.
    pub name: &'static str,
    /// What it is and how long it takes to build, one line.
    pub summary: &'static str,
    /// Packages named by drivers or layouts that belong to this part instead of the lab's other
    /// tools.
    pub packages: &'static [&'static str],
    /// The programs it puts into the guest.
    pub programs: &'static [&'static str],
    /// Guest memory that its modules need in addition to their files. It is not taken from the
    /// profile's memory.
    pub memory: Bytes,
    /// Archives of its packages, in addition to those that this machine uses.
    pub archives: Archives,
}

/// The part of this name.
///
/// # Errors
/// When there is none. The message names the existing ones.
pub fn part(name: &str) -> Result<&'static dyn OptionalPart, LabError> {
    OPTIONAL_PARTS.iter().copied().find(|part| part.describe().name == name).ok_or_else(|| {
        let known = OPTIONAL_PARTS.iter().map(|part| part.describe().name);
        let meant = text::meant(name, known).unwrap_or_default();
        let problem = format!("there is no such part; {meant}");
        LabError::value(format!("--with {name}"), problem)
    })
}

/// The part that puts this program into the guest.
pub fn part_with(program: &str) -> Option<&'static dyn OptionalPart> {
    OPTIONAL_PARTS.iter().copied().find(|part| part.describe().programs.contains(&program))
}

/// The packages that belong to optional parts instead of the lab's other tools.
pub(crate) fn packages() -> BTreeSet<&'static str> {
    OPTIONAL_PARTS.iter().flat_map(|part| part.describe().packages).copied().collect()
}

/// Makes a bootable system in a guest: from an archive of packages, into a file.
pub(crate) type PrepareSystem<'a> = &'a dyn Fn(&Path, &Path) -> Result<(), LabError>;

/// Where a part is built.
pub struct Workshop<'a> {
    source: Source<'a>,
    /// The lab's directory, complete except for this part.
    lab: &'a Path,
    part: &'static PartDescription,
    kernel: &'a Path,
    modules: &'a Path,
    prepare_system: PrepareSystem<'a>,
    scratch: PathBuf,
    kept: PathBuf,
}

impl std::fmt::Debug for Workshop<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workshop").field("part", &self.part.name).finish_non_exhaustive()
    }
}

/// The lab for which a part is built.
pub(crate) struct Base<'a> {
    /// The cache of all labs.
    pub(crate) cache: &'a Path,
    /// The lab's name.
    pub(crate) name: &'a str,
    /// The lab's unfinished directory.
    pub(crate) lab: &'a Path,
    /// Its kernel.
    pub(crate) kernel: &'a Path,
    /// Its modules.
    pub(crate) modules: &'a Path,
    /// How a guest of it makes a system.
    pub(crate) prepare_system: PrepareSystem<'a>,
    /// The packages it has.
    pub(crate) packages: Vec<Package>,
}

/// Builds a part into a lab; returns the lab's packages, the part's included.
///
/// # Errors
/// The part's own.
pub(crate) fn build_part(
    part: &'static dyn OptionalPart,
    base: Base<'_>,
    progress: &mut dyn FnMut(BuildProgress),
) -> Result<Vec<Package>, LabError> {
    let description = part.describe();
    let scratch = base.lab.join("scratch");
    let mut workshop = Workshop {
        source: Source::new(
            base.cache,
            base.name,
            base.lab,
            description.archives,
            base.packages,
            progress,
        ),
        lab: base.lab,
        part: description,
        kernel: base.kernel,
        modules: base.modules,
        prepare_system: base.prepare_system,
        kept: base.cache.join("built"),
        scratch,
    };
    for directory in [workshop.directory(), workshop.scratch.clone(), workshop.kept.clone()] {
        std::fs::create_dir_all(&directory).map_err(LabError::at("create", &directory))?;
    }
    part.build(&mut workshop)?;
    let scratch = &workshop.scratch;
    std::fs::remove_dir_all(scratch).map_err(LabError::at("remove", scratch))?;
    Ok(workshop.source.packages)
}

impl Workshop<'_> {
    /// The part's own directory.
    pub fn directory(&self) -> PathBuf {
        self.lab.join(directory_of(self.part.name))
    }

    /// A directory that is removed when the part is built.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// Where results that took long are kept for the next build. The name has to contain everything
    /// they depend on. [`Workshop::keep`] puts them there.
    pub fn kept(&self, name: &str) -> PathBuf {
        self.kept.join(name)
    }

    /// Keeps a finished directory under a name, atomically.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn keep(&self, directory: &Path, name: &str) -> Result<PathBuf, LabError> {
        let kept = self.kept(name);
        if !kept.exists() {
            std::fs::rename(directory, &kept).map_err(LabError::at("rename", directory))?;
        }
        Ok(kept)
    }

    /// Downloads packages, with all they depend on, and returns their files, which stay
    /// in the cache.
    ///
    /// # Errors
    /// No such package, no network, no room.
    pub fn packages(&mut self, packages: &[&str]) -> Result<Vec<PathBuf>, LabError> {
        self.source.fetched(self.part.name, packages, true)
    }

    /// Has a guest of this lab make a bootable system from an archive of packages.
    ///
    /// # Errors
    /// When the guest does not start or what it does fails: with its last words.
    pub(crate) fn prepare_system(&self, packages: &Path, to: &Path) -> Result<(), LabError> {
        (self.prepare_system)(packages, to)
    }

    /// The lab's kernel.
    pub fn kernel(&self) -> &Path {
        self.kernel
    }

    /// Its modules, `lib/modules/RELEASE`.
    pub fn modules(&self) -> &Path {
        self.modules
    }

    /// The kernel's release.
    ///
    /// # Errors
    /// When the modules' directory has no name.
    pub fn kernel_release(&self) -> Result<String, LabError> {
        let name = self.modules.file_name().and_then(|name| name.to_str());
        name.map(str::to_owned)
            .ok_or_else(|| LabError::damaged(self.modules, "its name is no kernel's release"))
    }

    /// Unpacks `packages` with all they depend on, and the packages `alone` without. Puts the
    /// part's programs and the libraries they load into its `tools`.
    ///
    /// # Errors
    /// No such package, no network, no room; a program that is in none of them.
    pub fn tools(&mut self, packages: &[&str], alone: &[&str]) -> Result<(), LabError> {
        self.tools_below(packages, alone, &[])
    }

    /// Like [`Workshop::tools`], but also looks for programs and libraries below these directories
    /// of the unpacked tree, which are not the usual ones.
    ///
    /// # Errors
    /// As [`Workshop::tools`].
    pub fn tools_below(
        &mut self,
        packages: &[&str],
        alone: &[&str],
        below: &[&str],
    ) -> Result<(), LabError> {
        self.source.unpacked(self.part.name, "scratch/tools", packages, true)?;
        if !alone.is_empty() {
            self.source.unpacked(self.part.name, "scratch/tools", alone, false)?;
        }
        let programs = self.part.programs.iter().copied();
        let root = self.scratch.join("tools");
        let others = below.iter().map(|directory| root.join(directory));
        let roots: Vec<PathBuf> = [root.clone()].into_iter().chain(others).collect();
        let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
        let userland = crate::tools::collect(&roots, programs)?;
        if let Some(program) = userland.missing.first() {
            let why =
                format!("the part `{}` needs {program}, which it does not have", self.part.name);
            return Err(LabError::NoPackage { package: packages.join(" "), why });
        }
        let tools = self.directory().join("tools");
        for (path, contents) in userland.files {
            let path = tools.join(path);
            let directory = path.parent().unwrap_or(&tools);
            std::fs::create_dir_all(directory).map_err(LabError::at("create", directory))?;
            std::fs::write(&path, contents).map_err(LabError::at("write", &path))?;
        }
        Ok(())
    }

    /// Unpacks packages below the scratch directory, without what they depend on.
    ///
    /// # Errors
    /// No such package, no network, no room.
    pub fn material(&mut self, packages: &[&str]) -> Result<PathBuf, LabError> {
        self.source.unpacked(self.part.name, "scratch/material", packages, false)?;
        Ok(self.scratch.join("material"))
    }

    /// The version of a package that was unpacked.
    pub fn version_of(&self, package: &str) -> Option<&str> {
        let found = self.source.packages.iter().find(|found| found.name == package)?;
        Some(&found.version)
    }

    /// Reports what is being done.
    pub fn tell(&mut self, doing: impl Into<String>) {
        let doing = doing.into();
        (self.source.progress)(BuildProgress::Part { part: self.part.name, doing });
    }

    /// Runs a command of a build, its output kept in a file beside the lab if it fails.
    ///
    /// # Errors
    /// When it cannot be started or fails: with its last lines.
    pub fn run(&self, command: &mut Command) -> Result<String, LabError> {
        let shown = format!("{command:?}").replace('"', "");
        let output = command.output().map_err(|error| LabError::Program {
            command: shown.clone(),
            said: error.to_string(),
            next: None,
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(LabError::Program { command: shown, said: last_lines(&output.stderr), next: None })
    }
}

/// Where a part lies in a lab.
pub(crate) fn directory_of(name: &str) -> PathBuf {
    Path::new("parts").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_and_no_program_comes_twice() {
        let mut programs = std::collections::BTreeSet::new();
        for part in OPTIONAL_PARTS {
            let description = part.describe();
            assert!(description.name.chars().all(|c| c.is_ascii_lowercase()));
            assert_eq!(super::part(description.name).unwrap().describe().name, description.name);
            for program in description.programs {
                assert!(programs.insert(*program), "{program} comes with two parts");
            }
        }
    }

    #[test]
    fn an_unknown_part_is_answered_with_those_there_are() {
        let error = part("zsf").err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("--with zsf") && error.contains("zfs"), "{error}");
    }
}
