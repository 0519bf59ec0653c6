//! Debian packages without root: apt with a state directory of our own. Of the machine's own
//! package state, only the list of sources and the keys are read; nothing is changed.

mod archives;
mod errors;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

pub use self::archives::Archives;
use self::errors::{checked, not_debian};
use crate::error::LabError;
use crate::watched::{self, Ended, Patience};

/// A package that was downloaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// SHA-256 of the `.deb`, which apt has checked against its signed lists.
    pub sha256: String,
    /// Its size in bytes.
    pub size: u64,
}

/// apt with its own state below one directory.
#[derive(Debug)]
pub(crate) struct Apt {
    directory: PathBuf,
    config: PathBuf,
}

impl Apt {
    /// Sets it up below `directory`, which exists.
    ///
    /// # Errors
    /// When this machine has no apt, or nothing can be written there.
    pub(crate) fn set_up(directory: &Path, archives: &Archives) -> Result<Apt, LabError> {
        for part in ["state/lists/partial", "cache/archives/partial"] {
            let path = directory.join(part);
            std::fs::create_dir_all(&path).map_err(LabError::at("create", &path))?;
        }
        // Absolute paths are written to the configuration below. They must not go through a
        // symlink to the cache, which may be gone by the next build.
        let directory = &directory.canonicalize().map_err(LabError::at("resolve", directory))?;
        let apt = Apt { directory: directory.clone(), config: directory.join("apt.conf") };
        // Files left by an interrupted build: apt compares only name and size, would take such a
        // file for a planned package, and leave that package out of its plan.
        sweep(&apt.archives())?;
        let status = directory.join("state/status");
        std::fs::write(&status, "").map_err(LabError::at("write", &status))?;
        // The machine's own settings, or those of the file in APT_CONFIG, say which archives there
        // are and how to reach them (proxies, timeouts). The machine's hooks are not run.
        let own = Command::new("apt-config").args(["dump", "Acquire", "Dir::Etc"]).output();
        let own = own.map_err(|error| not_debian("apt-config", &error))?;
        let mut text: String = String::from_utf8_lossy(&own.stdout)
            .lines()
            .filter(|line| line.starts_with("Acquire::") || line.starts_with("Dir::Etc"))
            .map(|line| format!("{line}\n"))
            .collect();
        let at = directory.display();
        text.push_str(&format!(
            "Dir::Etc::main \"/dev/null\";\nDir::Etc::parts \"/dev/null\";\n\
             Dir::State \"{at}/state\";\nDir::State::status \"{at}/state/status\";\n\
             Dir::Cache \"{at}/cache\";\nDir::Log \"{at}/log\";\n\
             APT::Sandbox::User \"\";\nAPT::Install-Recommends \"false\";\n\
             APT::Get::Assume-Yes \"true\";\nDebug::NoLocking \"true\";\n\
             APT::Architecture \"amd64\";\nAPT::Architectures \"amd64\";\n\
             APT::Get::List-Cleanup \"false\";\n\
             Acquire::Languages \"none\";\nAcquire::Retries \"2\";\n"
        ));
        std::fs::write(&apt.config, &text).map_err(LabError::at("write", &apt.config))?;
        if !archives.is_own() {
            let (sources, preferences) = apt.beyond(archives)?;
            let place = directory.join("sources");
            std::fs::create_dir_all(&place).map_err(LabError::at("create", &place))?;
            for (name, contents) in [("beyond.list", sources), ("preferences", preferences)] {
                let path = place.join(name);
                std::fs::write(&path, contents).map_err(LabError::at("write", &path))?;
            }
            text.push_str(&format!(
                "Dir::Etc::sourcelist \"{at}/sources/beyond.list\";\n\
                 Dir::Etc::sourceparts \"/dev/null\";\n\
                 Dir::Etc::preferences \"{at}/sources/preferences\";\n\
                 Dir::Etc::preferencesparts \"/dev/null\";\n"
            ));
            std::fs::write(&apt.config, &text).map_err(LabError::at("write", &apt.config))?;
        }
        Ok(apt)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<String, LabError> {
        let mut command = Command::new(program);
        ends_with_us(&mut command)
            .args(arguments)
            .env("APT_CONFIG", &self.config)
            .env("LC_ALL", "C")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .current_dir(self.archives());
        let ended = watched::run(&mut command, &self.directory, Patience::default())
            .map_err(|error| not_debian(program, &error))?;
        match ended {
            Ended::Itself(output) => checked(program, arguments, &output),
            Ended::Stalled { after, free } => Err(LabError::Program {
                command: format!("{program} {}", arguments.join(" ")),
                said: format!(
                    "it made no progress for {} s, with {free} free in {}, and was ended",
                    after.as_secs(),
                    self.directory.display()
                ),
                next: Some(
                    "free some space, or set XDG_CACHE_HOME to a place that has some; if there is \
                     enough, check the network and try again"
                        .to_owned(),
                ),
            }),
        }
    }

    /// The directory of downloaded packages.
    pub(crate) fn archives(&self) -> PathBuf {
        self.directory.join("cache/archives")
    }

    /// Fetches the package lists.
    ///
    /// # Errors
    /// When none can be had.
    pub(crate) fn update(&self) -> Result<(), LabError> {
        // `-qq` prints errors only. If a third-party source fails, apt-get still succeeds, and
        // the build goes on.
        self.run("apt-get", &["-qq", "update"]).map(drop)
    }

    /// Names of packages that begin with `prefix`.
    ///
    /// # Errors
    /// apt's own.
    pub(crate) fn names(&self, prefix: &str) -> Result<Vec<String>, LabError> {
        let text = self.run("apt-cache", &["pkgnames", prefix])?;
        Ok(text.split_whitespace().map(str::to_owned).collect())
    }

    /// What would be downloaded for these packages; with `closure`, including all they depend on.
    ///
    /// # Errors
    /// When a package does not exist or its dependencies cannot be met.
    pub(crate) fn plan(&self, packages: &[&str], closure: bool) -> Result<Vec<Package>, LabError> {
        let plan = |verb: &str, packages: &[&str]| -> Result<Vec<Package>, LabError> {
            let arguments: Vec<&str> =
                ["-qq", "--print-uris", verb].iter().chain(packages).copied().collect();
            let text = self.run("apt-get", &arguments)?;
            Ok(text.lines().filter_map(planned).collect())
        };
        if !closure {
            return plan("download", packages);
        }
        // Packages are kept by their SHA-256, which apt-get prints only for a download.
        let exact = exactly(&plan("install", packages)?);
        match exact.is_empty() {
            true => Ok(Vec::new()),
            false => plan("download", &exact.iter().map(String::as_str).collect::<Vec<_>>()),
        }
    }

    /// The archives of the newest source package of this name: upstream's, then Debian's own.
    ///
    /// # Errors
    /// When there is none, or it has another form.
    pub(crate) fn source(&self, name: &str) -> Result<Vec<Package>, LabError> {
        let arguments = ["-qq", "--print-uris", "--download-only", "source", name];
        let text = self.run("apt-get", &arguments)?;
        let files: Vec<Package> = text.lines().filter_map(planned_source).collect();
        let ending = |end: &str| files.iter().find(|file| file.name.ends_with(end)).cloned();
        let dsc = ending(".dsc")
            .and_then(|dsc| Some(dsc.name.strip_suffix(".dsc")?.split_once('_')?.1.to_owned()));
        match (dsc, ending(".orig.tar.xz"), ending(".debian.tar.xz")) {
            (Some(version), Some(upstream), Some(own)) => {
                let of = |file: Package| Package { version: version.clone(), ..file };
                Ok(vec![of(upstream), of(own)])
            }
            _ => Err(LabError::NoPackage {
                package: format!("{name} (source)"),
                why: "it does not consist of two archives; add a Debian archive to apt's sources"
                    .to_owned(),
            }),
        }
    }

    /// Downloads the archives of a source package into [`Apt::archives`], under their own names.
    ///
    /// # Errors
    /// As [`Apt::download`].
    pub(crate) fn download_source(&self, name: &str) -> Result<(), LabError> {
        self.run("apt-get", &["-qq", "--download-only", "source", name]).map(drop)
    }

    /// Downloads what was planned into [`Apt::archives`].
    ///
    /// # Errors
    /// The network's, the disk's, or a hash that does not agree.
    pub(crate) fn download(&self, planned: &[Package]) -> Result<(), LabError> {
        if planned.is_empty() {
            return Ok(());
        }
        let exact = exactly(planned);
        let mut arguments = vec!["-qq", "download"];
        arguments.extend(exact.iter().map(String::as_str));
        self.run("apt-get", &arguments).map(drop)
    }
}

/// These packages as arguments of `apt-get`, each with its exact version.
fn exactly(packages: &[Package]) -> Vec<String> {
    packages.iter().map(|package| format!("{}={}", package.name, package.version)).collect()
}

/// Name and version according to the `.deb` itself.
///
/// # Errors
/// When it is damaged.
pub(crate) fn calls_itself(package: &Path) -> Result<(String, String), LabError> {
    let path = package.display().to_string();
    let arguments = ["--showformat", "${Package} ${Version}", "--show", path.as_str()];
    let output = ends_with_us(&mut Command::new("dpkg-deb"))
        .args(arguments)
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| not_debian("dpkg-deb", &error))?;
    let said = checked("dpkg-deb", &arguments, &output)?;
    let (name, version) = said.trim().split_once(' ').unwrap_or((said.trim(), ""));
    Ok((name.to_owned(), version.to_owned()))
}

