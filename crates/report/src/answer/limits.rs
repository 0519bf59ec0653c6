//! What limits an answer, and what to do about it.

use store::StoredRun;
use workload::InputKind;

use super::work::{MeasuredWork, OPS_ENOUGH, SECONDS_ENOUGH};
use super::{Step, WorkloadAnswer, table, untouched};
use crate::analysis::{
    Analysis, Conditions, Decision, MetricTable, PhaseAnalysis, Reason, TrialCounts, Unit,
    WorkloadAnalysis, idle, of_durability, poor_profile, simulated_processors,
};
use crate::busy::busy_load;
use crate::numbers::{counted, number};
use crate::testbeds;
use crate::wording::{VAGUE, and, figure, is_vague, is_wide};

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
    limits.extend(ends(run, workloads));
    limits.extend(of_durability(&analysis.contenders));
    limits.extend(poor_profile(run));
    limits.extend(crate::repeats::said(analysis, run));
    match run.header.repeats {
        1 => limits.push("With 1 repeat chance cannot be told from a difference.".to_owned()),
        few if few < REPEATS_MIN => limits.push(format!(
            "With {} only large differences can be told from chance.",
            counted(few as usize, "repeat")
        )),
        _ => {}
    }
    limits.extend(busy(run));
    let mut unread: Vec<&str> = Vec::new();
    let mut beginnings: Vec<(String, &str)> = Vec::new();
    let mut has_counts = false;
    for (answer, workload) in workloads.iter().zip(&analysis.workloads) {
        let Some(phase) = answer.phase_of(workload) else { continue };
        has_counts |= !table::counts(phase).is_empty();
        if let Some(cold) = testbeds::cold(&run.header) {
            let warm = phase.cache.iter().filter(|state| !state.cold);
            limits.extend(warm.map(|state| {
                let words = &state.words;
                format!("Cache of {}: {words}; {cold}.", phase.name)
            }));
        }
        let least = answer.measured.as_ref().and_then(enough);
        beginnings.extend(least.map(|least| (least, answer.title.as_str())));
        let table = phase.tables.iter().find(|table| table.metric.id == answer.metric);
        limits.extend(table.into_iter().flat_map(vague));
        limits.extend(transport(phase, &analysis.contenders));
        limits.extend(said_of_program(workload, phase));
        if answer.has_figures() && reads_nothing(phase) {
            unread.push(&answer.title);
        }
    }
    limits.extend(little(&beginnings, workloads.len()));
    limits.extend(testbeds::counts(&run.header).filter(|_| has_counts));
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
        limits.push(match simulated_processors(run) {
            1 => "Simulated: one processor, a fixed time per instruction; says nothing about \
                  several threads."
                .to_owned(),
            several => format!(
                "Simulated: {several} processors, a fixed time per instruction; cache lines that \
                 move between processors, NUMA and changing frequencies cost nothing."
            ),
        });
    }
    // What holds for several workloads is said once.
    let mut said = std::collections::BTreeSet::new();
    limits.retain(|limit| said.insert(limit.clone()));
    limits
}

/// Trials without figures, by how they ended.
fn lost(counts: &TrialCounts) -> Option<String> {
    (counts.done < counts.planned).then(|| format!("{}.", counts.said()))
}

/// Reasons of trials without figures that are shown, and how many letters of each.
const ENDS: usize = 2;
const ENDS_LONGEST: usize = 240;
/// A table shows no more rows on a screen, and no more letters of a reason in a cell.
const ROWS_SEEN: usize = 12;
const CELL_SEEN: usize = 40;

