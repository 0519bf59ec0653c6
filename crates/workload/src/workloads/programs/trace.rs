//! Whether a program has touched its directory.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The entries of a directory with what changes when they are written.
#[derive(Debug, PartialEq)]
pub(super) struct Trace(Vec<(OsString, u64, i64, i64)>);

impl Trace {
    /// Reads it; what cannot be read is left out.
    pub(super) fn of(directory: &Path) -> Trace {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let mut found: Vec<_> = entries
            .filter_map(|entry| {
                let status = entry.path().symlink_metadata().ok()?;
                Some((entry.file_name(), status.size(), status.ctime(), status.ctime_nsec()))
            })
            .collect();
        found.sort();
        Trace(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_or_written_is_noticed() {
        let room = tempfile::tempdir().unwrap();
        let before = Trace::of(room.path());
        assert_eq!(before, Trace::of(room.path()));
        std::fs::write(room.path().join("f"), "").unwrap();
        let made = Trace::of(room.path());
        assert_ne!(before, made);
        std::fs::write(room.path().join("f"), "more").unwrap();
        assert_ne!(made, Trace::of(room.path()));
    }
}
