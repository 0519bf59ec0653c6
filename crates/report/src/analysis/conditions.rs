//! What each contender really ran on.

use serde::Serialize;
use stack::{Contender, Durability};
use store::{Environment, StoredRun, StoredTrial};
use trial::Made;

use super::SpaceLeft;

/// A contender and what it really ran on. Lists hold one entry unless trials differed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conditions {
    /// Its name in tables.
    pub name: String,
    /// As written on the command line.
    pub written: String,
    /// Kernel release.
    pub kernel: Vec<String>,
    /// The driver that served.
    pub served_by: Vec<String>,
    /// Feature flags.
    pub features: Vec<String>,
    /// Mount options as the kernel shows them.
    pub mount_options: Vec<String>,
    /// What is under it.
    pub device: Vec<String>,
    /// Size of the new filesystem in bytes.
    pub size_bytes: Option<u64>,
    /// Room for files on it when new, in bytes.
    pub free_bytes: Option<u64>,
    /// Room of all disks that hold it, redundancy included, in bytes.
    pub raw_bytes: Option<u64>,
    /// What the workloads left and the room in use for it, one entry for each kind of trial.
    pub space: Vec<SpaceLeft>,
    /// What an fsync promises; `None` where nothing was made.
    pub durability: Option<Durability>,
    /// Versions of the tools used.
    pub tools: Vec<(String, String)>,
    /// Trials planned for it.
    pub trials: usize,
    /// Trials that were done.
    pub done: usize,
}

impl Conditions {
    /// Space for files and the disks' capacity: `1.4 GiB for files of 3 GiB on its disks, 53.3 %
    /// overhead`.
    pub fn room(&self) -> Option<String> {
        let (free, raw) = (self.free_bytes?, self.raw_bytes.filter(|raw| *raw > 0)?);
        let lost = 100.0 * raw.saturating_sub(free) as f64 / raw as f64;
        let (free, raw) = (units::Bytes(free), units::Bytes(raw));
        Some(format!("{free} for files of {raw} on its disks, {lost:.1} % overhead"))
    }

    /// The room in use after each kind of trial, in words.
    pub fn room_left(&self) -> Option<String> {
        let words: Vec<String> = self.space.iter().map(SpaceLeft::words).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// A word of warning to stand beside its name where an fsync promises less than usual.
    pub fn durability_flag(&self) -> Option<&'static str> {
        match self.durability? {
            Durability::Full => None,
            Durability::NoBarriers => Some("no barriers: synced data may be lost"),
            Durability::None => Some("not durable: nothing survives a power failure"),
        }
    }

    /// The same in two words.
    pub fn durability_word(&self) -> Option<&'static str> {
        match self.durability? {
            Durability::Full => None,
            Durability::NoBarriers => Some("no barriers"),
            Durability::None => Some("not durable"),
        }
    }
}

pub(super) fn of_contenders(run: &StoredRun, names: &[String]) -> Vec<Conditions> {
    names.iter().map(|name| of_contender(run, name)).collect()
}

fn of_contender(run: &StoredRun, name: &str) -> Conditions {
    let trials: Vec<&StoredTrial> =
        run.trials.iter().filter(|trial| trial.spec.contender.name == name).collect();
    let made: Vec<&Made> = trials.iter().filter_map(|trial| trial.made.as_ref()).collect();
    let distinct = |of: &dyn Fn(&Made) -> String| {
        let mut seen: Vec<String> = Vec::new();
        for text in made.iter().map(|made| of(made)).filter(|text| !text.is_empty()) {
            if !seen.contains(&text) {
                seen.push(text);
            }
        }
        seen
    };
    let mut tools: Vec<(String, String)> = Vec::new();
    for tool in made.iter().flat_map(|made| &made.tools) {
        if !tools.contains(tool) {
            tools.push(tool.clone());
        }
    }
    Conditions {
        name: name.to_owned(),
        written: trials.first().map(|trial| written(&trial.spec.contender)).unwrap_or_default(),
        kernel: distinct(&|made| made.kernel.clone()),
        served_by: distinct(&|made| made.served_by.clone()),
        features: distinct(&|made| made.features.join(" ")),
        mount_options: distinct(&|made| made.mount_options.clone()),
        device: distinct(&|made| made.device.clone()),
        size_bytes: made.iter().find_map(|made| made.size).map(|size| size.0),
        free_bytes: made.iter().find_map(|made| made.free).map(|free| free.0),
        raw_bytes: made.iter().find_map(|made| made.raw).map(|raw| raw.0),
        space: super::space::of_trials(&trials),
        durability: durability(&run.header.environment, &trials),
        tools,
        trials: trials.len(),
        done: trials
            .iter()
            .filter(|trial| trial.outcome.as_ref().is_some_and(|outcome| outcome.is_done()))
            .count(),
    }
}

/// What an fsync promises; of several promises the weakest counts. Where no disk has a volatile cache
/// there is nothing to flush, so a filesystem that sends no flushes promises no less than the others.
fn durability(environment: &Environment, trials: &[&StoredTrial]) -> Option<Durability> {
    let promise = |trial: &&StoredTrial| match trial.made.as_ref()?.durability {
        Durability::NoBarriers if writes_through(environment, &trial.spec.contender) => {
            Some(Durability::Full)
        }
        promised => Some(promised),
    };
    trials.iter().filter_map(promise).min()
}

/// Whether no simulated disk under it loses with the power what it said is written. Not known of real
/// ones.
fn writes_through(environment: &Environment, contender: &Contender) -> bool {
    let off = |key: &str| environment.0.get(key).is_some_and(|cache| cache == "off");
    let layout = &contender.layout;
    // A controller keeps the caches of its disks off; its own memory has a battery or is written through.
    let data = layout.is_hardware() && environment.0.contains_key("lab_disk");
    let journal = !layout.has_journal_disk() || off("lab_journal_disk_write_cache");
    (data || off("lab_disk_write_cache")) && journal
}

/// A contender in the notation of the command line.
pub(crate) fn written(contender: &Contender) -> String {
    let escape = |text: &str| text.replace(',', "\\,").replace(':', "\\:");
    let mut text = contender.filesystem.clone();
    if let Some(preset) = &contender.preset {
        text = format!("{text}@{preset}");
    }
    for (key, value) in &contender.options {
        text = format!("{text}:{key}={}", escape(value));
    }
    if !contender.mkfs.is_empty() {
        text = format!("{text}:mkfs={}", escape(&contender.mkfs.join(" ")));
    }
    if !contender.mount.is_empty() {
        text = format!("{text}:mount={}", escape(&contender.mount.join(",")));
    }
    if contender.layout != stack::LayoutChoice::default() {
        text = format!("{text}:layout={}", escape(&contender.layout.to_string()));
    }
    let itself = Contender::parse_list(&contender.name);
    if itself.is_ok_and(|read| read.len() == 1 && read[0] == *contender) {
        return contender.name.clone();
    }
    let unescaped = text.replace("\\,", ",").replace("\\:", ":");
    if unescaped == contender.name { text } else { format!("{}={text}", contender.name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for text in [
            "tmpfs",
            "ext4:dir_index=off",
            "ext4:scheduler=bfq:barrier=off",
            r"fast=ext4@2011:mkfs=-T news:mount=a=b\,noatime",
        ] {
            let contender = Contender::parse_list(text).unwrap().remove(0);
            assert_eq!(written(&contender), text);
        }
    }
}
