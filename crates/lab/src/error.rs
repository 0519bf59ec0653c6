//! Why a lab cannot be built, read or started.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the lab itself; what goes wrong inside a trial is its outcome.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A file or directory.
    #[error("cannot {action} {}: {source}{}", path.display(), advice(source))]
    File {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {problem}; `fstrial lab build` rebuilds it", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// An outside program failed.
    #[error("`{command}` failed: {said}{}", next.as_ref().map(|next| format!("; {next}")).unwrap_or_default())]
    Program {
        /// As one would type it.
        command: String,
        /// Its last words or the system's reason.
        said: String,
        /// What to do.
        next: Option<String>,
    },
    /// This machine has no apt.
    #[error(
        "this machine has no {missing}, which gets the lab's kernel and tools from Debian; give \
         your own: --kernel FILE (a bzImage of the modules' release), --modules DIR \
         (lib/modules/RELEASE), --tools DIR (a tree with sbin/mke2fs and the libraries it needs) \
         and --emulator DIR (that of another lab), or `fstrial lab import` a lab that was exported \
         on another machine"
    )]
    NotDebian {
        /// The program that is missing.
        missing: String,
    },
    /// A package is not to be had.
    #[error("no package `{package}` in the package lists of this machine's distribution: {why}")]
    NoPackage {
        /// Which.
        package: String,
        /// What was looked for and what to do.
        why: String,
    },
    /// There is no lab yet.
    #[error("there is no lab in {}; `fstrial lab build` makes one", .0.display())]
    NotBuilt(PathBuf),
    /// There is no lab of this name.
    #[error(
        "there is no lab called `{name}` (there are: {known}); `fstrial lab build --name {name}` \
         makes one"
    )]
    NoSuchLab {
        /// The name.
        name: String,
        /// Those there are.
        known: String,
    },
    /// QEMU or the guest did not come up.
    #[error("the guest did not start: {reason}{}", kernel_words(kernel_log))]
    NoStart {
        /// Why.
        reason: String,
        /// What the kernel said.
        kernel_log: String,
    },
    /// An invalid value in a profile or option.
    #[error("{what}: {problem}")]
    Value {
        /// What it is about.
        what: String,
        /// What is wrong.
        problem: String,
    },
    /// Optional parts that could not be built.
    #[error("the lab `{name}` is there without {}", parts(failed))]
    Parts {
        /// The lab.
        name: String,
        /// Each with the reason.
        failed: Vec<(String, LabError)>,
    },
    /// Asked to stop.
    #[error("stopped")]
    Stopped,
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room there, or set XDG_CACHE_HOME to a place that has some"
        }
        // A refusal of ours, of an output in another user's directory say, names its own next step.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_some() => {
            "; set XDG_CACHE_HOME to a directory of your own"
        }
        _ => "",
    }
}

fn parts(failed: &[(String, LabError)]) -> String {
    let each: Vec<String> =
        failed.iter().map(|(part, error)| format!("its part `{part}`: {error}")).collect();
    each.join("\nand without ")
}

fn kernel_words(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("\nkernel log:\n{log}") }
}

impl From<files::FileError> for LabError {
    fn from(error: files::FileError) -> LabError {
        LabError::File { action: error.step, path: error.path, source: error.source }
    }
}

impl LabError {
    /// Whether the host had no room or no memory left.
    pub(crate) fn is_full(&self) -> bool {
        use io::ErrorKind::{OutOfMemory, QuotaExceeded, StorageFull};
        let LabError::File { source, .. } = self else { return false };
        matches!(source.kind(), StorageFull | QuotaExceeded | OutOfMemory)
    }

    /// For `map_err`.
    pub(crate) fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LabError {
        let path = path.to_owned();
        move |source| LabError::File { action, path, source }
    }

    pub(crate) fn damaged(path: &Path, problem: impl Into<String>) -> LabError {
        LabError::Damaged { path: path.to_owned(), problem: problem.into() }
    }

    pub(crate) fn value(what: impl Into<String>, problem: impl Into<String>) -> LabError {
        LabError::Value { what: what.into(), problem: problem.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_system_denies_is_a_matter_of_the_cache() {
        let said = |source| LabError::at("write", Path::new("lab.tar"))(source).to_string();
        let denied = io::Error::from(rustix::io::Errno::ACCESS);
        assert!(said(denied).ends_with("set XDG_CACHE_HOME to a directory of your own"));
        let refused = io::Error::new(io::ErrorKind::PermissionDenied, "`d` is a symlink of user 5");
        assert_eq!(said(refused), "cannot write lab.tar: `d` is a symlink of user 5");
    }
}
