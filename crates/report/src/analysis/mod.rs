//! From a stored run to tables, ranks and verdicts.

mod arrange;
mod conditions;
mod course;
mod figures;
mod footnotes;
mod measures;
mod model;
mod overhead;
mod reasons;
mod space;
mod standing;
mod warnings;

pub use conditions::Conditions;
pub(crate) use conditions::written;
pub(crate) use course::stalls;
pub use course::{DrawnCourse, Stalls};
pub use measures::{Group, Measure, Metric, Quantile, Unit, metrics_of};
pub use model::{
    AgainstBest, Analysis, CacheUse, Cell, Footnote, Mark, Measured, MetricTable, OpKind,
    PairResult, PhaseAnalysis, Rank, TrialCounts, TrialFigure, WorkloadAnalysis,
};
pub use reasons::Reason;
pub(crate) use reasons::{idle, not_comparable};
pub use space::SpaceLeft;
pub(crate) use standing::EQUIVALENCE_MARGIN;
pub use standing::{Behind, Decision, Relation, Standing};
pub use warnings::simulated_memory;
pub(crate) use warnings::{of_durability, poor_profile, simulated_machine, simulated_processors};

use store::StoredRun;
use trial::Outcome;
use workload::idle_parameters;

use arrange::Arranged;

/// Computes everything a report shows beside the raw figures. Never fails: an empty, unfinished or
/// entirely failed run has an analysis too.
pub fn analyse(run: &StoredRun) -> Analysis {
    let arranged = Arranged::of(run);
    let contenders = conditions::of_contenders(run, &arranged.contenders);
    // A run that looks at its figures before it goes on spends a share of the error rate each time.
    // So does whoever looks at one whose trials are not all made.
    let is_whole = run.trials.iter().all(|trial| trial.outcome.is_some());
    let alpha = match run.header.until {
        None if is_whole => figures::ALPHA,
        _ => stats::share_of_planned_look(figures::ALPHA),
    };
    let source_tree = run.header.environment.0.get("source_tree").map_or("", String::as_str);
    let workloads: Vec<WorkloadAnalysis> = arranged
        .tasks
        .iter()
        .map(|task| {
            let phase = |phase| figures::phase(task, phase, &contenders, alpha);
            let phases: Vec<PhaseAnalysis> = task.phases.iter().map(phase).collect();
            WorkloadAnalysis {
                name: task.name.clone(),
                title: task.title.clone(),
                summary: task.describes().map(|d| d.summary.to_owned()).unwrap_or_default(),
                parameters: task.parameters.clone(),
                idle: idle_parameters(&task.name, source_tree),
                own: task.own.iter().map(|own| format!("figure.{}", own.name)).collect(),
                verdict: crate::sentences::of_phases(&task.title, &phases, &contenders),
                phases,
            }
        })
        .collect();
    let warnings = warnings::of_run(run, &arranged, &contenders, &workloads);
    Analysis {
        alpha,
        confidence: figures::CONFIDENCE,
        equivalence_margin: EQUIVALENCE_MARGIN,
        trials: count(run),
        contenders,
        workloads,
        warnings,
    }
}

fn count(run: &StoredRun) -> TrialCounts {
    let mut counts = TrialCounts { planned: run.trials.len(), ..TrialCounts::default() };
    for trial in &run.trials {
        *match &trial.outcome {
            None => &mut counts.outstanding,
            Some(Outcome::Done) => &mut counts.done,
            Some(Outcome::Refused { .. }) => &mut counts.refused,
            Some(Outcome::Failed { .. }) => &mut counts.failed,
            Some(Outcome::TimedOut { .. }) => &mut counts.timed_out,
            Some(Outcome::GuestDied { .. } | Outcome::Lost { .. }) => &mut counts.died,
        } += 1;
    }
    counts
}
