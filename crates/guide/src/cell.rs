//! What a run found for one use on one machine: its report, without what the guide does not show.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::standing::Standing;
use crate::{Lab, Machine, Use};

/// What was found, or why nothing was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The use.
    #[serde(rename = "use")]
    pub used: String,
    /// The machine.
    pub machine: String,
    /// The command that was run.
    pub command: String,
    /// Why there is no figure at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// When, and on what.
    pub made: Made,
    /// The phase that answers.
    pub phase: String,
    /// The metric by which the contenders are ranked.
    pub metric: String,
    /// As a sentence.
    pub verdict: String,
    /// As data.
    pub standing: Option<Standing>,
    /// Heads of the columns after rank and name.
    pub columns: Vec<String>,
    /// The contenders in the order of rank, those without a figure last.
    pub rows: Vec<Row>,
    /// What causes the difference, by what was counted.
    pub why: Option<String>,
    /// How much was measured.
    pub work: Option<Work>,
    /// Whether any request reached the disk in that phase.
    pub disk_reached: bool,
    /// The other phases, each with who is ahead of whom.
    pub others: Vec<Other>,
    /// The figures of each contender at what answers, in the metric's own unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, Figures>,
}

/// When a cell was made, and on what.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// `2026-11-29`.
    pub date: String,
    /// The version of fstrial.
    pub fstrial: String,
    /// The kernel of the guest.
    pub kernel: String,
    /// The lab's id.
    pub lab: String,
    /// The simulated disk.
    pub disk: String,
    /// How often everything was repeated.
    pub repeats: u32,
    /// Trials that were planned.
    pub planned: u32,
    /// Trials that ended well.
    pub done: u32,
}

/// A contender's row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// `1`, or `1–2`.
    pub rank: String,
    /// Its name.
    pub name: String,
    /// A text for each column.
    pub cells: Vec<String>,
    /// Why there is no figure, where there is none.
    pub missing: Option<String>,
}

/// How much was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Fewest ops of a trial; 0 where the phase counts none.
    pub ops_least: u64,
    /// Shortest time of a trial, in virtual seconds.
    pub seconds_least: f64,
    /// Longest.
    pub seconds_most: f64,
    /// Whether it is enough for a rate and a percentile.
    pub enough: bool,
    /// All of it in words.
    pub words: String,
}

/// Another phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Other {
    /// Its name.
    pub phase: String,
    /// Who is ahead of whom by what factor.
    pub ahead: String,
}

/// One contender's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// The mean.
    pub mean: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Single trials.
    pub trials: Vec<f64>,
    /// Means of what was counted beside it, by metric.
    pub counts: BTreeMap<String, f64>,
}

/// The counts that explain a figure.
const COUNTS: [&str; 7] = [
    "wall",
    "cpu",
    "device_reads",
    "device_read_bytes",
    "device_writes",
    "device_write_bytes",
    "device_flushes",
];

/// Those of requests to the disk.
const DISK: [&str; 3] = ["device_read_bytes", "device_write_bytes", "device_flushes"];

impl Cell {
    /// What is kept of a run's JSON report.
    ///
    /// # Errors
    /// With what the report lacks.
    pub fn of_report(
        used: &Use,
        machine: &Machine,
        lab: &Lab,
        report: &Value,
    ) -> Result<Cell, String> {
        let answer = &report["answer"]["workloads"][0];
        let others = answer["others"].as_array().ok_or("the report has no answer")?;
        let own = text_of(&answer["phase"]);
        let asked = if used.phase.is_empty() { own.clone() } else { used.phase.clone() };
        let is_asked = |other: &&Value| text_of(&other["phase"]) == asked;
        let found = match asked == own || own.is_empty() {
            true => answer,
            false => others.iter().find(is_asked).ok_or(format!("there is no phase {asked}"))?,
        };
        let mut rest = Vec::new();
        if found != answer {
            rest.push(Other { phase: own, ahead: text_of(&answer["verdict"]) });
        }
        let further = others.iter().filter(|other| !is_asked(other));
        rest.extend(further.filter_map(|other| Other::deserialize(other).ok()));
        let metric = text_of(&found["metric"]);
        let figures = figures(&report["analysis"], &asked, &metric);
        let reached = |one: &Figures| DISK.iter().any(|id| one.counts.get(*id) > Some(&0.0));
        Ok(Cell {
            used: used.id.clone(),
            machine: machine.id.clone(),
            command: used.command(machine, lab),
            failed: None,
            made: Made::of(report),
            disk_reached: figures.values().any(reached),
            figures,
            phase: asked,
            metric,
            verdict: text_of(&found["verdict"]),
            standing: read(&found["standing"])?,
            columns: read(&found["columns"])?,
            rows: read(&found["rows"])?,
            why: read(&found["why"])?,
            work: read(&found["measured"])?,
            others: rest,
        })
    }

