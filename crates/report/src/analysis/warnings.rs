//! What limits the use of a run's figures.

use std::collections::BTreeSet;

use stack::Durability;
use store::{Environment, RunState, StoredRun};
use trial::Outcome;

use super::arrange::Arranged;
use super::{Conditions, PhaseAnalysis, WorkloadAnalysis};
use crate::numbers::counted;
use crate::wording::and;

pub(super) fn of_run(
    run: &StoredRun,
    arranged: &Arranged<'_>,
    contenders: &[Conditions],
    workloads: &[WorkloadAnalysis],
) -> Vec<String> {
    let mut warnings = Vec::new();
    let outstanding = run.trials.iter().filter(|trial| trial.outcome.is_none()).count();
    let is_lost = |outcome: &Option<Outcome>| matches!(outcome, Some(Outcome::Lost { .. }));
    let lost = run.trials.iter().filter(|trial| is_lost(&trial.outcome)).count();
    let open = run.header.state == RunState::Open;
    if open && lost > 0 {
        warnings.push(format!(
            "Something outside of the trials ended {}: {} again with `--resume {}`.",
            counted(lost, "trial"),
            if lost == 1 { "it runs" } else { "they run" },
            run.header.id
        ));
    }
    if outstanding > 0 || (open && lost == 0) {
        warnings.push(format!(
            "The run is not complete: {} of {} not run yet. The command that began it goes on \
             with `--resume {}`.",
            outstanding,
            counted(run.trials.len(), "trial"),
            run.header.id
        ));
    }
    warnings.extend(poor_profile(run));
    warnings.extend(of_lab(run));
    warnings.extend(of_repeats(run, contenders));
    warnings.extend(of_durability(contenders));
    warnings.extend(of_kernels(contenders));
    warnings.extend(of_failures(contenders));
    warnings.extend(of_absentees(run, contenders));
    for (workload, phase, block) in arranged.unequal_work() {
        warnings.push(format!(
            "In {workload} ({phase}) the contenders did not do the same ops though they had the \
             same seed (first seen in block {block}); their figures do not belong together."
        ));
    }
    warnings.extend(of_caches(workloads, contenders));
    warnings
}

/// That the simulated machine is not the one it was measured on.
pub(crate) fn poor_profile(run: &StoredRun) -> Option<String> {
    let fact = |name: &str| run.header.environment.0.get(name);
    let (name, why) = (fact("lab_profile")?, fact("lab_profile_poor")?);
    Some(format!("The machine {name} is a POOR copy of the one it was measured on: {why}"))
}

/// The limits of a simulated machine.
fn of_lab(run: &StoredRun) -> Option<String> {
    let machine = simulated_machine(run)?;
    let (processors, threads) = match simulated_processors(run) {
        1 => ("one processor".to_owned(), "the figures say nothing about several threads"),
        several => (
            format!("{several} processors"),
            "cache lines that move between processors, NUMA and changing frequencies cost nothing",
        ),
    };
    Some(format!(
        "Measured in the lab, on {machine}. It has {processors} and a fixed time per instruction, \
         and a disk model is not a drive's firmware: {threads}, and where the processor is the \
         limit they are right in rough proportion only."
    ))
}

fn of_repeats(run: &StoredRun, contenders: &[Conditions]) -> Option<String> {
    if run.header.repeats >= 2 || contenders.len() < 2 {
        return None;
    }
    // The sentence that is also shown before a run; the spread plays no part in it.
    let reason = stats::Plan::new(contenders.len(), 1, 0.0).undecidable()?;
    let reason = reason.to_string();
    let mut letters = reason.chars();
    let first = letters.next()?.to_uppercase();
    Some(format!("{first}{}.", letters.as_str()))
}

/// That some contenders promise less than others.
pub(crate) fn of_durability(contenders: &[Conditions]) -> Option<String> {
    let levels: BTreeSet<Durability> = contenders.iter().filter_map(|c| c.durability).collect();
    if levels.len() < 2 {
        return None;
    }
    let flagged: Vec<String> = contenders
        .iter()
        .filter_map(|c| Some(format!("{} ({})", c.name, c.durability_flag()?)))
        .collect();
    let verb = if flagged.len() == 1 { "promises" } else { "promise" };
    Some(format!(
        "Unequal durability: {} {verb} less after an fsync than the others, which makes a \
         comparison of speed unfair.",
        and(&flagged.iter().map(String::as_str).collect::<Vec<_>>())
    ))
}

