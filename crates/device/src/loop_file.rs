//! Loop files: disks for trials on a machine without a spare disk.
//!
//! A loop file is an ordinary file, mode 0600, with every block written, attached to a loop device
//! with direct I/O. Its holder keeps a descriptor of the device: if the holder dies and the mounts
//! in its namespace disappear, the kernel detaches the file. Loop files are not real disks: the
//! host's filesystem, with its journal and its extent tree, is below them, and every table says so.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use files::Directory;
use rustix::fs::{AtFlags, Mode, OFlags, fstat, openat, unlinkat};
use stack::Refusal;
use units::{Bytes, DeviceNumber};

use crate::attachment::{self, Attachment, LoopError};
use crate::sysfs::Entry;
use crate::{allocation, ioctl};

/// Room left on the host's filesystem beside the loop files.
const HEADROOM: Bytes = Bytes::from_mib(64);

impl From<files::FileError> for LoopError {
    fn from(error: files::FileError) -> LoopError {
        LoopError::Failed { step: error.step, path: error.path, source: error.source }
    }
}

/// A loop file, attached. Dropping it detaches and deletes it.
#[derive(Debug)]
pub struct LoopFile {
    path: PathBuf,
    /// Its directory, held open so that renames above it do not matter.
    directory: Directory,
    file: File,
    /// Keeps the loop device attached. Read-only, so that the checks of another fstrial process do
    /// not take this descriptor for a foreign writer.
    device: Option<File>,
    entry: Entry,
    size: Bytes,
    block_size: u32,
    discard_disabled: bool,
}

impl LoopFile {
    /// Makes `dir/name`, allocates and writes all of it, and attaches it with 512-byte logical
    /// blocks, or larger ones if direct I/O on the host needs them.
    ///
    /// # Errors
    /// When others can write to the directory, there is too little room, or the host filesystem has
    /// no direct I/O or stores written zeros as holes. Nothing is left behind.
    pub fn create(dir: &Path, name: &str, size: Bytes) -> Result<LoopFile, LoopError> {
        LoopFile::create_with_blocks(dir, name, size, 512)
    }

    /// As [`LoopFile::create`], with logical blocks of at least `block_size` bytes (512 to
    /// 4096, a power of two). `size` is rounded up to whole blocks of 4096.
    ///
    /// # Errors
    /// As [`LoopFile::create`].
    pub fn create_with_blocks(
        dir: &Path,
        name: &str,
        size: Bytes,
        block_size: u32,
    ) -> Result<LoopFile, LoopError> {
        LoopFile::create_in(&Directory::hold(dir)?, name, size, block_size)
    }

    /// As [`LoopFile::create_with_blocks`], in a directory that is held already.
    pub(crate) fn create_in(
        directory: &Directory,
        name: &str,
        size: Bytes,
        block_size: u32,
    ) -> Result<LoopFile, LoopError> {
        check_directory(directory)?;
        let size = Bytes(size.0.next_multiple_of(4096));
        check_room(directory, size)?;
        let path = directory.present_path().join(name);
        let failed = |step| {
            let path = path.clone();
            move |source| LoopError::Failed { step, path, source }
        };
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::RUSR | Mode::WUSR;
        let directory = directory.try_clone().map_err(failed("hold the directory of"))?;
        let file = openat(&directory, name, flags | OFlags::CLOEXEC, mode)
            .map_err(|error| failed("create")(error.into()))?;
        let file = File::from(file);
        let unfinished = DeleteOnDrop(Some((&directory, name)));
        // Only btrfs supports the flag; other filesystems write in place anyway.
        let _ = ioctl::set_no_copy_on_write(&file);
        allocation::allocate(&file, size).map_err(failed("allocate"))?;
        if !allocation::is_complete(&file, size).map_err(failed("check the allocation of"))? {
            return Err(Refusal::new(
                path.display().to_string(),
                "the filesystem below keeps holes where zeros were written",
            )
            .with_next("name a directory on ext4, XFS or btrfs without compression: --dir")
            .into());
        }
        let block_size = block_size.max(direct_io_alignment(&file));
        let Attachment { device, entry, discard_disabled } =
            attachment::attach(&file, &path, block_size)?;
        unfinished.keep();
        // From here on dropping the value cleans up.
        let made = LoopFile {
            path: path.clone(),
            directory,
            file,
            device: Some(device),
            entry,
            size,
            block_size,
            discard_disabled,
        };
        if !made.is_direct() {
            return Err(Refusal::new(
                path.display().to_string(),
                "the filesystem below has no direct I/O, so figures would be the page cache's",
            )
            .with_next("name a directory on ext4, XFS or btrfs: --dir")
            .into());
        }
        Ok(made)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device and inode of the file.
    ///
    /// # Errors
    /// Those of `fstat`.
    pub fn identity(&self) -> Result<(u64, u64), LoopError> {
        let metadata = self.file.metadata().map_err(|source| self.failed("look at", source))?;
        Ok((metadata.dev(), metadata.ino()))
    }

    /// The loop device's node: what mkfs and mount are given.
    pub fn device(&self) -> PathBuf {
        self.entry.node()
    }

    /// The loop device's number.
    pub fn number(&self) -> DeviceNumber {
        self.entry.number
    }

    /// The kept descriptor, closed on exec. A process that inherits it keeps the file attached.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.device.as_ref().map(AsFd::as_fd)
    }

