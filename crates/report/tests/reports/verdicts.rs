//! Runs whose verdict was written down by hand, and what must hold of every verdict.

use report::{Decision, Options, Relation, Standing, analyse};
use store::StoredRun;
use trial::Step;
use units::{Bytes, Nanos};
use workload::Seed;

use crate::rendered;
use crate::synthetic::{Planted, Synthetic, fail, phase, planted};

pub(crate) type Times<'t> = &'t [(&'t str, &'t [f64])];

/// A run of one phase: contenders by name, each with its times in milliseconds, one a block.
pub(crate) fn run_of(times: Times<'_>) -> StoredRun {
    let contenders = times.iter().map(|(name, _)| planted(name, "ext4", 1.0, 0.0)).collect();
    let repeats = times.iter().map(|(_, times)| times.len()).max().unwrap_or(0) as u32;
    let phases = vec![phase("maildir-write", "io", 1.0, &[("deliver", 5000)])];
    let mut run = Synthetic { contenders, phases, repeats, ..Synthetic::small() }.run();
    run.header.contenders = times.iter().map(|(name, _)| (*name).to_owned()).collect();
    for trial in &mut run.trials {
        let own = times.iter().find(|(name, _)| *name == trial.spec.contender.name);
        match own.and_then(|(_, times)| times.get(trial.spec.block as usize)) {
            Some(ms) => trial.record.phases[0].wall = Nanos((ms * 1e6) as u64),
            None => {
                trial.record.outcome = None;
                trial.record.phases.clear();
            }
        }
    }
    run
}

fn standing(run: &StoredRun) -> Standing {
    let analysis = analyse(run);
    analysis.workloads[0].phases[0].table("wall").unwrap().standing.clone().unwrap()
}

/// The verdict without the question, on one line.
fn said(run: &StoredRun) -> String {
    let text = rendered("json", run, Options::default());
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    json["answer"]["workloads"][0]["verdict"].as_str().unwrap().to_owned()
}

