//! `fstrial lab build`: the software of a lab, from packages or from files of one's own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use stack::filesystems::FILESYSTEMS;
use stack::layouts::LAYOUTS;
use units::Bytes;

use crate::apt::{Apt, Package, unpack};
use crate::cache::{Lock, sweep_unfinished, unfinished, write_whole};
use crate::checkpoint::key;
use crate::error::LabError;
use crate::lab::Parts;
use crate::machine::Qemu;

/// The kernel series: the last that Debian ships with reiserfs.
const KERNEL_SERIES: &str = "6.12";
/// The emulator's program and package.
const QEMU: &str = "qemu-system-x86_64";
const QEMU_PACKAGE: &str = "qemu-system-x86";
/// What several drivers use and none calls its own: `wipefs`, `blockdev`.
const SHARED_TOOLS: &str = "util-linux";
/// Unpacked, packages take about this many times their compressed size.
const UNPACKED: u64 = 5;
pub(crate) const MANIFEST: &str = "manifest.toml";
const CURRENT: &str = "current";

/// What to build.
#[derive(Debug, Clone, Default)]
pub struct BuildOptions {
    /// A kernel of one's own instead of Debian's, a bzImage; needs `modules`.
    pub kernel: Option<PathBuf>,
    /// Its modules, `lib/modules/RELEASE`.
    pub modules: Option<PathBuf>,
    /// A tree of tools instead of Debian's.
    pub tools: Option<PathBuf>,
    /// Takes QEMU from packages even where the host has one.
    pub unpack_qemu: bool,
    /// Builds anew though there is a lab.
    pub refresh: bool,
}

/// How a build is getting on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildProgress {
    /// The package lists are being fetched.
    Lists,
    /// Packages are being downloaded.
    Download {
        /// What for: `kernel`, `tools`, `emulator`.
        what: &'static str,
        /// How many.
        packages: usize,
        /// Their size.
        size: Bytes,
    },
    /// Packages are being unpacked.
    Unpack {
        /// What for.
        what: &'static str,
    },
}

/// What a lab's software is, kept beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of this file's form.
    pub version: u32,
    /// The kernel: a path below the lab's directory, or absolute where it is one's own.
    pub kernel: PathBuf,
    /// Its modules, likewise.
    pub modules: PathBuf,
    /// The tools' tree, likewise.
    pub tools: PathBuf,
    /// Root of an unpacked QEMU, likewise; the host's own where missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qemu: Option<PathBuf>,
    /// The packages it was made of.
    #[serde(default, rename = "package")]
    pub packages: Vec<Package>,
}

/// A built lab's software.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Software {
    /// Where it lies.
    pub directory: PathBuf,
    /// What it is.
    pub manifest: Manifest,
}

/// The lab in `cache` that was built last.
///
/// # Errors
/// When there is none or it is damaged.
pub fn current(cache: &Path) -> Result<Software, LabError> {
    let pointer = cache.join(CURRENT);
    let name =
        std::fs::read_to_string(&pointer).map_err(|_| LabError::NotBuilt(cache.to_owned()))?;
    let directory = cache.join("software").join(name.trim());
    let path = directory.join(MANIFEST);
    let text = std::fs::read_to_string(&path).map_err(|_| LabError::NotBuilt(cache.to_owned()))?;
    let manifest =
        toml::from_str(&text).map_err(|error| LabError::damaged(&path, error.to_string()))?;
    Ok(Software { directory, manifest })
}

