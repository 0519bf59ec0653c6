//! Sorts a run's trials into workload × phase × contender, and gives the reason for each phase
//! that is missing.

use std::collections::{BTreeMap, BTreeSet};

use store::{StoredRun, StoredTrial};
use trial::{Outcome, Step, WorkloadChoice};
use workload::{Description, NotComparable, OwnFigure, PhaseResult, PhaseStatus};

use super::Reason;

/// A run's results in the order of a report.
pub(super) struct Arranged<'r> {
    /// Names in the order asked for; sorted in runs that do not know it.
    pub(super) contenders: Vec<String>,
    pub(super) tasks: Vec<Task<'r>>,
}

/// A workload with its parameters, in one place of a sequence. The same workload after
/// another one is another task: it finds another filesystem.
pub(super) struct Task<'r> {
    pub(super) name: String,
    pub(super) title: String,
    /// Which one of those that would have the same title it is, from the second on.
    number: Option<usize>,
    pub(super) parameters: Vec<(String, String)>,
    /// Figures of its own that are ranked.
    pub(super) own: Vec<OwnFigure>,
    pub(super) phases: Vec<Phase<'r>>,
}

/// A phase of a task over all trials.
pub(super) struct Phase<'r> {
    pub(super) name: String,
    /// For each contender, in order, its trials in order of execution.
    pub(super) trials: Vec<Vec<PhaseTrial<'r>>>,
}

/// A trial's part in a phase.
pub(super) struct PhaseTrial<'r> {
    pub(super) trial: &'r StoredTrial,
    /// The phase as reported, even where it must not be compared.
    pub(super) reported: Option<&'r PhaseResult>,
    /// Why it takes no part in comparisons, if so.
    pub(super) unusable: Option<Reason>,
}

impl<'r> PhaseTrial<'r> {
    /// The phase, where it may be compared.
    pub(super) fn usable(&self) -> Option<&'r PhaseResult> {
        if self.unusable.is_none() { self.reported } else { None }
    }

    /// The phase, if its disk counts are valid: if it may be compared, or if only the lab's own
    /// overhead forbids that, since it changes no count.
    pub(super) fn counted(&self) -> Option<&'r PhaseResult> {
        if self.transport().is_some() { self.reported } else { self.usable() }
    }

    /// The phase, if its time may be compared: also with the lab's overhead, where that is less
    /// than all of it.
    pub(super) fn timed(&self) -> Option<&'r PhaseResult> {
        if self.overhead().is_some() { self.reported } else { self.usable() }
    }

    /// The share of its time that the lab's own transport took, where the truth lies between the
    /// time with and without it.
    pub(super) fn overhead(&self) -> Option<f64> {
        self.transport().map(|(share, _)| share).filter(|share| 0.0 < *share && *share < 1.0)
    }

    /// That share, and whether the kernel records idle time, if it is the only reason why the phase
    /// is unusable.
    pub(super) fn transport(&self) -> Option<(f64, bool)> {
        match self.unusable {
            Some(Reason::NotComparable {
                why: NotComparable::Transport { share, idle_known, .. },
            }) => Some((share, idle_known)),
            _ => None,
        }
    }
}

impl Task<'_> {
    /// What the catalogue says of it.
    pub(super) fn describes(&self) -> Option<&'static Description> {
        workload::find(&self.name).map(|workload| workload.describe())
    }
}

