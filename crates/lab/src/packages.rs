//! The packages of one build: planned, downloaded, unpacked and recorded.

mod checks;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use stack::filesystems::FILESYSTEMS;
use stack::layouts::LAYOUTS;
use units::Bytes;

use self::checks::{check_digest, check_name};
use crate::apt::{Apt, Archives, Package, unpack};
use crate::cache::apt_directory;
use crate::error::LabError;
use crate::progress::BuildProgress;

/// The kernel series: the last that Debian ships with reiserfs.
const KERNEL_SERIES: &str = "6.12";
/// The package of tools that several drivers use but none names: `wipefs`, `blockdev`.
const SHARED_TOOLS: &str = "util-linux";
/// The directory of downloaded packages, relative to the cache; files are named by SHA-256.
const KEPT: &str = "packages";
/// Unpacked, packages take about this many times their compressed size.
const UNPACKED: u64 = 5;

/// Packages for one build.
pub(crate) struct Source<'a> {
    apt: Option<Apt>,
    cache: &'a Path,
    /// apt's own files, which one build has for itself.
    state: PathBuf,
    work: &'a Path,
    archives: Archives,
    /// The packages unpacked so far, and those that were there before.
    pub(crate) packages: Vec<Package>,
    /// Receives reports of progress.
    pub(crate) progress: &'a mut dyn FnMut(BuildProgress),
}

