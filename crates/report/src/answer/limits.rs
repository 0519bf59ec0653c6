//! What limits an answer, and what to do about it.

use store::StoredRun;
use workload::InputKind;

use super::{Step, WorkloadAnswer, untouched};
use crate::analysis::{About, Analysis, Conditions, PhaseAnalysis, TrialCounts};
use crate::numbers::counted;
use crate::testbeds;
use crate::wording::and;

/// A machine whose load per processor was above this was busy.
const BUSY: f64 = 0.5;

/// The most remarks on a program of the user's own that are shown on the screen.
const REMARKS: usize = 2;

/// With fewer repeats than this, chance cannot be told from a difference.
const REPEATS_MIN: u32 = 3;

/// Sentences, the gravest first.
pub(super) fn of_run(
    analysis: &Analysis,
    run: &StoredRun,
    workloads: &[WorkloadAnswer],
) -> Vec<String> {
    let mut limits: Vec<String> = Vec::new();
    limits.extend(lost(&analysis.trials));
    if run.header.repeats < REPEATS_MIN {
        let repeats = counted(run.header.repeats as usize, "repeat");
        limits.push(format!("With {repeats} chance cannot be told from a difference."));
    }
    limits.extend(busy(run));
    let mut unread: Vec<&str> = Vec::new();
    for (answer, workload) in workloads.iter().zip(&analysis.workloads) {
        let Some(phase) = answer.phase_of(workload) else { continue };
        if let Some(cold) = testbeds::cold(&run.header) {
            let warm = phase.cache.iter().filter(|state| !state.cold);
            limits.extend(warm.map(|state| {
                let words = &state.words;
                format!("Cache of {}: {words}; {cold}.", phase.name)
            }));
        }
        limits.extend(transport(phase, &analysis.contenders));
        limits.extend(said_of_own_program(&workload.name, phase));
        if answer.measured() && reads_nothing(phase) {
            unread.push(&answer.title);
        }
    }
    if !unread.is_empty() {
        let what = match workloads.len() {
            1 => "Nothing".to_owned(),
            _ => format!("In {} nothing", and(&unread)),
        };
        limits.push(format!(
            "{what} was read from the disk: the working set fits into memory; a cold or larger one \
             may rank differently."
        ));
    }
    if run.header.is_simulated() {
        limits.push(
            "Simulated: one processor, a fixed time per instruction; says nothing about several threads."
                .to_owned(),
        );
    }
    limits
}

/// Trials without figures, by how they ended.
fn lost(counts: &TrialCounts) -> Option<String> {
    (counts.done < counts.planned).then(|| format!("{}.", counts.said()))
}

/// Whether a real machine had other work to do when the run began.
fn busy(run: &StoredRun) -> Option<String> {
    if run.header.is_simulated() {
        return None;
    }
    let fact = |name: &str| run.header.environment.0.get(name)?.parse::<f64>().ok();
    let load = fact("load_at_start")?;
    let processors = fact("processors").or_else(|| fact("cpus")).unwrap_or(1.0);
    (load > BUSY * processors).then(|| {
        format!("The machine was busy when it began (load {load}): run it again when it is idle.")
    })
}

/// Contenders whose time is in part the lab's own: their intervals are wider, and latencies are
/// missing.
fn transport(phase: &PhaseAnalysis, contenders: &[Conditions]) -> Option<String> {
    let of_transport = phase.footnotes.iter().filter(|note| note.about == About::Transport);
    let whose = of_transport.flat_map(|note| &note.contenders);
    let names: Vec<&str> = whose.map(|at| contenders[*at].name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{} on {}: part of the time is the simulation's own transport; the intervals hold the \
             figures with and without it, and latencies are left out.",
            phase.name,
            and(&names)
        )
    })
}

/// Remarks on a program of the user's own: a figure that it did not print, a process that it left
/// behind. For fstrial's own workloads such remarks are details.
fn said_of_own_program(workload: &str, phase: &PhaseAnalysis) -> Vec<String> {
    let inputs = workload::find(workload).map_or(&[][..], |known| known.describe().inputs);
    if !inputs.contains(&InputKind::OwnProgram) {
        return Vec::new();
    }
    let of_work = phase.footnotes.iter().filter(|note| note.about == About::Work);
    of_work.map(|note| format!("{}.", note.text)).take(REMARKS).collect()
}

/// Whether reads of the disk were counted and no contender had any.
fn reads_nothing(phase: &PhaseAnalysis) -> bool {
    let Some(table) = phase.table("device_read_bytes") else { return false };
    let written = phase.table("device_write_bytes").is_some_and(|table| {
        table.cells.iter().filter_map(|cell| cell.mean).any(|mean| mean > 0.0)
    });
    let mut means = table.cells.iter().filter_map(|cell| cell.mean).peekable();
    written && means.peek().is_some() && means.all(|mean| mean == 0.0)
}

/// What to type next.
pub(super) fn next(
    analysis: &Analysis,
    run: &StoredRun,
    workloads: &[WorkloadAnswer],
) -> Vec<Step> {
    let id = &run.header.id;
    let mut next: Vec<Step> = Vec::new();
    let mut add = |why: &str, command: String| next.push(Step { why: why.to_owned(), command });
    if analysis.trials.outstanding > 0 {
        add("go on", format!("fstrial run --resume {id}"));
    }
    let open = workloads.iter().any(|answer| answer.verdict.starts_with("undecided"));
    if open && analysis.trials.outstanding == 0 {
        let repeats = (run.header.repeats * 2).max(5);
        add("more repeats", format!("fstrial run --like {id} --repeats {repeats}"));
    }
    // A set that was scaled down and never reached the disk may reach it when it is larger.
    let small = workloads.iter().zip(&analysis.workloads).any(|(answer, workload)| {
        let phase = answer.phase_of(workload);
        answer.measured() && phase.is_some_and(|phase| untouched(phase) || reads_nothing(phase))
    });
    if small && run.header.scale < 1.0 && analysis.trials.outstanding == 0 {
        let scale = (run.header.scale * 10.0).min(1.0);
        add("a larger set", format!("fstrial run --like {id} --scale {scale}"));
    }
    let elsewhere = analysis.workloads.iter().all(|workload| {
        workload::find(&workload.name).is_none_or(|it| it.only_in_guest().is_none())
    });
    if run.header.is_simulated() && !open && elsewhere && analysis.trials.done > 0 {
        let command = format!("fstrial run --like {id} --testbed device --loop-dir DIR");
        add("on your disk", command);
    }
    add("all figures", format!("fstrial report {id} --full"));
    next
}
