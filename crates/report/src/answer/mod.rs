//! The answer to the question that a run asked, on one screen: who is best at what matters,
//! by how much, why, what limits it, and what to do next.

mod limits;
mod table;
mod why;

use serde::Serialize;
use store::StoredRun;

use crate::analysis::{Analysis, Conditions, Mark, MetricTable, PhaseAnalysis, WorkloadAnalysis};
use crate::testbeds;
use crate::wording::and;

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
    /// `For delivering mail on server-ssd (simulated): xfs.`
    pub(crate) sentence: String,
    /// The same without the question: `xfs.`
    pub(crate) verdict: String,
    /// Its name in the report.
    pub(crate) title: String,
    /// The phase it is about; empty where nothing was measured.
    pub(crate) phase: String,
    /// The metric of that phase by which the contenders are ranked; empty likewise.
    pub(crate) metric: String,
    /// The leader, or the leaders that cannot be told apart; empty where it is undecided.
    pub(crate) best: Vec<String>,
    /// Heads of the columns after rank and name.
    pub(crate) columns: Vec<String>,
    /// The contenders in the order of rank, those without a figure last.
    pub(crate) rows: Vec<Row>,
    /// What causes the difference, by what was counted.
    pub(crate) why: Option<String>,
    /// The other phases, in the order of the report.
    pub(crate) others: Vec<OtherPhase>,
}

impl WorkloadAnswer {
    /// Whether any contender has a figure at what matters.
    fn measured(&self) -> bool {
        self.rows.iter().any(|row| row.missing.is_none())
    }

    /// The phase it is about, in the analysis it was made from.
    fn phase_of<'a>(&self, workload: &'a WorkloadAnalysis) -> Option<&'a PhaseAnalysis> {
        workload.phases.iter().find(|phase| phase.name == self.phase)
    }
}

/// A phase that the answer is not about, in a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OtherPhase {
    /// Its name.
    pub(crate) phase: String,
    /// Who is ahead of whom by what factor, or that nobody is.
    pub(crate) ahead: String,
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
}

impl<'a> Headline<'a> {
    /// The figure of its own that a workload is about.
    fn own(workload: &'a WorkloadAnalysis) -> Option<Headline<'a>> {
        let id = workload.own.as_deref()?;
        let found = |phase: &'a PhaseAnalysis| Some((phase, phase.table(id)?));
        let (phase, table) = workload.phases.iter().find_map(found)?;
        let measured = table.cells.iter().any(|cell| cell.mean.is_some());
        measured.then_some(Headline { phase, table, things: "" })
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
            let table = phase.table(headline.metric).filter(has_figures)?;
            Some(Headline { phase, table, things: headline.things })
        });
        of_declared.or_else(|| {
            workload.phases.iter().find_map(|phase| {
                let table = phase.table("wall").filter(has_figures)?;
                Some(Headline { phase, table, things: "" })
            })
        })
    }
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
    let verdict = match &headline {
        Some(headline) => verdict(headline, contenders),
        None => nothing(analysis),
    };
    let (columns, mut rows) = table::of(headline.as_ref(), workload, contenders, run);
    let why = match &headline {
        Some(headline) => why::of(headline, contenders),
        None => table::told_once(&mut rows),
    };
    WorkloadAnswer {
        sentence: format!("For {question}{apart}{comma}{on}: {verdict}"),
        verdict,
        title: workload.title.clone(),
        phase: headline.as_ref().map(|it| it.phase.name.clone()).unwrap_or_default(),
        metric: headline.as_ref().map(|it| it.table.metric.id.clone()).unwrap_or_default(),
        best: headline.as_ref().map(|it| best(it, contenders)).unwrap_or_default(),
        columns,
        rows,
        why,
        others: others(workload, headline.as_ref(), contenders),
    }
}

fn nothing(analysis: &Analysis) -> String {
    match analysis.trials.outstanding {
        0 => "no contender has a figure that can be compared.".to_owned(),
        _ => "nothing was measured yet.".to_owned(),
    }
}

/// Those of rank one, where anything separates the contenders and the disk was reached.
fn best(headline: &Headline<'_>, contenders: &[Conditions]) -> Vec<String> {
    let table = headline.table;
    if untouched(headline.phase) || table.pairs.iter().all(|pair| !pair.separated) {
        return Vec::new();
    }
    let leaders = leaders(table).into_iter();
    leaders.map(|at| contenders[at].name.clone()).collect()
}

