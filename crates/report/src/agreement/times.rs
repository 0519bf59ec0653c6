//! How far two runs are from each other in absolute times, and in the ratios between contenders.

use crate::numbers::counted;
use std::fmt::Write;

use super::{Agreement, compared_by};
use crate::{Analysis, Cell};

/// Times that are further apart than this factor are marked.
const FAR: f64 = 1.6;

/// A contender's wall time in a phase in two runs, or its time per op or byte where the workload is
/// about a rate.
#[derive(Debug, Clone, PartialEq)]
pub struct TwoTimes {
    /// The workload, as the first run calls it.
    pub workload: String,
    /// Its name in the catalogue.
    pub workload_name: String,
    /// The phase.
    pub phase: String,
    /// The contender.
    pub contender: String,
    /// Seconds of each repeat of the first run, ascending; not empty.
    pub first: Vec<f64>,
    /// The same of the second.
    pub second: Vec<f64>,
}

impl TwoTimes {
    /// Median of the second run divided by that of the first.
    pub fn factor(&self) -> f64 {
        median(&self.second) / median(&self.first)
    }

    /// How far apart the two are, as a factor of 1 or more.
    fn apart(&self) -> f64 {
        self.factor().max(1.0 / self.factor())
    }
}

/// The middle one of ascending numbers, or the mean of the two in the middle.
fn median(ascending: &[f64]) -> f64 {
    let middle = ascending.len() / 2;
    match ascending.len() % 2 {
        0 => f64::midpoint(ascending[middle - 1], ascending[middle]),
        _ => ascending[middle],
    }
}

/// The times of all phases that both runs have, contender by contender. Figures without a
/// time, and times of 0, take no part.
pub fn two_times(one: &Analysis, other: &Analysis) -> Vec<TwoTimes> {
    let mut found = Vec::new();
    for workload in &one.workloads {
        let same = other.workloads.iter().find(|candidate| {
            candidate.name == workload.name && candidate.parameters == workload.parameters
        });
        for phase in &workload.phases {
            let theirs = same.and_then(|same| {
                let theirs = same.phases.iter().find(|theirs| theirs.name == phase.name)?;
                compared_by(same, theirs)
            });
            let tables = (compared_by(workload, phase), theirs);
            let (Some((table, rate)), Some((other_table, _))) = tables else { continue };
            for (conditions, cell) in one.contenders.iter().zip(&table.cells) {
                let place = other.contenders.iter().position(|c| c.name == conditions.name);
                let Some(counterpart) = place.map(|place| &other_table.cells[place]) else {
                    continue;
                };
                let (first, second) = (seconds(cell, rate), seconds(counterpart, rate));
                if !first.is_empty() && !second.is_empty() {
                    found.push(TwoTimes {
                        workload: workload.title.clone(),
                        workload_name: workload.name.clone(),
                        phase: phase.name.clone(),
                        contender: conditions.name.clone(),
                        first,
                        second,
                    });
                }
            }
        }
    }
    found
}

fn seconds(cell: &Cell, rate: bool) -> Vec<f64> {
    let figures = cell.figures.iter().map(|figure| figure.value).filter(|value| *value > 0.0);
    let mut seconds: Vec<f64> =
        figures.map(|value| if rate { 1.0 / value } else { value }).collect();
    seconds.sort_by(f64::total_cmp);
    seconds
}

/// How close two runs are to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearness {
    /// Times that both have.
    pub times: usize,
    /// Median error of the second run's times, as a share of the first's; missing without times.
    pub median_error: Option<f64>,
    /// Share of them that is within a factor of 1.6.
    pub near: Option<f64>,
    /// Ratios between contenders that both have.
    pub ratios: usize,
    /// Median error of the second run's ratios, as a share of the first's.
    pub ratio_error: Option<f64>,
}

/// Sums up.
pub fn nearness(times: &[TwoTimes], pairs: &[Agreement]) -> Nearness {
    let middle = |mut errors: Vec<f64>| {
        errors.sort_by(f64::total_cmp);
        (!errors.is_empty()).then(|| median(&errors))
    };
    let near = times.iter().filter(|one| one.apart() <= FAR).count();
    let ratio_error = |pair: &Agreement| (pair.runs[1].ratio / pair.runs[0].ratio - 1.0).abs();
    Nearness {
        times: times.len(),
        median_error: middle(times.iter().map(|one| (one.factor() - 1.0).abs()).collect()),
        near: (!times.is_empty()).then(|| near as f64 / times.len() as f64),
        ratios: pairs.len(),
        ratio_error: middle(pairs.iter().map(ratio_error).collect()),
    }
}

