//! Why the others are behind, by what was counted. A quantity is a cause only if it goes the way of
//! the result: who is shown to be slower has more of it, in proportion enough to matter, in every
//! repeat; nobody who is much faster has as much, and nobody who is as slow for no reason has as
//! little as the leader. Otherwise it is said that nothing explains it.

use super::Headline;
use crate::analysis::{Conditions, MetricTable, PhaseAnalysis, Stalls};
use crate::sentences::{self, percent};
use crate::wording::{and, factor};

/// A ratio nearer to 1 than this is no cause.
const WORTH_TELLING: f64 = 1.15;

/// Processor time is told by its share of the difference, however near to 1 its ratio is; below this
/// the ratio would read as 1.0.
const WORTH_A_FIGURE: f64 = 1.05;

/// Counts below these are noise of the kernel's own.
const LEAST_BYTES: f64 = 256.0 * 1024.0;
const LEAST_COUNT: f64 = 16.0;

/// A cause explains at least this share of a difference: of its logarithm for a count, of the time
/// for processor time.
const SHARE_LEAST: f64 = 1.0 / 3.0;

/// With this share of the leader's advantage (of its logarithm) over another one a contender is as
/// slow as that one.
const NEARLY: f64 = 0.8;

/// Processor times of repeats further apart than this were counted by ticks.
const TICKS: f64 = 1.5;

/// A process that took more than this share of its machine's processor time was not counted rightly.
const MACHINE: f64 = 1.02;

/// Counts this near are as much.
const AS_MUCH: f64 = 0.98;

/// With this share of its time spent in its own code and its system calls a workload is bound by the
/// processor.
const BOUND: f64 = 0.8;

/// A quantity that may be a cause.
struct Quantity {
    metric: &'static str,
    least: f64,
    verb: &'static str,
    unit: &'static str,
    /// Its name where it explains nothing.
    name: &'static str,
}

const QUANTITIES: [Quantity; 4] = [
    Quantity {
        metric: "device_flushes",
        least: LEAST_COUNT,
        verb: "flushes",
        unit: "as often as",
        name: "flushes",
    },
    Quantity {
        metric: "device_write_bytes",
        least: LEAST_BYTES,
        verb: "writes",
        unit: "as much as",
        name: "bytes",
    },
    Quantity {
        metric: "device_read_bytes",
        least: LEAST_BYTES,
        verb: "reads",
        unit: "as much as",
        name: "bytes",
    },
    Quantity {
        metric: "device_writes",
        least: LEAST_COUNT,
        verb: "makes",
        unit: "as many write requests as",
        name: "requests",
    },
];

/// Whose processors the workload used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Processors {
    /// A simulated machine's only one.
    Simulated,
    /// A machine's that hardly anybody else used.
    Quiet,
    /// Those of a machine that others used too: nothing can be said of them.
    Shared,
}

