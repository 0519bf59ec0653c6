//! Machine profiles: how much memory, how fast a processor, which disk. The shipped ones are in
//! `profiles/`; a user's own is a file of the same format.

mod disks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use guest::FrontEndKind;
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::error::LabError;
use crate::image::Initramfs;
use crate::machine::{Machine, PROCESSORS_MAX, Price, is_one, one};

pub use self::disks::{ControllerProfile, DiskProfile};

/// The profile that is measured on this machine instead of shipped.
pub const THIS_MACHINE: &str = "this-machine";

/// The least memory for a trial: with less, the kernel kills programs instead of waiting for the
/// disk.
const AVAILABLE_MIN: Bytes = Bytes::from_mib(6);

/// A machine and its disks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineProfile {
    /// Its name.
    pub name: String,
    /// What it stands for, one line.
    pub summary: String,
    /// Memory, in addition to what the guest's own tools take.
    pub ram: Bytes,
    /// Memory that the trial may use, at least 6M; the rest is locked away from it. This makes a
    /// machine with less memory than a current kernel needs to boot, as old machines had or as
    /// scaled-down data requires. It also limits dirty pages from the start. Where not given, the
    /// trial may use all memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available: Option<Bytes>,
    /// Processor speed: virtual nanoseconds that an instruction takes, from 0.01 to 1024; see
    /// [`Price`].
    pub instruction_ns: f64,
    /// Processors, 1 to 32. Each executes its own instructions at that speed.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub processors: u8,
    /// How the kernel reaches its disks, `ublk` or `nbd`; where not given, what the kernel has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front_end: Option<FrontEndKind>,
    /// Disks for data.
    pub disk: DiskProfile,
    /// Disks for an external journal; the same as for data where not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<DiskProfile>,
    /// The hardware RAID controller, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerProfile>,
    /// The factor for `--scale` that keeps the ratio of data to memory as on the real machine, if
    /// this profile has another amount of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_scale: Option<f64>,
    /// Where its figures come from, and which are assumed.
    pub source: String,
    /// Why it is not the machine it was measured on, if the measurement shows that: said in every
    /// result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poor: Option<String>,
}

/// The shipped profiles: name and file.
pub const PROFILES: &[(&str, &str)] = &[
    ("ideal", include_str!("../profiles/ideal.toml")),
    ("scsi-2004", include_str!("../profiles/scsi-2004.toml")),
    ("sata-2007", include_str!("../profiles/sata-2007.toml")),
    ("laptop-2005", include_str!("../profiles/laptop-2005.toml")),
    ("seminar-2001", include_str!("../profiles/seminar-2001.toml")),
    ("raid-2004", include_str!("../profiles/raid-2004.toml")),
    ("array-2007", include_str!("../profiles/array-2007.toml")),
    ("raid-2011", include_str!("../profiles/raid-2011.toml")),
    ("today", include_str!("../profiles/today.toml")),
    ("today-ssd", include_str!("../profiles/today-ssd.toml")),
    ("today-nvme", include_str!("../profiles/today-nvme.toml")),
    ("server-ssd", include_str!("../profiles/server-ssd.toml")),
    ("server-nvme", include_str!("../profiles/server-nvme.toml")),
    ("laptop-nvme", include_str!("../profiles/laptop-nvme.toml")),
    ("home-hdd-8tb", include_str!("../profiles/home-hdd-8tb.toml")),
    ("nas-raid", include_str!("../profiles/nas-raid.toml")),
];

impl MachineProfile {
    /// Whether a machine is named by the path of its file.
    pub fn is_file(name: &str) -> bool {
        name.contains('/') || name.ends_with(".toml")
    }

