//! Every trial, so that each figure can be traced to its origin.

use serde::Serialize;
use store::{StoredRun, StoredTrial};
use trial::Outcome;
use units::Rate;
use workload::PhaseStatus;

use crate::analysis::not_comparable;
use crate::numbers::number;

/// With more trials than this only those that went wrong are shown: the page stays one that a
/// browser opens at once, and the JSON has them all.
const SHOWN_MAX: usize = 300;
/// Longest output shown of one command; the JSON has everything.
const OUTPUT_MAX: usize = 3000;

#[derive(Serialize)]
pub(super) struct Trial {
    ordinal: u32,
    block: u32,
    contender: String,
    workloads: String,
    outcome: String,
    done: bool,
    reason: Option<String>,
    log: Option<String>,
    seed: String,
    kernel: Option<String>,
    served_by: Option<String>,
    phases: Vec<Phase>,
    commands: Vec<String>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Phase {
    name: String,
    wall: String,
    ops: String,
    cpu: String,
    remark: String,
}

/// Whether trials that ended well are left to the JSON.
pub(super) fn are_shortened(run: &StoredRun) -> bool {
    run.trials.len() > SHOWN_MAX
}

pub(super) fn trials(run: &StoredRun) -> Vec<Trial> {
    let done = |trial: &StoredTrial| trial.outcome.as_ref().is_some_and(Outcome::is_done);
    let many = are_shortened(run);
    run.trials
        .iter()
        .filter(|trial| !many || !done(trial))
        .map(|trial| {
            let done = done(trial);
            let workloads: Vec<&str> =
                trial.spec.workloads.iter().map(|choice| choice.name.as_str()).collect();
            let made = trial.made.as_ref();
            Trial {
                ordinal: trial.ordinal,
                block: trial.spec.block,
                contender: trial.spec.contender.name.clone(),
                workloads: workloads.join(", "),
                outcome: trial.outcome.as_ref().map_or("not run yet", |o| o.word()).to_owned(),
                done,
                reason: trial.outcome.as_ref().filter(|_| !done).map(ToString::to_string),
                log: match &trial.outcome {
                    Some(Outcome::GuestDied { kernel_log, .. }) if !kernel_log.is_empty() => {
                        Some(end_of(kernel_log))
                    }
                    _ => None,
                },
                seed: trial.spec.seed.0.to_string(),
                kernel: made.map(|made| made.kernel.clone()),
                served_by: made.map(|made| made.served_by.clone()),
                phases: trial.phases.iter().map(phase).collect(),
                commands: {
                    let record = made.map(|made| made.record.as_slice()).unwrap_or_default();
                    record.iter().map(|(command, _)| command.clone()).collect()
                },
                notes: trial.notes.clone(),
            }
        })
        .collect()
}

fn phase(phase: &workload::PhaseResult) -> Phase {
    let remark = match (&phase.status, &phase.not_comparable) {
        (PhaseStatus::Failed { reason }, _) => format!("failed: {reason}"),
        (PhaseStatus::Skipped { reason }, _) => format!("not run: {reason}"),
        (PhaseStatus::Completed, Some(why)) => {
            format!("not comparable: {}", not_comparable(why))
        }
        (PhaseStatus::Completed, None) => phase.notes.join("; "),
    };
    let began = !matches!(phase.status, PhaseStatus::Skipped { .. });
    let shown = |text: String| if began { text } else { "–".to_owned() };
    let rate = Rate::Count(phase.ops, phase.wall).per_second();
    Phase {
        name: format!("{} · {}", phase.workload, phase.phase),
        wall: shown(phase.wall.to_string()),
        ops: shown(match rate {
            Some(rate) => format!("{} ({} /s)", number(phase.ops as f64), number(rate)),
            None => number(phase.ops as f64),
        }),
        cpu: shown(phase.cpu.total().to_string()),
        remark,
    }
}

/// Commands and output of the contender's first trial that has any.
pub(super) fn first_record(run: &StoredRun, contender: &str) -> Vec<(String, String)> {
    run.trials
        .iter()
        .filter(|trial| trial.spec.contender.name == contender)
        .filter_map(|trial| trial.made.as_ref())
        .find(|made| !made.record.is_empty())
        .map(|made| {
            made.record
                .iter()
                .map(|(command, output)| (command.clone(), start_of(output)))
                .collect()
        })
        .unwrap_or_default()
}

fn start_of(text: &str) -> String {
    let trimmed = text.trim_end();
    match trimmed.char_indices().nth(OUTPUT_MAX) {
        None => trimmed.to_owned(),
        Some((end, _)) => {
            let left = trimmed[end..].chars().count();
            format!("{}\n… and {left} characters more, in the JSON report", &trimmed[..end])
        }
    }
}

fn end_of(text: &str) -> String {
    let count = text.chars().count();
    text.trim_end().chars().skip(count.saturating_sub(OUTPUT_MAX)).collect()
}
