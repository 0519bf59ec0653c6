//! Regular files that the user names: opened without waiting, read with a bound.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::{FileError, HeldFile};

/// Opens a file to read it. A pipe, a device or a directory is refused at once: the first waits,
/// the second may never end.
///
/// # Errors
/// When it is not a regular file, or not readable. For root, when another user could have led the
/// path elsewhere.
pub fn open_regular(path: &Path) -> Result<File, FileError> {
    let held = HeldFile::hold(path).map_err(|error| FileError { step: "read", ..error })?;
    let opened = match held.is_regular() {
        true => held.read(),
        false => Err(io::Error::other("it is a pipe or a device; name a file")),
    };
    opened.map_err(FileError::of("read", path))
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// As [`open_regular`], and when it is larger.
pub fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let file = open_regular(path)?;
    read_at_most(file, limit).map_err(FileError::of("read", path))
}

/// Reads to the end, which has to come within `limit` bytes: of a file that may grow meanwhile, or
/// of one that is being decompressed.
///
/// # Errors
/// When it is larger, or cannot be read.
pub fn read_at_most(from: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        false => Ok(bytes),
        true => {
            let limit = limit >> 20;
            Err(io::Error::other(format!("it is larger than {limit} MiB")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode};

    #[test]
    fn what_waits_or_never_ends_is_refused() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("file");
        std::fs::write(&path, vec![7; 3 << 20]).unwrap();
        assert_eq!(read_file(&path, 3 << 20).unwrap().len(), 3 << 20);
        let error = read_file(&path, (3 << 20) - 1).unwrap_err().to_string();
        assert!(error.contains("larger than 2 MiB"), "{error}");
        let (fifo, link) = (room.path().join("fifo"), room.path().join("link"));
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for path in [&fifo, &link, Path::new("/dev/zero")] {
            let error = read_file(path, 1).unwrap_err().to_string();
            assert!(error.contains("pipe or a device"), "{error}");
        }
        assert!(read_file(room.path(), 1).is_err());
    }
}
