//! Why one is ahead, by disk counts and processor time. Only what holds in every repeat is
//! reported.

use super::Headline;
use crate::analysis::{Conditions, MetricTable};
use crate::numbers::number;
use crate::wording::{and, factor};

/// A ratio nearer to 1 than this is no cause.
const WORTH_TELLING: f64 = 1.15;

/// Counts below these are noise of the kernel's own.
const LEAST_BYTES: f64 = 256.0 * 1024.0;
const LEAST_COUNT: f64 = 16.0;

/// A sentence without a full stop; nothing where nothing was counted or nobody is ahead.
pub(super) fn of(headline: &Headline<'_>, contenders: &[Conditions]) -> Option<String> {
    let order = headline.table.order();
    let (&best, others) = order.split_first()?;
    if others.is_empty() {
        return None;
    }
    let count = |id: &str, least: f64, verb: &str, unit: &str| {
        let table = headline.phase.table(id)?;
        told(table, best, others, least, contenders).map(|parts| Cause {
            parts,
            verb: verb.to_owned(),
            unit: unit.to_owned(),
        })
    };
    let mut said: Vec<String> = Vec::new();
    if let Some(equal) = equal_flushes(headline, &order) {
        said.push(equal);
    }
    let name = &contenders[best].name;
    let causes = [
        count("device_flushes", LEAST_COUNT, "flushes", "as often as"),
        count("device_write_bytes", LEAST_BYTES, "writes", "as much as"),
        count("device_read_bytes", LEAST_BYTES, "reads", "as much as"),
    ];
    let found: Vec<Cause> = causes.into_iter().flatten().collect();
    said.extend(found.iter().map(|cause| cause.in_words(name)));
    // The number of requests is reported only where the bytes do not explain the difference.
    if found.is_empty()
        && let Some(cause) =
            count("device_writes", LEAST_COUNT, "makes", "as many write requests as")
    {
        said.push(cause.in_words(name));
    }
    if let Some(busy) = processor(headline, best, others, contenders) {
        said.push(busy);
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// Who differs in a count, and by how much.
struct Cause {
    parts: Vec<(String, String)>,
    verb: String,
    unit: String,
}

impl Cause {
    /// `btrfs writes 23 times as much as xfs, ext4 6.2 times`.
    fn in_words(&self, best: &str) -> String {
        let parts: Vec<String> = self
            .parts
            .iter()
            .enumerate()
            .map(|(index, (name, times))| match index {
                0 => format!("{name} {} {times} times {} {best}", self.verb, self.unit),
                _ => format!("{name} {times} times"),
            })
            .collect();
        parts.join(", ")
    }
}

/// The contenders whose count differs from the best's in every repeat, largest ratio first.
fn told(
    table: &MetricTable,
    best: usize,
    others: &[usize],
    least: f64,
    contenders: &[Conditions],
) -> Option<Vec<(String, String)>> {
    let own = table.cells[best].mean?;
    let mut found: Vec<(f64, usize)> = others
        .iter()
        .filter_map(|at| Some((table.cells[*at].mean?, *at)))
        .filter(|(mean, at)| mean.max(own) >= least && apart(table, best, *at))
        // A ratio to nothing is no figure.
        .filter(|_| own > 0.0)
        .map(|(mean, at)| (mean / own, at))
        .filter(|(ratio, _)| *ratio >= WORTH_TELLING || *ratio <= 1.0 / WORTH_TELLING)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let words = |(ratio, at): &(f64, usize)| (contenders[*at].name.clone(), factor(*ratio, 2));
    (!found.is_empty()).then(|| found.iter().map(words).collect())
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

/// `equal flushes (633)`, where every contender asks for as many within 2 %.
fn equal_flushes(headline: &Headline<'_>, order: &[usize]) -> Option<String> {
    let table = headline.phase.table("device_flushes")?;
    let means: Option<Vec<f64>> = order.iter().map(|at| table.cells[*at].mean).collect();
    let means = means?;
    let (low, high) = means
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), mean| (low.min(*mean), high.max(*mean)));
    (low >= LEAST_COUNT && high / low < 1.02)
        .then(|| format!("equal flushes ({})", number(low.round())))
}

/// The processor's part in it: whether it is busy all the time for every contender, or one needs
/// much more of it.
fn processor(
    headline: &Headline<'_>,
    best: usize,
    others: &[usize],
    contenders: &[Conditions],
) -> Option<String> {
    let wall = headline.phase.table("wall")?;
    let cpu = headline.phase.table("machine_cpu").or_else(|| headline.phase.table("cpu"))?;
    let share = |at: usize| Some(cpu.cells[at].mean? / wall.cells[at].mean.filter(|it| *it > 0.0)?);
    let all: Vec<usize> = std::iter::once(best).chain(others.iter().copied()).collect();
    let bound: Vec<usize> =
        all.iter().copied().filter(|at| share(*at).is_some_and(|share| share > 0.8)).collect();
    if bound.is_empty() {
        return None;
    }
    if bound.len() == all.len() {
        return Some("all are bound by the processor, not by the disk".to_owned());
    }
    let names: Vec<&str> = bound.iter().map(|at| contenders[*at].name.as_str()).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    Some(format!("{} {verb} bound by the processor", and(&names)))
}
