//! fio's own figures, from its JSON.

use serde::Deserialize;
use serde_json::Value;
use units::Bytes;

use super::jobs::{Section, plain};
use crate::{OwnFigure, PhaseResult};

const WAYS: [&str; 3] = ["read", "write", "trim"];
/// fio counts the time of a job in whole milliseconds: a rate over less than this may be wrong by more
/// than 1 %, and is not told.
const SHORTEST_MS: u64 = 100;
/// Percentiles that become figures, as fio names them and as they are called here.
const PERCENTILES: [(&str, &str); 3] =
    [("50.000000", "p50"), ("99.000000", "p99"), ("99.900000", "p999")];

/// The figures by which contenders are ranked, of these jobs.
pub(super) fn own(section: &Section) -> Vec<OwnFigure> {
    let job = plain(&section.name, '_');
    let way = section.value(&["rw", "readwrite"]).unwrap_or("read").to_ascii_lowercase();
    let mixed = way.contains("rw") || way == "readwrite";
    let does = |word: &str| match word {
        "read" => mixed || way.contains("read"),
        "write" => mixed || way.contains("write"),
        _ => way.contains("trim"),
    };
    let mut own = Vec::new();
    for word in WAYS.into_iter().filter(|word| does(word)) {
        let mut add = |end: &str, label: &str, higher_is_better| {
            own.push(OwnFigure {
                name: format!("own_{job}_{word}_{end}"),
                label: format!("job {}: {word} {label}", section.name),
                higher_is_better,
            });
        };
        add("iops", "IOPS", true);
        add("p99_us", "p99 µs", false);
    }
    own
}

/// Why fio's output has no figures.
#[derive(Debug)]
pub(super) enum Missing {
    /// A job failed, as its JSON says.
    Job(String),
    /// The JSON is not there, or not fio's.
    Unread(String),
}

impl Missing {
    pub(super) fn words(self) -> String {
        match self {
            Missing::Job(words) | Missing::Unread(words) => words,
        }
    }
}

/// Reads its JSON, which warnings may precede.
///
/// # Errors
/// When there is none, or a job failed.
pub(super) fn read(output: &[u8], result: &mut PhaseResult) -> Result<(), Missing> {
    let unread = |words: &str| Missing::Unread(words.to_owned());
    let text = String::from_utf8_lossy(output);
    let json = document(&text).map_err(Missing::Unread)?;
    let jobs = json["jobs"].as_array().filter(|jobs| !jobs.is_empty());
    let jobs = jobs.ok_or_else(|| unread("its JSON has no job"))?;
    for job in jobs {
        let name = job["jobname"].as_str();
        let name = name.ok_or_else(|| unread("its JSON has a job without a name"))?;
        match job["error"].as_i64() {
            Some(0) => {}
            Some(error) => {
                let error = std::io::Error::from_raw_os_error(error as i32);
                return Err(Missing::Job(format!("its job {name} failed: {error}")));
            }
            None => return Err(unread("its JSON does not say whether a job succeeded")),
        }
        add(&plain(name, '_'), job, result);
    }
    for job in jobs {
        without_rates_of_a_moment(job, result);
    }
    Ok(())
}

/// Takes away the rates of a job that worked too short for fio's clock, those of its clones with it.
fn without_rates_of_a_moment(json: &Value, result: &mut PhaseResult) {
    let name = json["jobname"].as_str().unwrap_or_default();
    for way in WAYS {
        let part = &json[way];
        let ms = part["runtime"].as_u64().unwrap_or(u64::MAX);
        if part["total_ios"].as_u64().unwrap_or(0) == 0 || ms >= SHORTEST_MS {
            continue;
        }
        let rates = ["iops", "bytes_per_sec"];
        let gone = rates.map(|end| format!("own_{}_{way}_{end}", plain(name, '_')));
        if gone.iter().filter_map(|figure| result.figures.remove(figure)).count() > 0 {
            result.notes.push(format!(
                "fio has no {way} rate for job {name}: it took less than {SHORTEST_MS} ms, and fio counts \
                 whole milliseconds"
            ));
        }
    }
}

/// The first line that begins an object which can be read.
fn document(text: &str) -> Result<Value, String> {
    let mut error = "it printed no JSON".to_owned();
    let starts = text.match_indices('{').map(|(at, _)| at);
    for start in starts.filter(|at| *at == 0 || text[..*at].ends_with('\n')) {
        let mut reader = serde_json::Deserializer::from_str(&text[start..]);
        match Value::deserialize(&mut reader) {
            Ok(json) => return Ok(json),
            Err(why) => error = format!("its JSON cannot be read: {why}"),
        }
    }
    Err(error)
}