    /// A run that was refused, with what it said.
    pub fn that_failed(used: &Use, machine: &Machine, lab: &Lab, said: &str) -> Cell {
        Cell {
            used: used.id.clone(),
            machine: machine.id.clone(),
            command: used.command(machine, lab),
            failed: Some(text::line(said)),
            made: Made::default(),
            phase: String::new(),
            metric: String::new(),
            verdict: String::new(),
            standing: None,
            columns: Vec::new(),
            rows: Vec::new(),
            why: None,
            work: None,
            disk_reached: false,
            others: Vec::new(),
            figures: BTreeMap::new(),
        }
    }

    /// The name of its file below `results/`.
    pub fn file_name(used: &Use, machine: &Machine) -> String {
        format!("{}.{}.json", used.id, machine.id)
    }

    /// Reads its file; nothing where there is none.
    ///
    /// # Errors
    /// When it cannot be read or is not of its form.
    pub fn read(folder: &Path, used: &Use, machine: &Machine) -> Result<Option<Cell>, String> {
        let path = folder.join(Cell::file_name(used, machine));
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| format!("{}: {error}", path.display()))?,
        };
        let cell = serde_json::from_str(&text);
        cell.map(Some).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Those without a figure, each with the reason.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rows.iter().filter_map(|row| Some((row.name.as_str(), row.missing.as_deref()?)))
    }
}

impl Made {
    fn of(report: &Value) -> Made {
        let count = |value: &Value| value.as_u64().and_then(|it| u32::try_from(it).ok());
        let (run, environment) = (&report["run"], &report["environment"]);
        let trials = &report["analysis"]["trials"];
        let created = text_of(&run["created"]);
        Made {
            date: created.split('T').next().unwrap_or_default().to_owned(),
            fstrial: text_of(&run["fstrial_version"]),
            kernel: text_of(&environment["lab_kernel"]),
            lab: text_of(&run["lab_id"]),
            disk: text_of(&environment["lab_disk"]),
            repeats: count(&run["repeats"]).unwrap_or(0),
            planned: count(&trials["planned"]).unwrap_or(0),
            done: count(&trials["done"]).unwrap_or(0),
        }
    }
}

/// The figures of every contender that has one.
fn figures(analysis: &Value, phase: &str, metric: &str) -> BTreeMap<String, Figures> {
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let named = |all: &Value, name: &str| items(all).into_iter().find(|it| it["name"] == name);
    let Some(phase) = named(&analysis["workloads"][0]["phases"], phase) else {
        return BTreeMap::new();
    };
    let tables = items(&phase["tables"]);
    let table = |id: &str| tables.iter().find(|table| table["metric"]["id"] == id);
    let Some(own) = table(metric) else { return BTreeMap::new() };
    let contenders = items(&analysis["contenders"]);
    let of = |(at, contender): (usize, &Value)| {
        let cell = &own["cells"][at];
        let counts = COUNTS
            .iter()
            .filter_map(|id| Some(((*id).to_owned(), table(id)?["cells"][at]["mean"].as_f64()?)));
        let figures = Figures {
            mean: cell["mean"].as_f64()?,
            low: cell["low"].as_f64(),
            high: cell["high"].as_f64(),
            trials: items(&cell["figures"]).iter().filter_map(|it| it["value"].as_f64()).collect(),
            counts: counts.collect(),
        };
        Some((text_of(&contender["name"]), figures))
    };
    contenders.iter().enumerate().filter_map(of).collect()
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn read<T: for<'de> Deserialize<'de>>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error| format!("the report is not of the known form: {error}"))
}
