//! `fstrial self agreement`: do a run of the lab and one of a real device agree, and if not,
//! a change of which parameter of the lab makes them agree?

use std::collections::BTreeSet;

use store::{Store, StoredRun};

use super::processor::WORKLOADS as FITTED;
use crate::arguments::LabAgreement;
use crate::exit::{Ended, Exit, Failure};
use crate::output::print;
use report::{Agreement, TwoTimes};

/// Compares stored runs, or makes them first, and prints the tables.
pub(super) fn agreement(lab: Option<&str>, arguments: &LabAgreement) -> Ended {
    let ([one, other], varied) = match (&arguments.one, &arguments.other) {
        (Some(one), Some(other)) => stored(arguments, [one, other])?,
        _ => (super::twin::measure(lab, arguments)?, Vec::new()),
    };
    let (first, second) = (report::analyse(&one), report::analyse(&other));
    let found = report::agreements(&first, &second);
    let name = |run: &StoredRun| format!("{} ({})", run.header.testbed, run.header.id);
    let names = [name(&one), name(&other)];
    let mut left_out = report::left_out(&names[0], &first);
    left_out.extend(report::left_out(&names[1], &second));
    let mut text = String::new();
    if !left_out.is_empty() {
        text = format!("\nNot compared:\n\n* {}\n", left_out.join("\n* "));
    }
    if found.is_empty() {
        let message = format!(
            "runs {} and {} have no pair of contenders in common that both compare: give both the \
             same workloads, parameters and contenders, and at least two repeats{text}",
            one.header.id, other.header.id
        );
        return Err(Failure::new(Exit::Refused, message));
    }
    let times = report::two_times(&first, &second);
    let both = [names[0].as_str(), names[1].as_str()];
    print(&format!("{}\n", report::nearness(&times, &found).words()))?;
    print(&format!("{}\n", of_held_out(&other, &times, &found).unwrap_or_default()))?;
    print(&format!("{}\n", report::times_table(&times, both)))?;
    print(&format!("{}{text}", report::agreement_table(&found, both)))?;
    let analyses: Vec<_> = varied.iter().map(report::analyse).collect();
    let explained = report::explanations(&found, &first, &analyses);
    if !varied.is_empty() && !explained.is_empty() {
        let names: Vec<String> = varied.iter().map(|run| difference(&other, run)).collect();
        print(&format!("\n{}", report::explanation_table(&explained, &names)))?;
    }
    let all = explained.iter().all(report::Explanation::is_found);
    Ok(if all { Exit::Done } else { Exit::SomeFailed })
}

/// The two runs, and those that differ from the second in one parameter each.
fn stored(
    arguments: &LabAgreement,
    [one, other]: [&String; 2],
) -> Result<([StoredRun; 2], Vec<StoredRun>), Failure> {
    let path = arguments.store.path.clone().unwrap_or_else(Store::default_path);
    let store = crate::files::open_store(&path)?;
    let read = |id: &String| store.run(id).map_err(Failure::from(Exit::Store));
    let varied = arguments.varied.iter().map(read).collect::<Result<_, _>>()?;
    Ok(([read(one)?, read(other)?], varied))
}

/// How close the two runs are on workloads that were not used to fit the lab's machine to this
/// one; `None` if the machine was not fitted, or no other workload was run.
fn of_held_out(lab: &StoredRun, times: &[TwoTimes], found: &[Agreement]) -> Option<String> {
    let profile = lab.header.environment.0.get("lab_profile")?;
    let fitted = |name: &String| FITTED.contains(&name.as_str());
    let unseen: Vec<_> = times.iter().filter(|it| !fitted(&it.workload_name)).cloned().collect();
    let pairs: Vec<_> = found.iter().filter(|it| !fitted(&it.workload_name)).cloned().collect();
    let near = report::nearness(&unseen, &pairs);
    let some = profile.starts_with(lab::THIS_MACHINE) && near.times > 0;
    some.then(|| format!("Of workloads that took no part in fitting: {}\n", near.words()))
}

/// How a run of the lab differs from `base`, as the list of profile changes; its testbed and id if
/// nothing differs, or if the profile is another one.
fn difference(base: &StoredRun, run: &StoredRun) -> String {
    let profile = |run: &StoredRun| -> Option<(String, BTreeSet<String>)> {
        let name = run.header.environment.0.get("lab_profile")?;
        let (name, changes) = name.split_once(" with ").unwrap_or((name, ""));
        Some((name.to_owned(), changes.split_whitespace().map(str::to_owned).collect()))
    };
    let differing = match (profile(base), profile(run)) {
        (Some((one, of_base)), Some((other, of_run))) if one == other => {
            let more = of_run.difference(&of_base).cloned();
            let fewer = of_base.difference(&of_run).map(|change| format!("without {change}"));
            let disk = |run: &StoredRun| run.header.environment.0.get("lab_disk").cloned();
            let other = disk(run).filter(|_| disk(run) != disk(base));
            let other = other.map(|disk| format!("disk {disk}"));
            more.chain(other).chain(fewer).collect::<Vec<_>>()
        }
        _ => Vec::new(),
    };
    match differing.is_empty() {
        true => format!("{} ({})", run.header.testbed, run.header.id),
        false => differing.join(" and "),
    }
}
