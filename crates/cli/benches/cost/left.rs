//! Whether the time that a run says is left is right, from its second trial on.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use crate::{Figures, command};

/// By how much it may be off.
const FACTOR: f64 = 1.5;
/// Below this many seconds nobody plans anything by it, and it is said in whole seconds.
const SHORT: f64 = 8.0;

/// A run of several workloads and filesystems on loop files, and one in the lab.
pub(crate) fn measure(figures: &mut Figures, home: &Path) {
    let asked = ["maildir-write", "fsync-append", "--fs", "ext4,xfs,btrfs", "--repeats", "5"];
    let device = ["--testbed", "device", "--scale", "0.1"];
    let lab = ["--testbed", "lab", "--scale", "0.1"];
    for (name, place) in [("device", device), ("lab", lab)] {
        let what = format!("time left on {name}, the most it was off");
        if name == "device" && !rustix::process::geteuid().is_root() {
            figures.left_out(&what, "loop devices take root");
            continue;
        }
        let words = [&["run"], &asked[..], &place, &["--store", "left.db"]].concat();
        match worst(home, &words) {
            Ok(factor) => figures.show(&what, factor, FACTOR, "x"),
            Err(why) => figures.left_out(&what, &why),
        }
    }
}

/// The largest factor between what was said and what it took; within a range that was said, 1.
fn worst(home: &Path, words: &[&str]) -> Result<f64, String> {
    let mut command = command(home, words);
    // The lab that is there already: none is built for this.
    if let Some(cache) = std::env::var_os("HOME") {
        command.env("XDG_CACHE_HOME", Path::new(&cache).join(".cache"));
    }
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    let stderr = child.stderr.take().ok_or("no standard error")?;
    let lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let told: Vec<(Instant, String)> = lines.map(|line| (Instant::now(), line)).collect();
    let status = child.wait().map_err(|error| error.to_string())?;
    let (ended, last) = told.last().ok_or("it said nothing")?;
    if !status.success() {
        return Err(format!("{status}: {last}"));
    }
    let trials = told.iter().filter(|(_, line)| line.contains(": done ("));
    let factors = trials.skip(1).filter_map(|(at, line)| {
        let took = ended.duration_since(*at).as_secs_f64();
        let (said, [least, most]) = left(line)?;
        println!("  {said:>20} said, {took:>6.0} s taken");
        (took >= SHORT).then(|| (least / took).max(took / most).max(1.0))
    });
    factors.reduce(f64::max).ok_or("it was too short".to_owned())
}

/// What a trial's line says is left, in words and as a range in seconds: `…, about 40 s left`,
/// `…, 40 s to 2 min 5 s left`.
fn left(line: &str) -> Option<(&str, [f64; 2])> {
    let said = line.rsplit_once(", ")?.1.strip_suffix(" left")?;
    let (least, most) = match said.strip_prefix("about ") {
        Some(one) => (one, one),
        None => said.split_once(" to ")?,
    };
    Some((said, [seconds(least)?, seconds(most)?]))
}

/// `1 h 3 min`, `2 min 5 s`, `40 s`.
fn seconds(text: &str) -> Option<f64> {
    let words: Vec<&str> = text.split(' ').collect();
    let parts = words.chunks(2).map(|part| {
        let [number, unit] = part else { return None };
        let each = match *unit {
            "h" => 3600.0,
            "min" => 60.0,
            "s" => 1.0,
            _ => return None,
        };
        Some(number.parse::<f64>().ok()? * each)
    });
    parts.sum()
}
