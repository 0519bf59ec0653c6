//! The contents of a lab's directory, and whether they are still what was built or imported.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::LabError;
use crate::optional;
use crate::software::{Manifest, Software};

impl Manifest {
    /// The first path or part it names that does not lie in the lab's own directory.
    pub(crate) fn outside(&self) -> Option<PathBuf> {
        let inside = |path: &Path| {
            let plain = |component| matches!(component, Component::Normal(_));
            path.components().next().is_some() && path.components().all(plain)
        };
        let paths = [&self.kernel, &self.modules, &self.tools, &self.emulator];
        let outside = paths.into_iter().find(|path| !inside(path));
        let unknown = || self.with.iter().find(|part| optional::part(part).is_err());
        outside.cloned().or_else(|| unknown().map(PathBuf::from))
    }
}

impl Software {
    /// Where the digest of its files is kept: in the cache, outside the labs' own directories.
    pub(crate) fn digest_file(directory: &Path) -> PathBuf {
        let cache = directory.parent().and_then(Path::parent).unwrap_or(Path::new(""));
        cache.join("digests").join(directory.file_name().unwrap_or(OsStr::new("lab")))
    }

    /// Reads every file and compares with what was built or imported.
    ///
    /// # Errors
    /// When a file was changed, added or removed since, or cannot be read.
    pub fn check_files(&self) -> Result<(), LabError> {
        let kept = Software::digest_file(&self.directory);
        let expected = std::fs::read_to_string(&kept).map_err(LabError::at("read", &kept))?;
        if tree_digest(&self.directory)? == expected.trim() {
            return Ok(());
        }
        let problem = "its files have changed since it was built or imported; run \
                       `fstrial lab build --refresh` or `fstrial lab import`";
        Err(LabError::damaged(&self.directory, problem))
    }
}

/// SHA-256 over every path below `root`, in order, with contents or link target.
pub(crate) fn tree_digest(root: &Path) -> Result<String, LabError> {
    tree_digest_counted(root, &mut |_| ())
}

/// The same; `read` is told of all contents that are read.
pub(crate) fn tree_digest_counted(
    root: &Path,
    read: &mut dyn FnMut(u64),
) -> Result<String, LabError> {
    let mut paths = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(&directory).map_err(LabError::at("read", &directory))? {
            let path = entry.map_err(LabError::at("read", &directory))?.path();
            if path.is_dir() && !path.is_symlink() {
                left.push(path.clone());
            }
            paths.push(path);
        }
    }
    paths.sort();
    let mut buffer = vec![0; 1 << 20];
    let mut digest = Sha256::new();
    for path in paths {
        let name = path.strip_prefix(root).unwrap_or(&path);
        digest.update((name.as_os_str().len() as u64).to_le_bytes());
        digest.update(name.as_os_str().as_bytes());
        if path.is_symlink() {
            let target = std::fs::read_link(&path).map_err(LabError::at("read", &path))?;
            digest.update(b"l");
            digest.update(target.as_os_str().as_bytes());
        } else if path.is_file() {
            digest.update(b"f");
            let mut file = File::open(&path).map_err(LabError::at("open", &path))?;
            loop {
                let count = file.read(&mut buffer).map_err(LabError::at("read", &path))?;
                if count == 0 {
                    break;
                }
                digest.update(&buffer[..count]);
                read(count as u64);
            }
        }
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
