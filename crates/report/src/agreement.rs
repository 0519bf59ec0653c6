//! Do two runs of the same workloads agree on who is faster? For each phase and each pair of
//! contenders: what each run says, and whether both can be right.

mod times;

use std::fmt::Write;

pub use times::{Nearness, TwoTimes, nearness, times_table, two_times};

use crate::numbers::counted;
use crate::{Analysis, MetricTable, PairResult, PhaseAnalysis, WorkloadAnalysis};

/// What two runs say together of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Both separate it, the same way round.
    Agree,
    /// Both separate it, opposite ways.
    Discordant,
    /// At least one does not separate it: no contradiction.
    Open,
}

/// One pair of contenders in one phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// The workload, as the first run calls it.
    pub workload: String,
    /// Its name in the catalogue.
    pub workload_name: String,
    /// The phase.
    pub phase: String,
    /// The two contenders.
    pub pair: (String, String),
    /// The first one's time divided by the second's, in either run.
    pub runs: [PairResult; 2],
    /// What they say together.
    pub verdict: Verdict,
}

/// What a phase is compared by: its wall time, or, for workloads about a rate (those that work for
/// a set time), the time per op or byte. The flag says that it is a rate.
fn compared_by<'a>(
    workload: &WorkloadAnalysis,
    phase: &'a PhaseAnalysis,
) -> Option<(&'a MetricTable, bool)> {
    let declared = workload::find(&workload.name).map(|known| known.describe().headline);
    let first = workload.phases.first().is_some_and(|first| first.name == phase.name);
    let rate = declared
        .filter(|it| it.phase == phase.name || (it.phase.is_empty() && first))
        .filter(|it| it.metric.ends_with("_rate"))
        .and_then(|it| phase.table(it.metric));
    match rate {
        Some(table) => Some((table, true)),
        None => phase.table("wall").map(|table| (table, false)),
    }
}

/// Compares two runs by the wall times of the phases both have, or by the time per op where a
/// phase runs for a set time. Pairs that one of the runs does not compare (too few repeats, a
/// phase that is not comparable) are left out.
pub fn agreements(one: &Analysis, other: &Analysis) -> Vec<Agreement> {
    let mut found = Vec::new();
    for workload in &one.workloads {
        let same = other.workloads.iter().filter(|candidate| {
            candidate.name == workload.name && candidate.parameters == workload.parameters
        });
        for (theirs, phase) in
            same.flat_map(|theirs| workload.phases.iter().map(move |p| (theirs, p)))
        {
            let other_phase = theirs.phases.iter().find(|theirs| theirs.name == phase.name);
            let (Some((table, rate)), Some((other_table, _))) = (
                compared_by(workload, phase),
                other_phase.and_then(|phase| compared_by(theirs, phase)),
            ) else {
                continue;
            };
            for pair in &table.pairs {
                let name =
                    |analysis: &Analysis, index: usize| analysis.contenders[index].name.clone();
                let names = (name(one, pair.a), name(one, pair.b));
                if let Some(counterpart) = pair_of(other, other_table, &names) {
                    let times = |pair: &PairResult| if rate { inverse(pair) } else { *pair };
                    let (pair, counterpart) = (times(pair), times(&counterpart));
                    let verdict = verdict(&pair, &counterpart);
                    found.push(Agreement {
                        workload: workload.title.clone(),
                        workload_name: workload.name.clone(),
                        phase: phase.name.clone(),
                        pair: names,
                        runs: [pair, counterpart],
                        verdict,
                    });
                }
            }
        }
    }
    found
}

/// The pair with these names, in this order.
fn pair_of(
    analysis: &Analysis,
    table: &MetricTable,
    names: &(String, String),
) -> Option<PairResult> {
    let index = |name: &String| analysis.contenders.iter().position(|one| one.name == *name);
    let (a, b) = (index(&names.0)?, index(&names.1)?);
    table.pairs.iter().find_map(|pair| match (pair.a, pair.b) {
        found if found == (a, b) => Some(*pair),
        found if found == (b, a) => Some(PairResult { a, b, ..inverse(pair) }),
        _ => None,
    })
}

