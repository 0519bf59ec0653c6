//! Directories whose contents are trusted and executed: nobody else may have made or changed them.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, chmodat};

use crate::reach::{InReach, Reach};
use crate::{Directory, FileError, is_root};

/// Makes `path` and its missing parents with mode 0700, and checks that nobody else can have put
/// anything into it ([`Directory::check_private`]). Returns the path without symlinks, which stays
/// as it is.
///
/// # Errors
/// When it cannot be made, or another user could have put something into it; the message
/// names the directory and what to do.
pub fn private_directory(path: &Path) -> Result<PathBuf, FileError> {
    let found = Directory::hold_or_make(path).and_then(|held| held.private_path());
    found.map_err(|error| match InReach::of(&error) {
        Some(InReach { path, by }) => {
            let source = io::Error::other(format!("{by}{}", advice(by)));
            FileError { step: "trust", path: path.clone(), source }
        }
        None => error,
    })
}

fn advice(by: &Reach) -> String {
    let elsewhere = match is_root() {
        true => "name a directory of root's, for example XDG_CACHE_HOME=/root/.cache",
        false => "name a directory of your own with XDG_CACHE_HOME",
    };
    let mend = match by {
        Reach::Owner(_) => ", who could put programs into it; ",
        Reach::Mode(_) => "; chmod go-w it, or ",
        Reach::ListedUser(_) | Reach::ListedGroup(_) => "; take that away with setfacl, or ",
        Reach::Server(_) | Reach::Unknown(_) => "; ",
    };
    format!("{mend}{elsewhere}")
}

/// Clears the set-user-ID and set-group-ID bits of every file below `directory`, so that no
/// unpacked program runs with another user's rights.
///
/// # Errors
/// At the first file that cannot be looked at or changed.
pub fn without_set_id(directory: &Path) -> Result<(), FileError> {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(directory).map_err(FileError::of("read", directory))?;
    for entry in entries {
        let path = entry.map_err(FileError::of("read", directory))?.path();
        let metadata = path.symlink_metadata().map_err(FileError::of("look at", &path))?;
        if metadata.is_dir() {
            without_set_id(&path)?;
        }
        let mode = metadata.mode();
        if !metadata.is_symlink() && mode & 0o6000 != 0 {
            let plain = Mode::from_raw_mode(mode & 0o1777);
            chmodat(CWD, &path, plain, AtFlags::empty()).map_err(FileError::of("change", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_missing_directory_is_made_for_this_user_alone() {
        let room = tempfile::tempdir().unwrap();
        let path = private_directory(&room.path().join("a/b")).unwrap();
        assert!(path.is_dir());
        assert_eq!(room.path().join("a").metadata().unwrap().mode() & 0o777, 0o700);
        private_directory(&path).unwrap();
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_refused_wherever_it_stands() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("a/b");
        private_directory(&path).unwrap();
        for open in ["a", "a/b"] {
            set_mode(&room.path().join(open), 0o777);
            let error = private_directory(&path).unwrap_err().to_string();
            assert!(error.contains("others may write") && error.contains("XDG"), "{error}");
            set_mode(&room.path().join(open), 0o700);
        }
        set_mode(&room.path().join("a"), 0o1777);
        private_directory(&path).unwrap();
    }

    #[test]
    fn the_bits_that_lend_rights_are_taken() {
        let room = tempfile::tempdir().unwrap();
        std::fs::create_dir(room.path().join("bin")).unwrap();
        let program = room.path().join("bin/su");
        std::fs::write(&program, "").unwrap();
        for lent in [0o6755, 0o4755, 0o2755] {
            set_mode(&program, lent);
            without_set_id(room.path()).unwrap();
            assert_eq!(program.metadata().unwrap().mode() & 0o7777, 0o755, "{lent:o}");
        }
    }
}
