//! A phase's latencies: a curve for each contender and the percentiles beneath.

use measure::Latencies;
use serde::Serialize;
use store::StoredRun;
use trial::Outcome;

use super::other_figures::{OtherRow, other_rows};
use crate::analysis::{
    Conditions, Measure, MetricTable, PhaseAnalysis, Quantile, WorkloadAnalysis,
};
use crate::charts::{Curve, colour, curves, is_dashed};

#[derive(Serialize)]
pub(super) struct Latency {
    op: String,
    span: String,
    /// None of so few ops that it would be an empty field.
    chart: Option<String>,
    legend: Vec<LegendEntry>,
    columns: Vec<String>,
    rows: Vec<OtherRow>,
}

#[derive(Serialize)]
pub(super) struct LegendEntry {
    name: String,
    colour: String,
    dashed: bool,
}

impl LegendEntry {
    pub(super) fn of(contender: usize, name: &str) -> LegendEntry {
        let dashed = is_dashed(contender);
        LegendEntry { name: name.to_owned(), colour: colour(contender), dashed }
    }
}

/// One entry for each kind of op that took place.
pub(super) fn latencies(
    workload: &WorkloadAnalysis,
    phase: &PhaseAnalysis,
    order: &[usize],
    contenders: &[Conditions],
    run: &StoredRun,
) -> Vec<Latency> {
    let mut kinds: Vec<&str> = Vec::new();
    for (kind, _) in phase.tables.iter().filter_map(of_latency) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
        .into_iter()
        .map(|kind| {
            let tables: Vec<&MetricTable> = phase
                .tables
                .iter()
                .filter(|table| of_latency(table).is_some_and(|(known, _)| known == kind))
                .collect();
            let drawn: Vec<Curve<'_>> = order
                .iter()
                .map(|index| Curve {
                    contender: *index,
                    name: &contenders[*index].name,
                    latencies: merged(run, workload, phase, kind, &contenders[*index].name),
                })
                .collect();
            let what = format!("Latency of {kind} in {} by percentile", phase.name);
            let span = phase.ops.iter().find(|op| op.name == kind);
            Latency {
                op: kind.to_owned(),
                span: span.map(|op| op.span.clone()).unwrap_or_default(),
                chart: curves(&drawn, &what),
                legend: drawn
                    .iter()
                    .filter(|curve| curve.latencies.count() > 0)
                    .map(|curve| LegendEntry::of(curve.contender, curve.name))
                    .collect(),
                columns: tables
                    .iter()
                    .filter_map(|table| Some(of_latency(table)?.1.word().to_owned()))
                    .collect(),
                rows: other_rows(order, &tables, contenders),
            }
        })
        .collect()
}

/// The kind of op and the quantile of a table of latencies.
fn of_latency(table: &MetricTable) -> Option<(&str, Quantile)> {
    match &table.metric.measure {
        Measure::Latency(kind, quantile) => Some((kind, *quantile)),
        _ => None,
    }
}

/// One distribution over all the contender's trials that took part.
fn merged(
    run: &StoredRun,
    workload: &WorkloadAnalysis,
    phase: &PhaseAnalysis,
    kind: &str,
    contender: &str,
) -> Latencies {
    let counted = phase
        .table("wall")
        .map(|table| table.cells.iter().flat_map(|cell| &cell.figures).map(|figure| figure.trial));
    let ordinals: Vec<u32> = counted.into_iter().flatten().collect();
    let mut all = Latencies::new();
    run.trials
        .iter()
        .filter(|trial| trial.spec.contender.name == contender)
        .filter(|trial| trial.outcome.as_ref().is_some_and(Outcome::is_done))
        .filter(|trial| ordinals.contains(&trial.ordinal))
        .flat_map(|trial| &trial.phases)
        .filter(|result| result.workload == workload.name && result.phase == phase.name)
        .filter_map(|result| result.latencies.get(kind))
        .for_each(|latencies| all.merge(latencies));
    all
}