/// The names of the packages that a `.deb` depends on, without alternatives and versions.
///
/// # Errors
/// When it is damaged.
pub(crate) fn needs(package: &Path) -> Result<Vec<String>, LabError> {
    let path = package.display().to_string();
    let arguments = ["--showformat", "${Pre-Depends}, ${Depends}", "--show", path.as_str()];
    let output = ends_with_us(&mut Command::new("dpkg-deb"))
        .args(arguments)
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| not_debian("dpkg-deb", &error))?;
    let said = checked("dpkg-deb", &arguments, &output)?;
    let names = said.split(',').filter_map(|needed| needed.split_whitespace().next());
    Ok(names.map(|name| name.split(':').next().unwrap_or(name).to_owned()).collect())
}

/// Unpacks a `.deb` below `root`, without running anything in it.
///
/// # Errors
/// When it is damaged or there is no room.
pub(crate) fn unpack(package: &Path, root: &Path) -> Result<(), LabError> {
    let (from, to) = (package.display().to_string(), root.display().to_string());
    let arguments = ["--extract", from.as_str(), to.as_str()];
    let output = ends_with_us(&mut Command::new("dpkg-deb"))
        .args(arguments)
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| not_debian("dpkg-deb", &error))?;
    checked("dpkg-deb", &arguments, &output).map(drop)
}

