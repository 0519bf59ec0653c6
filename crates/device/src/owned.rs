//! Things made under the ledger's eyes: recorded before they are made, forgotten after they
//! are gone.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, fstat, mkdirat, openat, unlinkat};
use units::Bytes;

use crate::record::{LedgerError, RecordFile, Records, Thing, random_token};
use crate::{LoopError, LoopFile, removal};

/// Name of the file that says whose a directory is.
pub const MARKER: &str = ".fstrial-owned";
const MARKER_C: &std::ffi::CStr = c".fstrial-owned";

/// The name of a directory with this token.
pub(crate) fn directory_name(token: &str) -> String {
    format!("fstrial-{token}")
}

/// The name of an image with this token.
pub(crate) fn image_name(token: &str) -> String {
    format!("fstrial-{token}.img")
}

/// A directory of ours. Dropping it removes it with everything in it; what is mounted in it
/// is not touched, and then the directory stays in the ledger.
#[derive(Debug)]
pub struct OwnedDirectory {
    path: PathBuf,
    record: Option<RecordFile>,
}

impl OwnedDirectory {
    pub(crate) fn make(records: &Records, parent: &Path) -> Result<OwnedDirectory, LedgerError> {
        let token = random_token()?;
        let name = directory_name(&token);
        let path = parent.join(&name);
        let thing = |file_id| Thing::Directory { path: path.clone(), file_id };
        let mut record = records.record(&token, thing(None))?;
        let make = || -> io::Result<(u64, u64)> {
            let parent = File::open(parent)?;
            mkdirat(&parent, name.as_str(), Mode::RWXU)?;
            let directory = open_owned(&parent, &name)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let marker = openat(&directory, MARKER, flags, Mode::RUSR | Mode::WUSR)?;
            let mut marker = File::from(marker);
            writeln!(marker, "{token}")?;
            marker.sync_all()?;
            let status = fstat(&directory)?;
            Ok((status.st_dev, status.st_ino))
        };
        match make() {
            Ok(file_id) => {
                record.update(thing(Some(file_id)))?;
                Ok(OwnedDirectory { path, record: Some(record) })
            }
            Err(error) => {
                // Whatever there is of it goes with the next sweep.
                if path.exists() {
                    record.leave();
                }
                Err(LedgerError::of("create", &path)(error))
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it now and says what stands against it.
    ///
    /// # Errors
    /// At the first thing that cannot be removed, such as a mount; the rest stays recorded.
    pub fn remove(mut self) -> Result<(), LedgerError> {
        self.remove_in_place()
    }

    fn remove_in_place(&mut self) -> Result<(), LedgerError> {
        let Some(record) = self.record.take() else { return Ok(()) };
        let removed = remove_directory(&self.path);
        if removed.is_err() {
            record.leave();
        }
        removed.map_err(LedgerError::of("remove", &self.path))
    }
}

impl Drop for OwnedDirectory {
    fn drop(&mut self) {
        let _ = self.remove_in_place();
    }
}

fn open_owned(parent: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    removal::open_directory(parent, &CString::new(name)?)
}

/// Removes a directory with its contents, marker last. The caller has made sure that it is
/// ours.
pub(crate) fn remove_directory(path: &Path) -> io::Result<()> {
    let missing = || io::Error::new(io::ErrorKind::InvalidInput, "it has no name");
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(missing)?;
    let parent = File::open(path.parent().ok_or_else(missing)?)?;
    let directory = match open_owned(&parent, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    removal::empty(&directory, MARKER_C)?;
    Ok(unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
}

/// A [`LoopFile`] that the ledger knows.
#[derive(Debug)]
pub struct OwnedLoopFile {
    // Dropped in this order: the entry goes after the thing.
    file: LoopFile,
    _record: RecordFile,
}

impl OwnedLoopFile {
    pub(crate) fn make(records: &Records, dir: &Path, size: Bytes) -> Result<Self, LoopError> {
        let unrecorded = |error: LedgerError| LoopError::Failed {
            step: "record a loop file in",
            path: error.path.clone(),
            source: error.source,
        };
        let token = random_token().map_err(unrecorded)?;
        let name = image_name(&token);
        let path = dir.join(&name);
        let thing =
            |file_id, loop_device| Thing::LoopFile { path: path.clone(), file_id, loop_device };
        let mut record = records.record(&token, thing(None, None)).map_err(unrecorded)?;
        let file = LoopFile::create(dir, &name, size)?;
        let metadata = std::fs::symlink_metadata(file.path()).map_err(|source| {
            LoopError::Failed { step: "look at", path: file.path().to_owned(), source }
        })?;
        let file_id = (metadata.dev(), metadata.ino());
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

/// A recorded mount. Dropping it forgets the record; unmounting is the caller's.
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
