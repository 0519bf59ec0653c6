//! Extracts a file from a Debian package, without root: for inputs of trials that Debian packages.

use std::path::{Path, PathBuf};

use crate::apt::{Apt, Archives, unpack};
use crate::cache::{sweep_unfinished, unfinished};
use crate::error::LabError;
use crate::lock::Lock;

/// The file at `within` (relative to `/`) of the newest `package`, put into `directory` under its
/// file name. It is downloaded unless it is there already; `tell` is called with the package first.
///
/// # Errors
/// When this machine has no apt, the package cannot be had, there is no room, or the package
/// has no such file.
pub fn file_of_package(
    directory: &Path,
    package: &str,
    within: &Path,
    tell: &mut dyn FnMut(&crate::Package),
) -> Result<PathBuf, LabError> {
    let name = within.file_name().unwrap_or(within.as_os_str());
    let path = directory.join(name);
    if path.is_file() {
        return Ok(path);
    }
    std::fs::create_dir_all(directory).map_err(LabError::at("create", directory))?;
    let _lock = Lock::take(&directory.join(".package.lock"))?;
    sweep_unfinished(directory);
    if path.is_file() {
        return Ok(path);
    }
    let work = unfinished(&path);
    let fetched = fetch(&work, package, within, tell).and_then(|file| {
        std::fs::rename(&file, &path).map_err(LabError::at("rename", &file))?;
        Ok(path)
    });
    let _ = std::fs::remove_dir_all(&work);
    fetched
}

fn fetch(
    work: &Path,
    package: &str,
    within: &Path,
    tell: &mut dyn FnMut(&crate::Package),
) -> Result<PathBuf, LabError> {
    std::fs::create_dir(work).map_err(LabError::at("create", work))?;
    let apt = Apt::set_up(work, &Archives::default())?;
    apt.update()?;
    let planned = apt.plan(&[package], false)?;
    let planned = planned.first().ok_or_else(|| LabError::NoPackage {
        package: package.to_owned(),
        why: "apt has no candidate to download".to_owned(),
    })?;
    tell(planned);
    apt.download(std::slice::from_ref(planned))?;
    let archives = apt.archives();
    let entries = std::fs::read_dir(&archives).map_err(LabError::at("read", &archives))?;
    let downloaded = entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"));
    let Some(downloaded) = downloaded else {
        return Err(LabError::NoPackage {
            package: package.to_owned(),
            why: format!("version {} was planned and not downloaded; try again", planned.version),
        });
    };
    let root = work.join("root");
    std::fs::create_dir(&root).map_err(LabError::at("create", &root))?;
    unpack(&downloaded, &root)?;
    files::without_set_id(&root)?;
    let file = root.join(within);
    if file.is_file() {
        return Ok(file);
    }
    Err(LabError::NoPackage {
        package: package.to_owned(),
        why: format!("version {} has no {}", planned.version, within.display()),
    })
}
