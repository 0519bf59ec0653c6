//! The software of a lab: where it lies, and the manifest that says what it is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::apt::Package;
use crate::error::LabError;
use crate::machine::Emulator;
use crate::optional::directory_of;
use crate::parts::Parts;

pub(crate) const MANIFEST: &str = "manifest.toml";
pub(crate) const MANIFEST_VERSION: u32 = 2;

/// Describes a lab's software; kept beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of this file's format.
    pub version: u32,
    /// The kernel: a path below the lab's directory, or absolute for the user's own kernel.
    pub kernel: PathBuf,
    /// Its modules, likewise.
    pub modules: PathBuf,
    /// The tools' tree, likewise.
    pub tools: PathBuf,
    /// The emulator's directory, below the lab's.
    pub emulator: PathBuf,
    /// Where its kernel comes from, if that is no package of those below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_kernel: Option<OwnKernel>,
    /// The optional parts it has, in order.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub with: BTreeSet<String>,
    /// A key for what this program itself put into each part and made of the emulator; no entry
    /// where that is nothing. A program whose key differs rebuilds it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, String>,
    /// The packages it was made of.
    #[serde(default, rename = "package")]
    pub packages: Vec<Package>,
}

/// A kernel that comes from none of the lab's packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnKernel {
    /// What it was made of, one line.
    pub made_of: String,
    /// Distinguishes it from another kernel of the same release.
    pub key: String,
}

/// A built lab's software.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Software {
    /// Where it lies.
    pub directory: PathBuf,
    /// What it is.
    pub manifest: Manifest,
}

/// Reads a manifest, which has to be of this version.
pub(crate) fn read_manifest(path: &Path, text: &str) -> Result<Manifest, LabError> {
    let manifest: Manifest =
        toml::from_str(text).map_err(|error| LabError::damaged(path, error.to_string()))?;
    match manifest.version {
        MANIFEST_VERSION => Ok(manifest),
        other => Err(LabError::damaged(
            path,
            format!("it is of version {other}, this program reads {MANIFEST_VERSION}"),
        )),
    }
}

impl Software {
    /// Its kernel's release, as its modules' directory is called.
    pub fn kernel_release(&self) -> String {
        let name = self.manifest.modules.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Its parts, ready for [`crate::Lab::open`].
    ///
    /// # Errors
    /// When one is missing, or there is no QEMU.
    pub fn parts(&self) -> Result<Parts, LabError> {
        let place = |path: &Path| {
            let path = self.directory.join(path);
            if path.exists() { Ok(path) } else { Err(LabError::damaged(&path, "it is missing")) }
        };
        Ok(Parts {
            kernel: place(&self.manifest.kernel)?,
            modules: place(&self.manifest.modules)?,
            tools: place(&self.manifest.tools)?,
            emulator: Emulator::at(place(&self.manifest.emulator)?),
            optional: self
                .manifest
                .with
                .iter()
                .map(|part| place(&directory_of(part)))
                .collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_of_another_version_is_refused_with_both() {
        let text =
            "version = 7\nkernel = \"k\"\nmodules = \"m\"\ntools = \"t\"\nemulator = \"e\"\n";
        let error = read_manifest(Path::new("manifest.toml"), text).unwrap_err().to_string();
        assert!(error.contains("version 7") && error.contains("reads 2"), "{error}");
    }
}
