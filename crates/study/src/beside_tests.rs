//! One ratio compared with another (`better beside`), on invented runs.

use units::Nanos;

use crate::results;
use crate::verdict::Verdict::{DoesNotHold, Holds, Undecided};
use crate::verdict_tests::{about, run, study_with};

/// The row beside which the first is compared.
const OTHER: &str = r#"
[[table.row]]
id = "s"
label = "Other"
unit = "s"
better = "BETTER"
values = [2, 2, 2]
measure = { workload = "w", phase = "spin", metric = "cpu" }
"#;

/// Compares the ratio of a to b in one row with that in another row: the rows are wall time and
/// processor time.
#[test]
fn what_one_is_to_another_is_compared_with_the_same_in_another_row() {
    let judged = |better: &str, wall: [f64; 2], cpu: [f64; 2]| {
        let claim = "a better beside b than in s";
        let study = study_with(better, "1, 4, 1", claim, &OTHER.replace("BETTER", better));
        let series = [("a", about(wall[0], 0.005, 0)), ("b", about(wall[1], 0.005, 3))];
        let mut one = run(&series);
        for trial in &mut one.run.trials {
            let mean = if trial.spec.contender.name == "a" { cpu[0] } else { cpu[1] };
            let spread = 1.0 + 0.001 * (trial.spec.seed.0 % 3) as f64;
            trial.record.phases[0].cpu.user = Nanos((mean * spread * 1e9) as u64);
        }
        results(&study, &[one]).claims.remove(0)
    };
    for (better, wall, cpu, verdict) in [
        ("lower", [1.0, 2.0], [3.0, 2.0], Holds),
        ("lower", [2.0, 1.0], [3.0, 2.0], DoesNotHold),
        // Behind b in both, and less so in the first.
        ("lower", [1.2, 1.0], [3.0, 2.0], Holds),
        ("lower", [3.0, 2.0], [3.0, 2.0], Undecided),
        ("higher", [1.0, 2.0], [3.0, 2.0], DoesNotHold),
        ("higher", [2.0, 1.0], [3.0, 2.0], Holds),
    ] {
        let claim = judged(better, wall, cpu);
        assert_eq!(claim.measured.verdict, verdict, "{better}, {wall:?}, {cpu:?}");
        // The page has a at a quarter of b, and level with it in the other row.
        let page = if better == "lower" { Holds } else { DoesNotHold };
        assert_eq!(claim.published.verdict, page);
        let [value, ..] = claim.measured.answers[0].value.unwrap();
        let expected = wall[0] / wall[1] / (cpu[0] / cpu[1]);
        assert!((value / expected - 1.0).abs() < 0.01, "{value} for {expected}");
    }
}

/// One seed on another machine, with the spread of the study's own.
#[test]
fn one_seed_under_an_assumption_is_compared_beside_another_row_too() {
    let study = study_with(
        "lower",
        "1, 4, 1",
        "a better beside b than in s",
        &OTHER.replace("BETTER", "lower"),
    );
    let lab = |seeds: usize, wall: [f64; 2], assumption: Option<&str>| {
        let series = |mean: f64, turn| about(mean, 0.005, turn)[..seeds].to_vec();
        let mut one = run(&[("a", series(wall[0], 0)), ("b", series(wall[1], 3))]);
        one.run.header.lab_id = Some("lab-1".to_owned());
        one.tag.assumption = assumption.map(str::to_owned);
        for trial in &mut one.run.trials {
            trial.record.phases[0].cpu.user = Nanos(1_000_000_000);
        }
        one
    };
    let judged = |under: [f64; 2]| {
        let runs = [lab(8, [1.0, 2.0], None), lab(1, under, Some("slow-cpu"))];
        let found = results(&study, &runs).claims.remove(0);
        (found.under[0].verdict, found.under[0].few_seeds)
    };
    assert_eq!(judged([1.0, 2.0]), (Some(Holds), Some(1)));
    assert_eq!(judged([2.0, 1.0]), (Some(DoesNotHold), Some(1)));
    assert_eq!(judged([1.0, 1.0]), (Some(Undecided), Some(1)));
}

/// One seed on another machine decided by the spread of the study's own, which is small; two more
/// seeds show that this machine varies a lot.
#[test]
fn what_a_borrowed_spread_decided_stands_only_until_the_machine_has_its_own() {
    let study = study_with("lower", "1, 4, 1", "a better than b", "");
    let lab = |series: &[(u64, f64, f64)], assumption: Option<&str>, look: u32| {
        let of =
            |pick: fn(&(u64, f64, f64)) -> f64| series.iter().map(|it| (it.0, pick(it))).collect();
        let mut one = run(&[("a", of(|it| it.1)), ("b", of(|it| it.2))]);
        one.run.header.lab_id = Some("lab-1".to_owned());
        one.tag.assumption = assumption.map(str::to_owned);
        one.tag.look = look;
        one
    };
    let own: Vec<_> = about(1.0, 0.005, 0)
        .into_iter()
        .zip(about(2.0, 0.005, 3))
        .map(|((seed, a), (_, b))| (seed, a, b))
        .collect();
    let first = lab(&[(1, 1.0, 2.0)], Some("slow-cpu"), 0);
    let verdict = |runs: &[_]| results(&study, runs).claims.remove(0).under[0].verdict;
    assert_eq!(verdict(&[lab(&own, None, 0), first.clone()]), Some(Holds));
    let more = lab(&[(2, 3.0, 2.0), (3, 0.5, 2.0)], Some("slow-cpu"), 1);
    assert_eq!(verdict(&[lab(&own, None, 0), first, more]), Some(Undecided));
}
