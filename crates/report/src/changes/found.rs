//! Finds what is not the same in two runs that are compared.

use std::collections::BTreeSet;

use store::{Environment, RunState, StoredRun, StoredTrial};

use super::difference::{Difference, Effect, What};
use crate::analysis::Analysis;

/// Where a run takes place, as far as that is known before it begins.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The testbed's name.
    pub testbed: &'a str,
    /// Its facts.
    pub environment: &'a Environment,
    /// The scale of its workloads.
    pub scale: f64,
}

/// Facts of the single run, such as when and how it was begun: they always differ.
const OF_A_RUN: [&str; 3] = ["command_line", "load_at_start", "uptime"];
/// What makes a machine of the lab; the profile's name comes first.
const PROFILE: [&str; 13] = [
    "lab_profile",
    "lab_ram",
    "lab_ram_available",
    "lab_instruction_ns",
    "lab_disk",
    "lab_disk_write_cache",
    "lab_disk_depth",
    "lab_disk_scheduler",
    "lab_journal_disk",
    "lab_journal_disk_write_cache",
    "lab_controller",
    "lab_data_scale",
    "lab_processors",
];
const FRONT_END: &str = "lab_front_end";
const LAB: [&str; 2] = ["lab_id", "lab_emulator"];
const INPUTS: [&str; 2] = ["mail_source", "source_tree"];
const PROCESSORS: [&str; 2] = ["processor", "processors"];
/// Facts that a contender's own conditions give more exactly.
const KERNEL: [&str; 3] = ["kernel", "kernel_build", "lab_kernel"];
/// The facts of a real machine that a figure may depend on.
const MACHINE: [&str; 10] = [
    "memory",
    "swap",
    "device_serial",
    "device_path",
    "target_path",
    "virtual_machine",
    "distribution",
    "kernel_command_line",
    "transparent_hugepages",
    "processor_governor",
];

/// What differs between two places.
pub fn places(before: Place<'_>, after: Place<'_>) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut differ = |what: What, effect: Effect, one: String, other: String| {
        if one != other {
            found.push(Difference { what, before: one, after: other, effect });
        }
    };
    let fact = |place: Place<'_>, key: &str| place.environment.0.get(key).cloned();
    let both = |key: &str| [before, after].map(|place| fact(place, key).unwrap_or_default());
    let [one, other] = [before, after].map(|place| place.testbed.to_owned());
    let same_testbed = one == other;
    differ(What::Testbed, Effect::Refuses, one, other);
    if same_testbed {
        let [one, other] = both(FRONT_END);
        let same_front_end = one == other;
        differ(What::FrontEnd, Effect::Refuses, one, other);
        let [one, other] = machines(before, after, same_front_end);
        differ(What::Profile, Effect::Refuses, one, other);
    }
    let in_lab = [before, after].iter().all(|place| place.environment.0.contains_key(FRONT_END));
    if !in_lab {
        let [one, other] = [before, after].map(|place| {
            let facts = PROCESSORS.iter().filter_map(|key| fact(place, key));
            facts.collect::<Vec<_>>().join(", ")
        });
        differ(What::Processors, Effect::Refuses, one, other);
    }
    differ(What::Scale, Effect::Refuses, before.scale.to_string(), after.scale.to_string());
    for key in INPUTS {
        let [one, other] = both(key);
        differ(What::Input, Effect::Refuses, one, other);
    }
    let [one, other] = both("own_program");
    differ(What::Program, Effect::Marks, one, other);
    for key in LAB {
        let [one, other] = both(key);
        differ(What::Lab, Effect::Marks, one, other);
    }
    let keys: BTreeSet<&String> =
        before.environment.0.keys().chain(after.environment.0.keys()).collect();
    let known = |key: &&String| {
        let said = [&OF_A_RUN[..], &PROFILE, &LAB, &INPUTS, &KERNEL, &[FRONT_END, "own_program"]];
        let said = said.iter().any(|some| some.contains(&key.as_str()));
        said || (!in_lab && PROCESSORS.contains(&key.as_str()))
    };
    for key in keys.into_iter().filter(|key| !known(key)) {
        let [one, other] = both(key);
        let counts = !in_lab && MACHINE.contains(&key.as_str());
        let effect = if counts { Effect::Marks } else { Effect::Noted };
        differ(What::Fact { name: key.clone() }, effect, one, other);
    }
    found
}

