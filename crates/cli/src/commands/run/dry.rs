//! `--dry-run`, and notes on a plan before it runs.

use std::collections::BTreeMap;

use report::counted;
use runner::{Durations, Prepared, Remaining, Request};
use trial::WorkloadChoice;

use crate::exit::Failure;
use crate::output::say;
use crate::progress::span;
use crate::testbeds;

/// Relative spread of a phase's time on a quiet machine, where nothing better is known.
const TYPICAL_SPREAD: f64 = 0.05;

/// A plan that cannot detect differences below this (9: ten times as long) decides nothing.
const HOPELESS_DIFFERENCE: f64 = 9.0;

/// A plan that detects only differences larger than this gets a note.
const TELLING_DIFFERENCE: f64 = 0.1;

/// The plan, the room it needs and the time it will take.
pub(super) fn describe(prepared: &Prepared, durations: &Durations) -> Result<String, Failure> {
    let request = &prepared.request;
    let mut text = String::new();
    text += &format!(
        "{} on testbed {}: {}, {}, seed {}, scale {}\n\n",
        counted(prepared.trials.len(), "trial"),
        prepared.testbed.name(),
        counted(request.contenders.len(), "contender"),
        repeats(request),
        request.seed,
        request.scale
    );
    let refused: BTreeMap<_, _> =
        prepared.refused.iter().map(|(index, why)| (index, why)).collect();
    for (index, spec) in prepared.trials.iter().enumerate() {
        let workloads: Vec<_> = spec.workloads.iter().map(|choice| choice.name.as_str()).collect();
        let refused = refused.get(&index);
        let left_out = refused.map(|why| format!("  left out: {why}")).unwrap_or_default();
        text += &format!(
            "{:>5}  repeat {:<3} {:<24} on {}{left_out}\n",
            index + 1,
            spec.block + 1,
            workloads.join("+"),
            spec.contender.name
        );
    }
    text += "\nparameters:\n";
    let mut shown: Vec<String> = Vec::new();
    let mut seen: Vec<&WorkloadChoice> = Vec::new();
    for choice in prepared.trials.iter().flat_map(|spec| &spec.workloads) {
        if seen.contains(&choice) {
            continue;
        }
        seen.push(choice);
        let typed = |(name, value)| {
            let value = workload::shown(&choice.name, name, value);
            format!("{name}={value}")
        };
        let idle = workload::idle_parameters(&choice.name, &request.source_tree);
        let acts = |(name, _): &(&str, &str)| !idle.contains(name);
        let values: Vec<_> = choice.parameters.iter().filter(acts).map(typed).collect();
        let line = format!("  {}: {}\n", choice.name, values.join(" "));
        if !shown.contains(&line) {
            text += &line;
            shown.push(line);
        }
    }
    let makes_filesystems = testbeds::describe(&request.testbed)?.makes_filesystems;
    let size = request.size.filter(|_| makes_filesystems);
    let room = testbeds::read(&request.testbed)?.room(size);
    let lanes = prepared.testbed.lanes(&prepared.trials);
    let time = match Remaining::of(&prepared.trials).left(durations, &[], lanes) {
        Some(estimate) => format!(
            "{} (trials like {} were run here before)",
            span(estimate),
            match estimate.known == estimate.trials {
                true => "these".to_owned(),
                false => format!("{} of these {}", estimate.known, estimate.trials),
            }
        ),
        None => {
            "unknown: no such trial was run here before; --repeats 1 gives an estimate".to_owned()
        }
    };
    text += &format!("\nroom:  {room}\ntime:  {time}\n");
    Ok(text)
}

/// How often everything is repeated, in words.
fn repeats(request: &Request) -> String {
    let planned = counted(request.repeats as usize, "repeat");
    match (request.until, stats::LOOKS.last()) {
        (Some(_), Some(most)) => {
            format!("{planned}, and up to {most} until it is decided who is first")
        }
        _ => planned,
    }
}

/// Warns beforehand if the repeats are too few to decide anything.
pub(super) fn warn_about_power(prepared: &Prepared) {
    let contenders = prepared.request.contenders.len();
    // Repeats that are added until they decide need no warning.
    if contenders < 2 || prepared.request.until.is_some() {
        return;
    }
    let simulated = testbeds::describe(&prepared.request.testbed).is_ok_and(|it| it.simulated);
    let smaller = match simulated {
        true => {
            "; contenders are compared seed by seed here, which often shows smaller differences"
        }
        false => "",
    };
    let plan = stats::Plan::new(contenders, prepared.request.repeats as usize, TYPICAL_SPREAD);
    match (plan.undecidable(), plan.smallest_difference()) {
        (Some(why), _) => say!("note: {why}"),
        (None, Ok(difference)) if difference > HOPELESS_DIFFERENCE => say!(
            "note: if figures vary by {:.0} % by chance, {} repeats of {contenders} contenders show \
             only what takes more than {:.0} times as long; showing 10 % takes {} repeats{smaller}",
            TYPICAL_SPREAD * 100.0,
            prepared.request.repeats,
            HOPELESS_DIFFERENCE + 1.0,
            repeats_for_a_tenth(&plan),
        ),
        (None, Ok(difference)) if difference > TELLING_DIFFERENCE => say!(
            "note: if figures vary by {:.0} % by chance, {} repeats of {contenders} contenders show \
             differences of {:.0} % or more; showing 10 % takes {} repeats{smaller}",
            TYPICAL_SPREAD * 100.0,
            prepared.request.repeats,
            difference * 100.0,
            repeats_for_a_tenth(&plan),
        ),
        _ => {}
    }
}

fn repeats_for_a_tenth(plan: &stats::Plan) -> String {
    plan.repeats_for(0.1).map_or("more than can be run".to_owned(), |repeats| repeats.to_string())
}
