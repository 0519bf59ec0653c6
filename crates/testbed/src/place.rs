//! The directory of one trial of testbed `dir`.

use std::path::{Path, PathBuf};

use ::device::{Ledger, OwnedDirectory};

/// An empty directory on the filesystem under test. The directory around it is in the
/// ledger and goes with everything in it when this is dropped, or at the next start.
pub(crate) struct Place {
    _owned: OwnedDirectory,
    /// Where the trial works: apart from the marker that shows whose the directory is.
    pub(crate) path: PathBuf,
}

impl Place {
    pub(crate) fn make(ledger: &Ledger, parent: &Path) -> Result<Place, String> {
        let owned = ledger.make_directory(parent).map_err(|error| error.to_string())?;
        let path = owned.path().join("target");
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Place { _owned: owned, path })
    }
}
