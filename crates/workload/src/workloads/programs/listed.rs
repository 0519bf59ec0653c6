//! Which files a program has made.

use std::fs;
use std::path::{Path, PathBuf};

use crate::OpError;

/// The files below a directory by their path in it, in order.
///
/// # Errors
/// When a directory cannot be read.
pub(super) fn files(place: &Path) -> Result<Vec<PathBuf>, OpError> {
    let (mut found, mut unseen) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(directory) = unseen.pop() {
        let path = place.join(&directory);
        let entries = fs::read_dir(&path).map_err(OpError::at("read", &path))?;
        for entry in entries {
            let entry = entry.map_err(OpError::at("read", &path))?;
            let kind = entry.file_type().map_err(OpError::at("stat", &path))?;
            let name = directory.join(entry.file_name());
            if kind.is_dir() { unseen.push(name) } else { found.push(name) }
        }
    }
    found.sort();
    Ok(found)
}
