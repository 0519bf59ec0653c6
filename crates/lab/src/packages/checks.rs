//! Whether a package is the one that the lists name.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::apt::{Package, calls_itself};
use crate::error::LabError;

/// Records a package's digest; refuses a file whose digest differs from the package lists.
pub(super) fn check_digest(file: &Path, package: &mut Package) -> Result<(), LabError> {
    let found = digest_of(file)?;
    if !package.sha256.is_empty() && package.sha256 != found {
        let (listed, _) = (package.sha256.clone(), std::fs::remove_file(file));
        let problem = format!(
            "its SHA-256 is {found}, the package lists say {listed} of {} {}",
            package.name, package.version
        );
        return Err(LabError::damaged(file, problem));
    }
    package.sha256 = found;
    Ok(())
}

/// Refuses a file that contains another package or version than the package lists say.
pub(super) fn check_name(file: &Path, package: &Package) -> Result<(), LabError> {
    let (name, version) = calls_itself(file)?;
    if (&name, &version) == (&package.name, &package.version) {
        return Ok(());
    }
    let _ = std::fs::remove_file(file);
    let problem = format!(
        "it is {name} {version}, the package lists say {} {}",
        package.name, package.version
    );
    Err(LabError::damaged(file, problem))
}

fn digest_of(path: &Path) -> Result<String, LabError> {
    let bytes = std::fs::read(path).map_err(LabError::at("read", path))?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::find_package;

    #[test]
    fn a_package_that_is_not_the_listed_one_is_refused_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("mdadm_4.2-5_amd64.deb");
        let mut package = Package {
            name: "mdadm".to_owned(),
            version: "4.2-5".to_owned(),
            sha256: String::new(),
            size: 3,
        };
        std::fs::write(&file, "abc").unwrap();
        check_digest(&file, &mut package).unwrap();
        assert!(package.sha256.starts_with("ba7816bf"));
        std::fs::write(&file, "abd").unwrap();
        let error = check_digest(&file, &mut package).unwrap_err().to_string();
        assert!(error.contains("ba7816bf") && error.contains("mdadm 4.2-5"), "{error}");
        assert!(!file.exists());
        let other = Package { version: "4.2-6".to_owned(), ..package };
        let error = find_package(directory.path(), &other).unwrap_err().to_string();
        assert!(error.contains("4.2-6"), "{error}");
    }
}