/// Each verdict was worked out by hand from the times above it.
#[test]
fn verdicts_written_by_hand() {
    let cases: &[(Times<'_>, Decision, &str)] = &[
        // Every block says the same: both are shown to be behind.
        (
            &[
                ("a", &[2000.0, 2010.0, 1990.0, 2000.0]),
                ("b", &[3000.0, 3020.0, 2980.0, 3000.0]),
                ("c", &[9000.0, 9010.0, 8990.0, 9000.0]),
            ],
            Decision::First,
            "a, 2,500 mails/s; b 1.5 times slower, c 4.5 times.",
        ),
        // Two repeats that disagree by a fifth show nothing of b; c is far away, and its blocks agree
        // with a's to the last digit.
        (
            &[("a", &[2000.0, 2400.0]), ("b", &[2400.0, 2400.0]), ("c", &[24000.0, 28800.0])],
            Decision::Open,
            "a, 2,282 mails/s; b 1.1 times slower, not shown with 2 repeats; c 12 times.",
        ),
        // Within half a per cent in every block.
        (
            &[("a", &[2000.0, 2002.0, 1999.0, 2001.0]), ("b", &[2004.0, 2003.0, 2005.0, 2003.0])],
            Decision::Level,
            "a, 2,499 mails/s; b level within 5 %.",
        ),
        // The field trial's A2: those with one trial are neither level with the best nor first.
        (
            &[
                ("slow", &[9000.0]),
                ("a", &[2000.0, 2010.0, 1990.0]),
                ("b", &[3000.0, 3020.0, 2980.0]),
                ("lucky", &[100.0]),
            ],
            Decision::First,
            "so far a, 2,500 mails/s; b 1.5 times slower; lucky and slow: not enough trials.",
        ),
        (&[("a", &[2000.0]), ("b", &[9000.0])], Decision::TooFew, "not decided by one repeat."),
        (
            &[("a", &[2000.0, 2010.0]), ("b", &[9000.0])],
            Decision::TooFew,
            "so far not enough trials to compare.",
        ),
        (
            &[("a", &[2000.0])],
            Decision::Alone,
            "2,500 mails/s; one contender, nothing to compare it with.",
        ),
    ];
    for (times, decision, sentence) in cases {
        let run = run_of(times);
        assert_eq!((standing(&run).decision(), said(&run).as_str()), (*decision, *sentence));
    }
}

#[test]
fn what_is_missing_is_said() {
    let mut run = run_of(&[
        ("a", &[2000.0, 2010.0, 1990.0]),
        ("b", &[3000.0, 3020.0, 2980.0]),
        ("c", &[1.0, 1.0, 1.0]),
    ]);
    fail(&mut run, "c", Step::Mkfs, "no room");
    assert_eq!(said(&run), "a, 2,500 mails/s; b 1.5 times slower; c has no figure.");
}

/// Eight contenders: the nearest are named, the rest are counted.
#[test]
fn many_contenders_are_named_in_order_and_summed_up() {
    let times: Vec<(String, [f64; 3])> = (0..8)
        .map(|at| (format!("f{at}"), [2.0, 2.01, 1.99].map(|ms| ms * 1000.0 * f64::from(at + 1))))
        .collect();
    let times: Vec<(&str, &[f64])> =
        times.iter().map(|(name, times)| (name.as_str(), times.as_slice())).collect();
    assert_eq!(
        said(&run_of(&times)),
        "f0, 2,500 mails/s; f1 2.0 times slower, f2 3.0 times, f3 4.0 times, f4 5.0 times; 3 more, \
         up to 8.0 times."
    );
}

/// Times of a matrix with planted differences, by a seed.
fn invented(seed: u64) -> Synthetic {
    let mut draw = Seed(seed).stream("matrix");
    let count = 2 + draw.below(4) as usize;
    let contenders: Vec<Planted> = (0..count)
        .map(|at| {
            let factor = [1.0, 1.0, 1.02, 1.1, 1.5, 4.0][draw.below(6) as usize];
            let spread = [0.003, 0.02, 0.08, 0.25][draw.below(4) as usize];
            planted(&format!("c{at}"), "ext4", factor, spread)
        })
        .collect();
    let phases = vec![phase("maildir-write", "io", 1.4, &[])];
    let repeats = 3 + draw.below(6) as u32;
    Synthetic { contenders, phases, repeats, seed, latencies: 0 }
}

/// The run as it stands when the first `done` of its trials have ended.
fn cut_off(run: &StoredRun, done: usize) -> StoredRun {
    let mut cut = run.clone();
    for trial in cut.trials.iter_mut().skip(done) {
        trial.record.outcome = None;
        trial.record.phases.clear();
    }
    cut
}

/// What a standing claims to have shown: who is ahead of whom, and who is level.
fn claims(run: &StoredRun) -> Vec<(String, String, Relation)> {
    let analysis = analyse(run);
    let name = |at: usize| analysis.contenders[at].name.clone();
    let found = standing(run);
    let Some(leader) = found.leader else { return Vec::new() };
    let shown = found.behind.iter().filter(|one| one.relation != Relation::Open);
    shown.map(|one| (name(leader), name(one.contender), one.relation)).collect()
}

/// Of 100 matrices cut off at 10, 30, 50, 70 and 90 % of their trials no headline claims what the
/// whole run contradicts: that one is ahead who is behind or level, or level who is not.
#[test]
fn no_headline_of_a_part_is_contradicted_by_the_whole() {
    let mut claimed_of = [0; 2];
    let mut contradictions: Vec<String> = Vec::new();
    for seed in 0..100 {
        let whole = invented(seed).run();
        let known = claims(&whole);
        let relation = |one: &str, other: &str| {
            known.iter().find(|(a, b, _)| a == one && b == other).map(|(.., relation)| *relation)
        };
        for share in [10, 30, 50, 70, 90] {
            let part = cut_off(&whole, whole.trials.len() * share / 100);
            for (leader, other, claimed) in claims(&part) {
                claimed_of[usize::from(claimed == Relation::Level)] += 1;
                let turned = relation(&other, &leader);
                let found = relation(&leader, &other).or(turned);
                // Worse by less than 5 % is also what "level within 5 %" leaves open.
                let contradicted = match claimed {
                    Relation::Level => found == Some(Relation::Worse),
                    Relation::Worse if found == Some(Relation::Level) => true,
                    _ => turned.is_some_and(Relation::is_worse),
                };
                if contradicted {
                    let case = format!("{seed}, {share} %: {leader}, {other}: ");
                    contradictions.push(case + &format!("{claimed:?}, then {found:?}"));
                }
            }
            // Who has fewer than two trials is never first, nor compared.
            let (analysis, found) = (analyse(&part), standing(&part));
            let wall = analysis.workloads[0].phases[0].table("wall").unwrap();
            let compared = found.behind.iter().map(|one| one.contender).chain(found.leader);
            for at in compared {
                assert!(wall.cells[at].figures.len() >= 2, "{seed}, {share} %");
            }
        }
    }
    assert_eq!(contradictions, [""; 0]);
    assert!(claimed_of[0] > 50 && claimed_of[1] > 0, "ahead and level: {claimed_of:?}");
}

/// The order in which contenders are asked for and the names they have decide nothing.
#[test]
fn the_order_of_contenders_never_matters() {
    let mut claimed = 0;
    for seed in 0..20 {
        let run = invented(seed).run();
        let mut names: Vec<String> = analyse(&run).contenders.into_iter().map(|c| c.name).collect();
        let mut forth = run.clone();
        forth.header.contenders = names.clone();
        names.reverse();
        let mut back = run.clone();
        back.header.contenders = names;
        assert_eq!(claims(&forth), claims(&back), "{seed}");
        claimed += claims(&forth).len();
        assert_eq!(said(&forth), said(&back), "{seed}");
    }
    assert!(claimed > 20, "{claimed}");
}

/// Every format prints an interval that says what its verdict says, whatever was measured.
#[test]
fn the_factor_of_a_row_never_contradicts_the_headline() {
    let mut seen = [0; 3];
    for seed in 0..20 {
        let analysis = analyse(&invented(seed).run());
        for table in &analysis.workloads[0].phases[0].tables {
            for cell in table.cells.iter().filter_map(|cell| cell.against_best) {
                let (low, high) = (cell.low.unwrap(), cell.high.unwrap());
                assert_eq!(cell.separated, low > 1.0 || high < 1.0, "{seed}: {cell:?}");
                let near = low >= 1.0 / 1.05 && high <= 1.05;
                assert_eq!(cell.equivalent, near, "{seed}: {cell:?}");
                seen[0] += usize::from(cell.separated);
                seen[1] += usize::from(cell.equivalent);
                seen[2] += usize::from(!cell.separated && !cell.equivalent);
            }
        }
    }
    assert!(seen.iter().all(|times| *times > 5), "apart, near, open: {seen:?}");
}

fn screen(run: &StoredRun) -> String {
    rendered("terminal", run, Options { width: 200, ..Options::default() })
}

/// `66.0 ×/÷>99`, `> 0.000…×`, `0.15–99×`, `0.667` flushes: figures without a meaning.
#[test]
fn no_figure_without_a_meaning_is_shown() {
    let mut run = run_of(&[("a", &[2000.0, 9000.0]), ("b", &[2500.0, 2500.0])]);
    for trial in &mut run.trials {
        let device = trial.record.phases[0].device.as_mut().unwrap();
        device.flushes = Some(u64::from(trial.spec.block));
    }
    let text = screen(&run);
    for without_meaning in [">99", "> 0", "0.5", "0.000", "1000 times"] {
        assert!(!text.contains(without_meaning), "{without_meaning}: {text}");
    }
    assert!(text.contains("not enough repeats") && text.contains("±?"), "{text}");
    assert!(text.contains("±?: the repeats vary too much for an interval"), "{text}");
    assert!(text.contains("0–1"), "flushes as they were counted: {text}");
}

/// A machine of the lab that misses the one it was measured on is named in every result.
#[test]
fn a_poor_profile_is_said() {
    let mut run = Synthetic::small().run();
    assert!(!screen(&run).contains("POOR"));
    for (key, value) in [("lab_profile", "mine"), ("lab_profile_poor", "the disk is off by 40 %.")]
    {
        run.header.environment.0.insert(key.to_owned(), value.to_owned());
    }
    assert!(screen(&run).contains("mine is a POOR copy"), "{}", screen(&run));
    let page = rendered("markdown", &run, Options::default());
    assert!(page.contains("the disk is off by 40 %."), "{page}");
}

/// 200 commits in 2.8 ms give no rate.
#[test]
fn how_much_was_measured_is_said_and_too_little_is_a_limit() {
    let mut run = run_of(&[("a", &[2.8, 2.9, 2.7]), ("b", &[3.8, 3.9, 3.7])]);
    for trial in &mut run.trials {
        trial.record.phases[0].ops = 200;
    }
    let text = screen(&run);
    let work = "Work    200 mails in 2.70 ms to 3.90 ms of real time, in each of 6 trials";
    assert!(text.contains(work), "{text}");
    assert!(
        text.contains("Little was measured: with fewer than 3,000 mails or less than 1.00 s"),
        "{text}"
    );
    let enough = run_of(&[("a", &[2000.0, 2010.0, 1990.0]), ("b", &[3000.0, 3020.0, 2980.0])]);
    assert!(!screen(&enough).contains("Little was measured"), "{}", screen(&enough));
}

/// Two contenders of which one takes twice as long, with what `change` gives each of them.
pub(crate) fn twice_as_long(change: &dyn Fn(&str, &mut workload::PhaseResult)) -> Option<String> {
    let mut run =
        run_of(&[("fast", &[2000.0, 2010.0, 1990.0]), ("slow", &[4000.0, 4020.0, 3980.0])]);
    for trial in &mut run.trials {
        let result = &mut trial.record.phases[0];
        let device = result.device.as_mut().unwrap();
        (device.flushes, device.writes) = (Some(1000), 5000);
        (device.write_bytes, device.read_bytes) = (Bytes::from_mib(40), Bytes::ZERO);
        result.cpu.user = Nanos::from_millis(10);
        result.cpu.sys = Nanos::from_millis(20);
        result.machine_cpu = Some(Nanos::from_millis(40));
        change(&trial.spec.contender.name, result);
    }
    let json: serde_json::Value =
        serde_json::from_str(&rendered("json", &run, Options::default())).unwrap();
    json["answer"]["workloads"][0]["why"].as_str().map(str::to_owned)
}

/// Each cause as it was written down by hand.
#[test]
fn why_is_true_or_says_that_nothing_explains_it() {
    let why = twice_as_long;
    let nothing = "not explained by flushes, bytes, requests or processor time";
    assert_eq!(why(&|_, _| {}).as_deref(), Some(nothing));
    let flushes = |of: &'static str, times: u64| {
        why(&move |name, result| {
            let device = result.device.as_mut().unwrap();
            device.flushes = Some(if name == of { 1000 * times } else { 1000 });
        })
    };
    assert_eq!(flushes("slow", 3).as_deref(), Some("slow flushes 3.0 times as often as fast"));
    // What the faster one has more of is no cause.
    assert_eq!(flushes("fast", 3).as_deref(), Some(nothing));
    // A fifth more does not explain twice the time.
    let little = why(&|name, result| {
        let bytes = if name == "slow" { Bytes::from_mib(48) } else { Bytes::from_mib(40) };
        result.device.as_mut().unwrap().write_bytes = bytes;
    });
    assert_eq!(little.as_deref(), Some(nothing));
    // The workload's own processor time, where it makes up the difference.
    let own = why(&|name, result| {
        let ms = if name == "slow" { 3500 } else { 1500 };
        result.cpu.user = Nanos::from_millis(ms);
        result.machine_cpu = Some(Nanos::from_millis(ms + 30));
    });
    assert_eq!(own.as_deref(), Some("slow takes 2.3 times the processor time of fast"));
}

