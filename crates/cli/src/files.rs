//! Where fstrial keeps things: the user's own directories, nothing elsewhere.

use std::path::{Path, PathBuf};

fn user_directory(variable: &str, below_home: &str, fallback: &str) -> PathBuf {
    let absolute = |variable: &str| {
        std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    absolute(variable)
        .or_else(|| absolute("HOME").map(|home| home.join(below_home)))
        .unwrap_or_else(|| PathBuf::from(fallback))
        .join("fstrial")
}

/// Corpora, loop files, lab images: what can be made again.
pub(crate) fn cache_directory() -> PathBuf {
    user_directory("XDG_CACHE_HOME", ".cache", "/var/cache")
}

/// Directories in which tools are looked up: `FSTRIAL_TOOL_PATH` and nothing else where it
/// is set; else the user's path and the `sbin` directories, which it often lacks.
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
    directories
}

/// Whether a program is there.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    tool_path().into_iter().map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// Writes a file whole: a temporary file beside it, then a rename.
pub(crate) fn write_whole(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let temporary =
        directory.unwrap_or(Path::new(".")).join(format!(".{name}.{}.tmp", std::process::id()));
    let written = (|| {
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(contents)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}