/// Why trials have no figures, where no row of a table says it whole.
fn ends(run: &StoredRun, workloads: &[WorkloadAnswer]) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for trial in &run.trials {
        let Some(end) = trial.outcome.as_ref().filter(|end| !end.is_done()) else { continue };
        let (end, name) = (end.to_string(), trial.spec.contender.name.as_str());
        match reasons.iter_mut().find(|(known, _)| *known == end) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => reasons.push((end, vec![name])),
        }
    }
    let is_told = |(end, names): &(String, Vec<&str>)| {
        let below = workloads.iter().any(|it| it.why.as_deref() == Some(end));
        let seen = |name: &&str| {
            let mut rows = workloads.iter().flat_map(|it| it.rows.iter().take(ROWS_SEEN));
            rows.any(|row| row.name == **name && row.missing.as_ref() == Some(end))
        };
        below || (end.chars().count() <= CELL_SEEN && names.iter().all(seen))
    };
    reasons.retain(|reason| !is_told(reason));
    let more = reasons.len().saturating_sub(ENDS);
    let told = reasons.iter().take(ENDS).map(|(end, names)| {
        let end: String = end.trim_end_matches('.').chars().take(ENDS_LONGEST).collect();
        let others = names.len().saturating_sub(2);
        let mut names: Vec<String> = names.iter().take(2).map(|name| (*name).to_owned()).collect();
        names.extend((others > 0).then(|| format!("{others} others")));
        format!("{}: {end}.", and(&names.iter().map(String::as_str).collect::<Vec<_>>()))
    });
    let more = (more > 0).then(|| format!("{}: --full.", counted(more, "more reason")));
    told.chain(more).collect()
}

/// That a real machine had other work to do when the run began.
fn busy(run: &StoredRun) -> Option<String> {
    busy_load(&run.header).map(|load| {
        format!("The machine was busy when it began ({load}): run it again when it is idle.")
    })
}

/// How much would have been enough, where too little was measured for a rate or a percentile.
fn enough(measured: &MeasuredWork) -> Option<String> {
    (!measured.enough).then(|| {
        let seconds = figure(SECONDS_ENOUGH, Unit::Seconds);
        match measured.work.ops_most {
            0 => format!("less than {seconds}"),
            _ => format!(
                "fewer than {} {} or less than {seconds}",
                number(OPS_ENOUGH as f64),
                measured.things
            ),
        }
    })
}

/// That too little was measured by workloads, each with what would have been enough.
fn little(beginnings: &[(String, &str)], workloads: usize) -> Option<String> {
    let (least, _) = beginnings.first()?;
    let names: Vec<&str> = beginnings.iter().map(|(_, name)| *name).collect();
    let whose = if workloads == 1 { String::new() } else { format!(" by {}", and(&names)) };
    let least = match beginnings.iter().all(|(other, _)| other == least) {
        true => format!("{least} a trial"),
        false => format!(
            "fewer than {} ops or less than {} a trial",
            number(OPS_ENOUGH as f64),
            figure(SECONDS_ENOUGH, Unit::Seconds)
        ),
    };
    Some(format!("Little was measured{whose}: with {least}, figures are those of a beginning."))
}

/// How wide and unknown intervals are written, explained where they stand.
fn vague(table: &MetricTable) -> Vec<String> {
    let vague = table.cells.iter().any(is_vague).then(|| {
        format!("{VAGUE}: the repeats vary too much for an interval; more of them would give one.")
    });
    let wide = table
        .cells
        .iter()
        .any(is_wide)
        .then(|| "×/÷N: the interval reaches from N times less to N times more.".to_owned());
    wide.into_iter().chain(vague).collect()
}

/// Contenders whose time is in part the lab's own: their intervals are wider, or latencies are
/// missing.
fn transport(phase: &PhaseAnalysis, contenders: &[Conditions]) -> Vec<String> {
    let whose = |of: &dyn Fn(&Reason) -> Option<(f64, bool)>| {
        let mut all: Vec<usize> = Vec::new();
        let mut most = (0.0_f64, true);
        for note in &phase.footnotes {
            let Some((share, idle_known)) = of(&note.reason) else { continue };
            all.extend(
                note.contenders.iter().filter(|at| !all.contains(at)).copied().collect::<Vec<_>>(),
            );
            most = (most.0.max(share), most.1 && idle_known);
        }
        let names: Vec<&str> = all.iter().map(|at| contenders[*at].name.as_str()).collect();
        (!names.is_empty()).then(|| (and(&names), most.0 * 100.0, idle(most.1)))
    };
    let partly = whose(&|reason| match reason {
        Reason::PartlyTransport { share, idle_known } => Some((*share, *idle_known)),
        _ => None,
    });
    let single = whose(&|reason| match reason {
        Reason::SingleOps { share } => Some((*share, true)),
        _ => None,
    });
    let name = &phase.name;
    let partly = partly.map(|(who, share, idle)| {
        format!(
            "{name} on {who}: up to {share:.0} % of the time is the simulation's own \
             transport{idle}; the intervals hold the figures with and without it, and since \
             nobody knows which ops it delayed, their latencies are left out."
        )
    });
    let single = single.map(|(who, share, _)| {
        format!(
            "{name} on {who}: {share:.0} % of the measured time was the simulation's own transport \
             and is taken off; which ops it delayed is not known, so latencies are left out."
        )
    });
    partly.into_iter().chain(single).collect()
}

