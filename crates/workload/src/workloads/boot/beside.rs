//! Other software, installed beside the system that boots: files that a boot does not read, but
//! that lie between those it reads, as on a machine that has been set up for use.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tar::EntryType;
use units::Bytes;

use super::unpack::Unpacked;
use crate::engine::contents::{Contents, Filling};
use crate::engine::file_io::write_all;
use crate::{OpError, Seed};

/// Where it lies in the tree; nothing of the system looks here for what to start.
const PLACE: &str = "usr/local/lib";
/// Length of one write.
const BLOCK: usize = 1 << 20;

/// Installs other software file by file while the system is unpacked, as a package manager does
/// that installs both at once.
pub(super) struct Beside {
    root: PathBuf,
    /// Bytes of the system, and of the other software when all is installed.
    system: u64,
    wanted: u64,
    /// How much of the next copy of a file is due, in bytes of the system.
    due: u64,
    installed: Unpacked,
    made: HashSet<PathBuf>,
    contents: Contents,
}

impl Beside {
    /// Other software below `root`, so that it and the system of `archive` have about `total`
    /// bytes together; `None` if the system alone has as many.
    ///
    /// # Errors
    /// When the archive cannot be read.
    pub(super) fn up_to(
        total: Bytes,
        archive: &Path,
        root: &Path,
        seed: Seed,
    ) -> Result<Option<Beside>, OpError> {
        let system = size(archive).map_err(OpError::at("read", archive))?;
        // Of a system without contents there is nothing to take sizes from.
        if system == 0 || total.0 <= system {
            return Ok(None);
        }
        Ok(Some(Beside {
            root: root.join(PLACE),
            system,
            wanted: total.0 - system,
            due: 0,
            installed: Unpacked::default(),
            made: HashSet::new(),
            contents: Contents::new(seed, PLACE, BLOCK, Filling::RANDOM),
        }))
    }

    /// Called after each of the system's files, of this name and size: installs as many files of
    /// the same size, below directories of the same names, as the other software is larger than
    /// the system. A fraction gives every so many files one more.
    ///
    /// # Errors
    /// When the filesystem refuses an operation.
    pub(super) fn after(&mut self, name: &Path, size: u64) -> Result<(), OpError> {
        self.due += self.wanted;
        let mut copy = 0u64;
        while self.due >= self.system {
            self.due -= self.system;
            copy += 1;
            let place = self.root.join(copy.to_string()).join(name);
            self.install(&place, size).map_err(OpError::at("install", &place))?;
        }
        Ok(())
    }

    /// What has been installed.
    pub(super) fn installed(&self) -> Unpacked {
        self.installed
    }

    fn install(&mut self, place: &Path, size: u64) -> io::Result<()> {
        if let Some(directory) = place.parent()
            && !self.made.contains(directory)
        {
            fs::create_dir_all(directory)?;
            self.made.insert(directory.to_owned());
        }
        let file = File::options().write(true).create_new(true).open(place)?;
        let mut at = 0;
        while at < size {
            let length = usize::try_from(size - at).unwrap_or(BLOCK).min(BLOCK);
            // The first mark of each file is a place of its own: no two files are equal.
            write_all(&file, self.contents.at(self.installed.bytes + at, length))?;
            at += length as u64;
        }
        self.installed.entries += 1;
        self.installed.bytes += size;
        Ok(())
    }
}

/// Bytes in the files of an archive.
fn size(archive: &Path) -> io::Result<u64> {
    let mut tar = tar::Archive::new(File::open(archive)?);
    let mut bytes = 0;
    for entry in tar.entries_with_seek()? {
        let entry = entry?;
        if matches!(entry.header().entry_type(), EntryType::Regular | EntryType::Continuous) {
            bytes += entry.size();
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
