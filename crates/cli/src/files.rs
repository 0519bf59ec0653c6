//! Where fstrial keeps things: the user's own directories, nothing elsewhere.

use std::path::{Path, PathBuf};

use store::Store;

use crate::exit::{Exit, Failure};

fn user_directory(variable: &str, below_home: &str, fallback: &str) -> PathBuf {
    let absolute = |variable: &str| {
        std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    absolute(variable)
        .or_else(|| absolute("HOME").map(|home| home.join(below_home)))
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
    check_store(path)?;
    Store::open_existing(path).map_err(Failure::from(Exit::Store))
}

/// Refuses root a store in a directory that another user can change: SQLite creates files beside
/// the store under predictable names.
pub(crate) fn check_store(path: &Path) -> Result<(), Failure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Store, format!("the store {}: {error}", path.display()))
    };
    // A missing directory will be made by root in the nearest existing parent, so that is checked.
    let absolute = std::path::absolute(path).map_err(failed)?;
    let there = absolute.ancestors().skip(1).find(|above| above.exists());
    ::files::beyond_others(there.unwrap_or(Path::new("/"))).map_err(|error| {
        let (store, directory) = (path.display(), error.path.display());
        let message = format!(
            "the store {store}: another user can change {directory}; name one in a directory of \
             root's with --store, or run fstrial as that user"
        );
        Failure::new(Exit::Refused, message)
    })
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
    use std::io::Write;
    ::files::write_output(path, |file| file.write_all(contents).map_err(Written::Contents)).map_err(
        |failed| match failed {
            Written::Contents(error) => error,
            Written::Place(error) => error.source,
        },
    )
}

/// What went wrong with a document: its place, or writing it.
enum Written {
    Place(::files::FileError),
    Contents(std::io::Error),
}

impl From<::files::FileError> for Written {
    fn from(error: ::files::FileError) -> Written {
        Written::Place(error)
    }
}
