//! What is told while the software of a lab is built or copied.

use std::time::{Duration, Instant};

use units::Bytes;

/// Who holds a lock, as far as it says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The process.
    pub process: u32,
    /// How long it has held the lock.
    pub held: Duration,
}

/// How a build is getting on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildProgress {
    /// Another process holds what this one waits for.
    Waits {
        /// What is waited for.
        what: String,
        /// Who holds it, where that is known.
        holder: Option<Holder>,
    },
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
    /// A driver's package that this machine's archives do not have: the lab is built without it.
    Absent {
        /// Its name.
        package: String,
    },
    /// The user's own kernel booted.
    Booted {
        /// How it reaches simulated disks.
        front_end: &'static str,
        /// The filesystems for which the lab now has both driver and tools.
        filesystems: Vec<&'static str>,
        /// Tools and modules that filesystems or layouts want and that it does not have.
        missing: Vec<String>,
    },
    /// An optional part is being built.
    Part {
        /// Which.
        part: &'static str,
        /// What is being done.
        doing: String,
    },
}

/// How an export or import is getting on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transferred {
    /// What is being done.
    pub doing: Transfer,
    /// How much of it is done.
    pub done: Bytes,
    /// How much there is.
    pub total: Bytes,
}

/// A step of an export or import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// Files are written to the archive.
    Packing,
    /// Files are written from the archive.
    Unpacking,
    /// The digest of all files is computed.
    Checking,
}

/// Nothing is reported before this has passed, nor more often.
const QUIET: Duration = Duration::from_secs(2);

/// Counts a step, and reports it where it takes long.
pub(crate) struct Counted<'a> {
    at: Transferred,
    told: Instant,
    progress: &'a mut dyn FnMut(Transferred),
}

impl<'a> Counted<'a> {
    pub(crate) fn new(
        doing: Transfer,
        total: Bytes,
        progress: &'a mut dyn FnMut(Transferred),
    ) -> Counted<'a> {
        let at = Transferred { doing, done: Bytes(0), total };
        Counted { at, told: Instant::now(), progress }
    }

    pub(crate) fn add(&mut self, bytes: u64) {
        self.at.done = Bytes(self.at.done.0.saturating_add(bytes));
        if self.told.elapsed() >= QUIET {
            self.told = Instant::now();
            (self.progress)(self.at);
        }
    }
}
