//! Bonnie++'s own output lines, so that its tables and other people's scripts can read our
//! figures.

use std::fmt::Write;

use units::Nanos;

use super::description::{LARGE_PHASES, LINKS, Links, SEEKS_PARAMETER, SIZE, SMALL_PHASES};
use super::{parameters, seekers};
use crate::{Parameters, PhaseResult, PhaseStatus};

/// Which program's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BonnieCsv {
    /// 27 fields, of 1.03.
    V103,
    /// 50 fields, format 1.98 of bonnie++ 2.00.
    V198,
}

/// Below this time Bonnie++ shows `+++++`. The rule applies to its lines only, not to our figures.
const SHORTEST: Nanos = Nanos::from_millis(500);

/// The line of a run of `bonnie`, as Bonnie++ would print it for the machine `name`. A phase
/// that did not complete is blank; one of less than half a second is `+++++`.
pub fn bonnie_csv(
    format: BonnieCsv,
    name: &str,
    seed: u64,
    parameters: &Parameters,
    phases: &[PhaseResult],
) -> String {
    let chunk = parameters.get(&parameters::CHUNK).0;
    let size = size_text(parameters.get(&SIZE).0);
    let mut line = String::new();
    // Writing to a String cannot fail.
    let _ = match format {
        BonnieCsv::V103 if chunk == 8192 => write!(line, "{name},{size}"),
        BonnieCsv::V103 => write!(line, "{name},{size}:{}", chunk_text(chunk)),
        BonnieCsv::V198 => {
            let chunk = if chunk == 8192 { String::new() } else { chunk_text(chunk) };
            let (seeks, seekers) = (parameters.get(&SEEKS_PARAMETER), seekers(parameters));
            write!(line, "1.98,2.00a,{name},1,{seed},{size},{chunk},{seeks},{seekers}")
        }
    };
    let find = |name: &str| {
        phases.iter().find(|phase| phase.phase == name && phase.status == PhaseStatus::Completed)
    };
    for phase in LARGE_PHASES {
        pair(&mut line, format, phase.name, find(phase.name));
    }
    let files = parameters.get(&parameters::FILES);
    let (min, max) =
        (parameters.get(&parameters::MIN_SIZE).0, parameters.get(&parameters::MAX_SIZE).0);
    let directories = parameters.get(&parameters::DIRECTORIES);
    let max = match parameters.get(&LINKS) {
        Links::Hard => "-1".to_owned(),
        Links::Symbolic => "-2".to_owned(),
        Links::None if max == 0 => String::new(),
        Links::None => max.to_string(),
    };
    let min = if max.is_empty() || max.starts_with('-') { String::new() } else { min.to_string() };
    let directories = if directories > 1 { directories.to_string() } else { String::new() };
    let files = if files == 0 { String::new() } else { files.to_string() };
    let _ = match format {
        BonnieCsv::V103 if max.is_empty() && directories.is_empty() => write!(line, ",{files}"),
        BonnieCsv::V103 => write!(line, ",{files}:{max}:{min}/{directories}"),
        // The program leaves the fourth field empty and puts the directories into the fifth.
        BonnieCsv::V198 => write!(line, ",{files},{max},{min},,{directories}"),
    };
    for phase in SMALL_PHASES {
        pair(&mut line, format, phase.name, find(phase.name));
    }
    if format == BonnieCsv::V198 {
        for phase in LARGE_PHASES.iter().chain(SMALL_PHASES) {
            line.push(',');
            let longest =
                find(phase.name).and_then(|phase| phase.latencies.values().map(longest).max());
            if let Some(longest) = longest {
                latency(&mut line, longest);
            }
        }
    }
    line
}

fn longest(latencies: &measure::Latencies) -> Nanos {
    latencies.quantile(1.0)
}

