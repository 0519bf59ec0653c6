//! Sentences that say what the tables show, and no more than that.

use crate::wording::{and, percent_up, times};

use super::{Cell, Conditions, MetricTable, PhaseAnalysis};

/// A sentence for each phase, led by where it belongs.
pub(super) fn of_workload(
    title: &str,
    phases: &[PhaseAnalysis],
    contenders: &[Conditions],
) -> Vec<String> {
    if contenders.is_empty() || phases.is_empty() {
        return vec![format!("On {title}: nothing was measured.")];
    }
    phases.iter().map(|phase| format!("On {title} ({}): {}.", phase.name, phase.verdict)).collect()
}

/// What wall time says about one phase; a fragment without a full stop.
pub(super) fn of_phase(phase: &PhaseAnalysis, contenders: &[Conditions]) -> String {
    let Some(table) = phase.table("wall") else {
        return "nothing was measured".to_owned();
    };
    let order = table.order();
    let name = |index: &usize| contenders[*index].name.as_str();
    let missing: Vec<&str> =
        (0..contenders.len()).filter(|index| !order.contains(index)).map(|i| name(&i)).collect();
    let mut sentence = match order[..] {
        [] => return "no contender has a comparable figure".to_owned(),
        [only] => format!("only {} has comparable figures", name(&only)),
        _ if order.iter().all(|index| table.cells[*index].figures.len() < 2) => {
            "one repeat decides nothing; the figures are shown without ranks".to_owned()
        }
        _ if table.pairs.is_empty() => "the figures cannot be compared".to_owned(),
        _ => compared(table, &order, contenders, phase.smallest_difference),
    };
    if !missing.is_empty() {
        let verb = if missing.len() == 1 { "has" } else { "have" };
        sentence = format!("{sentence}; {} {verb} no comparable figure", and(&missing));
    }
    sentence
}

fn compared(
    table: &MetricTable,
    order: &[usize],
    contenders: &[Conditions],
    smallest_difference: Option<f64>,
) -> String {
    let name = |index: &usize| contenders[*index].name.as_str();
    let names = |indices: &[usize]| {
        let names: Vec<&str> = indices.iter().map(name).collect();
        and(&names)
    };
    let cell = |index: usize| &table.cells[index];
    let leaders: Vec<usize> = order
        .iter()
        .copied()
        .filter(|index| cell(*index).rank.is_some_and(|rank| rank.best == 1))
        .collect();
    if table.pairs.iter().all(|pair| !pair.separated) {
        let all_equal = table.pairs.iter().all(|pair| pair.equivalent)
            && table.pairs.len() == order.len() * (order.len() - 1) / 2;
        return if all_equal {
            format!("{} are equal within 5 %", names(order))
        } else {
            let limit = match smallest_difference {
                Some(difference) => {
                    format!(" (these repeats would show {} or more)", percent_up(difference))
                }
                None => String::new(),
            };
            format!("{} cannot be told apart{limit}", names(order))
        };
    }
    let head = match leaders[..] {
        [leader] => format!("{} is fastest", name(&leader)),
        _ => format!("{} are fastest and cannot be told apart", names(&leaders)),
    };
    let followers: Vec<usize> =
        order.iter().copied().filter(|index| !leaders.contains(index)).collect();
    let mut clauses = vec![head];
    for group in groups(&followers, table) {
        let takes = if group.len() == 1 { "takes" } else { "take" };
        // Several that share a rank are given together, from the least to the most.
        let range = group
            .iter()
            .filter_map(|index| range(cell(*index)))
            .reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
        let factor = match range {
            Some((low, high)) => format!("{} as long", times(low, high)),
            None => "longer".to_owned(),
        };
        let shared = if group.len() > 1 { " and cannot be told apart" } else { "" };
        // Shown to differ, and shown to differ little: say both.
        let little = |index: &usize| cell(*index).against_best.is_some_and(|a| a.equivalent);
        let little = if group.iter().all(little) { ", less than 5 % apart" } else { "" };
        clauses.push(format!("{} {takes} {factor}{little}{shared}", names(&group)));
    }
    clauses.join("; ")
}

/// Neighbours of which no two are separated, so that a sentence can name them together.
fn groups(order: &[usize], table: &MetricTable) -> Vec<Vec<usize>> {
    let together = |a: usize, b: usize| {
        table
            .pairs
            .iter()
            .find(|pair| (pair.a == a && pair.b == b) || (pair.a == b && pair.b == a))
            .is_some_and(|pair| !pair.separated)
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in order {
        match groups.last_mut() {
            Some(group) if group.iter().all(|other| together(*other, *index)) => {
                group.push(*index);
            }
            _ => groups.push(vec![*index]),
        }
    }
    groups
}

/// The interval of the ratio to the best, where the difference is significant.
fn range(cell: &Cell) -> Option<(f64, f64)> {
    let against = cell.against_best.filter(|against| against.separated)?;
    Some((against.low?, against.high?))
}
