//! Verdicts on invented runs, each written by hand: every assertion, on both sides of its bound.

use std::collections::BTreeMap;

use proptest::prelude::*;
use runner::StudyTag;
use stack::Contender;
use store::{Environment, RunHeader, RunState, StoredRun, StoredTrial};
use trial::{Outcome, TrialRecord, TrialSpec, WorkloadChoice};
use units::{Bytes, Nanos};
use workload::{Cache, Parameters, PhaseResult, PhaseStatus, Seed};

use crate::cells_tests::HEAD;
use crate::verdict::Verdict::{self, DoesNotHold, Holds, NotRun, Partly, Undecided};
use crate::{Judged, PartRun, Source, Study, load, results};

/// A study of one row `r` with one claim.
pub(crate) fn study(better: &str, values: &str, claim: &str) -> Study {
    study_with(better, values, claim, "")
}

/// The same with more rows.
pub(crate) fn study_with(better: &str, values: &str, claim: &str, rows: &str) -> Study {
    let study = r#"
[[part]]
id = "p"
title = "Part"
profile = "scsi-2004"
contenders = ["a=ext2", "b=ext3", "c=xfs"]
workloads = [{ id = "w", run = "null:ops=10" }]

[[assumption]]
id = "slow-cpu"
text = "two nanoseconds an instruction"
change = { instruction_ns = 2 }
"#;
    let published = format!(
        r#"
[[table]]
id = "t"
part = "p"
title = "Table"
columns = ["a", "b", "c"]
[[table.row]]
id = "r"
label = "Row"
unit = "s"
better = "{better}"
values = [{values}]
measure = {{ workload = "w", phase = "spin", metric = "wall" }}
{rows}"#
    );
    let claims = format!("[[claim]]\nid = \"A1\"\ntext = \"It is.\"\ntest = [\"r: {claim}\"]\n");
    let files = [("study.toml", format!("{HEAD}{study}")), ("published.toml", published)];
    let files = files.into_iter().chain([("claims.toml", claims)]);
    let files = files.map(|(name, text)| (name.to_owned(), text)).collect();
    let source = Source { named: "tiny".to_owned(), prefix: String::new(), files };
    load(&source).unwrap_or_else(|problems| panic!("{claim}: {}", problems[0]))
}

/// Seconds of one contender's trials, by seed.
pub(crate) type Series = Vec<(u64, f64)>;

/// Deviations whose sum is zero, so that the spread does not change the mean.
const PATTERN: [f64; 8] = [-1.2, 0.7, -0.3, 1.1, -0.8, 0.4, -0.5, 0.6];

/// Eight seeds around `mean`; `turn` rotates the deviations, so that contenders differ in them.
pub(crate) fn about(mean: f64, spread: f64, turn: usize) -> Series {
    let value = |at: usize| mean * (spread * PATTERN[(at + turn) % PATTERN.len()]).exp();
    (0..8).map(|at| (at as u64 + 1, value(at))).collect()
}

pub(crate) fn run(series: &[(&str, Series)]) -> PartRun {
    let mut trials = Vec::new();
    for (name, values) in series {
        let filesystem = match *name {
            "a" => "ext2",
            "b" => "ext3",
            _ => "xfs",
        };
        for (seed, seconds) in values {
            let null = workload::find("null").unwrap().describe();
            let given = BTreeMap::from([("ops".to_owned(), "10".to_owned())]);
            trials.push(StoredTrial {
                ordinal: u32::try_from(trials.len()).unwrap(),
                spec: TrialSpec {
                    contender: Contender {
                        name: (*name).to_owned(),
                        ..Contender::plain(filesystem)
                    },
                    workloads: vec![WorkloadChoice {
                        name: "null".to_owned(),
                        parameters: Parameters::resolve(null, &given, 1.0).unwrap(),
                    }],
                    seed: Seed(*seed),
                    block: u32::try_from(*seed).unwrap(),
                    size: None,
                    verify: false,
                    timeout: Nanos::from_secs(60),
                },
                record: TrialRecord {
                    phases: vec![phase(*seconds)],
                    ..TrialRecord::ended(Outcome::Done)
                },
            });
        }
    }
    let header = RunHeader {
        id: "r1".to_owned(),
        created: "2026-11-24T00:00:00+00:00".to_owned(),
        fstrial_version: "0".to_owned(),
        testbed: "device".to_owned(),
        lab_id: None,
        environment: Environment::default(),
        seed: 1,
        repeats: 8,
        until: None,
        contenders: Vec::new(),
        workloads: Vec::new(),
        scale: 1.0,
        state: RunState::Complete,
    };
    let tag = StudyTag {
        study: "tiny".to_owned(),
        group: "g".to_owned(),
        part: "p".to_owned(),
        assumption: None,
        size: None,
        look: 0,
        machine: String::new(),
        digest: String::new(),
    };
    PartRun { tag, run: StoredRun { header, trials } }
}

