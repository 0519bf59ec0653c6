//! Where fstrial keeps things: the user's own directories, nothing elsewhere.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use ::files::{Directory, FileError, InReach};
use store::{Store, StoreError};

use crate::exit::{Exit, Failure};

fn user_directory(variable: &str, below_home: &str, fallback: &str) -> PathBuf {
    let absolute = |variable: &str| {
        std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    absolute(variable)
        .or_else(|| crate::surroundings::home().map(|home| home.join(below_home)))
        .unwrap_or_else(|| PathBuf::from(fallback))
        .join("fstrial")
}

/// For what can be made again: corpora, loop files, lab images.
pub(crate) fn cache_directory() -> PathBuf {
    user_directory("XDG_CACHE_HOME", ".cache", "/var/cache")
}

/// The same, made if missing. Its contents are trusted, so it is refused if another user could
/// have put something into it.
pub(crate) fn private_cache() -> Result<PathBuf, Failure> {
    ::files::private_directory(&cache_directory()).map_err(Failure::from(Exit::Refused))
}

/// Opens a store to read it, after checking that nobody could have redirected its path.
pub(crate) fn open_store(path: &Path) -> Result<Store, Failure> {
    let found = match rustix::process::geteuid().is_root() {
        true => ::files::existing_private_file(path).map_err(|error| unsafe_store(path, &error))?,
        false => path.to_owned(),
    };
    Store::open_existing(&found).map_err(Failure::from(Exit::Store))
}

/// The path by which SQLite opens the store. Root is refused one that another user can change, or
/// in a directory in which he can make files, such as `/tmp`: SQLite reads and makes files beside
/// the store under predictable names, and believes a journal that lies there.
pub(crate) fn store_path(path: &Path) -> Result<PathBuf, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(path.to_owned());
    }
    ::files::private_file(path).map_err(|error| unsafe_store(path, &error))
}

/// Why a store is not opened by root.
fn unsafe_store(path: &Path, error: &FileError) -> Failure {
    let store = path.display();
    if let Some(in_reach) = InReach::of(error) {
        let message = format!(
            "the store {store}: {in_reach}; name one in a directory of root's with --store, or \
             run fstrial as that user"
        );
        return Failure::new(Exit::Refused, message);
    }
    match error.source.kind() {
        ErrorKind::NotFound => {
            let missing = StoreError::Missing { path: path.to_owned() };
            Failure::new(Exit::Store, missing.to_string())
        }
        ErrorKind::PermissionDenied => {
            Failure::new(Exit::Refused, format!("the store {store}: {}", error.source))
        }
        _ => Failure::new(Exit::Store, format!("the store {store}: {}", error.source)),
    }
}

/// Directories in which tools are looked up: only `FSTRIAL_TOOL_PATH` if it is set, else the
/// user's path and the `sbin` directories, which are often missing from it.
pub(crate) fn tool_path() -> Vec<PathBuf> {
    if let Some(only) = std::env::var_os("FSTRIAL_TOOL_PATH") {
        return std::env::split_paths(&only).filter(|path| path.is_absolute()).collect();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    for sbin in ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from) {
        if !directories.contains(&sbin) {
            directories.push(sbin);
        }
    }
    directories.retain(|directory| directory.is_absolute());
    // Debian keeps PostgreSQL's programs in one directory per version: take the newest.
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path())))
        .max();
    directories.extend(newest.map(|(_, directory)| directory.join("bin")));
    directories
}

/// Whether a program is there.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    tool_path().into_iter().map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// Writes a document: see [`::files::write_output`].
pub(crate) fn write_whole(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    Ok(::files::write_output(path, all_of(contents))?)
}

/// The same in a directory that is held.
pub(crate) fn write_whole_in(
    directory: &Directory,
    name: &str,
    contents: &[u8],
) -> std::io::Result<()> {
    Ok(directory.write_output(name, all_of(contents))?)
}

fn all_of(contents: &[u8]) -> impl FnOnce(&mut File) -> Result<(), Written> {
    move |file| file.write_all(contents).map_err(Written::Contents)
}

/// What went wrong with a document: its place, or writing it.
enum Written {
    Place(FileError),
    Contents(std::io::Error),
}

impl From<Written> for std::io::Error {
    fn from(failed: Written) -> std::io::Error {
        match failed {
            Written::Contents(error) => error,
            Written::Place(error) => error.source,
        }
    }
}

impl From<FileError> for Written {
    fn from(error: FileError) -> Written {
        Written::Place(error)
    }
}