/// The facts of the lab's machines that differ; the name of a profile says nothing more where the
/// front end is all that was changed.
fn machines(before: Place<'_>, after: Place<'_>, same_front_end: bool) -> [String; 2] {
    let fact = |place: Place<'_>, key: &str| place.environment.0.get(key).cloned();
    let (name, facts) = (PROFILE[0], &PROFILE[1..]);
    let differing: Vec<&&str> =
        facts.iter().filter(|key| fact(before, key) != fact(after, key)).collect();
    if differing.is_empty() && !same_front_end {
        return Default::default();
    }
    [before, after].map(|place| {
        let of_fact = |key: &&&str| {
            let value = fact(place, key).unwrap_or_else(|| "none".to_owned());
            format!("{} {value}", key.trim_start_matches("lab_").replace('_', " "))
        };
        let name = fact(place, name).map(|name| without_front_end(&name));
        name.into_iter().chain(differing.iter().map(of_fact)).collect::<Vec<_>>().join(", ")
    })
}

/// A profile's name without the front end that was asked for, which is compared by itself: a kernel
/// that has none but nbd gets it unasked.
fn without_front_end(name: &str) -> String {
    let Some((profile, changes)) = name.split_once(" with ") else { return name.to_owned() };
    let others = changes.split(' ').filter(|change| !change.starts_with("front_end="));
    match &others.collect::<Vec<_>>()[..] {
        [] => profile.to_owned(),
        others => format!("{profile} with {}", others.join(" ")),
    }
}

/// What differs between two runs as wholes.
pub(super) fn of_runs(before: &StoredRun, after: &StoredRun) -> Vec<Difference> {
    let (old, new) = (&before.header, &after.header);
    let mut found = Vec::new();
    let done = |run: &StoredRun| {
        let ended: Vec<_> = run.trials.iter().filter_map(|trial| trial.outcome.as_ref()).collect();
        let done = ended.iter().filter(|outcome| outcome.is_done()).count();
        match ended.len() - done {
            0 => format!("{done} of {}", run.trials.len()),
            others => format!("{done} of {}, {others} failed or refused", run.trials.len()),
        }
    };
    if [old, new].iter().any(|header| header.state == RunState::Open) {
        let effect = Effect::Refuses;
        let (before, after) = (done(before), done(after));
        found.push(Difference { what: What::Unfinished, before, after, effect });
    }
    let [one, other] = [old, new].map(|header| Place {
        testbed: &header.testbed,
        environment: &header.environment,
        scale: header.scale,
    });
    found.extend(places(one, other));
    let pairs = [
        (What::Seed, old.seed.to_string(), new.seed.to_string()),
        (What::Version, old.fstrial_version.clone(), new.fstrial_version.clone()),
    ];
    let differ = pairs.into_iter().filter(|(_, before, after)| before != after);
    let effect = Effect::Marks;
    found.extend(differ.map(|(what, before, after)| Difference { what, before, after, effect }));
    let kernels = |run: &StoredRun| {
        let made = run.trials.iter().filter_map(|trial| trial.made.as_ref());
        made.map(|made| made.kernel.clone()).collect::<BTreeSet<_>>()
    };
    let [before, after] = [before, after].map(kernels).map(|all| joined(all, ", "));
    if before != after && !before.is_empty() && !after.is_empty() {
        found.push(Difference { what: What::Kernel, before, after, effect });
    }
    found
}

