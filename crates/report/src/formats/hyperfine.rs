//! hyperfine's JSON, for its scripts and for what else reads it: a result for each phase of a
//! contender, with the wall time of each of its trials in seconds. A phase without figures is left
//! out, since the form has no place for what is missing.

use serde::Serialize;
use store::StoredRun;
use workload::PhaseResult;

use super::{Format, Options};
use crate::Analysis;
use crate::analysis::Cell;

pub(super) struct Hyperfine;

#[derive(Serialize)]
struct Document {
    results: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    command: String,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    exit_codes: Vec<i32>,
    parameters: Parameters,
}

#[derive(Serialize)]
struct Parameters {
    workload: String,
    phase: String,
    contender: String,
}

impl Format for Hyperfine {
    fn name(&self) -> &'static str {
        "hyperfine"
    }

    fn help(&self) -> Option<&'static str> {
        Some("Write the wall times of all phases as hyperfine's JSON")
    }

    fn write(&self, analysis: &Analysis, run: &StoredRun, _: &Options) -> String {
        let mut results = Vec::new();
        for workload in &analysis.workloads {
            for phase in &workload.phases {
                let Some(wall) = phase.table("wall") else { continue };
                for (contender, cell) in analysis.contenders.iter().zip(&wall.cells) {
                    let parameters = Parameters {
                        workload: workload.title.clone(),
                        phase: phase.name.clone(),
                        contender: contender.name.clone(),
                    };
                    let of = |result: &PhaseResult| {
                        result.workload == workload.name && result.phase == phase.name
                    };
                    results.extend(entry(parameters, cell, run, &of));
                }
            }
        }
        super::json_text(&Document { results })
    }
}

fn entry(
    parameters: Parameters,
    cell: &Cell,
    run: &StoredRun,
    of: &dyn Fn(&PhaseResult) -> bool,
) -> Option<Entry> {
    let times: Vec<f64> = cell.figures.iter().map(|figure| figure.value).collect();
    let mut sorted = times.clone();
    sorted.sort_by(f64::total_cmp);
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let square = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>();
    let middle = sorted.len() / 2;
    let median = match sorted.len() % 2 {
        0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    };
    let used = cell.figures.iter().filter_map(|figure| {
        let trial = run.trials.iter().find(|trial| trial.ordinal == figure.trial)?;
        // In a sequence a workload may come twice.
        let is_it = |phase: &&PhaseResult| of(phase) && phase.wall.as_secs_f64() == figure.value;
        trial.phases.iter().find(is_it).map(|phase| phase.cpu)
    });
    let (user, system) = used.fold((0.0, 0.0), |(user, system), cpu| {
        (user + cpu.user.as_secs_f64(), system + cpu.sys.as_secs_f64())
    });
    let Parameters { workload, phase, contender } = &parameters;
    Some(Entry {
        command: format!("{workload} {phase} on {contender}"),
        mean,
        stddev: (times.len() > 1).then(|| (square / (count - 1.0)).sqrt()),
        median,
        user: user / count,
        system: system / count,
        min,
        max,
        // A phase whose time counts has succeeded.
        exit_codes: vec![0; times.len()],
        times,
        parameters,
    })
}