/// Adds a job's figures to those of its clones: rates are added up, of latencies the largest counts.
fn add(job: &str, json: &Value, result: &mut PhaseResult) {
    for way in WAYS {
        let part = &json[way];
        let ops = part["total_ios"].as_u64().unwrap_or(0);
        if ops == 0 {
            continue;
        }
        result.ops = result.ops.saturating_add(ops);
        let bytes = Bytes(part["io_bytes"].as_u64().unwrap_or(0));
        match way {
            "read" => result.read_bytes += bytes,
            "write" => result.write_bytes += bytes,
            _ => {}
        }
        let mut rate = |end: &str, value: Option<f64>| {
            if let Some(value) = value {
                *result.figures.entry(format!("own_{job}_{way}_{end}")).or_insert(0.0) += value;
            }
        };
        rate("iops", part["iops"].as_f64());
        rate("bytes_per_sec", part["bw_bytes"].as_f64());
        let complete = ["clat_ns", "lat_ns"].iter().find_map(|kind| part[kind].get("percentile"));
        percentiles(&format!("own_{job}_{way}"), complete, result);
    }
    let sync = json["sync"]["lat_ns"].get("percentile");
    let syncs = json["sync"]["lat_ns"]["N"].as_u64().unwrap_or(0);
    percentiles(&format!("own_{job}_sync"), sync.filter(|_| syncs > 0), result);
}

fn percentiles(begin: &str, from: Option<&Value>, result: &mut PhaseResult) {
    for (fios, ours) in PERCENTILES {
        let Some(nanos) = from.and_then(|from| from[fios].as_f64()) else { continue };
        let figure = result.figures.entry(format!("{begin}_{ours}_us")).or_insert(0.0);
        *figure = figure.max(nanos / 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cache;

    fn read_text(output: &str) -> Result<PhaseResult, String> {
        let cache = Cache::Warm { why: String::new() };
        let mut result = PhaseResult::empty("fio", "run", cache);
        read(output.as_bytes(), &mut result).map(|()| result).map_err(Missing::words)
    }

    #[test]
    fn every_figure_is_fios_own_whatever_stands_before_it() {
        let json = include_str!("../../../../tests/originals/fio_randread.json");
        let start = json.find('{').unwrap();
        let fios: Value = serde_json::from_str(&json[start..]).unwrap();
        let read = &fios["jobs"][0]["read"];
        for before in ["", "fio: a warning\n", "note: {not json}\n{ nor this\n"] {
            let result = read_text(&format!("{before}{}", &json[start..])).unwrap();
            let job = plain(fios["jobs"][0]["jobname"].as_str().unwrap(), '_');
            let own = |end: &str| result.figures[&format!("own_{job}_read_{end}")];
            assert_eq!(own("iops"), read["iops"].as_f64().unwrap());
            assert_eq!(own("bytes_per_sec"), read["bw_bytes"].as_f64().unwrap());
            let percentile = &read["clat_ns"]["percentile"]["99.000000"];
            assert_eq!(own("p99_us"), percentile.as_f64().unwrap() / 1e3);
            assert_eq!(result.ops, read["total_ios"].as_u64().unwrap());
        }
        let error = read_text(include_str!("../../../../tests/originals/fio_ENOSPC.json"));
        assert!(error.unwrap_err().contains("No space left on device"));
        assert!(read_text("fio: unknown option").unwrap_err().contains("no JSON"));
        assert!(read_text("{\"jobs\": []}").unwrap_err().contains("no job"));
    }

    #[test]
    fn a_moment_has_percentiles_and_no_rate() {
        let job = |ms: u64| {
            format!(
                "{{\"jobname\":\"a\",\"error\":0,\"write\":{{\"total_ios\":16,\"io_bytes\":65536,\
                 \"runtime\":{ms},\"iops\":16000.0,\"bw_bytes\":65536000,\"clat_ns\":\
                 {{\"percentile\":{{\"99.000000\":4000}}}}}}}}"
            )
        };
        let figures = |all: &[u64]| {
            let jobs: Vec<String> = all.iter().map(|ms| job(*ms)).collect();
            read_text(&format!("{{\"jobs\":[{}]}}", jobs.join(","))).unwrap()
        };
        // The second clone alone was too short.
        for short in [&[1][..], &[99], &[5000, 99], &[2, 3]] {
            let result = figures(short);
            assert_eq!(result.figures.keys().collect::<Vec<_>>(), ["own_a_write_p99_us"]);
            assert_eq!(result.notes.len(), 1, "{:?}", result.notes);
        }
        let long = figures(&[100, 101]);
        assert_eq!(long.figures["own_a_write_iops"], 32_000.0);
        assert!(long.notes.is_empty());
    }

    #[test]
    fn any_output_is_read_or_refused() {
        let seeds = [
            include_bytes!("../../../../tests/originals/fio_randread.json").to_vec(),
            include_bytes!("../../../../tests/originals/fio_ENOSPC.json").to_vec(),
        ];
        fuzz::run("fio-jobs", &seeds, |input| drop(read_text(&String::from_utf8_lossy(input))));
    }
}