    /// A shipped profile by name, or a file by its path (it has a `/` or ends in `.toml`).
    ///
    /// # Errors
    /// When there is none, or it is malformed or has a value out of range.
    pub fn find(name: &str) -> Result<MachineProfile, LabError> {
        if MachineProfile::is_file(name) {
            let path = Path::new(name);
            let text = files::read_text(path)?;
            return MachineProfile::parse(name, &text);
        }
        if name == THIS_MACHINE {
            let path = MachineProfile::of_this_machine();
            if !path.exists() {
                let problem = "no disk was measured here yet; run `fstrial lab fit --dir PATH`";
                return Err(LabError::value(format!("machine `{name}`"), problem.to_owned()));
            }
            return MachineProfile::find(&path.display().to_string());
        }
        match PROFILES.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => MachineProfile::parse(name, text),
            None => {
                let meant = text::meant(name, PROFILES.iter().map(|(name, _)| *name));
                let meant = meant.unwrap_or_default();
                let problem = format!(
                    "there is no such profile; {meant} (your own: give the path of its .toml file)"
                );
                Err(LabError::value(format!("machine `{name}`"), problem))
            }
        }
    }

    /// The path of [`THIS_MACHINE`], in the user's data directory.
    pub fn of_this_machine() -> PathBuf {
        let results = store::Store::default_path();
        results.with_file_name("profiles").join(format!("{THIS_MACHINE}.toml"))
    }

    /// The same machine with some values changed. Each is named as in the profile's file, with a
    /// dot between table and key: `instruction_ns`, `disk.write_cache`, `disk.options.slower`.
    ///
    /// # Errors
    /// When a profile has no such value or it is of another type or out of range.
    pub fn with(self, changes: &BTreeMap<String, String>) -> Result<MachineProfile, LabError> {
        if changes.is_empty() {
            return Ok(self);
        }
        let name = self.name.clone();
        let bad = |problem: String| LabError::value(format!("machine profile {name}"), problem);
        let mut table = toml::Table::try_from(&self).map_err(|error| bad(error.to_string()))?;
        // Without a journal disk of its own, a profile uses the data disk's settings for journals,
        // so changes to `journal.*` start from those.
        if changes.keys().any(|key| key.starts_with("journal."))
            && !table.contains_key("journal")
            && let Some(disk) = table.get("disk").cloned()
        {
            table.insert("journal".to_owned(), disk);
        }
        for (key, value) in changes {
            lay_over(&mut table, key, value).map_err(|problem| bad(format!("{key}: {problem}")))?;
        }
        let changes_written = written(changes);
        table.insert("name".to_owned(), format!("{name} with {changes_written}").into());
        let changed = table.try_into().map_err(|error: toml::de::Error| {
            bad(format!("with {changes_written}: {}", error.message()))
        })?;
        MachineProfile::checked(&format!("{name} with {changes_written}"), changed)
    }

    /// Reads the text of a file called `file`.
    ///
    /// # Errors
    /// When it is malformed or has a value out of range.
    pub fn parse(file: &str, text: &str) -> Result<MachineProfile, LabError> {
        let profile = toml::from_str(text).map_err(|error| {
            LabError::value(format!("machine profile {file}"), error.to_string())
        })?;
        MachineProfile::checked(file, profile)
    }

    fn checked(file: &str, profile: MachineProfile) -> Result<MachineProfile, LabError> {
        let bad = |problem: String| LabError::value(format!("machine profile {file}"), problem);
        if let Some(available) = profile.available.filter(|left| *left < AVAILABLE_MIN) {
            return Err(bad(format!("available = {available}: at least {AVAILABLE_MIN}")));
        }
        if Price::of(profile.instruction_ns).is_none() {
            let value = profile.instruction_ns;
            return Err(bad(format!("instruction_ns = {value}: from 0.01 to 1024")));
        }
        if !(1..=PROCESSORS_MAX).contains(&profile.processors) {
            let value = profile.processors;
            return Err(bad(format!("processors = {value}: from 1 to {PROCESSORS_MAX}")));
        }
        let disks = std::iter::once(&profile.disk).chain(&profile.journal);
        let depths = disks.clone().map(|disk| disk.depth);
        for depth in depths.chain(profile.controller.iter().map(|controller| controller.depth)) {
            if !(1..=128).contains(&depth) {
                return Err(bad(format!("depth = {depth}: from 1 to 128")));
            }
        }
        if profile.data_scale.is_some_and(|scale| !(scale > 0.0 && scale.is_finite())) {
            return Err(bad("data_scale: must be above 0".to_owned()));
        }
        for disk in disks {
            if ![512, 4096].contains(&disk.physical_sector) {
                return Err(bad(format!("physical_sector = {}", disk.physical_sector)));
            }
        }
        Ok(profile)
    }

    /// Refuses a machine with too little memory to boot a guest with `image`.
    ///
    /// # Errors
    /// When it has too little. The message names the least memory that is enough.
    pub(crate) fn starts(&self, machine: Machine, image: &Initramfs) -> Result<(), LabError> {
        let short = image.starts_in.0.saturating_sub(machine.ram.0);
        if short == 0 {
            return Ok(());
        }
        let least = Bytes(self.ram.0 + short).round_up(1 << 20);
        let problem = format!(
            "ram = {}: with its tools and modules, this lab's guest needs at least {least} to \
             start; give it that much (--set ram={}M) and limit what the trial may use of it \
             (--set available=SIZE), or scale the data instead",
            self.ram,
            least.0 >> 20
        );
        Err(LabError::value(format!("machine profile {}", self.name), problem))
    }

    /// The machine: the profile's memory plus `resident` bytes.
    pub(crate) fn machine(&self, resident: u64) -> Machine {
        let ram = Bytes(self.ram.0 + resident).round_up(1 << 20);
        let price = Price::of(self.instruction_ns).unwrap_or_default();
        Machine { ram, price, processors: self.processors }
    }
}

