//! Small files that the user names: read whole, and bounded.

use std::io;
use std::path::Path;

use crate::{FileError, read_file};

/// The largest size of a settings file. Real ones are more than a hundred times smaller.
pub const TEXT_MAX: u64 = 16 << 20;

/// Reads a text file of at most [`TEXT_MAX`] bytes. A pipe, a device or a directory is refused
/// at once, before anything is read from it.
///
/// # Errors
/// When it is not a regular file, too large, not readable, or not UTF-8. For root, when another
/// user could have led the path elsewhere.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    let bytes = read_file(path, TEXT_MAX)?;
    let text = String::from_utf8(bytes).map_err(io::Error::other);
    text.map_err(FileError::of("read", path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode};
    use std::fs::File;

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("file");
        std::fs::write(&path, "text").unwrap();
        assert_eq!(read_text(&path).unwrap(), "text");
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(read_text(&path).is_err());
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(TEXT_MAX + 1).unwrap();
        assert!(read_text(&path).unwrap_err().to_string().contains("larger than 16 MiB"));
        let fifo = room.path().join("fifo");
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [&fifo, Path::new("/dev/zero")] {
            let error = read_text(path).unwrap_err().to_string();
            assert!(error.contains("pipe or a device"), "{error}");
        }
        assert!(read_text(room.path()).is_err());
        assert!(read_text(&room.path().join("none")).is_err());
    }
}