impl Nearness {
    /// In a sentence.
    pub fn words(&self) -> String {
        let percent = |share: Option<f64>| match share {
            Some(share) => format!("{:.0} %", share * 100.0),
            None => "missing".to_owned(),
        };
        format!(
            "{}: median error {}, {} within a factor of {FAR}. {} between contenders: median \
             error {}.",
            counted(self.times, "time"),
            percent(self.median_error),
            percent(self.near),
            counted(self.ratios, "ratio"),
            percent(self.ratio_error)
        )
    }
}

/// The times in Markdown; `names` are those of the two runs. What is further apart than a factor
/// of 1.6 is in bold.
pub fn times_table(times: &[TwoTimes], names: [&str; 2]) -> String {
    let [first, second] = names;
    let mut text = format!(
        "| workload | phase | contender | {first} | lowest to highest | {second} | factor |\n\
         |---|---|---|--:|---|--:|--:|\n"
    );
    let duration = |seconds: f64| units::Nanos((seconds * 1e9).round() as u64).to_string();
    for one in times {
        let factor = match one.apart() > FAR {
            true => format!("**{:.2}**", one.factor()),
            false => format!("{:.2}", one.factor()),
        };
        let range = match (one.first.first(), one.first.last()) {
            (Some(low), Some(high)) => format!("{} to {}", duration(*low), duration(*high)),
            _ => String::new(),
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {range} | {} | {factor} |",
            one.workload,
            one.phase,
            one.contender,
            duration(median(&one.first)),
            duration(median(&one.second)),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::Verdict;
    use crate::agreement::tests::pair;

    fn times(first: &[f64], second: &[f64]) -> TwoTimes {
        TwoTimes {
            workload: "w".to_owned(),
            workload_name: "w".to_owned(),
            phase: "io".to_owned(),
            contender: "ext4".to_owned(),
            first: first.to_vec(),
            second: second.to_vec(),
        }
    }

    fn ratio(first: f64, second: f64) -> Agreement {
        Agreement {
            workload: "w".to_owned(),
            workload_name: "w".to_owned(),
            phase: "io".to_owned(),
            pair: ("ext4".to_owned(), "xfs".to_owned()),
            runs: [pair(first, true), pair(second, true)],
            verdict: Verdict::Agree,
        }
    }

    #[test]
    fn medians_are_compared_and_what_is_far_is_counted() {
        let all =
            [times(&[1.0, 2.0, 9.0], &[1.8]), times(&[1.0], &[1.6]), times(&[1.0, 3.0], &[1.0])];
        let found = nearness(&all, &[ratio(2.0, 1.0), ratio(1.0, 1.2), ratio(1.0, 1.1)]);
        assert_eq!((found.times, found.ratios), (3, 3));
        // 10 %, 60 % and 50 %; the last is a factor of 2.
        assert!((found.median_error.unwrap() - 0.5).abs() < 1e-9, "{found:?}");
        assert!((found.near.unwrap() - 2.0 / 3.0).abs() < 1e-9, "{found:?}");
        assert!((found.ratio_error.unwrap() - 0.2).abs() < 1e-9, "{found:?}");
        let words = "3 times: median error 50 %, 67 % within a factor of 1.6. 3 ratios between \
                     contenders: median error 20 %.";
        assert_eq!(found.words(), words);
    }

    #[test]
    fn nothing_in_common_has_no_error() {
        let found = nearness(&[], &[]);
        assert_eq!((found.median_error, found.near, found.ratio_error), (None, None, None));
        assert!(found.words().contains("median error missing"));
    }

    #[test]
    fn the_table_marks_what_is_far() {
        let text =
            times_table(&[times(&[0.5, 1.0, 2.0], &[1.7]), times(&[1.0], &[0.7])], ["a", "b"]);
        assert!(
            text.contains("| w | io | ext4 | 1.00 s | 500 ms to 2.00 s | 1.70 s | **1.70** |"),
            "{text}"
        );
        assert!(text.contains("| 700 ms | 0.70 |"), "{text}");
    }
}