/// A sentence without a full stop; nothing where nobody is shown to be behind or nothing was
/// counted.
pub(super) fn of(
    headline: &Headline<'_>,
    contenders: &[Conditions],
    processors: Processors,
) -> Option<String> {
    let standing = headline.table.standing.as_ref()?;
    let leader = standing.leader?;
    let worse = standing.behind.iter().filter(|one| one.relation.is_worse());
    let behind: Vec<(usize, f64)> = worse.map(|one| (one.contender, one.ratio)).collect();
    if behind.is_empty() {
        return None;
    }
    let name = |at: usize| contenders[at].name.as_str();
    let mut found: Vec<Cause<'_>> = Vec::new();
    let mut known: Vec<&str> = Vec::new();
    for quantity in &QUANTITIES {
        let Some(table) = headline.phase.table(quantity.metric) else { continue };
        if table.cells.iter().all(|cell| cell.mean.is_none()) {
            continue;
        }
        if !known.contains(&quantity.name) {
            known.push(quantity.name);
        }
        // A flush takes far longer than what is written between two of them: what explains a
        // contender is told, and not what else it has more of.
        let asked: Vec<&(usize, f64)> =
            behind.iter().filter(|(at, _)| !found.iter().any(|it| it.at == *at)).collect();
        found.extend(
            asked
                .into_iter()
                .filter(|(at, worse)| !is_overtaken(headline.table, table, leader, *at, *worse))
                .filter_map(|(at, worse)| {
                    let ratio = cause(table, quantity.least, leader, *at, *worse)?;
                    Some(Cause { at: *at, worse: *worse, ratio, quantity, table })
                }),
        );
    }
    refute(&mut found, &behind, leader);
    let mut said: Vec<String> = Vec::new();
    for quantity in &QUANTITIES {
        let of = found.iter().filter(|it| it.quantity.metric == quantity.metric);
        let of: Vec<(usize, f64)> = of.map(|it| (it.at, it.ratio)).collect();
        said.extend(in_words(quantity.verb, quantity.unit, of, &name, leader));
    }
    let mut explained: Vec<usize> = found.iter().map(|it| it.at).collect();
    let has_processors = processors != Processors::Shared && is_measured(headline.phase);
    if has_processors {
        known.push("processor time");
        let found: Vec<(usize, f64)> = behind
            .iter()
            .filter_map(|(at, _)| Some((*at, by_processor(headline.phase, leader, *at)?)))
            .collect();
        explained.extend(found.iter().map(|(at, _)| *at));
        said.extend(in_words("takes", "the processor time of", found, &name, leader));
    }
    let found: Vec<(usize, &Stalls)> = behind
        .iter()
        .filter_map(|(at, _)| Some((*at, stalled(headline.phase, leader, *at)?)))
        .collect();
    explained.extend(found.iter().map(|(at, _)| *at));
    said.extend(found.iter().map(|(at, stalls)| sentences::of_stalls(name(*at), stalls)));
    // With several processors a share of the time says nothing of a limit.
    if processors == Processors::Simulated && has_processors {
        said.extend(bound(headline.phase, &standing.order(), contenders));
    }
    let rest: Vec<&str> =
        behind.iter().filter(|(at, _)| !explained.contains(at)).map(|(at, _)| name(*at)).collect();
    if !rest.is_empty() && !known.is_empty() {
        let known = or(&known);
        said.push(match rest.len() == behind.len() {
            true => format!("not explained by {known}"),
            false => format!("{} not explained by {known}", and(&rest)),
        });
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// `a`, `a or b`, `a, b or c`.
fn or(parts: &[&str]) -> String {
    match parts {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

/// How many times the leader's it is, where that may explain that a contender is `worse` times worse.
fn cause(table: &MetricTable, least: f64, leader: usize, at: usize, worse: f64) -> Option<f64> {
    let (own, its) = (table.cells[leader].mean?, table.cells[at].mean?);
    // A ratio to nothing is no figure.
    if own <= 0.0 || its < least || !apart(table, leader, at) {
        return None;
    }
    let ratio = its / own;
    (ratio >= WORTH_TELLING && ratio.ln() >= SHARE_LEAST * worse.ln()).then_some(ratio)
}

/// A quantity that explains a contender.
struct Cause<'a> {
    at: usize,
    /// How many times worse than the leader it is.
    worse: f64,
    /// How many times the leader's the quantity is.
    ratio: f64,
    quantity: &'a Quantity,
    table: &'a MetricTable,
}

/// Takes back what does not hold for others: somebody about as slow, whom nothing explains, has
/// hardly more of it than the leader.
fn refute(found: &mut Vec<Cause<'_>>, behind: &[(usize, f64)], leader: usize) {
    let unexplained: Vec<(usize, f64)> =
        behind.iter().filter(|(at, _)| !found.iter().any(|it| it.at == *at)).copied().collect();
    found.retain(|cause| {
        let has_little = |other: usize| {
            let mean = |at: usize| cause.table.cells[at].mean;
            let ratio = mean(other).zip(mean(leader)).map(|(its, own)| its / own);
            ratio.is_some_and(|ratio| ratio < WORTH_TELLING)
        };
        !unexplained
            .iter()
            .any(|(other, worse)| worse.ln() >= NEARLY * cause.worse.ln() && has_little(*other))
    });
}

/// Whether the processor time of the workload is known: not more than the machine's, and in each
/// repeat about the same. The kernel counts some of it by ticks.
fn is_measured(phase: &PhaseAnalysis) -> bool {
    let Some(own) = phase.table("cpu") else { return false };
    let machine = phase.table("machine_cpu");
    own.cells.iter().enumerate().all(|(at, cell)| {
        let values = || cell.figures.iter().map(|figure| figure.value);
        let most = values().fold(0.0, f64::max);
        let steady = most <= TICKS * values().fold(f64::INFINITY, f64::min) || most == 0.0;
        let of_machine = |trial: u32| {
            let all = &machine?.cells[at].figures;
            all.iter().find(|figure| figure.trial == trial).map(|figure| figure.value)
        };
        let within = cell
            .figures
            .iter()
            .all(|figure| of_machine(figure.trial).is_none_or(|all| figure.value <= MACHINE * all));
        steady && within
    })
}

/// Whether somebody who is shown to be faster, by a good part of what lies between the leader and
/// this one, has as much of a count.
fn is_overtaken(
    ranked: &MetricTable,
    counts: &MetricTable,
    leader: usize,
    at: usize,
    worse: f64,
) -> bool {
    let apart = ranked.pairs.iter().filter(|pair| pair.separated);
    let mean = |at: usize| ranked.cells[at].mean;
    // How far the other one is from the leader, as a share of how far this one is.
    let share = |other: usize| {
        let ratio = mean(other).zip(mean(leader)).map(|(its, own)| (its / own).ln().abs());
        ratio.map(|ratio| ratio / worse.ln())
    };
    apart
        .filter_map(|pair| pair.other(at))
        .filter(|other| is_ahead(ranked, *other, at))
        .filter(|other| share(*other).is_none_or(|share| share < NEARLY))
        .any(|other| has_as_much(counts, other, at))
}

/// Whether `one` is ahead of `other`, by their figures.
fn is_ahead(table: &MetricTable, one: usize, other: usize) -> bool {
    let order = table.order();
    let place = |at: usize| order.iter().position(|known| *known == at);
    place(one) < place(other)
}

/// Whether `one` has as much of it as `other`.
fn has_as_much(table: &MetricTable, one: usize, other: usize) -> bool {
    let mean = |at: usize| table.cells[at].mean;
    mean(one).zip(mean(other)).is_some_and(|(one, other)| one >= AS_MUCH * other)
}

/// Whether all figures of one lie beyond all of the other.
fn apart(table: &MetricTable, a: usize, b: usize) -> bool {
    let ends = |at: usize| {
        let values = table.cells[at].figures.iter().map(|figure| figure.value);
        values.fold(None, |ends: Option<(f64, f64)>, value| match ends {
            None => Some((value, value)),
            Some((low, high)) => Some((low.min(value), high.max(value))),
        })
    };
    match (ends(a), ends(b)) {
        (Some((a_low, a_high)), Some((b_low, b_high))) => a_high < b_low || b_high < a_low,
        _ => false,
    }
}

/// How many times the leader's processor time a contender's workload takes, where that makes up
/// enough of the time it takes longer.
fn by_processor(phase: &PhaseAnalysis, leader: usize, at: usize) -> Option<f64> {
    let (wall, cpu) = (phase.table("wall")?, phase.table("cpu")?);
    let longer = |table: &MetricTable| Some(table.cells[at].mean? - table.cells[leader].mean?);
    let own = cpu.cells[leader].mean.filter(|own| *own > 0.0)?;
    let ratio = cpu.cells[at].mean? / own;
    let enough = longer(wall)? > 0.0 && longer(cpu)? >= SHARE_LEAST * longer(wall)?;
    (enough && ratio >= WORTH_A_FIGURE && apart(cpu, leader, at)).then_some(ratio)
}

/// The stalls of a contender, where they make up enough of the time it takes longer.
fn stalled(phase: &PhaseAnalysis, leader: usize, at: usize) -> Option<&Stalls> {
    let wall = phase.table("wall")?;
    let of = |at: usize| phase.stalls.get(at)?.as_ref();
    let stood = |stalls: &Stalls| stalls.total / stalls.trials as f64;
    let its = of(at).filter(|stalls| stalls.times > 0)?;
    let longer = wall.cells[at].mean? - wall.cells[leader].mean?;
    let stood_longer = stood(its) - of(leader).map_or(0.0, stood);
    (longer > 0.0 && stood_longer >= SHARE_LEAST * longer).then_some(its)
}

/// Who has the processor for nearly all of its time.
fn bound(phase: &PhaseAnalysis, order: &[usize], contenders: &[Conditions]) -> Option<String> {
    let (wall, cpu) = (phase.table("wall")?, phase.table("cpu")?);
    let share = |at: usize| Some(cpu.cells[at].mean? / wall.cells[at].mean.filter(|it| *it > 0.0)?);
    let bound: Vec<&str> = order
        .iter()
        .filter(|at| share(**at).is_some_and(|share| share >= BOUND))
        .map(|at| contenders[*at].name.as_str())
        .collect();
    let (who, verb) = match bound.len() {
        0 => return None,
        all if all == order.len() => ("all".to_owned(), "are"),
        1 => (and(&bound), "is"),
        _ => (and(&bound), "are"),
    };
    Some(format!("{who} {verb} bound by the processor ({} of the time or more)", percent(BOUND)))
}

/// `btrfs writes 23 times as much as xfs, ext4 6.2 times`, largest ratio first.
fn in_words<'n>(
    verb: &str,
    unit: &str,
    mut found: Vec<(usize, f64)>,
    name: &dyn Fn(usize) -> &'n str,
    leader: usize,
) -> Option<String> {
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts: Vec<String> = found
        .iter()
        .enumerate()
        .map(|(nth, (at, ratio))| match (nth, name(*at), factor(*ratio, 2)) {
            (0, who, times) => format!("{who} {verb} {times} times {unit} {}", name(leader)),
            (_, who, times) => format!("{who} {times} times"),
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
