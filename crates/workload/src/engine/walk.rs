//! Walking a tree in the order of its directories, as `find` and `rm -r` do.

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};

use crate::OpError;
use crate::engine::path_buffer::PathBuffer;

/// One step of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A directory, before what is in it.
    Directory,
    /// Anything else.
    File(FileType),
    /// The same directory, after what is in it.
    Left,
}

/// Room for names and for what the kernel lists; allocated once.
pub(crate) struct Walker {
    listed: Vec<u8>,
    /// Of each directory on the way: type, name and NUL of its entries.
    names: Vec<u8>,
}

impl Walker {
    pub(crate) fn new() -> Walker {
        // The buffer of glibc's `readdir`.
        Walker { listed: Vec::with_capacity(32 << 10), names: Vec::with_capacity(64 << 10) }
    }

    /// Walks what is at `path`, a directory; each directory is read completely before its
    /// entries are visited. An entry whose type `getdents` does not report costs an lstat.
    pub(crate) fn walk(
        &mut self,
        target: BorrowedFd<'_>,
        path: &mut PathBuffer,
        visit: &mut impl FnMut(Step, &PathBuffer) -> Result<(), OpError>,
    ) -> Result<(), OpError> {
        visit(Step::Directory, path)?;
        let start = self.names.len();
        self.list(target, path)?;
        let (end, here) = (self.names.len(), path.len());
        let mut at = start;
        while at < end {
            let kind = self.names[at];
            let name = &self.names[at + 1..end];
            let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            path.bytes(b"/").bytes(&name[..length]);
            at += length + 2;
            if kind == DIRECTORY {
                self.walk(target, path, visit)?;
            } else {
                let kind = if kind == SYMLINK { FileType::Symlink } else { FileType::RegularFile };
                visit(Step::File(kind), path)?;
            }
            path.truncate(here);
        }
        self.names.truncate(start);
        visit(Step::Left, path)
    }

    fn list(&mut self, target: BorrowedFd<'_>, path: &PathBuffer) -> Result<(), OpError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(target, path.c_str(), flags, Mode::empty())
            .map_err(path.failed("open"))?;
        let mut entries = RawDir::new(&opened, self.listed.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(path.failed("list"))?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let stat = rustix::fs::statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW)
                        .map_err(path.failed("stat an entry of"))?;
                    FileType::from_raw_mode(stat.st_mode)
                }
                known => known,
            };
            self.names.push(match kind {
                FileType::Directory => DIRECTORY,
                FileType::Symlink => SYMLINK,
                _ => OTHER,
            });
            self.names.extend_from_slice(name.to_bytes_with_nul());
        }
        Ok(())
    }
}

const DIRECTORY: u8 = b'd';
const SYMLINK: u8 = b'l';
const OTHER: u8 = b'f';

/// Removes what is at `path`, as `rm -r` does. Nothing there is no error.
pub(crate) fn remove(
    target: BorrowedFd<'_>,
    path: &str,
    mut removed: impl FnMut(),
) -> Result<(), OpError> {
    let mut buffer = PathBuffer::new();
    buffer.text(path);
    match rustix::fs::statat(target, buffer.c_str(), AtFlags::SYMLINK_NOFOLLOW) {
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        Err(error) => return Err(buffer.failed("stat")(error)),
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::Directory => {
            rustix::fs::unlinkat(target, buffer.c_str(), AtFlags::empty())
                .map_err(buffer.failed("unlink"))?;
            removed();
            return Ok(());
        }
        Ok(_) => {}
    }
    Walker::new().walk(target, &mut buffer, &mut |step, path| {
        let (flags, op) = match step {
            Step::Directory => return Ok(()),
            Step::File(_) => (AtFlags::empty(), "unlink"),
            Step::Left => (AtFlags::REMOVEDIR, "rmdir"),
        };
        rustix::fs::unlinkat(target, path.c_str(), flags).map_err(path.failed(op))?;
        removed();
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::engine::file_io::open_target;

    /// What is removed must not depend on a link that someone has put in a directory's place, and
    /// a pipe that is opened would block.
    #[test]
    fn only_a_directory_is_opened_and_no_link_to_one() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("directory")).unwrap();
        std::fs::write(home.path().join("directory/in"), "").unwrap();
        std::fs::write(home.path().join("file"), "").unwrap();
        std::os::unix::fs::symlink("directory", home.path().join("link")).unwrap();
        let target = open_target(home.path()).unwrap();
        let walk = |name: &str| {
            let (mut path, mut seen) = (PathBuffer::new(), Vec::new());
            path.text(name);
            let walked = Walker::new().walk(target.as_fd(), &mut path, &mut |step, path| {
                seen.push((step, path.to_string()));
                Ok(())
            });
            (walked.map_err(|error| error.op), seen)
        };
        let (walked, seen) = walk("directory");
        assert_eq!(walked, Ok(()));
        assert_eq!(
            seen,
            [
                (Step::Directory, "directory".to_owned()),
                (Step::File(FileType::RegularFile), "directory/in".to_owned()),
                (Step::Left, "directory".to_owned()),
            ]
        );
        assert_eq!(walk("file").0, Err("open"));
        assert_eq!(walk("link").0, Err("open"));
    }
}
