//! OpenZFS: two modules, compiled once for the lab's kernel, and its tools. Debian ships it as
//! source in contrib, because its licence does not allow binaries combined with the kernel.

use std::path::{Path, PathBuf};
use std::process::Command;

use units::Bytes;

use super::{OptionalPart, PartDescription, Workshop};
use crate::apt::Archives;
use crate::building::{on_path, run};
use crate::cache::{key, link_tree, unfinished};
use crate::error::LabError;

pub(super) struct Zfs;

static DESCRIPTION: PartDescription = PartDescription {
    name: "zfs",
    summary: "OpenZFS; compiled for the lab's kernel in about five minutes on two idle cores",
    packages: &["zfsutils-linux"],
    programs: &["zpool", "zfs", "zinject"],
    // Measured: with the modules, a guest booted in 45 MiB more; with less it waited forever.
    memory: Bytes::from_mib(48),
    archives: Archives { components: &["contrib"], backports: &["zfs-linux"], ..Archives::OWN },
};

/// The package of its source, which has the same version as its tools.
const SOURCE: &str = "zfs-dkms";
/// The package with the program that empties the cache. It depends on much that only tests need.
const TESTING: &str = "zfs-test";
/// Programs that its `configure` and the kernel's makefiles call, in addition to the compiler.
const BUILDERS: [&str; 9] = ["make", "awk", "sed", "grep", "file", "ld", "strip", "perl", "sh"];

impl OptionalPart for Zfs {
    fn describe(&self) -> &'static PartDescription {
        &DESCRIPTION
    }

    fn build(&self, workshop: &mut Workshop<'_>) -> Result<(), LabError> {
        workshop.tools(DESCRIPTION.packages, &[TESTING])?;
        let version = workshop.version_of(DESCRIPTION.packages[0]).unwrap_or_default().to_owned();
        let kernel = std::fs::read(workshop.kernel());
        let kernel = kernel.map_err(LabError::at("read", workshop.kernel()))?;
        // The key contains the version of the source and the exact kernel.
        let kept = format!("zfs-{}", key(&[version.as_bytes(), &kernel]));
        if !workshop.kept(&kept).is_dir() {
            let modules = compile(workshop)?;
            let whole = unfinished(&workshop.kept(&kept));
            std::fs::create_dir_all(&whole).map_err(LabError::at("create", &whole))?;
            for module in modules {
                let place = whole.join(module.file_name().unwrap_or_default());
                std::fs::copy(&module, &place).map_err(LabError::at("copy", &module))?;
            }
            workshop.keep(&whole, &kept)?;
        }
        link_tree(&workshop.kept(&kept), &workshop.directory().join("modules"))
    }
}

/// Compiles the modules; returns where they lie.
fn compile(workshop: &mut Workshop<'_>) -> Result<Vec<PathBuf>, LabError> {
    // Checked before anything is downloaded.
    let compiler = compiler()?;
    let headers = headers(workshop)?;
    let material = workshop.material(&[SOURCE])?;
    let source = find(&material.join("usr/src"), "zfs-")?;
    prepare(&headers, compiler)?;
    let scratch = workshop.scratch().to_owned();
    workshop.tell("looking at the kernel (configure)");
    let mut configure = Command::new("./configure");
    configure
        .args(["--disable-dependency-tracking", "--prefix=/usr", "--with-config=kernel"])
        .arg(format!("--with-linux={}", headers.common.display()))
        .arg(format!("--with-linux-obj={}", headers.own.display()));
    run(settings(&mut configure, &source, &scratch), |_| {})?;
    let files = count(&source.join("module"), "c")?;
    let jobs = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut make = Command::new("make");
    make.arg(format!("-j{jobs}"));
    let mut compiled = 0;
    run(settings(&mut make, &source, &scratch), |line| {
        if line.trim_start().starts_with("CC [M]") {
            compiled += 1;
            if compiled % 50 == 0 {
                workshop.tell(format!("compiled {compiled} of about {files} files"));
            }
        }
    })?;
    let modules = ["spl.ko", "zfs.ko"].map(|name| source.join("module").join(name));
    for module in &modules {
        let mut strip = Command::new("strip");
        run(strip.arg("--strip-debug").arg(module).current_dir(&source), |_| {})?;
    }
    Ok(modules.to_vec())
}

/// Sets the same directory, environment and file names for everyone: modules contain the paths of
/// their sources, and two builds of one version have to give the same lab.
fn settings<'c>(command: &'c mut Command, source: &Path, scratch: &Path) -> &'c mut Command {
    let flags = format!("-g0 -ffile-prefix-map={}=/build", scratch.display());
    command
        .current_dir(source)
        .env("LC_ALL", "C")
        .env("KCFLAGS", flags)
        .env("KBUILD_BUILD_TIMESTAMP", "1970-01-01")
        .env("SOURCE_DATE_EPOCH", "0")
        .env_remove("MAKEFLAGS")
}

