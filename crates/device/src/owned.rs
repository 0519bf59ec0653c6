//! Objects in the ledger: recorded before they are made, and the record is removed after they are.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use files::Directory;
use rustix::fs::{Mode, OFlags, openat};
use units::Bytes;

use crate::record::{LedgerError, RecordFile, Records, Thing, random_token};
use crate::{LoopError, LoopFile};

/// Name of the file that marks a directory as fstrial's.
pub const MARKER: &str = ".fstrial-owned";
pub(crate) const MARKER_C: &std::ffi::CStr = c".fstrial-owned";

/// The name of a directory with this token.
pub(crate) fn directory_name(token: &str) -> String {
    format!("fstrial-{token}")
}

/// The name of an image with this token.
pub(crate) fn image_name(token: &str) -> String {
    format!("fstrial-{token}.img")
}

/// A directory of fstrial's. Dropping the value removes it with everything in it. If something is
/// mounted in it, that is not touched, and the directory stays in the ledger.
#[derive(Debug)]
pub struct OwnedDirectory {
    path: PathBuf,
    parent: Directory,
    held: Directory,
    identity: (u64, u64),
    record: Option<RecordFile>,
}

impl OwnedDirectory {
    pub(crate) fn make(
        records: &Records,
        parent: &Directory,
    ) -> Result<OwnedDirectory, LedgerError> {
        let token = random_token()?;
        let name = directory_name(&token);
        let parent = parent.try_clone().map_err(LedgerError::of("hold", parent.path()))?;
        // Without symlinks, and absolute: the next start may have another working directory.
        let path = parent.present_path().join(&name);
        let thing = |file_id| Thing::Directory { path: path.clone(), file_id };
        let mut record = records.record(&token, thing(None))?;
        let make = || -> Result<(Directory, (u64, u64)), LedgerError> {
            let directory = parent.make_directory(&name)?;
            let identify = || -> io::Result<(u64, u64)> {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let marker = openat(&directory, MARKER, flags, Mode::RUSR | Mode::WUSR)?;
                let mut marker = File::from(marker);
                writeln!(marker, "{token}")?;
                marker.sync_all()?;
                directory.identity()
            };
            let identity = identify().map_err(LedgerError::of("create", &path))?;
            Ok((directory, identity))
        };
        match make() {
            Ok((held, identity)) => {
                record.update(thing(Some(identity)))?;
                Ok(OwnedDirectory { path, parent, held, identity, record: Some(record) })
            }
            Err(error) => {
                // If it was partly made, the next sweep removes it.
                if parent.status_of(name.as_ref()).is_ok() {
                    record.leave();
                }
                Err(error)
            }
        }
    }

    /// The path it was made under. If another user owns the directory above, something else may be
    /// there by now, so use [`OwnedDirectory::held`] to work in it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory itself.
    pub fn held(&self) -> &Directory {
        &self.held
    }

    /// Removes it now, and reports what prevents that.
    ///
    /// # Errors
    /// At the first entry that cannot be removed, such as a mount, or when its name refers to
    /// another directory by now. The rest stays recorded.
    pub fn remove(mut self) -> Result<(), LedgerError> {
        self.remove_in_place()
    }

    fn remove_in_place(&mut self) -> Result<(), LedgerError> {
        let Some(record) = self.record.take() else { return Ok(()) };
        let name = directory_name(record.token());
        let removed = files::empty(&self.held, MARKER_C).and_then(|()| {
            let removed = self.parent.remove_child(&name, self.identity);
            removed.or_else(|error| self.remove_where_it_is().map_err(|_| error))
        });
        if removed.is_err() {
            record.leave();
        }
        removed.map_err(LedgerError::of("remove", &self.path))
    }

    /// Removes the emptied directory under the name that another user has given it.
    fn remove_where_it_is(&self) -> io::Result<()> {
        let path = self.held.present_path();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(rustix::io::Errno::NOENT.into());
        };
        let parent = Directory::hold(parent).map_err(|error| error.source)?;
        parent.remove_child(name, self.identity)
    }
}

impl Drop for OwnedDirectory {
    fn drop(&mut self) {
        let _ = self.remove_in_place();
    }
}

/// A [`LoopFile`] that is recorded in the ledger.
#[derive(Debug)]
pub struct OwnedLoopFile {
    // Dropped in this order: the entry is removed after the file.
    file: LoopFile,
    _record: RecordFile,
}

impl OwnedLoopFile {
    pub(crate) fn make(
        records: &Records,
        directory: &Directory,
        size: Bytes,
    ) -> Result<Self, LoopError> {
        let unrecorded = |error: LedgerError| LoopError::Failed {
            step: "record a loop file in",
            path: error.path.clone(),
            source: error.source,
        };
        let token = random_token().map_err(unrecorded)?;
        let name = image_name(&token);
        let path = directory.present_path().join(&name);
        let thing =
            |file_id, loop_device| Thing::LoopFile { path: path.clone(), file_id, loop_device };
        let mut record = records.record(&token, thing(None, None)).map_err(unrecorded)?;
        let file = LoopFile::create_in(directory, &name, size, 512)?;
        let file_id = file.identity()?;
        record.update(thing(Some(file_id), Some(file.number()))).map_err(unrecorded)?;
        Ok(OwnedLoopFile { file, _record: record })
    }
}

impl Deref for OwnedLoopFile {
    type Target = LoopFile;
    fn deref(&self) -> &LoopFile {
        &self.file
    }
}

/// A recorded mount. Dropping it removes the record only; the caller has to unmount.
#[derive(Debug)]
pub struct OwnedMount {
    _record: RecordFile,
}

impl OwnedMount {
    pub(crate) fn note(
        records: &Records,
        point: PathBuf,
        source: &Path,
    ) -> Result<OwnedMount, LedgerError> {
        let token = random_token()?;
        let thing = Thing::Mount { point, source: source.to_owned() };
        Ok(OwnedMount { _record: records.record(&token, thing)? })
    }
}
