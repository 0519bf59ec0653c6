//! The archive of an exported lab as it is read: everything is looked at before anything is written,
//! and what is written is bounded by the size of the file.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use tar::EntryType;
use units::Bytes;

use crate::error::LabError;
use crate::progress::{Counted, Transfer, Transferred};
use crate::software::{MANIFEST, Manifest};

/// Name of the file that holds the digest of all others, first in an exported lab.
pub(crate) const DIGEST: &str = "digest";
/// The directory that holds all others.
pub(crate) const LAB: &str = "lab";

/// The most files, directories and links. A lab with all optional parts has some 30,000.
const ENTRIES_MAX: usize = 500_000;
/// The most levels of directories. A lab has a dozen.
const DEPTH_MAX: usize = 64;
/// The longest path, and the longest target of a link.
const PATH_MAX: usize = 4096;
/// The largest digest and manifest. A manifest has a few hundred packages, each on four lines.
const TEXT_MAX: u64 = 4 << 20;
/// What may lie between the contents of two files: long names, and where a file has holes.
const BETWEEN_MAX: u64 = 1 << 20;
/// The most that holes may add to the contents. A linker leaves a few pages.
const HOLES_MAX: u64 = 256 << 20;
/// What has to be free beside the contents, for directories and the end of each file's last block.
const BESIDE: u64 = 4096;

/// What an archive holds, as far as it has to be known before it is unpacked.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// The digest of its contents that the archive claims.
    pub(crate) digest: String,
    /// The manifest's text.
    pub(crate) text: String,
    entries: BTreeMap<PathBuf, Kind>,
    /// Of all files' contents.
    pub(crate) size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
    Link,
}

/// Opens an archive to read it. Refuses a pipe and a device at once.
pub(crate) fn open(path: &Path) -> Result<File, LabError> {
    files::open_regular(path).map_err(|error| LabError::at(error.step, path)(error.source))
}

impl Survey {
    /// Reads all headers of an archive, and of its contents the digest and the manifest.
    ///
    /// # Errors
    /// When it is cut off, no exported lab, or holds what no lab has.
    pub(crate) fn of(input: &File, path: &Path) -> Result<Survey, LabError> {
        let refused = |problem: &str| LabError::value(path.display().to_string(), problem);
        let length = input.metadata().map_err(LabError::at("stat", path))?.len();
        let (mut survey, mut holes) = (Survey::default(), 0_u64);
        let allowed = Cell::new(BETWEEN_MAX);
        let mut archive = rewound(input, path, &allowed)?;
        let mut entries = archive.entries_with_seek().map_err(LabError::at("read", path))?;
        while let Some(entry) = next(&mut entries, &allowed) {
            let mut entry = entry.map_err(LabError::at("read", path))?;
            let name = entry.path().map_err(LabError::at("read", path))?.into_owned();
            let kind = survey.check(&name, &entry).map_err(|problem| refused(&problem))?;
            // The contents lie in the file, so that it bounds what is written.
            let stored = stored(&entry);
            if entry.raw_file_position().checked_add(stored).is_none_or(|end| end > length) {
                return Err(refused("it is cut off; copy the file again"));
            }
            holes = holes.saturating_add(entry.size().saturating_sub(stored));
            if holes > HOLES_MAX {
                let holes = Bytes(HOLES_MAX);
                return Err(refused(&format!("its files have holes of more than {holes}")));
            }
            survey.size = survey.size.saturating_add(entry.size());
            let text = match name.to_str() {
                Some(DIGEST) => &mut survey.digest,
                Some(name) if name.strip_prefix("lab/") == Some(MANIFEST) => &mut survey.text,
                _ => {
                    survey.entries.insert(name, kind);
                    continue;
                }
            };
            if kind != Kind::File || entry.size() > TEXT_MAX {
                let problem = format!("its {} is not a small file", name.display());
                return Err(refused(&format!("{problem}: not an exported lab")));
            }
            entry.read_to_string(text).map_err(LabError::at("read", path))?;
            survey.entries.insert(name, kind);
        }
        Ok(survey)
    }

