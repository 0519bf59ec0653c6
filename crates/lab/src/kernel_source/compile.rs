//! Compiles a kernel, in the same environment for everyone, and reports what fails.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::Site;
use crate::building::{on_path, run};
use crate::error::LabError;

/// The kernel, in what is kept.
pub(super) const IMAGE: &str = "vmlinuz";
/// Programs that the kernel's makefiles call, and those that unpack and patch its sources.
const PROGRAMS: [&str; 15] = [
    "make", "gcc", "ld", "strip", "flex", "bison", "bc", "perl", "awk", "sed", "grep", "find",
    "tar", "xz", "patch",
];
/// `objtool`, a program that the kernel's build makes for itself, reads object files with it.
const LIBRARY: &str = "libelf-dev";
const HEADERS: [&str; 2] = ["/usr/include/libelf.h", "/usr/include/libelf/libelf.h"];

/// The installed compiler and linker, as they report themselves: different ones make a different
/// kernel.
///
/// # Errors
/// When something that compiles a kernel is missing: names all of it.
pub(super) fn compiler() -> Result<String, LabError> {
    let mut missing: Vec<&str> =
        PROGRAMS.into_iter().filter(|program| on_path(program).is_none()).collect();
    if !HEADERS.iter().any(|header| Path::new(header).is_file()) {
        missing.push(LIBRARY);
    }
    if !missing.is_empty() {
        let problem = format!(
            "the kernel is compiled here, and this machine has no {}; as root: apt-get install \
             build-essential flex bison bc {LIBRARY} xz-utils",
            missing.join(", ")
        );
        return Err(LabError::value("--kernel-source", problem));
    }
    let mut versions = Vec::new();
    for program in ["gcc", "ld"] {
        let mut said = None;
        run(Command::new(program).arg("--version").env("LC_ALL", "C"), |line| {
            said.get_or_insert(line.to_owned());
        })?;
        versions.extend(said);
    }
    Ok(versions.join(", "))
}

/// `make` in a tree. Uses the same name, time and settings for everyone, and nothing from the
/// user's environment, so that two builds of the same sources give the same lab.
pub(super) fn make(tree: &Path) -> Command {
    let kept = |name: &str| std::env::var_os(name).map(|value| (OsString::from(name), value));
    let mut command = Command::new("make");
    command
        .env_clear()
        .envs(["PATH", "HOME", "TMPDIR"].into_iter().filter_map(kept))
        .env("LC_ALL", "C")
        .env("KBUILD_BUILD_TIMESTAMP", "Wed Jan  1 00:00:00 UTC 2020")
        .env("KBUILD_BUILD_VERSION", "1")
        .env("KBUILD_BUILD_USER", "fstrial")
        .env("KBUILD_BUILD_HOST", "lab")
        .env("SOURCE_DATE_EPOCH", "1577836800")
        // Set, though empty: otherwise the release of a tree under version control gets a `+`.
        .env("LOCALVERSION", "")
        // Building inside the tree makes all source paths in the kernel relative to it.
        .arg("ARCH=x86_64")
        .current_dir(tree);
    command
}

/// Compiles the kernel and its modules; continues an interrupted build.
pub(super) fn compile(site: &mut Site<'_, '_>) -> Result<(), LabError> {
    let tree = site.tree();
    let jobs = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let release = site.origin.name.clone();
    site.tell(match site.tree_made {
        true => format!(
            "compiling {release}: six to eleven minutes of processor time, {jobs} jobs at a time; \
             your own settings add to that"
        ),
        false => format!("compiling the rest of {release}"),
    });
    let (mut compiled, mut faults) = (0, Vec::new());
    let mut command = make(&tree);
    command.arg(format!("-j{jobs}")).args(["bzImage", "modules"]);
    let done = run(&mut command, |line| {
        if line.trim_start().starts_with("CC ") {
            compiled += 1;
            if compiled % 100 == 0 {
                site.tell(format!("compiled {compiled} files"));
            }
        }
        if is_fault(line) {
            faults.push(line.trim().to_owned());
        }
    });
    done.map_err(|error| match (faults.is_empty(), error) {
        (false, LabError::Program { command, .. }) => {
            faults.dedup();
            faults.truncate(FAULTS);
            LabError::Program {
                command,
                said: faults.join(" / "),
                next: Some(
                    "fix the sources or the patch, or leave the option out; the next build of \
                     the same sources continues from here"
                        .to_owned(),
                ),
            }
        }
        (_, error) => error,
    })
}

/// How many compiler errors are shown.
const FAULTS: usize = 6;

/// Whether a line of a build's output reports an error. With several jobs at once, the last lines
/// may belong to jobs that did not fail.
fn is_fault(line: &str) -> bool {
    [": error:", ": fatal error:", "undefined reference", "ERROR: modpost:", "undefined!"]
        .iter()
        .any(|sign| line.contains(sign))
}

/// Puts the kernel and its modules where they are kept.
pub(super) fn install(site: &mut Site<'_, '_>) -> Result<(), LabError> {
    let (tree, result) = (site.tree(), site.result());
    if result.exists() {
        std::fs::remove_dir_all(&result).map_err(LabError::at("remove", &result))?;
    }
    std::fs::create_dir_all(&result).map_err(LabError::at("create", &result))?;
    let mut command = make(&tree);
    // No depmod: the modules themselves say which others they need.
    command.args(["modules_install", "INSTALL_MOD_STRIP=1", "DEPMOD=true"]);
    run(command.arg(format!("INSTALL_MOD_PATH={}", result.display())), |_| {})?;
    let image = tree.join("arch/x86/boot/bzImage");
    std::fs::copy(&image, result.join(IMAGE)).map_err(LabError::at("copy", &image))?;
    let modules = result.join("lib/modules");
    let modules = modules.join(only_entry(&modules)?);
    for link in ["build", "source"] {
        // These links lead to the build tree, which is removed.
        let _ = std::fs::remove_file(modules.join(link));
    }
    Ok(())
}

/// The only entry of a directory: the release, in `lib/modules`.
pub(super) fn only_entry(directory: &Path) -> Result<OsString, LabError> {
    let mut entries = std::fs::read_dir(directory).map_err(LabError::at("read", directory))?;
    match (entries.next(), entries.next()) {
        (Some(Ok(entry)), None) => Ok(entry.file_name()),
        _ => Err(LabError::damaged(directory, "it should have the modules of one kernel")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_told_from_what_went_on() {
        let said = "  CC      fs/ext4/super.o\n\
                    fs/ext4/super.c:10:2: error: unknown type name 'foo'\n\
                    fs/ext4/super.c:12:2: warning: unused variable\n\
                    make[3]: *** [scripts/Makefile.build:229: fs/ext4/super.o] Error 1\n\
                    ld: fs/x.o: undefined reference to `bar'\n\
                    ERROR: modpost: \"baz\" [fs/y/y.ko] undefined!\n";
        let faults: Vec<_> = said.lines().filter(|line| is_fault(line)).collect();
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults[0].contains("super.c:10"));
    }

    #[test]
    fn modules_of_two_kernels_are_not_taken_for_one() {
        let room = tempfile::tempdir().unwrap();
        assert!(only_entry(room.path()).is_err());
        std::fs::create_dir(room.path().join("6.12.1")).unwrap();
        assert_eq!(only_entry(room.path()).unwrap(), "6.12.1");
        std::fs::create_dir(room.path().join("6.12.2")).unwrap();
        assert!(only_entry(room.path()).is_err());
    }
}