/// Rate and share of CPU, each truncated to a whole number as in Bonnie++.
fn pair(line: &mut String, format: BonnieCsv, name: &str, phase: Option<&PhaseResult>) {
    let Some(phase) = phase else {
        line.push_str(",,");
        return;
    };
    if phase.wall < SHORTEST {
        line.push_str(",+++++,+++");
        return;
    }
    let seconds = phase.wall.0 as f64 / 1e9;
    let cpu = (phase.cpu.total().0 as f64 / phase.wall.0 as f64 * 100.0) as u64;
    let bytes = phase.read_bytes.0.max(phase.write_bytes.0);
    let is_large = LARGE_PHASES.iter().any(|phase| phase.name == name);
    let rate = if name == "seeks" || !is_large {
        phase.ops as f64 / seconds
    } else {
        bytes as f64 / 1024.0 / seconds
    };
    // Writing to a String cannot fail.
    let _ = match (format, name) {
        (BonnieCsv::V103, "seeks") => write!(line, ",{rate:.1},{cpu}"),
        (BonnieCsv::V198, "seeks") if rate < 1000.0 => write!(line, ",{rate:.1},{cpu}"),
        _ => write!(line, ",{},{cpu}", rate as u64),
    };
}

fn latency(line: &mut String, longest: Nanos) {
    let micros = longest.0 / 1000;
    // Writing to a String cannot fail.
    let _ = match micros {
        0..100_000 => write!(line, "{micros}us"),
        100_000..100_000_000 => write!(line, "{}ms", micros / 1000),
        _ => write!(line, "{}s", micros / 1_000_000),
    };
}

/// MiB, or GiB where it is whole.
fn size_text(bytes: u64) -> String {
    let mib = bytes >> 20;
    if mib >= 1024 && mib.is_multiple_of(1024) {
        format!("{}G", mib / 1024)
    } else {
        format!("{mib}M")
    }
}

fn chunk_text(bytes: u64) -> String {
    if bytes >= 1024 && bytes.is_multiple_of(1024) {
        format!("{}k", bytes / 1024)
    } else {
        bytes.to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::description::DESCRIPTION;
    use super::*;
    use crate::Cache;

    fn phase(name: &str, wall_ms: u64, ops: u64, bytes: u64) -> PhaseResult {
        let mut latencies = measure::Latencies::new();
        latencies.record(Nanos::from_micros(wall_ms));
        PhaseResult {
            workload: "bonnie".to_owned(),
            phase: name.to_owned(),
            status: PhaseStatus::Completed,
            wall: Nanos::from_millis(wall_ms),
            cpu: measure::CpuTime { user: Nanos::ZERO, sys: Nanos::from_millis(wall_ms / 4) },
            machine_cpu: None,
            ops,
            read_bytes: units::Bytes(0),
            write_bytes: units::Bytes(bytes),
            device: None,
            cache: Cache::Warm { why: String::new() },
            latencies: BTreeMap::from([("op".to_owned(), latencies)]),
            course: None,
            figures: BTreeMap::new(),
            digest: 0,
            not_comparable: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn lines_have_the_fields_of_the_originals() {
        let given = BTreeMap::from([
            ("size".to_owned(), "1G".to_owned()),
            ("max_size".to_owned(), "2000".to_owned()),
            ("min_size".to_owned(), "1000".to_owned()),
            ("directories".to_owned(), "4".to_owned()),
        ]);
        let parameters = Parameters::resolve(&DESCRIPTION, &given, 1.0).unwrap();
        let phases = [
            phase("write-block", 2000, 131_072, 1 << 30),
            phase("seeks", 10_000, 8192, 0),
            phase("create-sequential", 400, 16_384, 0),
            phase("delete-random", 150_000, 16_384, 0),
        ];
        let line = bonnie_csv(BonnieCsv::V198, "host", 7, &parameters, &phases);
        assert_eq!(line.split(',').count(), 50);
        assert_eq!(
            line,
            "1.98,2.00a,host,1,7,1G,,8192,5,,,524288,25,,,,,,,819.2,25,16,2000,1000,,4,\
             +++++,+++,,,,,,,,,109,25,,2000us,,,,10002us,400us,,,,,150ms"
        );
        let line = bonnie_csv(BonnieCsv::V103, "host", 7, &parameters, &phases);
        assert_eq!(line.split(',').count(), 27);
        assert!(line.starts_with("host,1G,,,524288,25,,,,,,,819.2,25,16:2000:1000/4,+++++,+++,"));
    }
}