    /// What an entry is, or why it is in no lab.
    fn check<R: Read>(&self, name: &Path, entry: &tar::Entry<'_, R>) -> Result<Kind, String> {
        let shown = || {
            let shown = name.display().to_string();
            shown.chars().take(200).collect::<String>()
        };
        let depth = name.components().count();
        let is_plain = name.components().all(|part| matches!(part, Component::Normal(_)));
        if depth > DEPTH_MAX || name.as_os_str().len() > PATH_MAX {
            return Err(format!("{} lies deeper than {DEPTH_MAX} levels", shown()));
        }
        if !is_plain || !(name == Path::new(DIGEST) || name.starts_with(LAB)) {
            return Err(format!("{} is not in a directory `{LAB}`: not an exported lab", shown()));
        }
        let kind = match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => Kind::File,
            EntryType::Directory => Kind::Directory,
            EntryType::Symlink => Kind::Link,
            _ => {
                let problem = "is neither a file nor a directory nor a symlink";
                return Err(format!("{} {problem}: no lab has such", shown()));
            }
        };
        if kind != Kind::File && entry.size() > 0 {
            return Err(format!("{} has contents, which only files have", shown()));
        }
        let links_far = || entry.link_name_bytes().is_none_or(|target| target.len() > PATH_MAX);
        if kind == Kind::Link && links_far() {
            return Err(format!("{} is a symlink to nothing or too far", shown()));
        }
        if self.entries.len() >= ENTRIES_MAX {
            return Err(format!("it holds more than {ENTRIES_MAX} files: no lab has so many"));
        }
        if self.entries.contains_key(name) && kind != Kind::Directory {
            return Err(format!("it holds {} twice", shown()));
        }
        let above = name.ancestors().skip(1);
        for directory in above.take_while(|above| !above.as_os_str().is_empty()) {
            match self.entries.get(directory) {
                Some(Kind::Directory) => break,
                None => {}
                Some(_) => return Err(format!("{} lies below what is no directory", shown())),
            }
        }
        Ok(kind)
    }

    /// Refuses a manifest whose files the archive has not, or has as links: they are opened outside
    /// of any guest.
    pub(crate) fn check_manifest(&self, manifest: &Manifest) -> Result<(), String> {
        let own = [
            (&manifest.kernel, Kind::File),
            (&manifest.modules, Kind::Directory),
            (&manifest.tools, Kind::Directory),
            (&manifest.emulator, Kind::Directory),
        ];
        for (path, kind) in own {
            let mut place = PathBuf::from(LAB);
            let mut found = None;
            for part in path.components() {
                place.push(part);
                found = self.entries.get(&place).copied();
                if found == Some(Kind::Link) {
                    return Err(format!("its {} is a symlink", place.display()));
                }
            }
            if found != Some(kind) {
                return Err(format!("it has no {}, which its manifest names", path.display()));
            }
        }
        Ok(())
    }

    /// Writes all of the archive into `work`, an empty directory.
    ///
    /// # Errors
    /// When there is no room, which is found out before anything is written, or reading or writing
    /// fails.
    pub(crate) fn unpack(
        &self,
        (input, path): (&File, &Path),
        work: &Path,
        progress: &mut dyn FnMut(Transferred),
    ) -> Result<(), LabError> {
        let needed = self.size.saturating_add(self.entries.len() as u64 * BESIDE);
        let room =
            rustix::fs::statvfs(work).map_err(|error| LabError::at("stat", work)(error.into()))?;
        let free = room.f_bavail.saturating_mul(room.f_frsize);
        if needed > free {
            let (needed, free) = (Bytes(needed), Bytes(free));
            let problem = format!("it takes {needed}, and {} has {free} free", work.display());
            return Err(LabError::value(path.display().to_string(), problem));
        }
        let mut counted = Counted::new(Transfer::Unpacking, Bytes(self.size), progress);
        let allowed = Cell::new(BETWEEN_MAX);
        let mut archive = rewound(input, path, &allowed)?;
        let mut entries = archive.entries_with_seek().map_err(LabError::at("read", path))?;
        while let Some(entry) = next(&mut entries, &allowed) {
            let mut entry = entry.map_err(LabError::at("read", path))?;
            let name = entry.path().map_err(LabError::at("read", path))?.into_owned();
            // The file may have changed since it was looked at.
            let kind = self
                .check_again(&name, &entry)
                .map_err(|problem| LabError::value(path.display().to_string(), problem))?;
            let place = work.join(&name);
            let above = place.parent().unwrap_or(work);
            std::fs::create_dir_all(above).map_err(LabError::at("create", above))?;
            let mode = entry.header().mode().unwrap_or(0) & 0o755;
            match kind {
                Kind::Directory => {
                    std::fs::create_dir_all(&place).map_err(LabError::at("create", &place))?;
                }
                Kind::Link => {
                    let target = entry.link_name().ok().flatten().unwrap_or_default();
                    symlink(target, &place).map_err(LabError::at("create", &place))?;
                }
                Kind::File => {
                    let mut options = File::options();
                    let file = options.write(true).create_new(true).mode(0o600).open(&place);
                    let mut file = file.map_err(LabError::at("create", &place))?;
                    copy(&mut entry, &mut file, &place, &mut counted)?;
                    file.set_permissions(Permissions::from_mode(mode | 0o600))
                        .map_err(LabError::at("change", &place))?;
                }
            }
        }
        Ok(())
    }

    fn check_again<R: Read>(&self, name: &Path, entry: &tar::Entry<'_, R>) -> Result<Kind, String> {
        let kind = Survey::default().check(name, entry)?;
        match self.entries.get(name) == Some(&kind) {
            true => Ok(kind),
            false => Err("it was changed while it was read".to_owned()),
        }
    }
}