fn compiler() -> Result<&'static str, LabError> {
    let missing: Vec<&str> =
        BUILDERS.into_iter().filter(|program| on_path(program).is_none()).collect();
    let compiler = ["gcc-12", "gcc"].into_iter().find(|program| on_path(program).is_some());
    match compiler {
        Some(compiler) if missing.is_empty() => Ok(compiler),
        compiler => {
            let lacking = compiler.is_none().then_some("gcc").into_iter().chain(missing);
            let lacking = lacking.collect::<Vec<_>>().join(", ");
            let problem = format!(
                "OpenZFS is compiled here, and this machine has no {lacking}; as root: \
                 apt-get install build-essential file gawk perl"
            );
            Err(LabError::value("--with zfs", problem))
        }
    }
}

/// Headers of the lab's kernel.
struct Headers {
    /// Those that hold its configuration.
    own: PathBuf,
    /// Those all its flavours share.
    common: PathBuf,
}

fn headers(workshop: &mut Workshop<'_>) -> Result<Headers, LabError> {
    let release = workshop.kernel_release()?;
    // The user's own kernel has a link to the tree in which it was built.
    let built = workshop.modules().join("build");
    if let Ok(own) = built.canonicalize() {
        return Ok(Headers { common: own.clone(), own });
    }
    let series = release.trim_end_matches("-amd64").to_owned();
    let of_kernel = |error: LabError| match error {
        LabError::Program { command, said, .. } => LabError::Program {
            command,
            said,
            next: Some(format!(
                "the archive no longer has the headers of {release}: `fstrial lab build --refresh \
                 --with zfs` takes a kernel that has them"
            )),
        },
        error => error,
    };
    let [own, common] = [&format!("{series}-amd64"), &format!("{series}-common")]
        .map(|name| format!("linux-headers-{name}"));
    let kbuild = format!("linux-kbuild-{series}");
    let material = workshop.material(&[&own, &common, &kbuild]).map_err(of_kernel)?;
    let sources = material.join("usr/src");
    Ok(Headers { own: sources.join(own), common: sources.join(common) })
}

/// Adapts a package's headers, which refer to `/usr/src`, to the place where they were unpacked.
fn prepare(headers: &Headers, compiler: &str) -> Result<(), LabError> {
    if headers.own == headers.common {
        return Ok(());
    }
    let write = |name: &str, text: String| {
        let path = headers.own.join(name);
        std::fs::write(&path, text).map_err(LabError::at("write", &path))
    };
    write("Makefile", format!("include {}/Makefile\n", headers.common.display()))?;
    let path = headers.own.join(".kernelvariables");
    let variables = std::fs::read_to_string(&path).map_err(LabError::at("read", &path))?;
    let lines = variables.lines().map(|line| match line.starts_with("CC =") {
        true => format!("CC = {compiler}\n"),
        false => format!("{line}\n"),
    });
    write(".kernelvariables", lines.filter(|line| !line.contains("CROSS_COMPILE =")).collect())?;
    // If `vmlinux` is there, the build makes type information, which needs another program and
    // which the lab would strip again. So it is removed.
    let path = headers.own.join("vmlinux");
    if path.exists() {
        std::fs::remove_file(&path).map_err(LabError::at("remove", &path))?;
    }
    Ok(())
}

/// The directory in `place` whose name begins with `beginning`.
fn find(place: &Path, beginning: &str) -> Result<PathBuf, LabError> {
    let entries = std::fs::read_dir(place).map_err(LabError::at("read", place))?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(beginning))
        })
        .ok_or_else(|| LabError::damaged(place, format!("{SOURCE} has no {beginning}* in it")))
}

fn count(directory: &Path, extension: &str) -> Result<usize, LabError> {
    let mut found = 0;
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(&directory).map_err(LabError::at("read", &directory))? {
            let path = entry.map_err(LabError::at("read", &directory))?.path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found += 1;
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_made_to_fit_where_they_lie() {
        let place = tempfile::tempdir().unwrap();
        let headers =
            Headers { own: place.path().join("own"), common: place.path().join("common") };
        std::fs::create_dir(&headers.own).unwrap();
        let variables = "ARCH = x86\nCC = $(CROSS_COMPILE)gcc-12\noverride CROSS_COMPILE = x-\n";
        std::fs::write(headers.own.join(".kernelvariables"), variables).unwrap();
        std::fs::write(headers.own.join("vmlinux"), "").unwrap();
        prepare(&headers, "gcc").unwrap();
        let read = |name: &str| std::fs::read_to_string(headers.own.join(name)).unwrap();
        assert_eq!(read(".kernelvariables"), "ARCH = x86\nCC = gcc\n");
        assert_eq!(read("Makefile"), format!("include {}/Makefile\n", headers.common.display()));
        assert!(!headers.own.join("vmlinux").exists());
    }
}