impl<'r> Arranged<'r> {
    pub(super) fn of(run: &'r StoredRun) -> Arranged<'r> {
        let contenders = contenders(run);
        let mut sequences: Vec<&'r [WorkloadChoice]> = Vec::new();
        for trial in &run.trials {
            for end in 1..=trial.spec.workloads.len() {
                let sequence = &trial.spec.workloads[..end];
                if !sequences.contains(&sequence) {
                    sequences.push(sequence);
                }
            }
        }
        // Trials are shuffled: the order of a report is the one asked for, then that of the
        // catalogue and of the sequence.
        let place = |name: &str| {
            let asked = run.header.workloads.iter().position(|asked| asked == name);
            (asked.unwrap_or(usize::MAX), place_in_catalogue(name))
        };
        sequences.sort_by_key(|sequence| (place(&sequence[0].name), sequence.len()));
        let reported: Vec<Vec<(usize, &PhaseResult)>> = run.trials.iter().map(attribute).collect();
        let mut tasks: Vec<Task<'_>> = sequences
            .iter()
            .map(|sequence| {
                let last = &sequence[sequence.len() - 1];
                Task {
                    name: last.name.clone(),
                    title: title(sequence, &sequences),
                    number: None,
                    parameters: last
                        .parameters
                        .iter()
                        .map(|(name, value)| (name.to_owned(), value.to_owned()))
                        .collect(),
                    own: workload::find(&last.name)
                        .map(|workload| workload.figures(&last.parameters))
                        .unwrap_or_default(),
                    phases: phases(run, sequence, &contenders, &reported),
                }
            })
            .collect();
        // Two files that begin alike and are as long.
        for at in 0..tasks.len() {
            let alike = tasks[..at].iter().filter(|task| task.title == tasks[at].title).count();
            if alike > 0 {
                tasks[at].number = Some(alike + 1);
            }
        }
        for task in &mut tasks {
            if let Some(number) = task.number {
                task.title = format!("{} #{number}", task.title);
            }
        }
        Arranged { contenders, tasks }
    }

    /// Remarks on the same work: blocks in which contenders' sequences of ops differ though
    /// seed and parameters are equal.
    pub(super) fn unequal_work(&self) -> Vec<(String, String, u32)> {
        let mut found = Vec::new();
        for task in &self.tasks {
            for phase in &task.phases {
                let mut digests: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
                for entry in phase.trials.iter().flatten() {
                    if let Some(result) = entry.usable() {
                        digests.entry(entry.trial.spec.block).or_default().insert(result.digest);
                    }
                }
                if let Some((block, _)) = digests.iter().find(|(_, seen)| seen.len() > 1) {
                    found.push((task.title.clone(), phase.name.clone(), *block));
                }
            }
        }
        found
    }
}

fn contenders(run: &StoredRun) -> Vec<String> {
    let present: BTreeSet<&String> =
        run.trials.iter().map(|trial| &trial.spec.contender.name).collect();
    let asked = run.header.contenders.iter().filter(|name| present.contains(name));
    let others = present.iter().copied().filter(|name| !run.header.contenders.contains(name));
    asked.chain(others).cloned().collect()
}

fn place_in_catalogue(name: &str) -> usize {
    workload::catalogue()
        .position(|workload| workload.describe().name == name)
        .unwrap_or(usize::MAX)
}

/// Which of the trial's workloads each reported phase belongs to. Phases come in order; a
/// phase name that comes again belongs to the next workload of that name.
fn attribute(trial: &StoredTrial) -> Vec<(usize, &PhaseResult)> {
    let choices = &trial.spec.workloads;
    let (mut at, mut seen) = (0, BTreeSet::new());
    let mut attributed = Vec::new();
    for phase in &trial.phases {
        let fits = |index: usize| choices.get(index).is_some_and(|c| c.name == phase.workload);
        if !fits(at) || seen.contains(&phase.phase) {
            let Some(next) = (at + 1..choices.len()).find(|index| fits(*index)) else {
                continue;
            };
            at = next;
            seen.clear();
        }
        seen.insert(phase.phase.clone());
        attributed.push((at, phase));
    }
    attributed
}

fn phases<'r>(
    run: &'r StoredRun,
    sequence: &[WorkloadChoice],
    contenders: &[String],
    reported: &[Vec<(usize, &'r PhaseResult)>],
) -> Vec<Phase<'r>> {
    let place = sequence.len() - 1;
    let counts_are_shared = crate::testbeds::counts(&run.header).is_some();
    let concerned: Vec<(&StoredTrial, usize, Vec<&PhaseResult>)> = run
        .trials
        .iter()
        .zip(reported)
        .filter(|(trial, _)| trial.spec.workloads.starts_with(sequence))
        .map(|(trial, reported)| {
            let own = reported.iter().filter(|(at, _)| *at == place).map(|(_, phase)| *phase);
            (trial, sound(trial, reported), own.collect())
        })
        .collect();
    let known = workload::find(&sequence[place].name)
        .map(|workload| workload.describe().phases.iter().map(|phase| phase.name.to_owned()))
        .into_iter()
        .flatten();
    let seen = concerned.iter().flat_map(|(.., own)| own.iter().map(|phase| phase.phase.clone()));
    let mut names: Vec<String> = Vec::new();
    for name in known.chain(seen) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    // A phase that no trial reported is not part of these parameters, unless nothing at all
    // was reported: then everything is missing and says why.
    let any = concerned.iter().any(|(.., own)| !own.is_empty());
    if any {
        names.retain(|name| concerned.iter().any(|(.., own)| own.iter().any(|p| p.phase == *name)));
    }
    names
        .into_iter()
        .map(|name| {
            let mut trials: Vec<Vec<PhaseTrial<'_>>> = contenders
                .iter()
                .map(|contender| {
                    concerned
                        .iter()
                        .filter(|(trial, ..)| trial.spec.contender.name == *contender)
                        .map(|(trial, sound, own)| {
                            let reported = own.iter().find(|phase| phase.phase == name).copied();
                            let unusable = why_unusable(trial, reported, place < *sound);
                            PhaseTrial { trial, reported, unusable }
                        })
                        .collect()
                })
                .collect();
            if counts_are_shared {
                bar_all_where_one_is_not_reached(&mut trials);
            }
            Phase { trials, name }
        })
        .collect()
}

/// Where others use the disk too, traffic in one trial may be theirs: that the phase did not reach
/// the disk in another says that it reaches it in none.
fn bar_all_where_one_is_not_reached(trials: &mut [Vec<PhaseTrial<'_>>]) {
    let not_reached = Reason::NotComparable { why: NotComparable::DeviceNotReached };
    let mut all = trials.iter().flatten();
    if !all.any(|one| one.unusable.as_ref().is_some_and(|why| why.is_like(&not_reached))) {
        return;
    }
    let usable = trials.iter_mut().flatten().filter(|one| one.unusable.is_none());
    usable.for_each(|one| one.unusable = Some(not_reached.clone()));
}

/// How many workloads of a trial that failed at work are still valid, counted from the first:
/// those that were complete before the failure, and, if a phase reported the failure itself, also
/// that phase's workload, whose later phases are marked. Everything after a workload that failed
/// is marked as not comparable, so whatever is not marked came before. If no phase failed,
/// something else was wrong (contents differ from what was written); this is attributed to the
/// last workload that is not marked.
fn sound(trial: &StoredTrial, reported: &[(usize, &PhaseResult)]) -> usize {
    if !matches!(trial.outcome, Some(Outcome::Failed { step: Step::Work, .. })) {
        return 0;
    }
    let unmarked = reported.iter().filter(|(_, phase)| {
        phase.not_comparable.is_none() && !matches!(phase.status, PhaseStatus::Skipped { .. })
    });
    let mut last = 0;
    for (at, phase) in unmarked {
        if matches!(phase.status, PhaseStatus::Failed { .. }) {
            return at + 1;
        }
        last = *at;
    }
    last
}

/// Why a phase is unusable. Its own reason takes precedence over the trial's: it is nearer to the
/// cause.
fn why_unusable(
    trial: &StoredTrial,
    reported: Option<&PhaseResult>,
    sound: bool,
) -> Option<Reason> {
    match reported.map(|result| result.status.clone()) {
        Some(PhaseStatus::Failed { reason }) => return Some(Reason::PhaseFailed { reason }),
        Some(PhaseStatus::Skipped { reason }) => return Some(Reason::PhaseSkipped { reason }),
        Some(PhaseStatus::Completed) | None => {}
    }
    let not_comparable = |result: &PhaseResult| {
        result.not_comparable.clone().map(|why| Reason::NotComparable { why })
    };
    match (&trial.outcome, reported) {
        (None, _) => Some(Reason::NotRunYet),
        (Some(Outcome::Done), None) => Some(Reason::NotReported),
        (Some(Outcome::Done), Some(result)) => not_comparable(result),
        (Some(_), Some(result)) if sound => not_comparable(result),
        (Some(outcome), _) => Some(Reason::Trial { end: outcome.clone() }),
    }
}

/// The workload's name, with the parameters that set it apart from others of that name, and
/// with what ran before it where that sets it apart.
pub(super) fn title(sequence: &[WorkloadChoice], all: &[&[WorkloadChoice]]) -> String {
    let last = &sequence[sequence.len() - 1];
    let others: Vec<&WorkloadChoice> = all
        .iter()
        .filter(|other| **other != sequence)
        .map(|other| &other[other.len() - 1])
        .filter(|other| other.name == last.name)
        .collect();
    let mut title = last.name.clone();
    let apart: Vec<String> = last
        .parameters
        .iter()
        .filter(|(name, value)| {
            others.iter().any(|other| other.parameters.iter().all(|pair| pair != (*name, *value)))
        })
        .map(|(name, value)| format!("{name}={}", workload::shown(&last.name, name, value)))
        .collect();
    if !apart.is_empty() {
        title = format!("{title} ({})", apart.join(", "));
    }
    if sequence.len() > 1 && others.contains(&last) {
        let before: Vec<&str> =
            sequence[..sequence.len() - 1].iter().map(|choice| choice.name.as_str()).collect();
        title = format!("{title}, after {}", before.join(" and "));
    }
    title
}