    /// Size of the file and the device.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// The device's logical block in bytes.
    pub fn block_size(&self) -> u32 {
        self.block_size
    }

    /// Whether the kernel bypasses the page cache for the file at this moment.
    pub fn is_direct(&self) -> bool {
        self.entry.read("loop/dio").as_deref() == Some("1")
    }

    /// Whether the device refuses discards. Then mkfs, `mount -o discard` and fstrim cannot punch
    /// holes into the file, and zeroing (`BLKZEROOUT`, lazy initialisation) writes zeros instead of
    /// making blocks unwritten. If not, [`LoopFile::reallocate`] has to be called between trials.
    pub fn discard_disabled(&self) -> bool {
        self.discard_disabled
    }

    /// Whether every block of the file is still allocated and written.
    ///
    /// # Errors
    /// Those of `stat` and `lseek`.
    pub fn is_fully_allocated(&self) -> Result<bool, LoopError> {
        allocation::is_complete(&self.file, self.size)
            .map_err(|source| self.failed("check the allocation of", source))
    }

    /// Writes zeros into holes and unwritten blocks, and returns how many bytes. May be called only
    /// while the device is not mounted.
    ///
    /// # Errors
    /// The write's; a file that still has holes afterwards.
    pub fn reallocate(&self) -> Result<Bytes, LoopError> {
        let filled = allocation::fill(&self.file, self.size)
            .map_err(|source| self.failed("allocate again", source))?;
        if self.is_fully_allocated()? {
            return Ok(filled);
        }
        Err(Refusal::new(self.path.display().to_string(), "it has holes that cannot be filled")
            .into())
    }

    fn failed(&self, step: &'static str, source: io::Error) -> LoopError {
        LoopError::Failed { step, path: self.path.clone(), source }
    }
}

impl Drop for LoopFile {
    fn drop(&mut self) {
        if let Some(device) = self.device.take() {
            attachment::detach(device, self.entry.number.minor, self.discard_disabled);
        }
        if let Some(name) = self.path.file_name() {
            delete_own(&self.directory, name, &self.file);
        }
    }
}

/// Deletes the file if the name still refers to it.
fn delete_own(directory: &Directory, name: &OsStr, file: &File) {
    let same = file.metadata().and_then(|ours| {
        let named = directory.status_of(name)?;
        Ok((ours.dev(), ours.ino()) == (named.st_dev, named.st_ino))
    });
    if matches!(same, Ok(true)) {
        let _ = unlinkat(directory, name, AtFlags::empty());
    }
}

/// Deletes a file that was just created when a later step fails.
struct DeleteOnDrop<'a>(Option<(&'a Directory, &'a str)>);

impl DeleteOnDrop<'_> {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for DeleteOnDrop<'_> {
    fn drop(&mut self) {
        if let Some((directory, name)) = self.0 {
            let _ = unlinkat(directory, name, AtFlags::empty());
        }
    }
}

/// Checks that loop files can be made in a directory, which may still have to be made itself.
///
/// # Errors
/// When another user could replace them, or it cannot be used.
pub fn check_loop_directory(path: &Path) -> Result<(), Refusal> {
    let checked = match Directory::hold(path) {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => Err(LoopError::from(error)),
        Ok(directory) => check_directory(&directory),
    };
    checked.map_err(|error| match error {
        LoopError::Refused(refusal) => refusal,
        error => Refusal::new(path.display().to_string(), error.to_string()),
    })
}

/// Checks that nobody else can replace files in a directory.
fn check_directory(directory: &Directory) -> Result<(), LoopError> {
    let path = directory.path();
    let status = fstat(directory).map_err(|error| LoopError::Failed {
        step: "look at",
        path: path.to_owned(),
        source: error.into(),
    })?;
    let ours = status.st_uid == rustix::process::geteuid().as_raw();
    // With an ACL, the group bits are its mask: no entry lets anybody write.
    if ours && status.st_mode & 0o022 == 0 {
        return Ok(());
    }
    Err(Refusal::new(
        path.display().to_string(),
        "loop files are only made in a directory that is ours and that nobody else can write to",
    )
    .with_next("make one with mode 0700")
    .into())
}

fn check_room(directory: &Directory, size: Bytes) -> Result<(), LoopError> {
    let dir = directory.path();
    let room = rustix::fs::fstatvfs(directory).map_err(|error| LoopError::Failed {
        step: "ask for the free space of",
        path: dir.to_owned(),
        source: error.into(),
    })?;
    let free = Bytes(room.f_bavail.saturating_mul(room.f_frsize));
    let needed = Bytes(size.0.saturating_add(HEADROOM.0));
    if free >= needed {
        return Ok(());
    }
    Err(Refusal::new(
        dir.display().to_string(),
        format!("a loop file of {size} needs {needed} with headroom, and {free} are free"),
    )
    .with_next(
        "free some space, name another directory (--loop-dir) or make it smaller (--size, --scale)",
    )
    .into())
}

/// The alignment that direct I/O on this file needs, if the filesystem reports it. The loop
/// device's blocks must not be smaller.
fn direct_io_alignment(file: &File) -> u32 {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    let mask = StatxFlags::DIOALIGN;
    match statx(file, c"", AtFlags::EMPTY_PATH, mask) {
        Ok(answer) if answer.stx_mask & mask.bits() != 0 => {
            let alignment = answer.stx_dio_offset_align;
            if (512..=4096).contains(&alignment) { alignment } else { 512 }
        }
        _ => 512,
    }
}
