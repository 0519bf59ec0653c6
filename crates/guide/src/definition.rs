//! What is asked: uses and machines as their files have them, and the commands that they come to.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The lab in which the guide is made: `fstrial lab build --name NAME --with PART …`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lab {
    /// Its name.
    pub name: String,
    /// Its optional parts.
    pub parts: Vec<String>,
}

/// A machine that people have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// As `--on` takes it.
    pub id: String,
    /// `a hard disk`.
    pub title: String,
    /// Other words for it.
    pub words: Vec<String>,
    /// The lab's profile.
    pub profile: String,
    /// How its disks are combined; empty for a single one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub layout: String,
    /// The layouts of filesystems that combine disks themselves.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub layouts: BTreeMap<String, String>,
}

/// What people do with a filesystem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Use {
    /// As it is asked for: the name of its file.
    #[serde(default)]
    pub id: String,
    /// Where it stands among the others.
    pub place: u32,
    /// `mail delivered`.
    pub title: String,
    /// What was measured, after `For`.
    pub question: String,
    /// Other words that people type.
    pub words: Vec<String>,
    /// The workload with its parameters.
    pub workload: String,
    /// Further arguments of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// The phase that answers, where it is not the workload's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// Who is compared.
    pub contenders: Vec<Contender>,
    /// More repeats than usual, by machine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub repeats: BTreeMap<String, u32>,
    /// How much is done, in words.
    pub size: String,
    /// What would change the answer.
    pub changes: String,
}

/// One of those that are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Contender {
    /// A filesystem with its defaults.
    Plain(String),
    /// With options.
    Named {
        /// Its name in tables.
        name: String,
        /// As `--fs` takes it.
        fs: String,
        /// What its options give up.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        cost: String,
    },
}

/// Repeats where a use names no other number.
const REPEATS: u32 = 3;

impl Contender {
    /// Its name in tables.
    pub fn name(&self) -> &str {
        match self {
            Contender::Plain(name) | Contender::Named { name, .. } => name,
        }
    }

    /// As `--fs` takes it on one disk.
    fn written(&self) -> &str {
        match self {
            Contender::Plain(fs) | Contender::Named { fs, .. } => fs,
        }
    }

    /// The filesystem without options.
    pub(crate) fn filesystem(&self) -> &str {
        self.written().split([':', '@']).next().unwrap_or_default()
    }

    /// What its options give up.
    pub(crate) fn cost(&self) -> &str {
        match self {
            Contender::Plain(_) => "",
            Contender::Named { cost, .. } => cost,
        }
    }

    fn on(&self, machine: &Machine) -> String {
        let layout = machine.layouts.get(self.filesystem()).unwrap_or(&machine.layout);
        let layout = if layout.is_empty() { String::new() } else { format!(":layout={layout}") };
        let (name, written) = (self.name(), self.written());
        match name == written && layout.is_empty() {
            true => name.to_owned(),
            false => format!("{name}={written}{layout}"),
        }
    }
}

impl Use {
    /// The arguments of `fstrial` that measure it on a machine of the lab.
    pub fn arguments_on(&self, machine: &Machine, lab: &Lab) -> Vec<String> {
        let repeats = self.repeats.get(&machine.id).copied().unwrap_or(REPEATS);
        let contenders: Vec<String> = self.contenders.iter().map(|it| it.on(machine)).collect();
        let mut words = vec!["run".to_owned(), self.workload.clone()];
        words.extend(["--profile".to_owned(), machine.profile.clone()]);
        words.extend(["--fs".to_owned(), contenders.join(",")]);
        words.extend(self.arguments.iter().cloned());
        words.extend(["--repeats".to_owned(), repeats.to_string()]);
        words.extend(["--lab".to_owned(), lab.name.clone()]);
        words
    }

    /// The command that measures it on a machine of the lab.
    pub fn command(&self, machine: &Machine, lab: &Lab) -> String {
        format!("fstrial {}", text::shell_words(&self.arguments_on(machine, lab)))
    }

    /// The command that measures it on a disk of the reader's own, as far as its kernel needs no
    /// module from elsewhere.
    pub(crate) fn command_on_a_disk(&self) -> String {
        let own = self.contenders.iter().filter(|it| it.filesystem() != "zfs");
        let contenders: Vec<String> = own
            .map(|it| match it.name() == it.written() {
                true => it.name().to_owned(),
                false => format!("{}={}", it.name(), it.written()),
            })
            .collect();
        let mut words = vec!["run".to_owned(), self.workload.clone()];
        words.extend(["--testbed", "device", "--loop-dir", "DIR", "--fs"].map(str::to_owned));
        words.push(contenders.join(","));
        words.extend(self.arguments.iter().cloned());
        format!("fstrial {}", text::shell_words(&words))
    }
}

impl Lab {
    /// The command that makes it.
    pub fn command(&self) -> String {
        let parts: String = self.parts.iter().map(|part| format!(" --with {part}")).collect();
        format!("fstrial lab build --name {}{parts}", self.name)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Machines {
    lab: Lab,
    machine: Vec<Machine>,
}

pub(crate) fn machines(path: &Path) -> Result<(Lab, Vec<Machine>), String> {
    let file: Machines = read(path)?;
    Ok((file.lab, file.machine))
}

/// All uses of a folder, in their order.
pub(crate) fn uses(folder: &Path) -> Result<Vec<Use>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut uses = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let Some(id) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        let mut used: Use = read(&path)?;
        used.id = id.to_owned();
        uses.push(used);
    }
    uses.sort_by(|a, b| (a.place, &a.id).cmp(&(b.place, &b.id)));
    Ok(uses)
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