pub(crate) fn phase(seconds: f64) -> PhaseResult {
    PhaseResult {
        workload: "null".to_owned(),
        phase: "spin".to_owned(),
        status: PhaseStatus::Completed,
        wall: Nanos((seconds * 1e9) as u64),
        cpu: Default::default(),
        machine_cpu: None,
        ops: 10,
        read_bytes: Bytes::ZERO,
        write_bytes: Bytes::ZERO,
        device: None,
        cache: Cache::Warm { why: "invented".to_owned() },
        latencies: BTreeMap::new(),
        course: None,
        figures: BTreeMap::new(),
        digest: 0,
        not_comparable: None,
        notes: Vec::new(),
    }
}

fn judged(better: &str, claim: &str, series: &[(&str, Series)]) -> Judged {
    let study = study(better, "1, 1, 1", claim);
    let mut found = results(&study, &[run(series)]);
    found.claims.remove(0).measured
}

/// The verdict where a, b and c take this long, with half a per cent of spread.
fn verdict(better: &str, claim: &str, means: [f64; 3]) -> Verdict {
    let [a, b, c] = means;
    let series = [("a", about(a, 0.005, 0)), ("b", about(b, 0.005, 3)), ("c", about(c, 0.005, 5))];
    judged(better, claim, &series).verdict
}

/// Which end of the row is good, the claim, the means of a, b and c, the verdict.
type Case = (&'static str, &'static str, [f64; 3], Verdict);