/// The same pair by the inverse of what was measured.
fn inverse(pair: &PairResult) -> PairResult {
    PairResult {
        ratio: 1.0 / pair.ratio,
        low: pair.high.map(|high| 1.0 / high),
        high: pair.low.map(|low| 1.0 / low),
        effect: pair.effect.map(|effect| -effect),
        ..*pair
    }
}

fn verdict(one: &PairResult, other: &PairResult) -> Verdict {
    if !one.separated || !other.separated {
        Verdict::Open
    } else if (one.ratio < 1.0) == (other.ratio < 1.0) {
        Verdict::Agree
    } else {
        Verdict::Discordant
    }
}

/// What becomes of a pair on which two runs disagree when the second run is repeated with a
/// parameter changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The workload.
    pub workload: String,
    /// The phase.
    pub phase: String,
    /// The two contenders.
    pub pair: (String, String),
    /// For each run with a changed parameter: the pair there, and whether that run and the first
    /// agree; `None` where it does not compare the pair.
    pub varied: Vec<Option<(PairResult, Verdict)>>,
}

impl Explanation {
    /// Whether at least one of the runs separates the pair in the same direction as the first run.
    /// One that no longer separates it does not count: it may only have too few repeats.
    pub fn is_found(&self) -> bool {
        self.varied.iter().flatten().any(|(_, verdict)| *verdict == Verdict::Agree)
    }
}

/// Looks at each pair that `found` (of `one` and another run) calls discordant, in runs that differ
/// from that other run in one parameter each.
pub fn explanations(found: &[Agreement], one: &Analysis, varied: &[Analysis]) -> Vec<Explanation> {
    let with: Vec<Vec<Agreement>> = varied.iter().map(|other| agreements(one, other)).collect();
    let discordant = found.iter().filter(|pair| pair.verdict == Verdict::Discordant);
    discordant
        .map(|pair| {
            let same = |other: &&Agreement| {
                (&other.workload, &other.phase, &other.pair)
                    == (&pair.workload, &pair.phase, &pair.pair)
            };
            let found = |run: &Vec<Agreement>| {
                run.iter().find(same).map(|other| (other.runs[1], other.verdict))
            };
            Explanation {
                workload: pair.workload.clone(),
                phase: pair.phase.clone(),
                pair: pair.pair.clone(),
                varied: with.iter().map(found).collect(),
            }
        })
        .collect()
}

/// The explanations in Markdown; `names` says what is different in each run.
pub fn explanation_table(found: &[Explanation], names: &[String]) -> String {
    let rule = "---|".repeat(3 + names.len());
    let mut text = format!("| workload | phase | pair | {} |\n|{rule}\n", names.join(" | "));
    for one in found {
        let cells = one.varied.iter().map(|varied| match varied {
            None => "not compared".to_owned(),
            Some((pair, verdict)) => {
                let word = match verdict {
                    Verdict::Agree => "agrees",
                    Verdict::Open => "open",
                    Verdict::Discordant => "still discordant",
                };
                format!("{}, {word}", ratio(pair))
            }
        });
        let cells: Vec<String> = cells.collect();
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} / {} | {} |",
            one.workload,
            one.phase,
            one.pair.0,
            one.pair.1,
            cells.join(" | ")
        );
    }
    let explained = found.iter().filter(|one| one.is_found()).count();
    let _ = writeln!(
        text,
        "\n{}; with one of these changes {explained} of them would agree.",
        counted(found.len(), "discordant pair")
    );
    text
}

/// Why figures of a run were not compared: a line for each remark on a phase, with the contenders.
pub fn left_out(run: &str, analysis: &Analysis) -> Vec<String> {
    let mut lines = Vec::new();
    for workload in &analysis.workloads {
        for phase in &workload.phases {
            let Some(table) = phase.table("wall") else { continue };
            for (number, note) in (1..).zip(&phase.footnotes) {
                // Skip remarks on other figures, such as a percentile of too few ops.
                let alone = |index: &&usize| {
                    table.cells[**index].footnotes.contains(&number)
                        && !table.pairs.iter().any(|pair| pair.a == **index || pair.b == **index)
                };
                let whom: Vec<&str> = note
                    .contenders
                    .iter()
                    .filter(alone)
                    .map(|&index| analysis.contenders[index].name.as_str())
                    .collect();
                if !whom.is_empty() {
                    let (title, phase, whom) = (&workload.title, &phase.name, whom.join(", "));
                    lines.push(format!("{run}: {title} {phase}, {whom}: {}", note.text));
                }
            }
        }
    }
    lines
}