/// The field trial's A3: 32 ms of the workload's own on a machine whose processors others use.
#[test]
fn nothing_is_said_of_a_processor_that_others_use() {
    let why = twice_as_long(&|_, result| {
        result.cpu.user = Nanos::from_millis(32);
        result.machine_cpu = Some(Nanos::from_secs(4));
    });
    assert_eq!(why.as_deref(), Some("not explained by flushes, bytes or requests"));
}

/// The field trial's A4: xfs flushes as often as what is slower, so that flushes explain neither.
#[test]
fn what_a_faster_one_has_as_much_of_is_no_cause() {
    let mut run = run_of(&[
        ("ext4", &[2000.0, 2010.0, 1990.0]),
        ("xfs", &[2200.0, 2211.0, 2189.0]),
        ("btrfs", &[8000.0, 8040.0, 7960.0]),
    ]);
    for trial in &mut run.trials {
        let device = trial.record.phases[0].device.as_mut().unwrap();
        let flushes = if trial.spec.contender.name == "ext4" { 1000 } else { 3000 };
        (device.flushes, device.writes) = (Some(flushes), 5000);
        (device.write_bytes, device.read_bytes) = (Bytes::from_mib(40), Bytes::ZERO);
    }
    let text = screen(&run);
    let why =
        "Why     xfs flushes 3.0 times as often as ext4; btrfs not explained by flushes, bytes";
    assert!(text.contains(why), "{text}");
}
