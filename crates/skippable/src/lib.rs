//! Test programs with tests that may not be able to run: where root, a kernel module or a
//! program is missing, a test is listed as ignored, with the reason, and never as passed.
//!
//! Such a program has `harness = false` in its manifest and a `main` that calls [`run`] with the
//! table of its tests, in the order in which they start. The options are those of every Rust test
//! program.

mod loops;
mod room;
mod written;

use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Trial};

pub use loops::{Attached, Part, needs_loop_devices};
pub use written::{needs_to_see_what_is_written, unwritten};

/// Why a test could not run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped(String);

/// What a test ends with: failures panic.
pub type Ending = Result<(), Skipped>;

/// A test's name and what it does.
pub type Test = (&'static str, fn() -> Ending);

/// What a test function may return: [`Ending`], or nothing where it can always run.
pub trait IntoEnding {
    /// What the test ends with.
    ///
    /// # Errors
    /// Why it could not run.
    fn into_ending(self) -> Ending;
}

impl IntoEnding for () {
    fn into_ending(self) -> Ending {
        Ok(())
    }
}

impl IntoEnding for Ending {
    fn into_ending(self) -> Ending {
        self
    }
}

/// Skips the test that returns it.
///
/// # Errors
/// Always, with the reason.
pub fn skip<T>(why: impl Into<String>) -> Result<T, Skipped> {
    Err(Skipped(why.into()))
}

/// # Errors
/// Skips the test unless this program, of that package of Debian, is on the path or among the
/// system's programs.
pub fn needs_program(program: &str, package: &str) -> Ending {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    match std::env::split_paths(&path).chain(system).any(|at| at.join(program).is_file()) {
        true => Ok(()),
        false => skip(format!("needs {program} (apt-get install {package})")),
    }
}

/// # Errors
/// Skips the test unless it runs as root.
pub fn needs_root() -> Ending {
    if rustix::process::geteuid().is_root() { Ok(()) } else { skip("needs root") }
}

/// # Errors
/// Skips the test unless the kernel has this driver of the table /proc/misc: `device-mapper`.
pub fn needs_driver(driver: &str, node: &str) -> Ending {
    // A node of that name may be left by a package's installation. Opening it loads the module, if
    // there is one; what the kernel has is in its table.
    let _ = std::fs::File::open(node);
    let table = std::fs::read_to_string("/proc/misc").unwrap_or_default();
    match table.lines().any(|line| line.split_whitespace().last() == Some(driver)) {
        true => Ok(()),
        false => skip(format!("this kernel has no {driver}")),
    }
}

/// Gives the calling thread a mount namespace of its own: what it mounts is seen only by it and
/// what it starts, and is gone with them, however they end.
pub fn own_mounts() {
    use rustix::mount::{MountPropagationFlags, mount_change};
    // SAFETY: only this thread's view of mounts changes; no memory or descriptor is shared
    // differently from before.
    let unshared = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    assert_eq!(unshared, 0, "a mount namespace: {}", std::io::Error::last_os_error());
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
}

/// Runs the tests that the command line chooses. [`tests!`] makes the table. Their temporary files
/// are in one directory, which goes with the program, or with the start of the next one.
pub fn run(tests: &[Test]) -> ExitCode {
    let _room = room::Room::enter().ok();
    let trials = tests.iter().map(|&(name, test)| {
        Trial::ignorable_test(name, move || {
            Ok(match test() {
                Ok(()) => Completion::Completed,
                Err(Skipped(why)) => Completion::ignored_with(why),
            })
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// The tests of a program for [`run`], by their paths. One left out is dead code, which clippy
/// refuses.
#[macro_export]
macro_rules! tests {
    ($($module:ident::$test:ident),+ $(,)?) => {
        &[$((concat!(stringify!($module), "::", stringify!($test)), || {
            $crate::IntoEnding::into_ending($module::$test())
        })),+]
    };
}
