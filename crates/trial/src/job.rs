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

impl Job {
    /// UUID of the trial's filesystem.
    ///
    /// It comes from the seed, so that a simulated machine repeats it. The seed alone would not do:
    /// the same seed on another contender is another filesystem, and a machine takes two of one
    /// UUID for one (btrfs). Nor is it enough on a machine with other users: theirs may have this
    /// very seed and contender at the same time, and XFS then refuses the second mount. No two
    /// trials have one device at the same time, so there the device is mixed in.
    pub fn filesystem_uuid(&self) -> String {
        let mut seed = self.spec.seed.derive(&self.spec.contender.name);
        if let Site::Devices { devices, kind: DeviceKind::LoopFile | DeviceKind::Block, .. } =
            &self.site
        {
            for device in devices {
                seed = seed.derive(&device.to_string_lossy());
            }
        }
        seed.uuid("filesystem")
    }
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
    use stack::Contender;
    use units::Nanos;
    use workload::Seed;

    #[test]
    fn a_filesystem_has_a_uuid_of_its_own_on_a_machine_and_the_same_in_every_lab() {
        let uuid = |seed: u64, fs: &str, kind, device: &str| {
            let spec = TrialSpec {
                contender: Contender::plain(fs),
                workloads: vec![],
                seed: Seed(seed),
                block: 0,
                size: None,
                verify: false,
                timeout: Nanos::from_secs(60),
            };
            let devices = vec![PathBuf::from(device)];
            let site = Site::Devices { devices, kind, mount_point: PathBuf::from("/mnt") };
            Job { spec, site, inputs: InputFiles::default(), tool_path: vec![] }.filesystem_uuid()
        };
        use DeviceKind::{Block, LoopFile, Simulated};
        let lab = uuid(1, "xfs", Simulated, "/dev/ublkb0");
        assert_eq!(lab, uuid(1, "xfs", Simulated, "/dev/nbd0"));
        assert_ne!(lab, uuid(2, "xfs", Simulated, "/dev/ublkb0"));
        assert_ne!(lab, uuid(1, "ext4", Simulated, "/dev/ublkb0"));
        for kind in [Block, LoopFile] {
            assert_ne!(uuid(1, "xfs", kind, "/dev/one"), uuid(1, "xfs", kind, "/dev/two"));
            assert_eq!(uuid(1, "xfs", kind, "/dev/one"), uuid(1, "xfs", kind, "/dev/one"));
        }
    }

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
