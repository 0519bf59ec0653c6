//! The page's parts around its phases: head, facts, overview, contenders.

use serde::Serialize;
use store::StoredRun;

use super::phases::{self, Workload};
use super::trials::{self, Trial};
use crate::analysis::{Analysis, Conditions, Mark, simulated_machine};
use crate::answer::{Answer, answer};
use crate::charts::colour;
use crate::numbers::counted;
use crate::testbeds;
use crate::wording::{against, and, factor};

/// What the template is given.
#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    id: String,
    lead: String,
    warnings: Vec<String>,
    answer: Answer,
    facts: Vec<(String, String)>,
    environment: Vec<(String, String)>,
    overview: Option<Overview>,
    workloads: Vec<Workload>,
    contenders: Vec<Contender>,
    trials: Vec<Trial>,
    trials_line: String,
    trials_shortened: bool,
    command: String,
    alpha: String,
    confidence: String,
    margin: String,
    version: String,
}

/// Every phase in one table: factors against the best.
#[derive(Serialize)]
struct Overview {
    columns: Vec<(String, String, String)>,
    rows: Vec<OverviewRow>,
}

#[derive(Serialize)]
struct OverviewRow {
    name: String,
    colour: String,
    flag: Option<&'static str>,
    cells: Vec<OverviewCell>,
}

#[derive(Serialize)]
struct OverviewCell {
    factor: Option<String>,
    rank: Option<String>,
    mark: Option<Mark>,
    /// Length of the bar behind it in percent of the cell.
    bar: f64,
}

#[derive(Serialize)]
struct Contender {
    name: String,
    colour: String,
    written: String,
    flag: Option<&'static str>,
    facts: Vec<(&'static str, String)>,
    features: Vec<String>,
    record: Vec<(String, String)>,
}

pub(super) fn page(analysis: &Analysis, run: &StoredRun) -> Page {
    let header = &run.header;
    let titles: Vec<&str> = analysis.workloads.iter().map(|w| w.title.as_str()).collect();
    let title = match (titles.is_empty(), analysis.contenders.len()) {
        (true, _) => "Nothing was planned".to_owned(),
        (false, 0..=5) => {
            let names: Vec<&str> = analysis.contenders.iter().map(|c| c.name.as_str()).collect();
            format!("{} on {}", and(&titles), and(&names))
        }
        (false, count) => format!("{} on {count} contenders", and(&titles)),
    };
    let answer = answer(analysis, run);
    let further = analysis.warnings.iter().filter(|it| !answer.limits.contains(it));
    Page {
        warnings: further.cloned().collect(),
        answer,
        title,
        id: header.id.clone(),
        lead: lead(analysis, run),
        facts: facts(analysis, run),
        environment: header
            .environment
            .0
            .iter()
            .filter(|(key, _)| *key != "command_line")
            .map(|(key, value)| (key.replace('_', " "), value.clone()))
            .collect(),
        overview: overview(analysis),
        workloads: phases::workloads(analysis, run),
        contenders: contenders(analysis, run),
        trials: trials::trials(run),
        trials_line: analysis.trials.said(),
        trials_shortened: trials::are_shortened(run),
        command: crate::repeat::command(run),
        alpha: analysis.alpha_in_percent(),
        confidence: format!("{:.0}", analysis.confidence * 100.0),
        margin: format!("{:.0}", analysis.equivalence_margin * 100.0),
        version: header.fstrial_version.clone(),
    }
}

fn distinct<'a>(values: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut seen: Vec<&str> = Vec::new();
    for value in values {
        if !seen.contains(&value.as_str()) {
            seen.push(value);
        }
    }
    seen
}

fn lead(analysis: &Analysis, run: &StoredRun) -> String {
    let mut parts = vec![counted(run.header.repeats as usize, "repeat")];
    let devices = distinct(analysis.contenders.iter().flat_map(|c| &c.device));
    let kernels = distinct(analysis.contenders.iter().flat_map(|c| &c.kernel));
    match testbeds::page(&run.header) {
        Some(words) => parts.push(words.to_owned()),
        None if devices.is_empty() => {}
        None => parts.push(format!("on {}", and(&devices))),
    }
    if !kernels.is_empty() {
        parts.push(format!("kernel {}", and(&kernels)));
    }
    parts.push(day(&run.header.created));
    parts.join(" · ")
}

/// The day of an RFC 3339 time; anything else as it is.
fn day(created: &str) -> String {
    match created.split_once('T') {
        Some((day, time)) if time.len() >= 5 && time.is_char_boundary(5) => {
            format!("{day}, {}", &time[..5])
        }
        _ => created.to_owned(),
    }
}

