//! A trial and the place prepared for it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::TrialSpec;

/// What the process (or guest) that executes a trial is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// What to do.
    pub spec: TrialSpec,
    /// Where.
    pub site: Site,
    /// Data from outside the filesystem under test.
    pub inputs: InputFiles,
    /// Directories in which the programs of plans are looked up, in order.
    pub tool_path: Vec<PathBuf>,
}

/// The place prepared for a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "site")]
pub enum Site {
    /// An empty directory on a filesystem that is used as it is.
    Directory {
        /// The directory, made for this trial alone.
        path: PathBuf,
        /// Whether the machine's caches may be dropped (only on explicit request; needs root).
        drop_machine_caches: bool,
    },
    /// Devices to build a layout from; they are the trial's own.
    Devices {
        /// In the order the layout takes them.
        devices: Vec<PathBuf>,
        /// What they are.
        kind: DeviceKind,
        /// An existing empty directory to mount on.
        mount_point: PathBuf,
    },
}

/// What a device of a trial is, for every table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A loop device over a fully allocated file, with direct I/O.
    LoopFile,
    /// A real block device.
    Block,
    /// A simulated disk of the lab.
    Simulated,
}

impl DeviceKind {
    /// In words for a table.
    pub fn words(self) -> &'static str {
        match self {
            DeviceKind::LoopFile => "loop file, direct I/O, fully allocated",
            DeviceKind::Block => "block device",
            DeviceKind::Simulated => "simulated disk",
        }
    }
}

/// Input files, outside the filesystem under test.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputFiles {
    /// A pack of mails, see [`workload::corpora::MailCorpus`].
    pub mail: Option<PathBuf>,
    /// A source tree as a tar file.
    pub source_tree: Option<PathBuf>,
    /// A system to boot as a tar file.
    #[serde(default)]
    pub system: Option<PathBuf>,
    /// What a program of the user's own needs, as a tar file that is its root; where there is
    /// none it uses what the machine has.
    #[serde(default)]
    pub program: Option<PathBuf>,
}

impl InputFiles {
    /// The same files in another place: `place` is called with each file that is present and the
    /// name of its role, and returns its new path.
    ///
    /// # Errors
    /// The first of `place`.
    pub fn placed<E>(
        &self,
        mut place: impl FnMut(&Path, &str) -> Result<PathBuf, E>,
    ) -> Result<InputFiles, E> {
        let InputFiles { mail, source_tree, system, program } = self;
        let mut placed = |from: &Option<PathBuf>, name: &str| match from {
            Some(from) => place(from, name).map(Some),
            None => Ok(None),
        };
        Ok(InputFiles {
            mail: placed(mail, "mail")?,
            source_tree: placed(source_tree, "source-tree.tar")?,
            system: placed(system, "system.tar")?,
            program: placed(program, "program.tar")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_input_is_placed_under_a_name_of_its_own() {
        let all = || Some(PathBuf::from("/one"));
        let files = InputFiles { mail: all(), source_tree: all(), system: all(), program: None };
        let mut names = Vec::new();
        let placed = files.placed(|from, name| {
            assert_eq!(from, Path::new("/one"));
            names.push(name.to_owned());
            Ok::<_, ()>(Path::new("/inputs").join(name))
        });
        assert_eq!(names, ["mail", "source-tree.tar", "system.tar"]);
        let placed = placed.unwrap();
        assert_eq!(placed.system, Some(PathBuf::from("/inputs/system.tar")));
        assert_eq!(placed.program, None);
        assert_eq!(files.placed(|_, _| Err("no room")), Err("no room"));
    }
}