impl<'a> Source<'a> {
    /// For a build of the lab `name` in `work`, from the machine's own archives and `archives`.
    pub(crate) fn new(
        cache: &'a Path,
        name: &str,
        work: &'a Path,
        archives: Archives,
        packages: Vec<Package>,
        progress: &'a mut dyn FnMut(BuildProgress),
    ) -> Source<'a> {
        let state = cache.join(apt_directory(name));
        Source { apt: None, cache, state, work, archives, packages, progress }
    }

    fn apt(&mut self) -> Result<&Apt, LabError> {
        if self.apt.is_none() {
            // apt-get hangs if the disk becomes full while it fetches its lists. This happened
            // with a cache of 24 MiB.
            self.check_room(LISTS)?;
            let directory = &self.state;
            std::fs::create_dir_all(directory).map_err(LabError::at("create", directory))?;
            let apt = Apt::set_up(directory, &self.archives)?;
            (self.progress)(BuildProgress::Lists);
            apt.update()?;
            self.apt = Some(apt);
        }
        self.apt.as_ref().ok_or_else(|| LabError::NotDebian { missing: "apt-get".to_owned() })
    }

    /// The newest package of this name, without its dependencies. Nothing is fetched.
    ///
    /// # Errors
    /// When there is none. The message names the packages that begin with `alike`.
    pub(crate) fn planned(&mut self, name: &str, alike: &str) -> Result<Package, LabError> {
        let apt = self.apt()?;
        let known = apt.names(alike)?;
        let planned = match known.iter().any(|other| other == name) {
            true => apt.plan(&[name], false)?.into_iter().next(),
            false => None,
        };
        planned.ok_or_else(|| {
            let mut known: Vec<_> = known.into_iter().collect();
            known.sort();
            let why = match known.is_empty() {
                true => format!("they have nothing that begins with {alike}"),
                false => format!("they have {}", known.join(", ")),
            };
            LabError::NoPackage { package: name.to_owned(), why }
        })
    }

    /// The newest of these packages, without their dependencies; those of which the archives have
    /// none are left out. Nothing is fetched.
    ///
    /// # Errors
    /// apt's own.
    pub(crate) fn known(&mut self, packages: &[&str]) -> Result<Vec<Package>, LabError> {
        let apt = self.apt()?;
        let mut there = Vec::new();
        for package in packages {
            if apt.names(package)?.iter().any(|name| name == package) {
                there.push(*package);
            }
        }
        apt.plan(&there, false)
    }

    /// The two archives of the newest source package of this name. Nothing is fetched.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn source_package(&mut self, name: &str) -> Result<Vec<Package>, LabError> {
        self.apt()?.source(name)
    }

    /// Downloads the archives of a source package, unless they are kept; returns their files, in
    /// the same order.
    ///
    /// # Errors
    /// No network, no room, or a digest that differs.
    pub(crate) fn fetched_source(
        &mut self,
        what: &'static str,
        name: &str,
        archives: &[Package],
    ) -> Result<Vec<PathBuf>, LabError> {
        let kept = self.cache.join(KEPT);
        std::fs::create_dir_all(&kept).map_err(LabError::at("create", &kept))?;
        let place = |package: &Package| kept.join(&package.sha256);
        let is_kept = |package: &Package| {
            place(package).is_file() && check_digest(&place(package), &mut package.clone()).is_ok()
        };
        if !archives.iter().all(is_kept) {
            let size = Bytes(archives.iter().map(|package| package.size).sum());
            self.check_room(size)?;
            let packages = archives.len();
            (self.progress)(BuildProgress::Download { what, packages, size });
            let apt = self.apt()?;
            apt.download_source(name)?;
            for package in archives {
                let file = apt.archives().join(&package.name);
                check_digest(&file, &mut package.clone())?;
                std::fs::rename(&file, place(package)).map_err(LabError::at("rename", &file))?;
            }
        }
        Ok(archives.iter().map(place).collect())
    }

    /// The kernel and its modules.
    pub(crate) fn kernel(&mut self) -> Result<(PathBuf, PathBuf), LabError> {
        let names = self.apt()?.names(&format!("linux-image-{KERNEL_SERIES}."))?;
        let package = newest_kernel(&names).ok_or_else(|| LabError::NoPackage {
            package: format!("linux-image-{KERNEL_SERIES}.*-amd64"),
            why: format!(
                "Debian 12 has it in its security suite, and in Debian 13 it is the standard \
                 kernel: add one of them to apt's sources, or give --kernel and --modules \
                 ({KERNEL_SERIES} is the last series with reiserfs)"
            ),
        })?;
        let release = package.trim_start_matches("linux-image-").to_owned();
        let root = self.unpacked("kernel", "kernel", &[&package], false)?;
        let kernel = root.join(format!("boot/vmlinuz-{release}"));
        let modules = ["lib", "usr/lib"]
            .iter()
            .map(|lib| root.join(lib).join("modules").join(&release))
            .find(|path| self.work.join(path).is_dir());
        let modules = modules.ok_or_else(|| {
            LabError::damaged(&self.work.join(&root), format!("{package} has no modules"))
        })?;
        if !self.work.join(&kernel).is_file() {
            let path = self.work.join(&kernel);
            return Err(LabError::damaged(&path, format!("{package} does not have it")));
        }
        Ok((kernel, modules))
    }

    /// The tools of drivers and layouts, except those of these packages.
    pub(crate) fn tools(&mut self, except: &BTreeSet<&str>) -> Result<PathBuf, LabError> {
        let packages: BTreeSet<&str> = FILESYSTEMS
            .iter()
            .map(|filesystem| filesystem.describe())
            .filter(|description| !description.in_user_space())
            .filter_map(|description| description.package)
            .chain(LAYOUTS.iter().filter_map(|layout| layout.describe().package))
            .chain([SHARED_TOOLS])
            .filter(|package| !except.contains(package))
            .collect();
        let mut there = Vec::new();
        for package in packages {
            // Not every release has the tools of every filesystem: Debian 12 has none for
            // bcachefs. Such a filesystem is refused when it is requested; the others run.
            if self.apt()?.names(package)?.iter().any(|name| name == package) {
                there.push(package);
            } else {
                (self.progress)(BuildProgress::Absent { package: package.to_owned() });
            }
        }
        self.unpacked("tools", "tools", &there, true)
    }

    /// Downloads packages and unpacks them below `name` of the work directory, which is
    /// returned as a relative path. With `closure`, all they depend on too.
    pub(crate) fn unpacked(
        &mut self,
        what: &'static str,
        name: &str,
        packages: &[&str],
        closure: bool,
    ) -> Result<PathBuf, LabError> {
        let fetched = self.fetched(what, packages, closure)?;
        (self.progress)(BuildProgress::Unpack { what });
        let root = self.work.join(name);
        std::fs::create_dir_all(&root).map_err(LabError::at("create", &root))?;
        for file in &fetched {
            unpack(file, &root)?;
        }
        files::without_set_id(&root)?;
        for needless in ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info"] {
            let _ = std::fs::remove_dir_all(root.join(needless));
        }
        Ok(PathBuf::from(name))
    }

    /// Downloads packages, with `closure` all they depend on too, and records them. Returns their
    /// files, which stay in the cache, so that another lab of the same packages fetches nothing.
    pub(crate) fn fetched(
        &mut self,
        what: &'static str,
        packages: &[&str],
        closure: bool,
    ) -> Result<Vec<PathBuf>, LabError> {
        let mut planned = self.apt()?.plan(packages, closure)?;
        let kept = self.cache.join(KEPT);
        std::fs::create_dir_all(&kept).map_err(LabError::at("create", &kept))?;
        let is_kept = |package: &Package| {
            let file = kept.join(&package.sha256);
            !package.sha256.is_empty()
                && file.is_file()
                && check_digest(&file, &mut package.clone()).is_ok()
        };
        let lacking: Vec<Package> =
            planned.iter().filter(|package| !is_kept(package)).cloned().collect();
        let size = lacking.iter().map(|package| package.size).sum();
        self.check_room(Bytes(size))?;
        if !lacking.is_empty() {
            let packages = lacking.len();
            (self.progress)(BuildProgress::Download { what, packages, size: Bytes(size) });
        }
        let apt = self.apt()?;
        apt.download(&lacking)?;
        let archives = apt.archives();
        let mut files = Vec::new();
        for package in &mut planned {
            if lacking.contains(package) {
                let file = find_package(&archives, package)?;
                check_digest(&file, package)?;
                check_name(&file, package)?;
                let place = kept.join(&package.sha256);
                std::fs::rename(&file, &place).map_err(LabError::at("rename", &file))?;
            }
            files.push(kept.join(&package.sha256));
        }
        self.packages.extend(planned);
        Ok(files)
    }

    fn check_room(&self, download: Bytes) -> Result<(), LabError> {
        let room = rustix::fs::statvfs(self.work)
            .map_err(|error| LabError::at("look at", self.work)(error.into()))?;
        let free = Bytes(room.f_bavail.saturating_mul(room.f_frsize));
        let needed = Bytes(download.0.saturating_mul(1 + UNPACKED));
        if free < needed {
            let problem = format!(
                "{free} are free, about {needed} are needed; make room, or set XDG_CACHE_HOME to \
                 a place that has some"
            );
            return Err(LabError::value(self.work.display().to_string(), problem));
        }
        Ok(())
    }
}