/// Changes as one would type them.
fn written(changes: &BTreeMap<String, String>) -> String {
    let each: Vec<_> = changes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    each.join(" ")
}

/// Puts a value into a table. Its type is that of the value already there, or else guessed from the
/// text.
fn lay_over(table: &mut toml::Table, key: &str, text: &str) -> Result<(), String> {
    let (tables, last) = match key.rsplit_once('.') {
        Some((tables, last)) => (tables.split('.').collect(), last),
        None => (Vec::new(), key),
    };
    let mut place = table;
    for name in &tables {
        let found = place.entry(*name).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        place = found.as_table_mut().ok_or_else(|| format!("`{name}` is not a table"))?;
    }
    let is_text = place.get(last).map_or(tables.last() == Some(&"options"), toml::Value::is_str);
    let value = match text.parse::<i64>() {
        _ if is_text => toml::Value::String(text.to_owned()),
        Ok(number) => toml::Value::Integer(number),
        Err(_) => match (text.parse::<bool>(), text.parse::<f64>()) {
            (Ok(truth), _) => toml::Value::Boolean(truth),
            (_, Ok(number)) => toml::Value::Float(number),
            _ => toml::Value::String(text.to_owned()),
        },
    };
    place.insert(last.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_profile_is_one() {
        for (name, _) in PROFILES {
            let profile = MachineProfile::find(name).unwrap();
            assert_eq!(profile.name, *name);
            let models = [
                Some(&profile.disk.model),
                profile.journal.as_ref().map(|disk| &disk.model),
                profile.controller.as_ref().map(|controller| &controller.model),
            ];
            for model in models.into_iter().flatten() {
                disk::DiskDescription::find(model).unwrap();
            }
        }
    }

    #[test]
    fn single_values_can_be_changed() {
        let with = |changes: &[(&str, &str)]| {
            let changes = changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            MachineProfile::find("scsi-2004").unwrap().with(&changes.collect())
        };
        let changed = with(&[
            ("instruction_ns", "0.25"),
            ("ram", "256M"),
            ("disk.write_cache", "true"),
            ("disk.options.slower", "5%"),
            ("journal.model", "ideal"),
        ])
        .unwrap();
        assert_eq!((changed.instruction_ns, changed.ram), (0.25, Bytes::from_mib(256)));
        assert_eq!(changed.machine(0).price, Price { nanoseconds: 1, instructions: 4 });
        assert!(changed.disk.write_cache);
        assert_eq!(changed.disk.options["slower"], "5%");
        let journal = changed.journal.unwrap();
        assert_eq!((journal.model.as_str(), journal.depth), ("ideal", changed.disk.depth));
        for (key, value, named) in [
            ("instruction", "1", "instruction"),
            ("available", "1M", "at least"),
            ("disk.depth", "x", "depth"),
        ] {
            let error = with(&[(key, value)]).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn errors_name_the_value_and_what_is_known() {
        let error = MachineProfile::find("amiga").unwrap_err().to_string();
        assert!(error.contains("scsi-2004"), "{error}");
        let text = PROFILES[0].1.replace("instruction_ns = ", "instruction_ns = 2000 # ");
        let error = MachineProfile::parse("x", &text).unwrap_err().to_string();
        assert!(error.contains("instruction_ns = 2000") && error.contains("to 1024"), "{error}");
    }
}