impl Software {
    /// Its parts, ready for [`crate::Lab::open`].
    ///
    /// # Errors
    /// When one is missing, or there is no QEMU.
    pub fn parts(&self) -> Result<Parts, LabError> {
        let place = |path: &Path| {
            let path = self.directory.join(path);
            if path.exists() { Ok(path) } else { Err(LabError::damaged(&path, "it is missing")) }
        };
        let qemu = match &self.manifest.qemu {
            Some(root) => Qemu::Unpacked { root: place(root)? },
            None => Qemu::Host {
                path: on_path(QEMU).ok_or_else(|| {
                    let why = "the host's own is gone; `fstrial lab build --refresh` unpacks one";
                    LabError::NoPackage { package: QEMU_PACKAGE.to_owned(), why: why.to_owned() }
                })?,
            },
        };
        Ok(Parts {
            kernel: place(&self.manifest.kernel)?,
            modules: place(&self.manifest.modules)?,
            tools: place(&self.manifest.tools)?,
            qemu,
        })
    }
}

/// Builds the lab's software in `cache`, or finds that it is there. Interrupted at any
/// moment it leaves nothing that counts as a lab.
///
/// # Errors
/// No network, no room, not Debian: each says what to do.
pub fn build(
    cache: &Path,
    options: &BuildOptions,
    progress: &mut dyn FnMut(BuildProgress),
) -> Result<Software, LabError> {
    if options.kernel.is_some() != options.modules.is_some() {
        return Err(LabError::value(
            "--kernel and --modules",
            "each needs the other: modules fit one kernel only",
        ));
    }
    let store = cache.join("software");
    std::fs::create_dir_all(&store).map_err(LabError::at("create", &store))?;
    let _lock = Lock::take(&cache.join("build.lock"))?;
    sweep_unfinished(&store);
    sweep_unfinished(cache);
    let own = options.kernel.is_some() || options.tools.is_some() || options.unpack_qemu;
    if !options.refresh
        && !own
        && let Ok(software) = current(cache)
        && software.parts().is_ok()
    {
        return Ok(software);
    }
    let work = unfinished(&store.join("lab"));
    let built = build_in(&work, cache, options, progress);
    if built.is_err() {
        let _ = std::fs::remove_dir_all(&work);
    }
    let manifest = built?;
    let text = toml::to_string(&manifest)
        .map_err(|error| LabError::value("the manifest", error.to_string()))?;
    let path = work.join(MANIFEST);
    std::fs::write(&path, &text).map_err(LabError::at("write", &path))?;
    adopt(cache, &work, &text)
}

/// Makes a finished directory the current lab.
pub(crate) fn adopt(cache: &Path, work: &Path, manifest: &str) -> Result<Software, LabError> {
    let name = key(&[manifest.as_bytes()]);
    let directory = cache.join("software").join(&name);
    if directory.join(MANIFEST).exists() {
        std::fs::remove_dir_all(work).map_err(LabError::at("remove", work))?;
    } else {
        std::fs::rename(work, &directory).map_err(LabError::at("rename", work))?;
    }
    write_whole(&cache.join(CURRENT), |mut file: &std::fs::File| {
        std::io::Write::write_all(&mut file, name.as_bytes())
            .map_err(LabError::at("write", &cache.join(CURRENT)))
    })?;
    current(cache)
}

fn build_in(
    work: &Path,
    cache: &Path,
    options: &BuildOptions,
    progress: &mut dyn FnMut(BuildProgress),
) -> Result<Manifest, LabError> {
    std::fs::create_dir_all(work).map_err(LabError::at("create", work))?;
    let absolute = |path: &Path| std::path::absolute(path).map_err(LabError::at("find", path));
    let mut source = Source { apt: None, cache, work, packages: Vec::new(), progress };
    let (kernel, modules) = match (&options.kernel, &options.modules) {
        (Some(kernel), Some(modules)) => (absolute(kernel)?, absolute(modules)?),
        _ => source.kernel()?,
    };
    let tools = match &options.tools {
        Some(tools) => absolute(tools)?,
        None => source.tools()?,
    };
    let qemu = if options.unpack_qemu || on_path(QEMU).is_none() {
        Some(source.unpacked("emulator", "qemu", &[QEMU_PACKAGE], true)?)
    } else {
        None
    };
    let mut packages = source.packages;
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    packages.dedup();
    Ok(Manifest { version: 1, kernel, modules, tools, qemu, packages })
}