const CASES: &[Case] = &[
    ("lower", "a better than b", [1.0, 2.0, 9.0], Holds),
    ("lower", "a better than b", [2.0, 1.0, 9.0], DoesNotHold),
    ("lower", "a better than b", [1.0, 1.0, 9.0], Undecided),
    ("higher", "a better than b", [2.0, 1.0, 9.0], Holds),
    ("higher", "a better than b", [1.0, 2.0, 9.0], DoesNotHold),
    ("higher", "a better than b", [1.0, 1.0, 9.0], Undecided),
    // Half of b's at most, or half as much again at least.
    ("lower", "a better than b by at least 50 %", [1.0, 4.0, 9.0], Holds),
    ("lower", "a better than b by at least 50 %", [1.0, 1.5, 9.0], DoesNotHold),
    ("lower", "a better than b by at least 50 %", [1.0, 2.0, 9.0], Undecided),
    ("higher", "a better than b by at least 50 %", [2.0, 1.0, 9.0], Holds),
    ("higher", "a better than b by at least 50 %", [1.2, 1.0, 9.0], DoesNotHold),
    ("higher", "a better than b by at least 50 %", [1.5, 1.0, 9.0], Undecided),
    ("lower", "a worse than b", [2.0, 1.0, 9.0], Holds),
    ("lower", "a worse than b", [1.0, 2.0, 9.0], DoesNotHold),
    ("higher", "a worse than b", [1.0, 2.0, 9.0], Holds),
    ("higher", "a worse than b", [2.0, 1.0, 9.0], DoesNotHold),
    ("higher", "a worse than b", [1.0, 1.0, 9.0], Undecided),
    ("lower", "a worse than b by at least 50 %", [2.0, 1.0, 9.0], Holds),
    ("lower", "a worse than b by at least 50 %", [1.2, 1.0, 9.0], DoesNotHold),
    ("higher", "a worse than b by at least 50 %", [1.0, 4.0, 9.0], Holds),
    ("higher", "a worse than b by at least 50 %", [1.0, 1.5, 9.0], DoesNotHold),
    ("lower", "ranking a, b, c", [1.0, 2.0, 4.0], Holds),
    ("lower", "ranking a, b, c", [1.0, 4.0, 2.0], Partly),
    ("lower", "ranking a, b, c", [4.0, 2.0, 1.0], DoesNotHold),
    ("lower", "ranking a, b, c", [1.0, 2.0, 2.0], Undecided),
    ("higher", "ranking a, b, c", [4.0, 2.0, 1.0], Holds),
    ("higher", "ranking a, b, c", [1.0, 2.0, 4.0], DoesNotHold),
    ("lower", "a best", [1.0, 2.0, 4.0], Holds),
    ("lower", "a best", [2.0, 1.0, 4.0], DoesNotHold),
    ("lower", "a best", [1.0, 1.0, 4.0], Undecided),
    ("higher", "a best", [4.0, 2.0, 1.0], Holds),
    ("lower", "a best among c", [2.0, 1.0, 4.0], Holds),
    ("lower", "a worst", [4.0, 2.0, 1.0], Holds),
    ("lower", "a worst", [2.0, 4.0, 1.0], DoesNotHold),
    ("higher", "a worst", [1.0, 2.0, 4.0], Holds),
    ("lower", "a worst among c", [2.0, 4.0, 1.0], Holds),
    // The figures themselves, whichever end is good.
    ("lower", "a at least 3 times b", [4.0, 1.0, 9.0], Holds),
    ("higher", "a at least 3 times b", [4.0, 1.0, 9.0], Holds),
    ("lower", "a at least 3 times b", [2.0, 1.0, 9.0], DoesNotHold),
    ("lower", "a at least 3 times b", [3.0, 1.0, 9.0], Undecided),
    ("lower", "a at most 3 times b", [2.0, 1.0, 9.0], Holds),
    ("higher", "a at most 3 times b", [4.0, 1.0, 9.0], DoesNotHold),
    // From 1.6 to 2.5 times.
    ("lower", "a about 2 times b", [2.0, 1.0, 9.0], Holds),
    ("lower", "a about 2 times b", [1.7, 1.0, 9.0], Holds),
    ("lower", "a about 2 times b", [1.5, 1.0, 9.0], DoesNotHold),
    ("lower", "a about 2 times b", [2.7, 1.0, 9.0], DoesNotHold),
    ("lower", "a about 2 times b", [2.5, 1.0, 9.0], Undecided),
    ("lower", "a about 2 times b within 60 %", [3.0, 1.0, 9.0], Holds),
    ("lower", "a about 2 times b within 5 %", [2.3, 1.0, 9.0], DoesNotHold),
    // From 1/1.1 to 1.1.
    ("lower", "a about equal to b", [1.0, 1.0, 9.0], Holds),
    ("lower", "a about equal to b", [1.05, 1.0, 9.0], Holds),
    ("lower", "a about equal to b", [1.3, 1.0, 9.0], DoesNotHold),
    ("higher", "a about equal to b", [1.0, 1.3, 9.0], DoesNotHold),
    ("lower", "a about equal to b", [1.1, 1.0, 9.0], Undecided),
    ("lower", "a about equal to b, c", [1.0, 1.0, 2.0], Partly),
    ("lower", "a about equal to b within 40 %", [1.3, 1.0, 9.0], Holds),
    // From 3 to 5 seconds less.
    ("lower", "a saves 4 s over b", [1.0, 5.0, 9.0], Holds),
    ("lower", "a saves 4 s over b", [1.0, 9.0, 9.0], DoesNotHold),
    ("lower", "a saves 4 s over b", [1.0, 2.0, 9.0], DoesNotHold),
    ("lower", "a saves 4 s over b", [5.0, 1.0, 9.0], DoesNotHold),
    ("lower", "a saves 4 s over b", [1.0, 6.0, 9.0], Undecided),
    ("lower", "a saves 4 s over b within 2 %", [1.0, 5.5, 9.0], DoesNotHold),
    ("lower", "a at least 2 s", [3.0, 1.0, 1.0], Holds),
    ("lower", "a at least 2 s", [1.0, 1.0, 1.0], DoesNotHold),
    ("lower", "a at least 2 s", [2.0, 1.0, 1.0], Undecided),
    ("lower", "a at most 2 s", [1.0, 1.0, 1.0], Holds),
    ("higher", "a at most 2 s", [3.0, 1.0, 1.0], DoesNotHold),
];

