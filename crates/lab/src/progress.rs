//! What is told while the software of a lab is built.

use std::time::Duration;

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
