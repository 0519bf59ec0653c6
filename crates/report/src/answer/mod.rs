//! The answer to the question that a run asked, on one screen: who is best at what matters,
//! by how much, why, what limits it, and what to do next.

mod limits;
mod others;
mod table;
mod why;
mod work;

use serde::Serialize;
use store::StoredRun;

use crate::analysis::{
    Analysis, Conditions, Decision, Mark, MetricTable, PhaseAnalysis, Reason, Relation,
    WorkloadAnalysis,
};
use crate::{sentences, testbeds};
use others::{OtherPhase, others};
use why::Processors;
use work::MeasuredWork;

/// What a reader wants to know first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Answer {
    /// One for each workload, in the order of the report.
    pub(crate) workloads: Vec<WorkloadAnswer>,
    /// What limits them, each a sentence or two.
    pub(crate) limits: Vec<String>,
    pub(crate) next: Vec<Step>,
}

/// What to type next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Step {
    /// What it is for, in a few words.
    pub(crate) why: String,
    /// The command, for copying.
    pub(crate) command: String,
}

/// A workload's answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct WorkloadAnswer {
    /// `For delivering mail on server-ssd (simulated): xfs, 3,050 mails/s; ext4 1.2 times slower.`
    pub(crate) sentence: String,
    /// The same without the question.
    pub(crate) verdict: String,
    /// The same as data.
    pub(crate) standing: Option<NamedStanding>,
    /// Its name in the report.
    pub(crate) title: String,
    /// The phase it is about; empty where nothing was measured.
    pub(crate) phase: String,
    /// The metric of that phase by which the contenders are ranked; empty likewise.
    pub(crate) metric: String,
    /// Those that may be the best: the leader, and whoever is not shown to be worse. Empty where
    /// nothing separates any of them, or the disk was not reached.
    pub(crate) best: Vec<String>,
    /// How much was measured.
    pub(crate) measured: Option<MeasuredWork>,
    /// Heads of the columns after rank and name.
    pub(crate) columns: Vec<String>,
    /// The contenders in the order of rank, those without a figure last.
    pub(crate) rows: Vec<Row>,
    /// What causes the difference, by what was counted.
    pub(crate) why: Option<String>,
    /// The other phases, in the order of the report.
    pub(crate) others: Vec<OtherPhase>,
}

/// Who is first and what is shown of the others, by name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct NamedStanding {
    /// What is decided about the first place.
    pub(crate) decision: Decision,
    /// The best figure of those that can be compared.
    pub(crate) leader: Option<String>,
    /// The others that can be compared, best figure first.
    pub(crate) behind: Vec<NamedBehind>,
    /// Those whose figures cannot be compared: too few trials, or a figure of 0.
    pub(crate) not_compared: Vec<String>,
    /// Those without a figure.
    pub(crate) missing: Vec<String>,
    /// Fewest trials of a contender that is compared.
    pub(crate) repeats: usize,
}

/// A contender that is compared with the leader.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct NamedBehind {
    pub(crate) name: String,
    /// How many times worse than the leader.
    pub(crate) ratio: f64,
    /// Lower end of its interval.
    pub(crate) low: Option<f64>,
    /// Upper end.
    pub(crate) high: Option<f64>,
    /// What is shown of it.
    pub(crate) relation: Relation,
}

impl WorkloadAnswer {
    /// Whether any contender has a figure at what matters.
    fn has_figures(&self) -> bool {
        self.rows.iter().any(|row| row.missing.is_none())
    }

    /// The phase it is about, in the analysis it was made from.
    fn phase_of<'a>(&self, workload: &'a WorkloadAnalysis) -> Option<&'a PhaseAnalysis> {
        workload.phases.iter().find(|phase| phase.name == self.phase)
    }
}

/// A contender's row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    /// `1`, or `1–2` of those that cannot be told apart.
    pub(crate) rank: String,
    /// Its name.
    pub(crate) name: String,
    /// A word where an fsync promises less than usual.
    pub(crate) flag: Option<&'static str>,
    /// Its figure as a share of the largest one, in percent, for a bar.
    pub(crate) share: Option<f64>,
    /// Both ends of its interval likewise.
    pub(crate) interval: Option<[f64; 2]>,
    /// A text for each column: empty where the contender has no figure at all, `–` where this one
    /// alone is missing.
    pub(crate) cells: Vec<String>,
    /// Best or worst, by significance.
    pub(crate) mark: Option<Mark>,
    /// Why there is no figure, where there is none.
    pub(crate) missing: Option<String>,
}

