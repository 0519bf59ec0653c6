//! The directory of one trial of testbed `dir`.

use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use ::device::{Ledger, OwnedDirectory};
use files::Directory;
use rustix::process::geteuid;

use crate::child::HeldTarget;

/// An empty directory on the filesystem under test. The directory above it is in the ledger, and is
/// removed with everything in it when this is dropped, or at fstrial's next start.
pub(crate) struct Place {
    _owned: OwnedDirectory,
    target: Directory,
    /// Where the trial works: separate from the marker file of the directory above.
    pub(crate) path: PathBuf,
    /// Whether the trial's process reaches it through its own mount at `path`.
    mounted: bool,
}

impl Place {
    /// Makes it in `parent`. For root, the trial uses a mount that only its own process has, since
    /// the path could lead elsewhere at any moment.
    pub(crate) fn make(ledger: &Ledger, parent: &Directory) -> Result<Place, String> {
        let is_root = geteuid().is_root();
        let mounted = is_root && may_mount();
        let owned = ledger.make_directory_in(parent).map_err(|error| error.to_string())?;
        if is_root && !mounted {
            owned.held().check_private().map_err(|why| {
                format!(
                    "{why}; and no mount of its own can protect the trial, since this process \
                     lacks CAP_SYS_ADMIN. Run it as the directory's owner, without root"
                )
            })?;
        }
        let target = owned.held().make_directory("target").map_err(|error| error.to_string())?;
        let path = match mounted {
            true => ledger.mount_point().map_err(|error| error.to_string())?,
            false => owned.path().join("target"),
        };
        Ok(Place { _owned: owned, target, path, mounted })
    }

    /// What the trial's process has to mount, if anything.
    pub(crate) fn held(&self) -> Option<HeldTarget> {
        let directory = self.target.as_fd().as_raw_fd();
        self.mounted.then(|| HeldTarget { directory, mount_point: self.path.clone() })
    }
}

/// Whether this process may make a mount namespace.
fn may_mount() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}
