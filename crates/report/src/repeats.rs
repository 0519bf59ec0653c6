//! How many repeats a run made, where it decides that by its figures, and why no more.

use std::time::Duration;

use stats::{Enough, FirstPlace, Look};
use store::{RunState, StoredRun, Until};

use crate::analysis::{Analysis, Decision, MetricTable, Relation, analyse};
use crate::answer::headline_table;
use crate::numbers::counted;

/// What the figures of a run show of the first place, in all that its answer is about.
pub fn first_place(run: &StoredRun) -> FirstPlace {
    of_analysis(&analyse(run))
}

fn of_analysis(analysis: &Analysis) -> FirstPlace {
    let tables = analysis.workloads.iter().filter_map(headline_table);
    // Where nobody has a figure, more repeats give none.
    tables.map(of_table).reduce(FirstPlace::and).unwrap_or(FirstPlace::Level)
}

fn of_table(table: &MetricTable) -> FirstPlace {
    let Some(standing) = &table.standing else { return FirstPlace::Level };
    match standing.decision() {
        Decision::NoFigure | Decision::Alone => FirstPlace::Level,
        Decision::TooFew | Decision::Open => FirstPlace::Open,
        Decision::First => FirstPlace::Decided,
        Decision::Level => {
            let all = standing.behind.iter().all(|behind| behind.relation == Relation::Level);
            if all { FirstPlace::Level } else { FirstPlace::Decided }
        }
    }
}

/// Why a run made no more than so many repeats, as a sentence.
fn enough(repeats: u32, why: Enough, until: Until) -> String {
    let repeats = counted(repeats as usize, "repeat");
    match why {
        Enough::Decided => format!("{repeats}, by which the first place is decided."),
        Enough::Level => format!("{repeats}, by which all are level within 5 %."),
        Enough::Most => format!(
            "{repeats}, the most that are made unasked: who is first is not decided; --repeats N \
             makes more."
        ),
        Enough::Spent => format!(
            "{repeats}: who is first is not decided, and more would take over {} of work; \
             --repeats N makes them.",
            until.budget
        ),
    }
}

/// The same of a run that has ended, and that was asked to decide it.
pub(crate) fn said(analysis: &Analysis, run: &StoredRun) -> Option<String> {
    let until = run.header.until.filter(|_| run.header.state == RunState::Complete)?;
    let (repeats, budget) = (run.header.repeats, Duration::from_nanos(until.budget.0));
    match stats::look(repeats, of_analysis(analysis), run.host_time(), budget) {
        Look::Enough(why) => Some(enough(repeats, why, until)),
        Look::Further(_) => None,
    }
}
