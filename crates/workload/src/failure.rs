//! How a phase ends when it does not complete.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An op that failed: which, on what, why.
#[derive(Debug, thiserror::Error)]
pub struct OpError {
    /// The system call or step, as a verb: `create`, `fsync`.
    pub op: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// The system's reason.
    #[source]
    pub source: io::Error,
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.op, self.path.display())
    }
}

impl OpError {
    /// For `map_err`: `File::create(p).map_err(OpError::at("create", &p))`.
    pub fn at<E: Into<io::Error>>(op: &'static str, path: &Path) -> impl FnOnce(E) -> OpError {
        let path = path.to_owned();
        move |source| OpError { op, path, source: source.into() }
    }

    /// An op that failed, for code that builds the path only when it must.
    pub fn new(
        op: &'static str,
        path: impl Into<PathBuf>,
        source: impl Into<io::Error>,
    ) -> OpError {
        OpError { op, path: path.into(), source: source.into() }
    }

    /// Whether the filesystem has no room left, of blocks, inodes or quota.
    pub fn is_out_of_space(&self) -> bool {
        matches!(self.source.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
    }
}

/// A program's output, preceded by its name unless a quoted command already names it.
fn named(program: &str, said: &str) -> String {
    if said.contains('`') { said.to_owned() } else { format!("{program}: {said}") }
}

impl Failure {
    /// An op before the first phase failed.
    pub(crate) fn before(error: OpError) -> Failure {
        Failure::Op { phase: "before the first", error }
    }

    /// An op after the last phase failed.
    pub(crate) fn after(error: OpError) -> Failure {
        Failure::Op { phase: "after the last", error }
    }
}

/// Why a workload stopped.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An op of a phase failed; the phase's result says so too.
    #[error("phase {phase}: {error}: {}", error.source)]
    Op {
        /// The phase.
        phase: &'static str,
        /// What failed.
        error: OpError,
    },
    /// The target is not, or no longer, the filesystem under test.
    #[error("the target is not the filesystem under test: {0}")]
    TargetLost(String),
    /// Something could not be done to the filesystem itself: making, mounting, checking it.
    #[error("{0}")]
    Care(String),
    /// An input (a corpus) cannot be used.
    #[error("{0}")]
    Input(String),
    /// A program that the workload runs did not do its work.
    #[error("{}", named(program, said))]
    Program {
        /// Its name.
        program: &'static str,
        /// How it ended, and its output.
        said: String,
    },
    /// The user's own program ended before it had done anything, as it would on any filesystem.
    #[error("{0}")]
    Unbegun(String),
    /// Reading back found contents other than those written.
    #[error("verification: {0}")]
    Verify(String),
}