/// Removes all kept packages except these.
///
/// # Errors
/// When one cannot be removed.
pub(crate) fn forget_all_but(cache: &Path, packages: &[Package]) -> Result<(), LabError> {
    for entry in std::fs::read_dir(cache.join(KEPT)).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        if !packages.iter().any(|package| name == package.sha256.as_str()) {
            std::fs::remove_file(&path).map_err(LabError::at("remove", &path))?;
        }
    }
    Ok(())
}

fn find_package(archives: &Path, package: &Package) -> Result<PathBuf, LabError> {
    let prefix = format!("{}_{}_", package.name, package.version.replace(':', "%3a"));
    let entries = std::fs::read_dir(archives).map_err(LabError::at("read", archives))?;
    entries
        .flatten()
        .find(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(&prefix) && name.ends_with(".deb")
        })
        .map(|entry| entry.path())
        .ok_or_else(|| LabError::NoPackage {
            package: package.name.clone(),
            why: format!("version {} was planned and not downloaded; try again", package.version),
        })
}

/// The download size of a distribution's package lists. The space they need is estimated from it in
/// the same way as for packages.
const LISTS: Bytes = Bytes::from_mib(64);

/// The newest plain kernel among package names (`linux-image-6.12.117+deb12-amd64`).
fn newest_kernel(names: &[String]) -> Option<String> {
    let version = |name: &str| -> Option<Vec<u64>> {
        let release = name.strip_prefix("linux-image-")?.strip_suffix("-amd64")?;
        let plain = |c: char| c.is_ascii_digit() || ".+debpo~".contains(c);
        if !release.chars().all(plain) {
            return None;
        }
        let numbers = release.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        numbers.map(|part| part.parse().ok()).collect()
    };
    names.iter().filter_map(|name| Some((version(name)?, name))).max().map(|(_, name)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_plain_kernel_is_taken() {
        let names = [
            "linux-image-6.12.9+deb12-amd64",
            "linux-image-6.12.117+deb12-amd64",
            "linux-image-6.12.117+deb12-cloud-amd64",
            "linux-image-6.12.200+deb12-rt-amd64",
            "linux-image-6.12.201+deb12-amd64-unsigned",
            "linux-image-6.12.201+deb12-amd64-dbg",
        ]
        .map(str::to_owned);
        assert_eq!(newest_kernel(&names).as_deref(), Some("linux-image-6.12.117+deb12-amd64"));
        assert_eq!(newest_kernel(&[]), None);
    }
}
