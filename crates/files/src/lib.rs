//! The one place through which fstrial touches what another user of the machine could swap.
//!
//! A path names something else as soon as a directory on the way is renamed or a symlink is
//! planted. So nothing here acts on a path twice: a directory is resolved once, held by a
//! descriptor and used through it.
//!
//! * [`Directory`]: a directory that is held; as root it is reached through nobody's symlinks
//!   but root's.
//! * [`write_output`]: a document the user asked for, into a regular file as a whole, into a
//!   device or pipe as it comes.
//! * [`private_directory`]: a directory whose contents are believed, such as the cache;
//!   [`beyond_others`]: one in which nobody else can swap what is ours.
//! * [`read_text`]: a small file the user names, and nothing endless.
//! * [`empty`]: removes what is in a held directory, and nothing that is not.

mod directory;
mod input;
mod output;
mod private;
mod removal;

pub use directory::Directory;
pub use input::{TEXT_MAX, read_text};
pub use output::{check_output, write_output};
pub use private::{beyond_others, private_directory, without_set_id};
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

/// Whether this process may act on every file, so that other users' files have to be
/// distrusted: the effective user is root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether a file of this owner can be believed: root's and our own.
pub(crate) fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

/// 64 random bits as text, for names that nobody can plant beforehand.
pub(crate) fn random_name() -> io::Result<String> {
    use std::io::Read;
    let mut bytes = [0u8; 8];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}