/// Indices of the cells of rank one, in the order of rank.
fn leaders(table: &MetricTable) -> Vec<usize> {
    let leads = |at: &usize| table.cells[*at].rank.is_some_and(|rank| rank.best == 1);
    table.order().into_iter().filter(leads).collect()
}

/// The verdict as a sentence, with a full stop.
fn verdict(headline: &Headline<'_>, contenders: &[Conditions]) -> String {
    let (phase, table) = (headline.phase, headline.table);
    let order = table.order();
    let names = |indices: &[usize]| {
        let names: Vec<&str> = indices.iter().map(|at| contenders[*at].name.as_str()).collect();
        names
    };
    let leaders = leaders(table);
    let found = match order[..] {
        [] => return "no contender has a figure that can be compared.".to_owned(),
        [only] if contenders.len() > 1 => {
            return format!("only {} has figures that can be compared.", contenders[only].name);
        }
        [_] => return "one contender, nothing to compare it with.".to_owned(),
        _ if order.iter().all(|at| table.cells[*at].figures.len() < 2) => {
            return "undecided: one repeat decides nothing.".to_owned();
        }
        _ if table.pairs.iter().all(|pair| !pair.separated) => {
            undecided(table, phase, &order, &names)
        }
        _ => match leaders[..] {
            [leader] => contenders[leader].name.clone() + little(table, &order),
            _ => format!("{}, which cannot be told apart", names(&leaders).join(" or ")),
        },
    };
    match untouched(phase) {
        true => format!(
            "not decided by the disk, which nothing reached. Processors were compared: {found}."
        ),
        false => format!("{found}."),
    }
}

/// A remark if even the last contender is hardly behind.
fn little(table: &MetricTable, order: &[usize]) -> &'static str {
    let near = |at: &usize| {
        table.cells[*at].against_best.is_none_or(|against| against.separated && against.equivalent)
    };
    if order.iter().all(near) { ", by less than 5 %" } else { "" }
}

fn undecided<'n>(
    table: &MetricTable,
    phase: &PhaseAnalysis,
    order: &[usize],
    names: &dyn Fn(&[usize]) -> Vec<&'n str>,
) -> String {
    let all = and(&names(order));
    let pairs = order.len() * (order.len() - 1) / 2;
    if table.pairs.len() == pairs && table.pairs.iter().all(|pair| pair.equivalent) {
        return format!("no difference, {all} are equal within 5 %");
    }
    let shown = phase.smallest_difference.map(|difference| {
        format!(
            "; these repeats would show a difference of {}",
            crate::wording::percent_up(difference)
        )
    });
    format!("undecided, {all} cannot be told apart{}", shown.unwrap_or_default())
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

/// A line for each phase that is not the headline's.
fn others(
    workload: &WorkloadAnalysis,
    headline: Option<&Headline<'_>>,
    contenders: &[Conditions],
) -> Vec<OtherPhase> {
    let is_headline = |phase: &&PhaseAnalysis| {
        headline.is_none_or(|headline| !std::ptr::eq(headline.phase, *phase))
    };
    workload
        .phases
        .iter()
        .filter(is_headline)
        .filter_map(|phase| {
            let ahead = ahead(phase, contenders)?;
            Some(OtherPhase { phase: phase.name.clone(), ahead })
        })
        .collect()
}

/// `xfs 1, ext4 1.32×, btrfs 4.2–4.3×`, `xfs or f2fs 1, ext4 1.3×` where two cannot be told
/// apart, or that nobody is ahead.
fn ahead(phase: &PhaseAnalysis, contenders: &[Conditions]) -> Option<String> {
    let table = phase.table("wall")?;
    let order = table.order();
    if order.is_empty() {
        return None;
    }
    let disk = if untouched(phase) { " (nothing reached the disk)" } else { "" };
    if order.len() > 1 && table.pairs.iter().all(|pair| !pair.separated) {
        return Some(format!("no difference shown{disk}"));
    }
    let name = |at: &usize| contenders[*at].name.as_str();
    let leaders = leaders(table);
    let first = leaders.iter().map(name).collect::<Vec<_>>().join(" or ");
    let behind = order.iter().filter(|at| !leaders.contains(at));
    let behind = behind.map(|at| format!("{} {}", name(at), table::factor(&table.cells[*at])));
    let parts: Vec<String> = std::iter::once(format!("{first} 1")).chain(behind).collect();
    Some(parts.join(", ") + disk)
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