/// An archive read from its beginning.
fn rewound<'a>(
    input: &'a File,
    path: &Path,
    allowed: &'a Cell<u64>,
) -> Result<tar::Archive<Input<'a>>, LabError> {
    let mut file = input;
    file.rewind().map_err(LabError::at("read", path))?;
    Ok(tar::Archive::new(Input { file: BufReader::new(file), allowed }))
}

/// An archive's file. Of what lies between contents no more is read than is allowed: all of it is
/// kept in memory.
struct Input<'a> {
    file: BufReader<&'a File>,
    allowed: &'a Cell<u64>,
}

impl Read for Input<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = self.allowed.get().min(into.len() as u64) as usize;
        if most < into.len() && most == 0 {
            return Err(io::Error::other("it has a name that is too long: not an exported lab"));
        }
        let count = self.file.read(&mut into[..most])?;
        self.allowed.set(self.allowed.get() - count as u64);
        Ok(count)
    }
}

impl Seek for Input<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            // Without reading again what is in the buffer.
            SeekFrom::Current(by) => {
                self.file.seek_relative(by)?;
                self.file.stream_position()
            }
            to => self.file.seek(to),
        }
    }
}

/// The next entry; all of its contents may be read.
fn next<'a, 'i>(
    entries: &mut tar::Entries<'a, Input<'i>>,
    allowed: &Cell<u64>,
) -> Option<io::Result<tar::Entry<'a, Input<'i>>>> {
    allowed.set(BETWEEN_MAX);
    let entry = entries.next();
    allowed.set(u64::MAX);
    entry
}

/// How much of its contents lies in the archive: all but the holes.
fn stored<R: Read>(entry: &tar::Entry<'_, R>) -> u64 {
    match entry.header().entry_type() {
        EntryType::GNUSparse => entry.header().entry_size().unwrap_or(u64::MAX),
        _ => entry.size(),
    }
}

/// Copies a file's contents.
fn copy(
    from: &mut impl Read,
    to: &mut File,
    place: &Path,
    counted: &mut Counted<'_>,
) -> Result<(), LabError> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = from.read(&mut buffer).map_err(LabError::at("unpack", place))?;
        if count == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..count]).map_err(LabError::at("write", place))?;
        counted.add(count as u64);
    }
}

#[cfg(test)]
mod tests;
