//! `fstrial lab export` and `import`: a lab as one file, since distributions drop old
//! kernels. A digest of all contents goes with it and is checked.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::build::{MANIFEST, Manifest, Software, adopt};
use crate::cache::{Lock, sweep_unfinished, unfinished, write_whole};
use crate::error::LabError;

/// Name of the file that holds the digest, first in an exported lab.
const DIGEST: &str = "digest";

/// Writes a lab to `file`. What the machine provides itself (its own QEMU) is not in it.
///
/// # Errors
/// When it is made of files of one's own, which are not ours to copy, or there is no room.
pub fn export(software: &Software, file: &Path) -> Result<(), LabError> {
    let manifest = &software.manifest;
    for path in [&manifest.kernel, &manifest.modules, &manifest.tools] {
        if path.is_absolute() {
            let problem = "it is a file of your own and is not exported; build a lab of packages";
            return Err(LabError::value(path.display().to_string(), problem));
        }
    }
    let digest = tree_digest(&software.directory)?;
    write_whole(file, |output| {
        let failed = |error| LabError::at("write", file)(error);
        let mut archive = tar::Builder::new(BufWriter::new(output));
        archive.follow_symlinks(false);
        let mut header = tar::Header::new_gnu();
        header.set_size(digest.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append_data(&mut header, DIGEST, digest.as_bytes()).map_err(failed)?;
        let failed = |error| LabError::at("write", file)(error);
        archive.append_dir_all("lab", &software.directory).map_err(failed)?;
        let failed = |error| LabError::at("write", file)(error);
        let mut output = archive.into_inner().map_err(failed)?;
        std::io::Write::flush(&mut output).map_err(LabError::at("write", file))
    })
}

/// Reads a lab that was exported and makes it the current one of `cache`.
///
/// # Errors
/// When the file is cut off, changed or no lab, or there is no room. Nothing is left then.
pub fn import(cache: &Path, file: &Path) -> Result<Software, LabError> {
    let store = cache.join("software");
    std::fs::create_dir_all(&store).map_err(LabError::at("create", &store))?;
    let _lock = Lock::take(&cache.join("build.lock"))?;
    sweep_unfinished(&store);
    let work = unfinished(&store.join("import"));
    let unpacked = unpack(file, &work);
    match unpacked {
        Ok((directory, text)) => {
            let adopted = adopt(cache, &directory, &text);
            let _ = std::fs::remove_dir_all(&work);
            adopted
        }
        Err(error) => {
            let _ = std::fs::remove_dir_all(&work);
            Err(error)
        }
    }
}

fn unpack(file: &Path, work: &Path) -> Result<(PathBuf, String), LabError> {
    std::fs::create_dir_all(work).map_err(LabError::at("create", work))?;
    let input = File::open(file).map_err(LabError::at("open", file))?;
    let mut archive = tar::Archive::new(BufReader::new(input));
    archive.set_preserve_permissions(true);
    // Refuses whatever would land outside `work`.
    archive.unpack(work).map_err(LabError::at("unpack", file))?;
    let not_ours = |problem: &str| {
        LabError::value(file.display().to_string(), format!("{problem}: not an exported lab"))
    };
    let expected =
        std::fs::read_to_string(work.join(DIGEST)).map_err(|_| not_ours("it has no digest"))?;
    let directory = work.join("lab");
    let text = std::fs::read_to_string(directory.join(MANIFEST))
        .map_err(|_| not_ours("it has no manifest"))?;
    let manifest: Manifest = toml::from_str(&text).map_err(|error| not_ours(&error.to_string()))?;
    if manifest.version != 1 {
        return Err(not_ours(&format!("manifest version {}", manifest.version)));
    }
    if tree_digest(&directory)? != expected {
        let problem = "its contents are not what was exported; copy the file again";
        return Err(LabError::value(file.display().to_string(), problem));
    }
    Ok((directory, text))
}

/// SHA-256 over every path below `root`, in order, with contents or link target.
fn tree_digest(root: &Path) -> Result<String, LabError> {
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
            let mut buffer = vec![0; 1 << 20];
            loop {
                let count = file.read(&mut buffer).map_err(LabError::at("read", &path))?;
                if count == 0 {
                    break;
                }
                digest.update(&buffer[..count]);
            }
        }
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::current;

    fn lab(cache: &Path) -> Software {
        let work = cache.join("software").join("made");
        std::fs::create_dir_all(work.join("modules")).unwrap();
        std::fs::create_dir_all(work.join("tools/sbin")).unwrap();
        std::fs::write(work.join("kernel"), "kernel").unwrap();
        std::fs::write(work.join("modules/ublk_drv.ko"), "module").unwrap();
        std::os::unix::fs::symlink("mke2fs", work.join("tools/sbin/mkfs.ext4")).unwrap();
        let manifest = Manifest {
            version: 1,
            kernel: "kernel".into(),
            modules: "modules".into(),
            tools: "tools".into(),
            qemu: None,
            with: Default::default(),
            packages: Vec::new(),
        };
        let text = toml::to_string(&manifest).unwrap();
        std::fs::write(work.join(MANIFEST), &text).unwrap();
        adopt(cache, &work, &text).unwrap()
    }

    #[test]
    fn a_lab_travels() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let software = lab(here.path());
        let file = here.path().join("lab.tar");
        export(&software, &file).unwrap();
        let arrived = import(there.path(), &file).unwrap();
        assert_eq!(arrived.manifest, software.manifest);
        assert_eq!(
            tree_digest(&arrived.directory).unwrap(),
            tree_digest(&software.directory).unwrap()
        );
        assert_eq!(current(there.path()).unwrap(), arrived);
        // Once more is no mistake.
        assert_eq!(import(there.path(), &file).unwrap(), arrived);
    }

    #[test]
    fn what_is_cut_off_or_changed_leaves_nothing() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = here.path().join("lab.tar");
        export(&lab(here.path()), &file).unwrap();
        let whole = std::fs::read(&file).unwrap();
        let place = whole.windows(6).position(|window| window == b"module").unwrap();
        let mut changed = whole.clone();
        // The contents of the module, not its name.
        let contents = whole.windows(7).position(|window| window == b"module\0").unwrap_or(place);
        changed[contents] = b'M';
        for bad in [&whole[..whole.len() / 2], &changed[..], b"something else"] {
            std::fs::write(&file, bad).unwrap();
            assert!(import(there.path(), &file).is_err());
            assert!(current(there.path()).is_err());
            let left = std::fs::read_dir(there.path().join("software")).unwrap().count();
            assert_eq!(left, 0);
        }
    }
}