/// Makes a program end when this process ends, for whatever reason.
fn ends_with_us(command: &mut Command) -> &mut Command {
    // SAFETY: prctl is async-signal-safe and touches no memory of ours.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            Ok(())
        })
    }
}

/// Removes the files of a directory, but not those in directories below it.
fn sweep(directory: &Path) -> Result<(), LabError> {
    let entries = std::fs::read_dir(directory).map_err(LabError::at("read", directory))?;
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| !path.is_dir()) {
        std::fs::remove_file(&path).map_err(LabError::at("remove", &path))?;
    }
    Ok(())
}

/// A line of `--print-uris`: `'URI' file size HASH`. A hash other than SHA-256 is left out.
fn planned(line: &str) -> Option<Package> {
    let mut words = line.strip_prefix('\'')?.split_once("' ")?.1.split_whitespace();
    let file = words.next()?.strip_suffix(".deb")?;
    let size = words.next()?.parse().ok()?;
    let sha256 = words.next().and_then(|hash| hash.strip_prefix("SHA256:")).unwrap_or_default();
    let mut parts = file.split('_');
    Some(Package {
        name: parts.next()?.to_owned(),
        version: parts.next()?.replace("%3a", ":"),
        sha256: sha256.to_owned(),
        size,
    })
}

/// The same for a file of a source package, whose version its name does not say.
fn planned_source(line: &str) -> Option<Package> {
    let mut words = line.strip_prefix('\'')?.split_once("' ")?.1.split_whitespace();
    let name = words.next()?.to_owned();
    let size = words.next()?.parse().ok()?;
    let sha256 = words.next()?.strip_prefix("SHA256:")?.to_owned();
    Some(Package { name, version: String::new(), sha256, size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_source_is_a_file() {
        let line = "'http://archive/q/qemu_7.2.orig.tar.xz' qemu_7.2.orig.tar.xz 23 SHA256:0f";
        let file = planned_source(line).unwrap();
        assert_eq!((file.name.as_str(), file.size), ("qemu_7.2.orig.tar.xz", 23));
        assert_eq!(planned_source("NOTICE: 'qemu' packaging is maintained in Git"), None);
    }

    #[test]
    fn a_line_of_a_plan_is_a_package() {
        let line = "'http://archive/pool/main/m/mdadm_4.2-5_amd64.deb' mdadm_4.2-5_amd64.deb 445732 SHA256:ab12";
        let package = planned(line).unwrap();
        assert_eq!((package.name.as_str(), package.version.as_str()), ("mdadm", "4.2-5"));
        assert_eq!((package.size, package.sha256.as_str()), (445_732, "ab12"));
        let epoch = "'x' ntfs-3g_1%3a2022.10.3-1_amd64.deb 1 SHA256:0";
        assert_eq!(planned(epoch).unwrap().version, "1:2022.10.3-1");
        assert_eq!(planned("Reading package lists..."), None);
    }

    #[test]
    fn what_an_interrupted_build_left_is_swept() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("partial")).unwrap();
        std::fs::write(directory.path().join("mdadm_4.2-5_amd64.deb"), "half").unwrap();
        sweep(directory.path()).unwrap();
        let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().flatten().collect();
        assert!(left.len() == 1 && left[0].path().is_dir());
    }
}
