//! What came of a flowop, between those that do it and the thread that counts it.

/// What came of a flowop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// It was done and moved this many bytes; `fact` tells it from others of its kind.
    Moved { bytes: u64, fact: u64 },
    /// It waited, or did nothing to a file.
    Aside,
    /// No file was free for it.
    LeftOut,
    /// Its thread has done what it was to do.
    Finished,
    /// The run is over.
    Over,
}