/// Packages for one build.
struct Source<'a> {
    apt: Option<Apt>,
    cache: &'a Path,
    work: &'a Path,
    packages: Vec<Package>,
    progress: &'a mut dyn FnMut(BuildProgress),
}

impl Source<'_> {
    fn apt(&mut self) -> Result<&Apt, LabError> {
        if self.apt.is_none() {
            let directory = self.cache.join("apt");
            std::fs::create_dir_all(&directory).map_err(LabError::at("create", &directory))?;
            let apt = Apt::set_up(&directory)?;
            (self.progress)(BuildProgress::Lists);
            apt.update()?;
            self.apt = Some(apt);
        }
        self.apt.as_ref().ok_or_else(|| LabError::NotDebian { missing: "apt-get".to_owned() })
    }

    fn kernel(&mut self) -> Result<(PathBuf, PathBuf), LabError> {
        let names = self.apt()?.names(&format!("linux-image-{KERNEL_SERIES}."))?;
        let package = newest_kernel(&names).ok_or_else(|| LabError::NoPackage {
            package: format!("linux-image-{KERNEL_SERIES}.*-amd64"),
            why: format!(
                "Debian 12 has it in its security suite and Debian 13 as its own kernel: add \
                 one of them to apt's sources, or give --kernel and --modules ({KERNEL_SERIES} \
                 is the last series with reiserfs)"
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

    fn tools(&mut self) -> Result<PathBuf, LabError> {
        let packages: BTreeSet<&str> = FILESYSTEMS
            .iter()
            .filter_map(|filesystem| filesystem.describe().package)
            .chain(LAYOUTS.iter().filter_map(|layout| layout.describe().package))
            .chain([SHARED_TOOLS])
            .collect();
        let packages: Vec<&str> = packages.into_iter().collect();
        self.unpacked("tools", "tools", &packages, true)
    }

    /// Downloads packages and unpacks them below `name` of the work directory, which is
    /// returned as a relative path.
    fn unpacked(
        &mut self,
        what: &'static str,
        name: &str,
        packages: &[&str],
        closure: bool,
    ) -> Result<PathBuf, LabError> {
        let mut planned = self.apt()?.plan(packages, closure)?;
        let size = planned.iter().map(|package| package.size).sum();
        self.check_room(Bytes(size))?;
        let told = BuildProgress::Download { what, packages: planned.len(), size: Bytes(size) };
        (self.progress)(told);
        let apt = self.apt()?;
        apt.download(packages, closure)?;
        let archives = apt.archives();
        (self.progress)(BuildProgress::Unpack { what });
        let root = self.work.join(name);
        std::fs::create_dir_all(&root).map_err(LabError::at("create", &root))?;
        for package in &mut planned {
            let file = find_package(&archives, package)?;
            package.sha256 = digest_of(&file)?;
            unpack(&file, &root)?;
            std::fs::remove_file(&file).map_err(LabError::at("remove", &file))?;
        }
        for needless in ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info"] {
            let _ = std::fs::remove_dir_all(root.join(needless));
        }
        self.packages.extend(planned);
        Ok(PathBuf::from(name))
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

fn digest_of(path: &Path) -> Result<String, LabError> {
    let bytes = std::fs::read(path).map_err(LabError::at("read", path))?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
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

/// A program on the PATH.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
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

    #[test]
    fn a_kernel_without_its_modules_is_refused_before_anything_is_made() {
        let cache = tempfile::tempdir().unwrap();
        let options = BuildOptions { kernel: Some("vmlinuz".into()), ..BuildOptions::default() };
        let error = build(cache.path(), &options, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("--modules"), "{error}");
        assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 0);
    }

    #[test]
    fn no_lab_says_how_to_get_one() {
        let cache = tempfile::tempdir().unwrap();
        let error = current(cache.path()).unwrap_err().to_string();
        assert!(error.contains("fstrial lab build"), "{error}");
    }
}
