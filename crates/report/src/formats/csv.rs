//! CSV: one long table of raw figures, a row for each trial, phase and metric. Nothing is
//! derived but latency percentiles; any further computation is left to the reader.
//!
//! RFC 4180 with line feeds. A missing figure is an empty field; `status` says why not.

use store::{StoredRun, StoredTrial};
use workload::{PhaseResult, PhaseStatus};

use super::{Format, Options};
use crate::{Analysis, Quantile};

pub(super) struct Csv;

const HEADER: &str = "run,trial,block,contender,workload,phase,metric,unit,value,status\n";

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn help(&self) -> Option<&'static str> {
        Some("Write one row per measured figure as CSV")
    }

    fn write(&self, analysis: &Analysis, run: &StoredRun, _: &Options) -> String {
        let mut text = HEADER.to_owned();
        for trial in &run.trials {
            if trial.phases.is_empty() {
                for choice in &trial.spec.workloads {
                    let called = called(analysis, trial, &choice.name);
                    row(&mut text, run, trial, [called, "", "", ""], None, status(trial));
                }
            }
            for phase in &trial.phases {
                for (metric, unit, value) in raw(phase) {
                    let workload = called(analysis, trial, &phase.workload);
                    let names = [workload, &*phase.phase, &*metric, unit];
                    row(&mut text, run, trial, names, value, phase_status(trial, phase));
                }
            }
        }
        text
    }
}

/// A workload's name; where several of a run have it, with what sets this one apart.
fn called<'a>(analysis: &'a Analysis, trial: &StoredTrial, name: &'a str) -> &'a str {
    let alike = || analysis.workloads.iter().filter(|it| it.name == name);
    let choice = trial.spec.workloads.iter().rfind(|choice| choice.name == name);
    let found = choice.filter(|_| alike().count() > 1).and_then(|choice| {
        alike().find(|it| {
            let its = it.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            its.eq(choice.parameters.iter())
        })
    });
    found.map_or(name, |it| it.title.as_str())
}

fn row(
    text: &mut String,
    run: &StoredRun,
    trial: &StoredTrial,
    [workload, phase, metric, unit]: [&str; 4],
    value: Option<f64>,
    status: &str,
) {
    let value = value.filter(|value| value.is_finite()).map(|value| value.to_string());
    let (ordinal, block) = (trial.ordinal.to_string(), trial.spec.block.to_string());
    let fields = [
        &*run.header.id,
        &*ordinal,
        &*block,
        &*trial.spec.contender.name,
        workload,
        phase,
        metric,
        unit,
        value.as_deref().unwrap_or_default(),
        status,
    ];
    text.push_str(&fields.map(text::csv).join(","));
    text.push('\n');
}

fn status(trial: &StoredTrial) -> &'static str {
    trial.outcome.as_ref().map_or("not run yet", |outcome| outcome.word())
}

fn phase_status(trial: &StoredTrial, phase: &PhaseResult) -> &'static str {
    match phase.status {
        PhaseStatus::Failed { .. } => "phase failed",
        PhaseStatus::Skipped { .. } => "phase skipped",
        PhaseStatus::Completed if status(trial) != "done" => status(trial),
        PhaseStatus::Completed if phase.not_comparable.is_some() => "not comparable",
        PhaseStatus::Completed => "done",
    }
}

/// Every figure of a phase: name, unit, value.
fn raw(phase: &PhaseResult) -> Vec<(String, &'static str, Option<f64>)> {
    // A phase that never began has measured nothing; its zeroes are not figures.
    let began = !matches!(phase.status, PhaseStatus::Skipped { .. });
    let mut rows: Vec<(String, &'static str, Option<f64>)> = Vec::new();
    let mut add = |metric: &str, unit: &'static str, value: Option<u64>| {
        rows.push((metric.to_owned(), unit, value.filter(|_| began).map(|value| value as f64)));
    };
    add("wall", "ns", Some(phase.wall.0));
    add("cpu_user", "ns", Some(phase.cpu.user.0));
    add("cpu_system", "ns", Some(phase.cpu.sys.0));
    add("machine_cpu", "ns", phase.machine_cpu.map(|time| time.0));
    add("ops", "count", Some(phase.ops));
    add("read", "bytes", Some(phase.read_bytes.0));
    add("write", "bytes", Some(phase.write_bytes.0));
    let device = phase.device;
    add("device_reads", "count", device.map(|used| used.reads));
    add("device_read", "bytes", device.map(|used| used.read_bytes.0));
    add("device_writes", "count", device.map(|used| used.writes));
    add("device_write", "bytes", device.map(|used| used.write_bytes.0));
    add("device_discards", "count", device.map(|used| used.discards));
    add("device_flushes", "count", device.and_then(|used| used.flushes));
    add("device_busy", "ns", device.map(|used| used.busy.0));
    for (op, latencies) in &phase.latencies {
        add(&format!("latency.{op}.count"), "count", Some(latencies.count()));
        for quantile in Quantile::ALL {
            let value = quantile.of(latencies).ok();
            add(&format!("latency.{op}.{}", quantile.word()), "ns", value.map(|value| value.0));
        }
    }
    rows.extend(
        phase.figures.iter().map(|(name, value)| (format!("figure.{name}"), "", Some(*value))),
    );
    rows
}
