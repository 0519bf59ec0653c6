//! What fstrial needs of its surroundings before it can do anything: file descriptors, /proc, /dev,
//! names that can be stored.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::exit::{Exit, Failure};

/// Files that are open at most at the same time, with some to spare.
const DESCRIPTORS: u64 = 256;

/// Raises a limit of open files that is too low for a run, as far as that is allowed.
///
/// # Errors
/// When it stays too low, with the limit.
pub(crate) fn enough_descriptors() -> Result<(), Failure> {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= DESCRIPTORS) {
        return Ok(());
    }
    limit.current = Some(limit.maximum.map_or(DESCRIPTORS, |most| most.min(DESCRIPTORS)));
    // If it cannot be raised, it is found too low.
    let _ = setrlimit(Resource::Nofile, limit);
    match getrlimit(Resource::Nofile).current {
        Some(current) if current < DESCRIPTORS => Err(Failure::new(
            Exit::Refused,
            format!(
                "no more than {current} files may be open at once, which is too few: raise the \
                 limit (ulimit -n {DESCRIPTORS})"
            ),
        )),
        _ => Ok(()),
    }
}

/// Checks that /proc and /dev are there, without which nothing can be run or held.
///
/// # Errors
/// When one is missing, with how to get it.
pub(crate) fn proc_and_dev() -> Result<(), Failure> {
    let missing = |what: &str, how: &str| {
        Failure::new(Exit::Refused, format!("{what} is not there, and fstrial needs it: {how}"))
    };
    if std::fs::symlink_metadata("/proc/self/fd").is_err() {
        return Err(missing("/proc", "mount -t proc proc /proc"));
    }
    if !std::fs::metadata("/dev/null").is_ok_and(|null| null.file_type().is_char_device()) {
        return Err(missing("/dev/null", "mount -t devtmpfs devtmpfs /dev, or bind the host's"));
    }
    Ok(())
}

/// The user's home, if it is there: it is not made.
pub(crate) fn home() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    home.filter(|path| path.is_absolute() && path.is_dir())
}

/// Checks that a run could keep the name of the working directory.
///
/// # Errors
/// When its name is not UTF-8.
pub(crate) fn here_in_utf8() -> Result<(), Failure> {
    let here = std::env::current_dir().unwrap_or_default();
    match not_utf8().filter(|_| here.to_str().is_none()) {
        Some(why) => Err(Failure::new(Exit::Usage, why)),
        None => Ok(()),
    }
}

/// What of the command line or the working directory cannot be kept with a run, whose names are
/// UTF-8.
pub(crate) fn not_utf8() -> Option<String> {
    let words = std::env::args_os().find(|word| word.to_str().is_none());
    let here = || std::env::current_dir().ok().map(PathBuf::into_os_string);
    let found = words.or_else(|| here().filter(|here| here.to_str().is_none()))?;
    Some(format!(
        "{}: its name is not UTF-8, and could not be kept with the run; rename it, or mount it \
         elsewhere (mount --bind)",
        Path::new(&found).display()
    ))
}