/// What a workload's answer rests on.
struct Headline<'a> {
    phase: &'a PhaseAnalysis,
    table: &'a MetricTable,
    /// What is counted; empty for a time.
    things: &'static str,
    /// Whether it is a figure of the workload's own, which a program printed.
    is_own: bool,
}

impl<'a> Headline<'a> {
    /// The figure of its own that a workload is about.
    fn own(workload: &'a WorkloadAnalysis) -> Option<Headline<'a>> {
        let measured = |table: &&MetricTable| table.cells.iter().any(|cell| cell.mean.is_some());
        workload.own.iter().find_map(|id| {
            let found = |phase: &'a PhaseAnalysis| Some((phase, phase.table(id)?));
            let (phase, table) = workload.phases.iter().find_map(found)?;
            measured(&table).then_some(Headline { phase, table, things: "", is_own: true })
        })
    }

    /// The phase and metric that the workload declares, where they were measured; else the
    /// wall time of its first phase that has one.
    fn of(workload: &'a WorkloadAnalysis) -> Option<Headline<'a>> {
        if let Some(own) = Headline::own(workload) {
            return Some(own);
        }
        let declared = workload::find(&workload.name).map(|known| known.describe().headline);
        let has_figures = |table: &&MetricTable| table.cells.iter().any(|cell| cell.mean.is_some());
        let of_declared = declared.and_then(|headline| {
            let named = workload.phases.iter().find(|phase| phase.name == headline.phase);
            let phase = match headline.phase {
                "" => workload.phases.first(),
                _ => named,
            }?;
            let table = phase.table(headline.metric).filter(has_figures);
            // Where it must not be compared, no other phase answers in its place.
            let table = table.or_else(|| phase.table("wall").filter(|_| is_barred(phase)))?;
            Some(Headline { phase, table, things: headline.things, is_own: false })
        });
        of_declared.or_else(|| {
            workload.phases.iter().find_map(|phase| {
                let table = phase.table("wall").filter(has_figures)?;
                Some(Headline { phase, table, things: "", is_own: false })
            })
        })
    }
}

/// Whether a phase was run and has no figure for a reason of its own.
fn is_barred(phase: &PhaseAnalysis) -> bool {
    let own = |reason: &Reason| {
        matches!(reason, Reason::NotComparable { .. } | Reason::PhaseFailed { .. })
    };
    !phase.has_figures() && phase.footnotes.iter().any(|note| own(&note.reason))
}

/// The table that a workload's answer is read from.
pub(crate) fn headline_table(workload: &WorkloadAnalysis) -> Option<&MetricTable> {
    Headline::of(workload).map(|headline| headline.table)
}

/// Builds the answer from an analysed run.
pub(crate) fn answer(analysis: &Analysis, run: &StoredRun) -> Answer {
    let on = testbeds::answer(&run.header, analysis.contenders.len());
    let workloads: Vec<WorkloadAnswer> = analysis
        .workloads
        .iter()
        .map(|workload| of_workload(workload, analysis, run, &on))
        .collect();
    Answer {
        limits: limits::of_run(analysis, run, &workloads),
        next: limits::next(analysis, run, &workloads),
        workloads,
    }
}

/// What sets a workload apart, in one pair of brackets: its parameters have theirs already.
fn in_brackets(apart: &str) -> String {
    match apart.trim_start_matches(", ") {
        "" => String::new(),
        bracketed if bracketed.starts_with('(') => format!(" {bracketed}"),
        bare => format!(" ({bare})"),
    }
}

fn of_workload(
    workload: &WorkloadAnalysis,
    analysis: &Analysis,
    run: &StoredRun,
    on: &str,
) -> WorkloadAnswer {
    let contenders = &analysis.contenders;
    let known = workload::find(&workload.name);
    let question = known.map_or(workload.title.clone(), |it| it.question(&workload.parameters));
    // What sets it apart, where the same workload occurs several times.
    let apart = workload.title.strip_prefix(&workload.name).map(str::trim).unwrap_or_default();
    let apart = in_brackets(apart);
    // A question that has a comma of its own ends with one.
    let comma = if question.contains(", ") && !on.is_empty() { "," } else { "" };
    let headline = Headline::of(workload);
    let mut verdict = match &headline {
        Some(headline) => verdict(headline, contenders),
        None => nothing(analysis),
    };
    if headline.is_some() && analysis.trials.outstanding > 0 {
        verdict = format!("so far {verdict}");
    }
    let (columns, rows, why) = match &headline {
        Some(headline) => {
            let (columns, rows) = table::of(headline, workload, contenders, run);
            (columns, rows, why::of(headline, contenders, processors(headline, run)))
        }
        None => {
            let (rows, why) = table::without_figures(workload, contenders, run);
            (Vec::new(), rows, why)
        }
    };
    WorkloadAnswer {
        sentence: format!("For {question}{apart}{comma}{on}: {verdict}"),
        verdict,
        standing: headline.as_ref().and_then(|it| named(it, contenders)),
        title: workload.title.clone(),
        phase: headline.as_ref().map(|it| it.phase.name.clone()).unwrap_or_default(),
        metric: headline.as_ref().map(|it| it.table.metric.id.clone()).unwrap_or_default(),
        best: headline.as_ref().map(|it| best(it, contenders)).unwrap_or_default(),
        measured: headline.as_ref().and_then(|it| work::of(it, run)),
        columns,
        rows,
        why,
        others: others(workload, headline.as_ref(), contenders, run),
    }
}

fn processors(headline: &Headline<'_>, run: &StoredRun) -> Processors {
    match run.header.is_simulated() {
        true => Processors::Simulated,
        false if is_quiet(headline.phase) => Processors::Quiet,
        false => Processors::Shared,
    }
}

fn nothing(analysis: &Analysis) -> String {
    match analysis.trials.outstanding {
        0 => "no contender has a figure that can be compared.".to_owned(),
        _ => "nothing was measured yet.".to_owned(),
    }
}

/// Those that may be the best, where anything separates the contenders and the disk was reached.
fn best(headline: &Headline<'_>, contenders: &[Conditions]) -> Vec<String> {
    let standing = headline.table.standing.as_ref().filter(|_| !untouched(headline.phase));
    let best = standing.map(|standing| standing.best()).unwrap_or_default();
    best.into_iter().map(|at| contenders[at].name.clone()).collect()
}

fn named(headline: &Headline<'_>, contenders: &[Conditions]) -> Option<NamedStanding> {
    let standing = headline.table.standing.as_ref()?;
    let name = |at: usize| contenders[at].name.clone();
    let names = |all: &[usize]| all.iter().map(|at| name(*at)).collect();
    Some(NamedStanding {
        decision: standing.decision(),
        leader: standing.leader.map(name),
        behind: standing
            .behind
            .iter()
            .map(|one| NamedBehind {
                name: name(one.contender),
                ratio: one.ratio,
                low: one.low,
                high: one.high,
                relation: one.relation,
            })
            .collect(),
        not_compared: names(&standing.not_compared),
        missing: names(&standing.missing),
        repeats: standing.repeats,
    })
}

/// The verdict as a sentence, with a full stop.
fn verdict(headline: &Headline<'_>, contenders: &[Conditions]) -> String {
    let (phase, table) = (headline.phase, headline.table);
    let Some(standing) = &table.standing else {
        return "no contender has a figure that can be compared.".to_owned();
    };
    let found = sentences::of_table(table, standing, headline.things, contenders);
    match untouched(phase) {
        false => format!("{found}."),
        true if standing.leader.is_none() => format!("{found}; nothing reached the disk."),
        true if headline.is_own => {
            format!("not decided by the disk, which nothing reached. Compared: {found}.")
        }
        true => format!(
            "not decided by the disk, which nothing reached. Processors were compared: {found}."
        ),
    }
}

/// Others' work on the processors that is no more than this share of the time is none.
const OTHERS_MOST: f64 = 0.1;

/// Whether hardly anybody but the workload used the machine's processors.
fn is_quiet(phase: &PhaseAnalysis) -> bool {
    let tables = ["wall", "cpu", "machine_cpu"].map(|id| phase.table(id));
    let [Some(wall), Some(own), Some(machine)] = tables else { return false };
    (0..wall.cells.len()).filter(|at| wall.cells[*at].mean.is_some()).all(|at| {
        let means = [machine, own, wall].map(|table| table.cells[at].mean);
        matches!(means, [Some(machine), Some(own), Some(wall)] if machine - own <= OTHERS_MOST * wall)
    })
}

/// Whether the target's requests were counted and no contender had any.
fn untouched(phase: &PhaseAnalysis) -> bool {
    let counted = ["device_write_bytes", "device_read_bytes", "device_flushes"]
        .iter()
        .filter_map(|id| phase.table(id))
        .flat_map(|table| &table.cells)
        .filter_map(|cell| cell.mean);
    let mut any = false;
    let none = counted.inspect(|_| any = true).all(|mean| mean == 0.0);
    none && any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sets_a_workload_apart_has_one_pair_of_brackets() {
        assert_eq!(in_brackets(""), "");
        assert_eq!(in_brackets("(files=10)"), " (files=10)");
        assert_eq!(in_brackets("(files=10), after age"), " (files=10), after age");
        assert_eq!(in_brackets(", after age"), " (after age)");
    }
}