/// What a contender really ran on, before and after.
pub(super) fn of_contender(
    [before, after]: [&StoredRun; 2],
    analysis: &Analysis,
    name: &str,
) -> Vec<Difference> {
    let [one, other] = &analysis.contenders[..] else { return Vec::new() };
    let trials = |run: &StoredRun| -> Vec<StoredTrial> {
        run.trials.iter().filter(|trial| trial.spec.contender.name == name).cloned().collect()
    };
    let (old, new) = (trials(before), trials(after));
    let asked =
        old.first().map(|it| &it.spec.contender) != new.first().map(|it| &it.spec.contender);
    let contender = || name.to_owned();
    let sizes = |trials: &[StoredTrial]| {
        let sizes: BTreeSet<_> = trials.iter().filter_map(|trial| trial.spec.size).collect();
        joined(sizes.iter().map(ToString::to_string), ", ")
    };
    let tools = |tools: &[(String, String)]| {
        joined(tools.iter().map(|(tool, version)| format!("{tool} {version}")), ", ")
    };
    let [mounted, remounted] = only_in_one(&one.mount_options, &other.mount_options, ',');
    let [made, remade] = only_in_one(&one.features, &other.features, ' ');
    let marks = Effect::Marks;
    let rows = [
        (What::Size { contender: contender() }, Effect::Refuses, sizes(&old), sizes(&new)),
        (What::MountOptions { contender: contender(), asked }, marks, mounted, remounted),
        (What::Features { contender: contender(), asked }, marks, made, remade),
        (
            What::Device { contender: contender() },
            marks,
            one.device.join("; "),
            other.device.join("; "),
        ),
        (What::Tools { contender: contender() }, marks, tools(&one.tools), tools(&other.tools)),
    ];
    let differ = rows.into_iter().filter(|(_, _, before, after)| before != after);
    let known = differ.filter(|_| [one, other].iter().all(|side| side.done > 0));
    known
        .map(|(what, effect, before, after)| Difference { what, before, after, effect })
        .chain(other_work(&old, &new))
        .collect()
}

/// Phases in which trials of the same seed and parameters did not do the same.
fn other_work(old: &[StoredTrial], new: &[StoredTrial]) -> Vec<Difference> {
    let mut found: Vec<Difference> = Vec::new();
    for before in old {
        let spec = &before.spec;
        let same =
            |it: &&StoredTrial| (it.spec.seed, &it.spec.workloads) == (spec.seed, &spec.workloads);
        for after in new.iter().filter(same) {
            for phase in before.phases.iter().filter(|phase| phase.digest != 0) {
                let like = |it: &&workload::PhaseResult| {
                    (&it.workload, &it.phase) == (&phase.workload, &phase.phase)
                };
                // A phase that a sequence has several times is not paired by its name.
                let once = before.phases.iter().filter(like).count() == 1;
                let other = after.phases.iter().filter(like).find(|it| {
                    once && it.digest != 0
                        && it.digest != phase.digest
                        && [*it, phase]
                            .iter()
                            .all(|it| it.status == workload::PhaseStatus::Completed)
                });
                let what =
                    What::Work { workload: phase.workload.clone(), phase: phase.phase.clone() };
                if let Some(other) = other
                    && found.iter().all(|known| known.what != what)
                {
                    let did = |it: &workload::PhaseResult| match phase.ops == other.ops {
                        true => format!("digest {:016x}", it.digest),
                        false => format!("{} ops", it.ops),
                    };
                    let (before, after) = (did(phase), did(other));
                    found.push(Difference { what, before, after, effect: Effect::Marks });
                }
            }
        }
    }
    found
}

/// The words that one has and the other has not, and the reverse; `none` where there are none.
fn only_in_one(one: &[String], other: &[String], between: char) -> [String; 2] {
    let words = |lists: &[String]| -> BTreeSet<String> {
        let words = lists.iter().flat_map(|list| list.split(between));
        words.map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
    };
    let (one, other) = (words(one), words(other));
    let separator = if between == ',' { "," } else { " " };
    [one.difference(&other), other.difference(&one)].map(|only| match joined(only, separator) {
        none if none.is_empty() => "none".to_owned(),
        some => some,
    })
}

fn joined<T: AsRef<str>>(words: impl IntoIterator<Item = T>, between: &str) -> String {
    let words: Vec<T> = words.into_iter().collect();
    words.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(between)
}