#[test]
fn every_assertion_on_both_sides_of_its_bound_and_on_it() {
    for (better, claim, means, expected) in CASES {
        assert_eq!(verdict(better, claim, *means), *expected, "{better}: {claim} of {means:?}");
    }
}

#[test]
fn who_varies_more() {
    let found = |a: f64, b: f64| {
        let series = [("a", about(5.0, a, 0)), ("b", about(1.0, b, 3)), ("c", about(1.0, 0.1, 5))];
        judged("lower", "a varies more than b", &series).verdict
    };
    assert_eq!(found(0.2, 0.005), Holds);
    assert_eq!(found(0.005, 0.2), DoesNotHold);
    assert_eq!(found(0.05, 0.05), Undecided);
}

#[test]
fn two_seeds_do_not_suffice_and_three_do() {
    let mut series = [("a", about(1.0, 0.005, 0)), ("b", about(2.0, 0.005, 3))];
    series.iter_mut().for_each(|(_, values)| values.truncate(3));
    assert_eq!(judged("lower", "a better than b", &series).verdict, Holds);
    series[1].1.pop();
    let two = judged("lower", "a better than b", &series);
    assert_eq!(two.verdict, Undecided);
    let reason = two.reason.unwrap();
    assert!(reason.contains("2 of the 3 seeds a verdict needs (b in Row)"), "{reason}");
}

#[test]
fn a_figure_that_is_missing_is_never_0_and_decides_nothing() {
    let series = [("a", about(1.0, 0.005, 0)), ("c", about(2.0, 0.005, 3))];
    for claim in ["a better than b", "b better than a", "a about equal to b", "b at most 2 s"] {
        let without = judged("lower", claim, &series);
        assert_eq!(without.verdict, NotRun, "{claim}");
        assert_eq!(without.answers[0].found, None, "{claim}");
        let reason = without.reason.unwrap();
        assert!(reason.contains("b was not run"), "{claim}: {reason}");
    }
    // One comparison of several without data: the others still can refute the claim, not
    // prove it.
    assert_eq!(judged("lower", "a best", &series).verdict, Undecided);
    assert_eq!(judged("lower", "c best", &series).verdict, DoesNotHold);
    let part = judged("lower", "a about equal to c, b", &series);
    assert_eq!((part.verdict, part.answers.len()), (DoesNotHold, 2), "each is shown");
}

