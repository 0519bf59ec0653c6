//! What was found when capabilities were tried last: `tried.toml`, in which an entry that was
//! not tried is not there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Finding;

/// The data file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// Each filesystem, in the order they are listed.
    #[serde(default, rename = "filesystem")]
    pub filesystems: Vec<TriedFilesystem>,
}

/// A filesystem's row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriedFilesystem {
    /// Its name.
    pub name: String,
    /// Kernel release.
    pub kernel: String,
    /// The first line that each of its tools prints about its version.
    pub tools: Vec<String>,
    /// What was found, by the capability's name.
    pub found: BTreeMap<String, Finding>,
    /// Why the others were not tried.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub untried: BTreeMap<String, String>,
}

impl Tried {
    /// What ships with fstrial.
    ///
    /// # Errors
    /// When the file is not of its form, which a test would have found.
    pub fn shipped() -> Result<Tried, String> {
        Tried::read(include_str!("tried.toml"))
    }

    /// Reads such a file.
    ///
    /// # Errors
    /// With what is not of its form.
    pub fn read(text: &str) -> Result<Tried, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Writes one.
    ///
    /// # Errors
    /// None that is known; TOML's are passed on.
    pub fn written(&self) -> Result<String, String> {
        let text = toml::to_string(self).map_err(|error| error.to_string())?;
        Ok(format!(
            "# What `fstrial lab capabilities --toml` found. An entry that was not tried is not \
             here.\n\n{text}"
        ))
    }
}

impl TriedFilesystem {
    /// A row without findings.
    pub fn of(name: &str) -> TriedFilesystem {
        TriedFilesystem {
            name: name.to_owned(),
            kernel: String::new(),
            tools: Vec::new(),
            found: BTreeMap::new(),
            untried: BTreeMap::new(),
        }
    }

    /// Adds an answer.
    pub fn take(&mut self, capability: String, finding: Finding) {
        match finding {
            Finding::Untried(reason) => {
                self.untried.insert(capability, reason);
            }
            finding => {
                self.found.insert(capability, finding);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::CAPABILITIES;

    #[test]
    fn what_ships_names_only_what_there_is_and_says_no_or_yes() {
        let tried = Tried::shipped().unwrap();
        assert!(!tried.filesystems.is_empty());
        for row in &tried.filesystems {
            assert!(stack::filesystems::find(&row.name).is_some(), "{}", row.name);
            for name in row.found.keys().chain(row.untried.keys()) {
                assert!(CAPABILITIES.iter().any(|one| one.name == name), "{}: {name}", row.name);
            }
            assert!(!row.found.values().any(|found| matches!(found, Finding::Untried(_))));
            assert_eq!(row.found.len() + row.untried.len(), CAPABILITIES.len(), "{}", row.name);
        }
        assert_eq!(Tried::read(&tried.written().unwrap()).unwrap(), tried);
    }
}
