//! The course of a phase: a chart and what stood still.

use serde::Serialize;

use super::latencies::LegendEntry;
use crate::analysis::{Conditions, DrawnCourse, PhaseAnalysis};
use crate::charts;
use crate::sentences::stalls;

#[derive(Serialize)]
pub(super) struct Course {
    chart: String,
    legend: Vec<LegendEntry>,
    /// A sentence for each contender that stood still.
    stalls: Vec<String>,
}

/// Nothing where no course was taken down.
pub(super) fn course(
    phase: &PhaseAnalysis,
    order: &[usize],
    contenders: &[Conditions],
) -> Option<Course> {
    let of = |index: &usize| {
        let course = phase.courses.get(*index)?.as_ref()?;
        Some((*index, contenders[*index].name.as_str(), course))
    };
    let drawn: Vec<(usize, &str, &DrawnCourse)> = order.iter().filter_map(of).collect();
    let what = format!("Ops a second over the time of {}", phase.name);
    Some(Course {
        chart: charts::course(&drawn, &what)?,
        legend: drawn.iter().map(|(index, name, _)| LegendEntry::of(*index, name)).collect(),
        stalls: stalls(phase, contenders),
    })
}