#[test]
fn the_pages_own_figures_decide_as_they_stand() {
    let cases: &[(&str, &str, &str, Verdict)] = &[
        ("lower", "1, 2, 9", "a better than b", Holds),
        ("lower", "1, 9, 2", "ranking a, b, c", Partly),
        ("lower", "2, 1, 9", "a better than b", DoesNotHold),
        // A tie is nobody's win.
        ("lower", "1, 1, 9", "a better than b", DoesNotHold),
        ("higher", "1, 1, 9", "a better than b", DoesNotHold),
        ("lower", "1, 1, 9", "a worse than b", DoesNotHold),
        // A figure on the bound is within it.
        ("lower", "3, 1, 9", "a at least 3 times b", Holds),
        ("lower", "3, 1, 9", "a at most 3 times b", Holds),
        ("lower", "1, 2, 9", "a better than b by at least 50 %", Holds),
        ("lower", "2.5, 1, 9", "a about 2 times b", Holds),
        ("lower", "1.1, 1, 9", "a about equal to b", Holds),
        ("lower", "1.11, 1, 9", "a about equal to b", DoesNotHold),
        ("lower", "2, 1, 9", "a at least 2 s", Holds),
        ("lower", "2, 1, 9", "a at most 2 s", Holds),
        ("lower", "1, 5, 9", "a saves 4 s over b", Holds),
        ("lower", "1, 6, 9", "a saves 4 s over b", Holds),
        ("lower", "1, 6.1, 9", "a saves 4 s over b", DoesNotHold),
        // A figure that is only a bound decides as far as the bound goes.
        ("higher", "\">100\", 5, 9", "a at least 10 times b", Holds),
        ("higher", "\">100\", 50, 9", "a at least 10 times b", Undecided),
        ("higher", "\">100\", 50, 9", "a better than b", Holds),
        ("lower", "\"<1\", 5, 9", "a better than b", Holds),
        ("lower", "\"<1\", 5, 9", "a at least 2 s", DoesNotHold),
        ("lower", "\"failed: no room\", 5, 9", "a better than b", NotRun),
    ];
    for (better, values, claim, expected) in cases {
        let study = study(better, values, claim);
        let found = results(&study, &[]).claims.remove(0).published;
        assert_eq!(found.verdict, *expected, "{better}: {claim} of {values}");
    }
}

/// The opposite verdict.
fn turned(verdict: Verdict) -> Verdict {
    match verdict {
        Holds => DoesNotHold,
        DoesNotHold => Holds,
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn exchanging_the_contenders_turns_the_verdict_round(
        a in 0.5f64..2.0, b in 0.5f64..2.0, spread in 0.001f64..0.2, higher: bool,
    ) {
        let better = if higher { "higher" } else { "lower" };
        let series = |a: f64, b: f64| [("a", about(a, spread, 0)), ("b", about(b, spread, 3))];
        let of = |claim: &str, a, b| judged(better, claim, &series(a, b)).verdict;
        let found = of("a better than b", a, b);
        prop_assert_eq!(of("b better than a", a, b), turned(found));
        prop_assert_eq!(of("b worse than a", a, b), found);
        let swapped = [("b", about(a, spread, 0)), ("a", about(b, spread, 3))];
        prop_assert_eq!(judged(better, "b better than a", &swapped).verdict, found);
    }

    #[test]
    fn the_order_of_trials_and_contenders_decides_nothing(
        means in prop::array::uniform3(0.8f64..1.25), spread in 0.001f64..0.1, turn in 0usize..8,
    ) {
        let [a, b, c] = means;
        let series =
            [("a", about(a, spread, 0)), ("b", about(b, spread, 3)), ("c", about(c, spread, 5))];
        let mut other = series.clone();
        other.rotate_left(turn % 3);
        for (_, values) in &mut other {
            values.rotate_left(turn);
        }
        for claim in ["ranking a, b, c", "b best", "a about equal to b, c"] {
            let found = judged("lower", claim, &series);
            let again = judged("lower", claim, &other);
            prop_assert_eq!(found.verdict, again.verdict, "{}", claim);
        }
    }

    #[test]
    fn more_spread_makes_no_verdict(
        a in 0.8f64..1.25, b in 0.8f64..1.25, spread in 0.001f64..0.1, more in 1.0f64..5.0,
    ) {
        for claim in ["a better than b", "a about equal to b", "a at least 1.1 times b"] {
            let of = |spread: f64| {
                let series = [("a", about(a, spread, 0)), ("b", about(b, spread, 3))];
                judged("lower", claim, &series).verdict
            };
            if of(spread) == Undecided {
                prop_assert_eq!(of(spread * more), Undecided, "{}", claim);
            }
        }
    }
}
