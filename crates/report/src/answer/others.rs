//! The phases that an answer is not about.

use serde::Serialize;
use store::StoredRun;

use super::work::{self, MeasuredWork};
use super::{Headline, NamedStanding, Row, named, processors, table, untouched, verdict, why};
use crate::analysis::{Conditions, PhaseAnalysis, WorkloadAnalysis};
use crate::sentences;

/// A phase that the answer is not about: in a line, and as the answer has its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OtherPhase {
    /// Its name.
    pub(crate) phase: String,
    /// Who is ahead of whom by what factor, or that nobody is.
    pub(crate) ahead: String,
    /// The metric by which the contenders are ranked.
    pub(crate) metric: String,
    /// As a sentence.
    pub(crate) verdict: String,
    /// The same as data.
    pub(crate) standing: Option<NamedStanding>,
    /// How much was measured.
    pub(crate) measured: Option<MeasuredWork>,
    /// Heads of the columns after rank and name.
    pub(crate) columns: Vec<String>,
    /// The contenders in the order of rank, those without a figure last.
    pub(crate) rows: Vec<Row>,
    /// What causes the difference, by what was counted.
    pub(crate) why: Option<String>,
}

/// Each phase that is not the headline's.
pub(super) fn others(
    workload: &WorkloadAnalysis,
    headline: Option<&Headline<'_>>,
    contenders: &[Conditions],
    run: &StoredRun,
) -> Vec<OtherPhase> {
    let is_headline = |phase: &&PhaseAnalysis| {
        headline.is_none_or(|headline| !std::ptr::eq(headline.phase, *phase))
    };
    let others = workload.phases.iter().filter(is_headline);
    others.filter_map(|phase| other(phase, workload, contenders, run)).collect()
}

fn other(
    phase: &PhaseAnalysis,
    workload: &WorkloadAnalysis,
    contenders: &[Conditions],
    run: &StoredRun,
) -> Option<OtherPhase> {
    // What a program says itself of a phase comes before how long it took.
    let own = phase.tables.iter().find(|table| table::is_own(table));
    let table = own.or_else(|| phase.table("wall"))?;
    let ahead = sentences::in_short(table, contenders)?;
    let disk = if untouched(phase) { " (nothing reached the disk)" } else { "" };
    let named_phase = match own {
        Some(table) => format!("{} ({})", phase.name, table.metric.label),
        None => phase.name.clone(),
    };
    let headline = Headline { phase, table, things: "", is_own: own.is_some() };
    let (columns, rows) = table::of(&headline, workload, contenders, run);
    Some(OtherPhase {
        phase: named_phase,
        ahead: ahead + disk,
        metric: table.metric.id.clone(),
        verdict: verdict(&headline, contenders),
        standing: named(&headline, contenders),
        measured: work::of(&headline, run),
        columns,
        rows,
        why: why::of(&headline, contenders, processors(&headline, run)),
    })
}