fn of_kernels(contenders: &[Conditions]) -> Option<String> {
    let kernels: BTreeSet<&str> =
        contenders.iter().flat_map(|c| &c.kernel).map(String::as_str).collect();
    (kernels.len() > 1).then(|| {
        let kernels: Vec<&str> = kernels.into_iter().collect();
        format!("Trials ran on different kernels: {}.", and(&kernels))
    })
}

fn of_failures(contenders: &[Conditions]) -> Option<String> {
    let partly: Vec<String> = contenders
        .iter()
        .filter(|c| 0 < c.done && c.done < c.trials)
        .map(|c| format!("{} ({} of {})", c.name, c.done, c.trials))
        .collect();
    (!partly.is_empty()).then(|| {
        format!(
            "Not every trial was done: {}. Means rest on those that were.",
            and(&partly.iter().map(String::as_str).collect::<Vec<_>>())
        )
    })
}

/// Who could not be run at all, and why.
fn of_absentees(run: &StoredRun, contenders: &[Conditions]) -> Vec<String> {
    contenders
        .iter()
        .filter(|contender| contender.done == 0)
        .filter_map(|contender| {
            let mut reasons: Vec<String> = run
                .trials
                .iter()
                .filter(|trial| trial.spec.contender.name == contender.name)
                .filter_map(|trial| trial.outcome.as_ref().map(ToString::to_string))
                .collect();
            reasons.dedup();
            let first = reasons.first()?;
            let more = match reasons.len() {
                1 => String::new(),
                count => format!(" (and {})", counted(count - 1, "other reason")),
            };
            Some(format!("{} could not be measured: {first}{more}.", contender.name))
        })
        .collect()
}

fn of_caches(workloads: &[WorkloadAnalysis], contenders: &[Conditions]) -> Vec<String> {
    let mut warnings = Vec::new();
    for workload in workloads {
        // How a cache was emptied makes no difference: a pool's is emptied by other means than a
        // partition's.
        let differs = |phase: &&PhaseAnalysis| {
            phase.cache.len() > 1 && phase.cache.iter().any(|state| !state.cold)
        };
        for phase in workload.phases.iter().filter(differs) {
            let parts: Vec<String> = phase
                .cache
                .iter()
                .map(|state| {
                    let names: Vec<&str> =
                        state.contenders.iter().map(|i| contenders[*i].name.as_str()).collect();
                    format!("{} for {}", state.words, and(&names))
                })
                .collect();
            warnings.push(format!(
                "{} ({}) began with different caches: {}.",
                workload.title,
                phase.name,
                parts.join("; ")
            ));
        }
    }
    warnings
}

/// The memory of the machine that was simulated, in words, with what the kernel and the tools leave of
/// it for the programs and the cache: `256 MiB of memory with 96 MiB available`. `None` outside the
/// lab.
pub fn simulated_memory(environment: &Environment) -> Option<String> {
    let memory = format!("{} of memory", environment.0.get("lab_ram")?);
    Some(match environment.0.get("lab_ram_available") {
        Some(available) => format!("{memory} with {available} available"),
        None => memory,
    })
}

/// The processors of a simulated machine; earlier runs had one and did not say so.
pub(crate) fn simulated_processors(run: &StoredRun) -> u64 {
    let processors = run.header.environment.0.get("lab_processors");
    processors.and_then(|count| count.parse().ok()).unwrap_or(1)
}

/// The machine that was simulated, in words: profile, memory, disk. `None` outside the lab.
pub(crate) fn simulated_machine(run: &StoredRun) -> Option<String> {
    let fact = |key: &str| run.header.environment.0.get(key).map(String::as_str);
    let profile = fact("lab_profile")?;
    let mut parts = vec![format!("the simulated machine {profile}")];
    parts.extend(simulated_memory(&run.header.environment));
    parts.extend(fact("lab_instruction_ns").map(|ns| format!("{ns} ns an instruction")));
    let layouts = || run.trials.iter().map(|trial| &trial.spec.contender.layout);
    // A controller, which a layout may choose, decides about the caches of the disks behind it.
    let behind = layouts().next().is_some() && layouts().all(|layout| layout.is_hardware());
    parts.extend(fact("lab_disk").map(|disk| {
        let cache = fact("lab_disk_write_cache").unwrap_or("unknown");
        match behind {
            true => format!("disks {disk} behind a RAID controller"),
            false => format!("disk {disk} with its write cache {cache}"),
        }
    }));
    Some(parts.join(", "))
}
