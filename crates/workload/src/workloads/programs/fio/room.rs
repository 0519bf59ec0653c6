//! How much a job writes, as far as its file says.

use std::collections::BTreeMap;

use units::{Bytes, Nanos};

use super::jobs::{Jobs, Section};
use crate::Space;

/// The size of a job's files where its file does not say it in numbers.
const UNSAID: Bytes = Bytes::from_gib(1);

/// Room for the files of all jobs: those that share a name have them in common.
pub(super) fn space(jobs: &Jobs) -> Space {
    let mut named: BTreeMap<&str, u64> = BTreeMap::new();
    let mut space = Space { bytes: Bytes::ZERO, inodes: 10 };
    for section in &jobs.sections {
        let (size, files, clones) = (size(section).0, files(section), section.clones());
        space.inodes = space.inodes.saturating_add(files.saturating_mul(clones));
        match section.value(&["filename"]) {
            Some(name) => {
                let known = named.entry(name).or_default();
                *known = size.max(*known);
            }
            None => space.bytes += Bytes(size.saturating_mul(clones)),
        }
    }
    space.bytes += Bytes(named.values().fold(0, |sum: u64, size| sum.saturating_add(*size)));
    space
}

fn files(section: &Section) -> u64 {
    section.value(&["nrfiles", "nr_files"]).and_then(number).unwrap_or(1).max(1)
}

/// The size of one clone's files.
fn size(section: &Section) -> Bytes {
    let given = |names: &[&str]| section.value(names).map(|value| bytes(value).unwrap_or(UNSAID.0));
    let offset = given(&["offset"]).unwrap_or(0);
    let size = match (given(&["size"]), given(&["filesize", "file_size"])) {
        (Some(size), _) => size,
        (None, Some(each)) => each.saturating_mul(files(section)),
        // Engines that move no data.
        (None, None) if section.value(&["ioengine"]).is_some_and(|it| it == "cpuio") => 0,
        (None, None) => UNSAID.0,
    };
    Bytes(size.saturating_add(offset))
}

/// A number of bytes as fio reads it: `k` is 1024 and `ki` 1000, of a range the end counts.
fn bytes(value: &str) -> Option<u64> {
    let last = value.split(['-', ':', ',']).map(str::trim).rfind(|part| !part.is_empty())?;
    number(last)
}

fn number(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let unit = text[digits..].trim().to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let (letter, step) = match unit.strip_suffix('i') {
        Some(letter) => (letter, 1000f64),
        None => (unit, 1024f64),
    };
    let power = ["", "k", "m", "g", "t", "p"].iter().position(|known| *known == letter)?;
    Some((number * step.powi(power as i32)) as u64)
}

/// How long the jobs run at least, by fio's clock: `ramp_time` and `runtime` of what loops until
/// then. `None` where no job does.
pub(super) fn runs_for(jobs: &Jobs) -> Option<Nanos> {
    let longest = jobs.groups().into_iter().map(|group| {
        let of = |section: &Section| {
            let timed = section.is_on(&["time_based"]);
            let run = section.value(&["runtime", "timeout"]).filter(|_| timed).and_then(seconds);
            let before = ["ramp_time", "startdelay"].iter();
            let before = before.filter_map(|name| section.value(&[name]).and_then(seconds));
            run.unwrap_or(0.0) + before.sum::<f64>()
        };
        group.sections.iter().map(of).fold(0.0, f64::max)
    });
    let total: f64 = longest.sum();
    (total > 0.0).then_some(Nanos((total * 1e9) as u64))
}

/// A time as fio reads it: seconds, unless a unit follows.
fn seconds(text: &str) -> Option<f64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "s" => 1.0,
        "us" | "usec" => 1e-6,
        "ms" | "msec" => 1e-3,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Some(number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_what_the_jobs_say() {
        let space = |text: &str| space(&Jobs::read(text).unwrap()).bytes.0;
        assert_eq!(space("[a]\nsize=4m\nnumjobs=3\n"), 12 << 20);
        assert_eq!(space("[global]\nfilename=f\n[a]\nsize=4m\n[b]\nsize=2m\nstonewall\n"), 4 << 20);
        assert_eq!(space("[a]\nfilesize=4k-8k\nnrfiles=100\n"), 800 << 10);
        assert_eq!(space("[a]\nsize=2kib\n"), 2000);
        assert_eq!(space("[a]\nsize=20%\n"), 1 << 30);
        assert_eq!(space("[a]\nrw=read\n"), 1 << 30);
    }

    #[test]
    fn time_is_what_loops_until_then() {
        let time = |text: &str| runs_for(&Jobs::read(text).unwrap()).map(|it| it.as_secs_f64());
        assert_eq!(time("[a]\nruntime=30\n"), None);
        assert_eq!(
            time("[global]\ntime_based\nruntime=1m\n[a]\n[b]\nstonewall\nramp_time=5\n"),
            Some(125.0)
        );
    }
}