/// Remarks on a program whose own figures are ranked: a figure that it did not print, a process that it left
/// behind. For fstrial's own workloads such remarks are details.
fn said_of_program(workload: &WorkloadAnalysis, phase: &PhaseAnalysis) -> Vec<String> {
    if !is_own_program(&workload.name) && workload.own.is_empty() {
        return Vec::new();
    }
    let of_work =
        phase.footnotes.iter().filter(|note| matches!(note.reason, Reason::Remark { .. }));
    of_work.map(|note| format!("{}.", note.text)).take(REMARKS).collect()
}

fn is_own_program(workload: &str) -> bool {
    let inputs = workload::find(workload).map_or(&[][..], |known| known.describe().inputs);
    inputs.contains(&InputKind::OwnProgram)
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
    let decision = |answer: &WorkloadAnswer| Some(answer.standing.as_ref()?.decision);
    let is_open = |decision| matches!(decision, Decision::Open | Decision::TooFew);
    let open = workloads.iter().filter_map(decision).any(is_open);
    if open && analysis.trials.outstanding == 0 {
        let repeats = (run.header.repeats * 2).max(5);
        add("more repeats", format!("fstrial run --like {id} --repeats {repeats}"));
    }
    // A set that was scaled down and never reached the disk may reach it when it is larger.
    let small = workloads.iter().zip(&analysis.workloads).any(|(answer, workload)| {
        let phase = answer.phase_of(workload);
        let little = answer.measured.as_ref().is_some_and(|measured| !measured.enough);
        answer.has_figures()
            && (little || phase.is_some_and(|phase| untouched(phase) || reads_nothing(phase)))
    });
    let little = workloads.iter().any(|it| it.measured.as_ref().is_some_and(|it| !it.enough));
    // A program of the user's knows no scale; what is a hundred times too small is no matter of one.
    let scales = !analysis.workloads.iter().any(|it| is_own_program(&it.name) || it.has_own_tree());
    let larger = larger(workloads);
    let worth = scales && larger <= LARGER_MAX && (little || run.header.scale < 1.0);
    if small && worth && analysis.trials.outstanding == 0 {
        let most = if little { f64::INFINITY } else { 1.0 };
        let scale = nearest_scale((run.header.scale * larger).min(most));
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

/// A proposal larger by more than this would be none.
const LARGER_MAX: f64 = 200.0;

/// How many times larger a set is proposed: ten times, or what gives enough ops and takes long
/// enough for all workloads.
fn larger(workloads: &[WorkloadAnswer]) -> f64 {
    let measured = workloads.iter().filter_map(|answer| answer.measured.as_ref());
    let short = measured.filter(|it| !it.enough).map(|it| {
        let ops = match it.work.ops_least {
            0 => 1.0,
            ops => OPS_ENOUGH as f64 / ops as f64,
        };
        ops.max(SECONDS_ENOUGH / it.work.seconds_least.max(1e-6))
    });
    short.fold(10.0, f64::max)
}

/// With one digit, upwards, so that it can be typed: `0.0213` is `0.03`.
fn nearest_scale(scale: f64) -> f64 {
    let digit = 10f64.powf(scale.log10().floor());
    let rounded = (scale / digit - 1e-9).ceil() * digit;
    format!("{rounded:.9}").parse().unwrap_or(rounded)
}
