//! Workloads and their phases: charts and tables.

use serde::Serialize;
use store::StoredRun;

use super::course::{Course, course};
use super::latencies::{Latency, latencies};
use super::other_figures::{OtherRow, other_rows};
use super::traffic::{Traffic, traffic};
use crate::analysis::{
    Analysis, Cell, Conditions, Group, Mark, MetricTable, PhaseAnalysis, WorkloadAnalysis,
};
use crate::charts::{colour, forest};
use crate::wording::{against, and, figure};

#[derive(Serialize)]
pub(super) struct Workload {
    title: String,
    summary: String,
    parameters: Vec<(String, String)>,
    phases: Vec<Phase>,
}

#[derive(Serialize)]
struct Phase {
    anchor: String,
    name: String,
    verdict: String,
    left_out: bool,
    summary: String,
    clock: String,
    cache: String,
    on: String,
    rows: Vec<Row>,
    axis: String,
    axis_note: &'static str,
    columns: Vec<String>,
    others: Vec<OtherRow>,
    course: Option<Course>,
    latencies: Vec<Latency>,
    traffic: Vec<Traffic>,
    footnotes: Vec<(usize, String, String)>,
}

/// A contender's strip.
#[derive(Serialize)]
struct Row {
    name: String,
    colour: String,
    flag: Option<&'static str>,
    served_by: String,
    strip: Option<String>,
    mean: String,
    interval: String,
    factor: String,
    rank: String,
    n: usize,
    mark: Option<Mark>,
    notes: Vec<usize>,
}

/// The fragment identifier of a phase: names from outside need not be one.
pub(super) fn anchor(workload: usize, phase: &str) -> String {
    let phase: String = phase.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    format!("w{workload}-{phase}")
}

pub(super) fn workloads(analysis: &Analysis, run: &StoredRun) -> Vec<Workload> {
    analysis
        .workloads
        .iter()
        .enumerate()
        .map(|(at, workload)| Workload {
            title: workload.title.clone(),
            summary: sentence(&workload.summary),
            parameters: workload.shown_parameters(),
            phases: workload
                .phases
                .iter()
                .map(|of| phase(at, workload, of, &analysis.contenders, run))
                .collect(),
        })
        .collect()
}

fn phase(
    at: usize,
    workload: &WorkloadAnalysis,
    phase: &PhaseAnalysis,
    contenders: &[Conditions],
    run: &StoredRun,
) -> Phase {
    let names: Vec<&str> = contenders.iter().map(|c| c.name.as_str()).collect();
    let wall = phase.table("wall");
    let chart = wall.and_then(|table| forest(table, &names));
    // Best first; those without a figure last, in their own order.
    let mut order = wall.map(MetricTable::order).unwrap_or_default();
    order.extend((0..contenders.len()).filter(|index| !order.contains(index)).collect::<Vec<_>>());
    let others: Vec<&MetricTable> = phase
        .tables
        .iter()
        .filter(|table| matches!(table.metric.group, Group::Speed | Group::Cpu | Group::Other))
        .filter(|table| table.metric.id != "wall" && !table.metric.measure.is_transports_time())
        .collect();
    let cache: Vec<&str> = phase.cache.iter().map(|state| state.words.as_str()).collect();
    Phase {
        anchor: anchor(at, &phase.name),
        name: phase.name.clone(),
        verdict: verdict(phase, wall),
        left_out: phase.is_left_out(),
        summary: sentence(&phase.summary),
        clock: sentence(&phase.clock),
        cache: and(&cache),
        on: on(contenders),
        rows: order
            .iter()
            .map(|index| Row {
                strip: chart.as_ref().and_then(|chart| chart.strips[*index].clone()),
                ..row(*index, &contenders[*index], wall, phase)
            })
            .collect(),
        axis_note: match &chart {
            Some(chart) if chart.logarithmic => {
                "wall time, logarithmic axis: ● mean and its interval, ○ single trials"
            }
            _ => "wall time: ● mean and its interval, ○ single trials",
        },
        axis: chart.map(|chart| chart.axis).unwrap_or_default(),
        columns: others.iter().map(|table| table.metric.label.clone()).collect(),
        others: other_rows(&order, &others, contenders),
        course: course(phase, &order, contenders),
        latencies: latencies(workload, phase, &order, contenders, run),
        traffic: traffic(phase, &order, contenders),
        footnotes: phase
            .footnotes
            .iter()
            .enumerate()
            .map(|(index, note)| {
                let who: Vec<&str> = note.contenders.iter().map(|i| names[*i]).collect();
                (index + 1, and(&who), note.text.clone())
            })
            .collect(),
    }
}

/// The phase's verdict as a sentence: one that begins with the leader's name keeps its spelling.
fn verdict(phase: &PhaseAnalysis, wall: Option<&MetricTable>) -> String {
    let leader = wall.and_then(|table| table.standing.as_ref()?.leader);
    match leader {
        Some(_) => format!("{}.", phase.verdict),
        None => sentence(&phase.verdict),
    }
}

/// A fragment as a sentence.
fn sentence(fragment: &str) -> String {
    let trimmed = fragment.trim_end_matches('.');
    let mut letters = trimmed.chars();
    match letters.next() {
        None => String::new(),
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
    }
}

/// What every table names: kernel and device, where all contenders share them.
fn on(contenders: &[Conditions]) -> String {
    let shared = |of: &dyn Fn(&Conditions) -> &Vec<String>| {
        let mut all: Vec<&str> = Vec::new();
        for value in contenders.iter().flat_map(of) {
            if !all.contains(&value.as_str()) {
                all.push(value);
            }
        }
        and(&all)
    };
    let (kernel, device) = (shared(&|c| &c.kernel), shared(&|c| &c.device));
    [("kernel ", kernel), ("", device)]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}{value}"))
        .collect::<Vec<_>>()
        .join(" · ")
}

fn row(
    index: usize,
    contender: &Conditions,
    wall: Option<&MetricTable>,
    phase: &PhaseAnalysis,
) -> Row {
    let cell = wall.map(|table| &table.cells[index]);
    let empty = Cell::default();
    let cell = cell.unwrap_or(&empty);
    let unit = crate::Unit::Seconds;
    // Without any table the footnotes still say who is missing and why.
    let notes = if wall.is_some() {
        cell.footnotes.clone()
    } else {
        let concerns = |note: &crate::Footnote| note.contenders.contains(&index);
        (1..=phase.footnotes.len()).filter(|n| concerns(&phase.footnotes[n - 1])).collect()
    };
    Row {
        name: contender.name.clone(),
        colour: colour(index),
        flag: contender.durability_word(),
        served_by: contender.served_by.join(" or "),
        strip: None,
        mean: cell.mean.map_or_else(|| "missing".to_owned(), |mean| figure(mean, unit)),
        interval: match (cell.low, cell.high) {
            (Some(low), Some(high)) => interval(low, high),
            _ if cell.mean.is_some() => "one figure, no interval".to_owned(),
            _ => String::new(),
        },
        factor: against(cell, 3).plain(),
        rank: cell.rank.map(|rank| rank.to_string()).unwrap_or_default(),
        n: cell.figures.len(),
        mark: cell.mark,
        notes,
    }
}

/// Both ends, the unit once where they share it.
fn interval(low: f64, high: f64) -> String {
    let [low, high] = [low, high].map(|end| figure(end, crate::Unit::Seconds));
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((start, unit)), Some((_, same))) if unit == same && !start.contains(' ') => {
            format!("{start}–{high}")
        }
        _ => format!("{low} – {high}"),
    }
}