fn facts(analysis: &Analysis, run: &StoredRun) -> Vec<(String, String)> {
    let header = &run.header;
    let names: Vec<&str> = analysis.contenders.iter().map(|c| c.name.as_str()).collect();
    let titles: Vec<&str> = analysis.workloads.iter().map(|w| w.title.as_str()).collect();
    let devices = distinct(analysis.contenders.iter().flat_map(|c| &c.device));
    let kernels = distinct(analysis.contenders.iter().flat_map(|c| &c.kernel));
    let environment = |key: &str| header.environment.0.get(key).cloned().unwrap_or_default();
    let machine: Vec<String> = [
        environment("processor"),
        match environment("processors").as_str() {
            "" => String::new(),
            count => format!("{count} processors"),
        },
        memory(&environment("memory")),
        match environment("memory_limit").as_str() {
            "" => String::new(),
            limit => format!("limited to {limit}"),
        },
        environment("distribution"),
    ]
    .into_iter()
    .filter(|part| !part.is_empty())
    .collect();
    let mut facts = vec![
        ("Asked", format!("Which of {} does {} fastest?", and(&names), and(&titles))),
        ("Testbed", header.testbed.clone()),
        ("Device", and(&devices)),
        ("Kernel", and(&kernels)),
        ("Simulated", simulated_machine(run).unwrap_or_default()),
        (if header.is_simulated() { "Host" } else { "Machine" }, machine.join(" · ")),
        (
            "How",
            format!(
                "{}, each contender once in every block, in random order; scale {}; seed {}",
                counted(header.repeats as usize, "block"),
                header.scale,
                header.seed
            ),
        ),
        ("Trials", analysis.trials.said()),
        ("Begun", header.created.clone()),
        ("fstrial", header.fstrial_version.clone()),
    ];
    if let Some(lab) = &header.lab_id {
        facts.push(("Lab", lab.clone()));
    }
    facts.retain(|(_, value)| !value.is_empty());
    if names.is_empty() {
        facts.retain(|(name, _)| *name != "Asked");
    }
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The kernel's `24684092 kB`, as sizes are written elsewhere.
fn memory(told: &str) -> String {
    let kibibytes = told.strip_suffix(" kB").and_then(|number| number.parse::<u64>().ok());
    let bytes = kibibytes.and_then(|number| number.checked_mul(1024));
    bytes.map_or_else(|| told.to_owned(), |bytes| units::Bytes(bytes).to_string())
}

fn overview(analysis: &Analysis) -> Option<Overview> {
    let mut columns = Vec::new();
    let mut tables = Vec::new();
    for (at, workload) in analysis.workloads.iter().enumerate() {
        for phase in workload.phases.iter().filter(|phase| phase.has_figures()) {
            let anchor = phases::anchor(at, &phase.name);
            columns.push((workload.title.clone(), phase.name.clone(), anchor));
            tables.push(phase.table("wall"));
        }
    }
    if columns.is_empty() || analysis.contenders.len() < 2 {
        return None;
    }
    let factor_of = |contender: usize, table: &crate::MetricTable| {
        let cell = &table.cells[contender];
        let behind = cell.against_best.map(|against| against.ratio);
        if cell.leads { Some(1.0) } else { behind }
    };
    // Sorted by the geometric mean of the factors; whoever misses some comes later.
    let mut order: Vec<(usize, usize, f64)> = (0..analysis.contenders.len())
        .map(|contender| {
            let factors: Vec<f64> =
                tables.iter().flatten().filter_map(|table| factor_of(contender, table)).collect();
            let mean = factors.iter().map(|factor| factor.ln()).sum::<f64>();
            (contender, tables.len() - factors.len(), mean / factors.len().max(1) as f64)
        })
        .collect();
    order.sort_by(|a, b| a.1.cmp(&b.1).then(a.2.total_cmp(&b.2)));
    let largest = tables
        .iter()
        .flatten()
        .flat_map(|table| (0..table.cells.len()).filter_map(|at| factor_of(at, table)))
        .fold(1.0, f64::max);
    let rows = order
        .into_iter()
        .map(|(contender, _, _)| OverviewRow {
            name: analysis.contenders[contender].name.clone(),
            colour: colour(contender),
            flag: analysis.contenders[contender].durability_word(),
            cells: tables
                .iter()
                .map(|table| {
                    let cell = table.map(|table| &table.cells[contender]);
                    let worse = table.and_then(|table| factor_of(contender, table));
                    OverviewCell {
                        factor: match worse {
                            Some(worse) => Some(factor(worse, 3)),
                            None => cell
                                .map(|cell| against(cell, 3).plain())
                                .filter(|it| !it.is_empty()),
                        },
                        rank: cell.and_then(|cell| cell.rank).map(|rank| rank.to_string()),
                        mark: cell.and_then(|cell| cell.mark),
                        // On a logarithmic scale, so that one slow phase leaves the rest
                        // something to show.
                        bar: match worse {
                            Some(worse) if largest > 1.0 => {
                                (worse.ln() / largest.ln() * 1000.0).round() / 10.0
                            }
                            _ => 0.0,
                        },
                    }
                })
                .collect(),
        })
        .collect();
    Some(Overview { columns, rows })
}

fn contenders(analysis: &Analysis, run: &StoredRun) -> Vec<Contender> {
    analysis
        .contenders
        .iter()
        .enumerate()
        .map(|(index, contender)| Contender {
            name: contender.name.clone(),
            colour: colour(index),
            written: contender.written.clone(),
            flag: contender.durability_flag(),
            facts: contender_facts(contender),
            features: contender.features.clone(),
            record: trials::first_record(run, &contender.name),
        })
        .collect()
}

fn contender_facts(contender: &Conditions) -> Vec<(&'static str, String)> {
    let tools: Vec<String> =
        contender.tools.iter().map(|(tool, version)| format!("{tool} {version}")).collect();
    let mut facts = vec![
        ("Served by", contender.served_by.join(" or ")),
        ("Kernel", contender.kernel.join(" or ")),
        ("On", contender.device.join(" or ")),
        (
            "Size",
            contender.size_bytes.map(|size| units::Bytes(size).to_string()).unwrap_or_default(),
        ),
        ("Room when new", contender.room().unwrap_or_default()),
        ("After the workloads", contender.room_left().unwrap_or_default()),
        ("Mounted", contender.mount_options.join(" or ")),
        ("Tools", tools.join(", ")),
        ("Trials", format!("{} of {} done", contender.done, contender.trials)),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    facts
}
