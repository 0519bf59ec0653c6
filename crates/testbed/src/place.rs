//! The directory of one trial of testbed `dir`.

use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

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
    /// Makes it in `parent`. If root works in a directory that others can change, the trial uses a
    /// mount that only its own process has, since a path could lead elsewhere at any moment.
    pub(crate) fn make(ledger: &Ledger, parent: &Path) -> Result<Place, String> {
        let in_reach = match geteuid().is_root() {
            true => files::beyond_others(parent).err(),
            false => None,
        };
        if let Some(why) = &in_reach
            && !may_mount()
        {
            return Err(format!(
                "{why}; and no mount of its own can protect the trial, since this process lacks \
                 CAP_SYS_ADMIN. Run it as the directory's owner, without root"
            ));
        }
        let owned = ledger.make_directory(parent).map_err(|error| error.to_string())?;
        let target = owned.held().make_directory("target").map_err(|error| error.to_string())?;
        let path = match &in_reach {
            None => owned.path().join("target"),
            Some(_) => ledger.mount_point().map_err(|error| error.to_string())?,
        };
        Ok(Place { _owned: owned, target, path, mounted: in_reach.is_some() })
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
