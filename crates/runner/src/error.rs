//! Why a session ends before its work.

use store::StoreError;

/// Why a session cannot go on. What was finished is in the store.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// What was asked for does not exist or contradicts itself.
    #[error("{0}")]
    Request(String),
    /// A safety rule, a missing tool, too little room: nothing was begun.
    #[error("{0}")]
    Refused(String),
    /// An input cannot be used.
    #[error("{0}")]
    Input(String),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It was asked to stop. The run of this id goes on with `--resume`.
    #[error("stopped; go on with: fstrial run --resume {0}")]
    Stopped(String),
    /// It was asked to stop before a run was made or gone on with.
    #[error("stopped before any trial began; nothing was measured or overwritten")]
    StoppedBefore,
}
