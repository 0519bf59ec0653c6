//! The tree that becomes the root directory of a user's program, if the job brings one along.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::Failure;

/// Unpacks an archive beside itself, where that was not done before; the tree's place.
///
/// # Errors
/// When it is damaged or there is no room.
pub(super) fn unpacked(archive: &Path) -> Result<PathBuf, Failure> {
    let root = archive.with_extension("root");
    if !root.exists() {
        let failed = |error: io::Error| {
            Failure::Input(format!("the program's files in {}: {error}", archive.display()))
        };
        fs::create_dir(&root).map_err(failed)?;
        let mut tar = tar::Archive::new(File::open(archive).map_err(failed)?);
        tar.set_preserve_permissions(true);
        tar.unpack(&root).map_err(failed)?;
        // It lies in memory, twice while archive and tree both exist.
        fs::remove_file(archive).map_err(failed)?;
    }
    Ok(root)
}