/// A pair's ratio with its interval.
fn ratio(pair: &PairResult) -> String {
    let interval = match (pair.low, pair.high) {
        (Some(low), Some(high)) => format!(" ({low:.2} to {high:.2})"),
        _ => String::new(),
    };
    let mark = if pair.separated { "" } else { " ≈" };
    format!("{:.2}{interval}{mark}", pair.ratio)
}

/// The table in Markdown, with the number of pairs of each kind; `names` are those of the
/// two runs.
pub fn agreement_table(found: &[Agreement], names: [&str; 2]) -> String {
    let mut text = String::new();
    let [first, second] = names;
    let count = |verdict| found.iter().filter(|one| one.verdict == verdict).count();
    let (agree, discordant) = (count(Verdict::Agree), count(Verdict::Discordant));
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "| workload | phase | pair | ratio of times, {first} | n | {second} | n | both |\n\
         |---|---|---|---|---|---|---|---|"
    );
    for one in found {
        let cell = |pair: &PairResult| format!("{} | {}", ratio(pair), pair.n);
        let verdict = match one.verdict {
            Verdict::Agree => "agree",
            Verdict::Discordant => "**discordant**",
            Verdict::Open => "–",
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} / {} | {} | {} | {verdict} |",
            one.workload,
            one.phase,
            one.pair.0,
            one.pair.1,
            cell(&one.runs[0]),
            cell(&one.runs[1]),
        );
    }
    let _ = writeln!(
        text,
        "\n{}, of which both runs separate {}. In agreement: {agree}; discordant: {discordant}. \
         ≈: not separated.",
        counted(found.len(), "pair"),
        agree + discordant,
    );
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn pair(ratio: f64, separated: bool) -> PairResult {
        PairResult {
            a: 0,
            b: 1,
            ratio,
            low: Some(ratio * 0.9),
            high: Some(ratio * 1.1),
            p: 0.01,
            p_adjusted: 0.01,
            effect: None,
            paired: true,
            n: 5,
            separated,
            equivalent: false,
        }
    }

    #[test]
    fn only_what_both_separate_can_agree_or_not() {
        assert_eq!(verdict(&pair(0.5, true), &pair(0.9, true)), Verdict::Agree);
        assert_eq!(verdict(&pair(0.5, true), &pair(1.2, true)), Verdict::Discordant);
        assert_eq!(verdict(&pair(0.5, true), &pair(1.2, false)), Verdict::Open);
    }

    #[test]
    fn a_change_explains_a_pair_that_is_no_longer_discordant() {
        let with = |verdict| Explanation {
            workload: "w".to_owned(),
            phase: "io".to_owned(),
            pair: ("ext4".to_owned(), "xfs".to_owned()),
            varied: vec![None, Some((pair(0.7, true), verdict))],
        };
        let names = ["instruction_ns=2".to_owned(), "disk.read_ahead=0".to_owned()];
        let text = explanation_table(&[with(Verdict::Agree)], &names);
        assert!(text.contains("| not compared | 0.70 (0.63 to 0.77), agrees |"), "{text}");
        assert!(text.contains("1 discordant pair; with one of these changes 1 of them"), "{text}");
        let text = explanation_table(&[with(Verdict::Discordant)], &names);
        assert!(
            text.contains("still discordant |") && text.contains(" changes 0 of them"),
            "{text}"
        );
    }

    #[test]
    fn the_table_counts_and_marks() {
        let one = |verdict, second| Agreement {
            workload: "w".to_owned(),
            workload_name: "w".to_owned(),
            phase: "io".to_owned(),
            pair: ("ext4".to_owned(), "xfs".to_owned()),
            runs: [pair(0.5, true), second],
            verdict,
        };
        let found = [one(Verdict::Agree, pair(0.7, true)), one(Verdict::Open, pair(1.1, false))];
        let text = agreement_table(&found, ["device", "lab"]);
        assert!(
            text.contains("2 pairs, of which both runs separate 1. In agreement: 1; discordant: 0"),
            "{text}"
        );
        assert!(text.contains("1.10 (0.99 to 1.21) ≈ | 5 | – |"), "{text}");
    }
}
