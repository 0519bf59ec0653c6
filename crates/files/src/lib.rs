//! All access to files and directories that another user of the machine could replace.
//!
//! A path refers to something else as soon as a directory on the way is renamed or a symlink is
//! planted. So no path is resolved twice: it is followed once, from descriptor to descriptor, and
//! what it leads to is held and used through its descriptor. What others may change is asked of the
//! descriptors too. A path as text is for messages, or of something that nobody else can move.
//!
//! * [`Directory`], [`HeldFile`]: held, and what is known of them. For root, only symlinks that no
//!   other user can have put there are followed on the way.
//! * [`InReach`]: who else could change one, as its owner, mode and ACL say.
//! * [`Output`]: where a document that the user asked for is written, atomically into a regular
//!   file, or piece by piece into a device or pipe, which is held open until then.
//! * [`private_directory`], [`private_file`]: paths that nobody else can change, such as the
//!   cache's and the store's.
//! * [`read_text`], [`read_file`]: read a file that the user names, and refuse endless ones.
//! * [`empty`]: removes the contents of a held directory, and nothing outside it.
//! * [`Mount`]: what is mounted, and the mount that holds a path.

mod directory;
mod held;
mod input;
mod mounts;
mod new_file;
mod output;
mod private;
mod reach;
mod regular;
mod removal;
mod walk;

pub use directory::Directory;
pub use held::{HeldFile, existing_private_file, private_file};
pub use input::{TEXT_MAX, read_text};
pub use mounts::{Mount, parse_mountinfo, unescape_octal};
pub use output::{Output, write_output};
pub use private::{private_directory, without_set_id};
pub use reach::{InReach, Reach};
pub use regular::{open_regular, read_at_most, read_file};
pub use removal::{Removing, empty, leave_the_rest, open_directory, removing};

use std::io;
use std::path::{Path, PathBuf};

/// Why something could not be done to a file or directory.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step} {}: {source}", path.display())]
pub struct FileError {
    /// The step: `open`, `write`.
    pub step: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// The reason.
    pub source: io::Error,
}

impl FileError {
    pub(crate) fn of<E: Into<io::Error>>(
        step: &'static str,
        path: &Path,
    ) -> impl FnOnce(E) -> FileError {
        let path = path.to_owned();
        move |source| FileError { step, path, source: source.into() }
    }
}

/// Whether the effective user is root. Such a process may act on every file, so it must not trust
/// other users' files.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether files of this owner can be trusted: only root's and this user's own.
pub(crate) fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

/// 64 random bits as text, for names that nobody can guess and create in advance.
pub(crate) fn random_name() -> io::Result<String> {
    Ok(format!("{:016x}", u64::from_ne_bytes(random_bytes()?)))
}

/// Random bytes of the kernel, which needs no `/dev` for that.
///
/// # Errors
/// The kernel's.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0u8; N];
    let mut filled = 0;
    while filled < N {
        let rest = &mut bytes[filled..];
        // SAFETY: the kernel writes no more than the length that it is given.
        let got = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        match usize::try_from(got) {
            Ok(got) => filled += got,
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
    Ok(bytes)
}
