//! On which machines a study was run, in words.

use crate::{Part, Results, atom};

/// The machine of a run: the study's own, or what an assumption changes of it.
pub(super) fn machine(results: &Results, assumption: Option<&str>) -> String {
    let of = |id: &str| results.study.assumptions.iter().find(|it| it.id == id);
    assumption.map_or("the study's own".to_owned(), |id| {
        format!("another {}", of(id).map_or(id.to_owned(), |it| it.about()))
    })
}

/// On which machine and at which scale each part was run, one sentence each.
pub(super) fn how(results: &Results) -> Vec<String> {
    let base: Vec<_> = results.runs.iter().filter(|run| run.assumption.is_none()).collect();
    let mut said = Vec::new();
    for part in &results.study.parts {
        let own: Vec<_> = base.iter().filter(|run| run.part == part.id).collect();
        let Some(first) = own.first() else {
            said.push(format!("{} was not run.", part.title));
            continue;
        };
        let mut scales: Vec<f64> = own.iter().map(|run| run.scale).collect();
        scales.sort_by(f64::total_cmp);
        scales.dedup();
        let largest = scales.last().map_or(0.0, |scale| scale / part.published_scale);
        let scales: Vec<String> = scales.iter().map(f64::to_string).collect();
        let scales = scales.join(", ");
        let fact = |key: &str| first.environment.0.get(key).cloned();
        let machine = match results.simulated {
            true => format!(
                "in the lab: {} ns an instruction, {}{}, disk {}, kernel {}",
                fact("lab_instruction_ns").unwrap_or_default(),
                report::simulated_memory(&first.environment).unwrap_or_default(),
                at_size(part, largest),
                fact("lab_disk").unwrap_or_default(),
                first.kernel(),
            ),
            false => format!("on testbed {}, kernel {}", results.testbed, first.kernel()),
        };
        let (trials, done): (usize, usize) =
            own.iter().fold((0, 0), |sum, run| (sum.0 + run.trials, sum.1 + run.done));
        said.push(format!(
            "{}: {machine}; scale {scales}, {done} of {trials} trials done.",
            part.title
        ));
    }
    if !results.study.scale_reason.is_empty() {
        let study = &results.study;
        let of_another = results.runs.iter().any(|run| {
            study.part(&run.part).is_some_and(|part| run.scale != study.scale_of(part, None))
        });
        let scaled = results
            .runs
            .iter()
            .any(|run| study.part(&run.part).is_some_and(|part| run.scale != part.published_scale));
        let what = match (of_another, scaled) {
            (true, true) => Some("The study says of the size of a trial run, its default"),
            // The reasons for a smaller size say nothing of a run at the published one.
            (true, false) => None,
            (false, true) => Some("Not at full size"),
            (false, false) => Some("Not the same"),
        };
        said.extend(what.map(|what| format!("{what}: {}", study.scale_reason)));
    }
    said
}

/// What differs about a part's machine at sizes up to the largest that was run: ` (from 25 %: available=48M)`.
fn at_size(part: &Part, largest: f64) -> String {
    let said: Vec<String> = part
        .at_size
        .iter()
        .filter(|it| it.from <= largest)
        .map(|it| {
            let changes: Vec<_> =
                it.changes.iter().map(|(key, is)| format!("{key}={is}")).collect();
            format!("from {}: {}", atom::percent(it.from), changes.join(" "))
        })
        .collect();
    if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) }
}
