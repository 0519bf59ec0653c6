//! One verdict from several sizes, assumptions and looks, on invented runs.

use std::collections::BTreeMap;

use trial::{Outcome, TrialRecord};
use workload::Parameters;

use crate::limit;
use crate::verdict::Verdict::{DoesNotHold, Holds, NotRun, Partly, Undecided};
use crate::verdict::{Elsewhere, Says};
use crate::verdict_tests::{Series, about, run, study};
use crate::{ClaimResults, Judged, PartRun, Study, results};

/// Seconds of a, b and c, eight seeds each with half a per cent of spread.
fn means([a, b, c]: [f64; 3]) -> [(&'static str, Series); 3] {
    [("a", about(a, 0.005, 0)), ("b", about(b, 0.005, 3)), ("c", about(c, 0.005, 5))]
}

pub(crate) fn at(size: f64, means_of: [f64; 3]) -> PartRun {
    let mut it = run(&means(means_of));
    it.tag.size = Some(size);
    it.run.header.scale = size;
    let null = workload::find("null").unwrap().describe();
    let given = BTreeMap::from([("ops".to_owned(), "10".to_owned())]);
    for trial in &mut it.run.trials {
        trial.spec.workloads[0].parameters = Parameters::resolve(null, &given, size).unwrap();
    }
    it
}

fn in_lab(mut it: PartRun, assumption: Option<&str>) -> PartRun {
    it.run.header.lab_id = Some("lab-1".to_owned());
    it.tag.assumption = assumption.map(str::to_owned);
    it
}

pub(crate) fn judged(claim: &str, runs: &[PartRun]) -> ClaimResults {
    results(&study("lower", "1, 1, 1", claim), runs).claims.remove(0)
}

/// The limits of the first question, without their words.
fn limits(found: &ClaimResults) -> Vec<(Elsewhere, Says)> {
    let limits = found.measured.questions[0].limits.iter();
    limits.map(|limit| (limit.elsewhere.clone(), limit.says)).collect()
}

#[test]
fn a_verdict_is_of_the_largest_size_and_a_smaller_one_that_denies_it_is_its_limit() {
    let claim = "a better than b";
    let (yes, no, even) = ([1.0, 2.0, 9.0], [2.0, 1.0, 9.0], [1.0, 1.0, 9.0]);
    let of = |ladder: &[[f64; 3]]| {
        let sizes = [0.03, 0.1, 1.0].into_iter().zip(ladder);
        // The order in which sizes were run says nothing.
        let mut runs: Vec<PartRun> = sizes.map(|(size, means)| at(size, *means)).collect();
        runs.reverse();
        judged(claim, &runs)
    };
    for (ladder, verdict, denied) in [
        ([yes, yes, yes], Holds, &[][..]),
        ([no, no, no], DoesNotHold, &[]),
        ([even, even, yes], Holds, &[]),
        ([even, yes, even], Undecided, &[]),
        ([no, no, yes], Holds, &[0.1, 0.03]),
        ([no, yes, yes], Holds, &[0.03]),
        ([yes, even, no], DoesNotHold, &[0.03]),
    ] {
        let found = of(&ladder);
        assert_eq!(found.measured.verdict, verdict, "{ladder:?}");
        let denied = denied.iter().map(|size| (Elsewhere::Size(*size), Says::Otherwise));
        assert_eq!(limits(&found), denied.collect::<Vec<_>>(), "{ladder:?}");
        assert_eq!(found.size, Some(1.0));
        assert_eq!(found.sizes.len(), 3);
    }
    let of = |ladder: &[[f64; 3]]| limit::of_claim(&of(ladder).measured);
    assert_eq!(of(&[no, no, yes]).unwrap(), "not at 10 %, 3 %");
    assert_eq!(of(&[yes, even, no]).unwrap(), "holds at 3 %");
    assert_eq!(of(&[yes, even, yes]), None);
}

#[test]
fn an_amount_of_time_is_decided_at_the_published_size_alone_and_a_ratio_at_any() {
    for (claim, means, amount) in [
        ("a saves 4 s over b", [1.0, 5.0, 9.0], true),
        ("a at least 2 s", [3.0, 1.0, 1.0], true),
        ("a at least 3 times b", [4.0, 1.0, 9.0], false),
    ] {
        assert_eq!(judged(claim, &[at(1.0, means)]).measured.verdict, Holds, "{claim}");
        let tenth = judged(claim, &[at(0.1, means)]).measured;
        let says_nothing =
            tenth.reason.is_some_and(|reason| reason.contains("at 10 % cannot be compared"));
        let expected = if amount { (Undecided, true) } else { (Holds, false) };
        assert_eq!((tenth.verdict, says_nothing), expected, "{claim}");
    }
}

#[test]
fn a_difference_that_nobody_could_see_is_nobodys_win_however_sure_it_is() {
    let found = |b: f64, claim: &str| {
        let series = [("a", about(1.0, 1e-6, 0)), ("b", about(b, 1e-6, 3))];
        judged(claim, &[run(&series)]).measured
    };
    let twins = found(1.0004, "a better than b");
    assert_eq!(twins.verdict, Undecided);
    assert!(twins.reason.unwrap().contains("they differ by less than 0.04"));
    assert_eq!(found(1.0004, "b better than a").verdict, Undecided);
    assert_eq!(found(1.002, "a better than b").verdict, Holds);
    assert_eq!(found(1.002, "b better than a").verdict, DoesNotHold);
    assert_eq!(found(1.0004, "a about equal to b").verdict, Holds);
}

#[test]
fn another_machine_limits_a_verdict_and_does_not_change_it() {
    let claim = "ranking a, b, c";
    let own = || in_lab(run(&means([1.0, 2.0, 4.0])), None);
    let with = |means_of| {
        let slow = in_lab(run(&means(means_of)), Some("slow-cpu"));
        judged(claim, &[own(), slow]).measured
    };
    let said = |found: &Judged| (found.verdict, limit::of_claim(found));
    assert_eq!(said(&with([1.0, 3.0, 5.0])), (Holds, None));
    let turned = with([1.0, 4.0, 2.0]);
    let limits = "not with another processor (1 of 2 questions)";
    assert_eq!(said(&turned), (Holds, Some(limits.to_owned())));
    let reason = turned.reason.unwrap();
    assert!(reason.starts_with("question 2: does not hold with another processor ("), "{reason}");
    let limits = "not shown with another processor (1 of 2 questions)";
    assert_eq!(said(&with([1.0, 2.0, 2.0])), (Holds, Some(limits.to_owned())));
    let untried = judged(claim, &[own()]).measured;
    assert_eq!(said(&untried), (Holds, Some("not tried with another processor".to_owned())));
    // What is not decided here has nothing to confirm.
    let even = in_lab(run(&means([1.0, 1.0, 9.0])), None);
    let slow = in_lab(run(&means([1.0, 2.0, 9.0])), Some("slow-cpu"));
    assert_eq!(said(&judged("a better than b", &[even, slow]).measured), (Undecided, None));
}

#[test]
fn sizes_and_machines_are_limits_beside_each_other() {
    let small = in_lab(at(0.03, [2.0, 1.0, 9.0]), None);
    let full = in_lab(at(1.0, [1.0, 2.0, 9.0]), None);
    let of = |slow| {
        let slow = in_lab(at(1.0, slow), Some("slow-cpu"));
        let found = judged("a better than b", &[small.clone(), full.clone(), slow]);
        assert_eq!(found.measured.verdict, Holds);
        limit::of_claim(&found.measured).unwrap()
    };
    assert_eq!(of([2.0, 1.0, 9.0]), "not at 3 %, with another processor");
    assert_eq!(of([1.0, 1.0, 9.0]), "not at 3 %; not shown with another processor");
}

/// An amount and a difference are taken from a single seed as they are, like a ratio.
#[test]
fn one_seed_under_an_assumption_confirms_amounts_and_differences_and_denies_nothing() {
    let own = || in_lab(run(&means([1.0, 6.0, 4.0])), None);
    let under = |a: &[f64], b: &[f64]| {
        let series = |values: &[f64]| -> Series { (50..).zip(values.iter().copied()).collect() };
        in_lab(run(&[("a", series(a)), ("b", series(b))]), Some("slow-cpu"))
    };
    let of = |claim: &str, a: &[f64], b: &[f64]| {
        let found = judged(claim, &[own(), under(a, b)]);
        assert_eq!(found.measured.verdict, Holds, "{claim}");
        let says: Vec<Says> = limits(&found).into_iter().map(|(_, says)| says).collect();
        (found.under[0].verdict.unwrap(), found.under[0].few_seeds, says)
    };
    assert_eq!(of("a saves 5 s over b", &[2.0], &[7.0]), (Holds, Some(1), vec![]));
    let denied = (DoesNotHold, Some(1), vec![Says::NotShown]);
    assert_eq!(of("a saves 5 s over b", &[7.0], &[2.0]), denied);
    // The mean of two seeds: 5 s, where their sum would be 10.
    assert_eq!(of("a saves 5 s over b", &[2.0, 3.0], &[7.0, 8.0]), (Holds, Some(2), vec![]));
    assert_eq!(of("a at most 2 s", &[1.0], &[7.0]), (Holds, Some(1), vec![]));
    assert_eq!(of("a at most 2 s", &[3.0], &[7.0]), denied);
    // Nothing can be said of a ratio with 0.
    assert_eq!(of("a better than b", &[0.0], &[7.0]), (Undecided, None, vec![Says::NotShown]));
}

/// Of eight seeds with a spread of 0.5 %, the ratio of two varies by at most 1 %.
#[test]
fn one_seed_under_an_assumption_has_the_spread_of_the_studys_own_machine() {
    let own = || in_lab(run(&means([1.0, 2.0, 4.0])), None);
    let one = |figures: &[(&str, f64)]| {
        let series: Vec<_> = figures.iter().map(|(name, at)| (*name, vec![(50, *at)])).collect();
        in_lab(run(&series), Some("slow-cpu"))
    };
    let all = |a, b, c| judged("ranking a, b, c", &[own(), one(&[("a", a), ("b", b), ("c", c)])]);
    let held = all(1.0, 1.5, 2.0);
    assert_eq!((held.measured.verdict, held.under[0].few_seeds), (Holds, Some(1)));
    assert_eq!(all(1.0, 4.0, 2.0).under[0].verdict, Some(Partly));
    // The difference is smaller than the spread between seeds.
    assert_eq!(all(1.0, 1.02, 2.0).under[0].verdict, Some(Undecided));
    // A seed that the two do not share says nothing about their ratio.
    let mut apart = one(&[("a", 1.0), ("b", 1.5), ("c", 2.0)]);
    apart.run.trials[0].spec.seed = workload::Seed(51);
    let apart = &judged("ranking a, b, c", &[own(), apart]).under[0];
    assert_eq!(apart.verdict, Some(Undecided));
    assert!(apart.reason.as_ref().unwrap().contains("1 of the 3 seeds"));
    // The study's own machine has too few seeds itself.
    let alone = in_lab(run(&[("a", vec![(1, 1.0)]), ("b", vec![(1, 2.0)])]), None);
    let found = judged("a better than b", &[alone, one(&[("a", 1.0), ("b", 2.0)])]);
    assert_eq!((found.measured.verdict, found.under[0].few_seeds), (Undecided, None));
    // From three seeds on their own spread is used.
    let three = |b: [f64; 3]| {
        let of = |values: [f64; 3]| (50..).zip(values).collect::<Series>();
        let under = run(&[("a", of([1.0; 3])), ("b", of(b))]);
        judged("a better than b", &[own(), in_lab(under, Some("slow-cpu"))])
    };
    let wide = three([1.1, 3.0, 1.4]);
    assert_eq!((wide.under[0].verdict, wide.under[0].few_seeds), (Some(Undecided), None));
}

#[test]
fn what_does_not_hold_anywhere_is_partly_when_something_else_does() {
    let own = in_lab(run(&means([1.0, 4.0, 2.0])), None);
    let slow = in_lab(run(&means([1.0, 4.0, 2.0])), Some("slow-cpu"));
    let found = judged("ranking a, b, c", &[own, slow]).measured;
    assert_eq!(found.verdict, Partly);
    assert_eq!(found.to_string(), "partly (1 of 2 questions)");
}

#[test]
fn nothing_run_still_shows_each_question() {
    let found = judged("ranking a, b, c", &[]);
    assert_eq!(found.measured.verdict, NotRun);
    assert_eq!(found.measured.answers.len(), 2);
    assert!(found.measured.reason.unwrap().contains("the part \"Part\" was not run"));
    assert_eq!(found.size, None);
}

#[test]
fn twins_are_undecided_and_differ_by_less_than_what_was_seen() {
    let found = judged("a better than b", &[run(&means([1.0, 1.0, 9.0]))]).measured;
    assert_eq!(found.verdict, Undecided);
    let reason = found.reason.unwrap();
    assert!(reason.contains("they differ by less than 0.79"), "{reason}");
    // Nearly enough seeds: the reason says how many would decide it.
    let wide = [("a", about(1.0, 0.05, 0)), ("b", about(1.04, 0.05, 3))];
    let reason = judged("a better than b", &[run(&wide)]).measured.reason.unwrap();
    assert!(reason.contains("seeds would decide it"), "{reason}");
}

/// Trials that were added because the first did not decide are a second look.
#[test]
fn what_one_look_has_decided_stays_decided_and_later_looks_have_less_to_spend() {
    let first = |values: &[f64]| -> Series { (1..).zip(values.iter().copied()).collect() };
    let later = |values: &[f64]| -> Series { (4..).zip(values.iter().copied()).collect() };
    let looks = |a: [&[f64]; 2], b: [&[f64]; 2]| {
        let mut second = run(&[("a", later(a[1])), ("b", later(b[1]))]);
        second.tag.look = 1;
        vec![run(&[("a", first(a[0])), ("b", first(b[0]))]), second]
    };
    let (even, close) = ([1.0, 1.0, 1.0], [1.010, 1.012, 1.011]);
    let all = |runs: &[PartRun]| judged("a better than b", runs).measured;
    let decided = looks([&even, &[1.0, 1.2, 0.8]], [&close, &[1.0, 0.8, 1.2]]);
    let first_look = all(&decided[..1]);
    assert_eq!(first_look.verdict, Holds);
    let both = all(&decided);
    assert_eq!(both.verdict, Holds, "though the interval is wide now");
    // The figures shown are those that decided; those of all seeds stand after them.
    assert_eq!(both.answers[0].value, first_look.answers[0].value);
    let reason = both.answers[0].reason.as_ref().unwrap();
    assert!(reason.starts_with("decided by 3 seeds; 6 seeds give "), "{reason}");
    // p of 0.0184 at 2 degrees of freedom: enough for a first look (0.025), not for a second.
    let values = [0.07, 0.09, 0.11].map(|log: f64| log.exp());
    let once = [run(&[("a", first(&even)), ("b", first(&values))])];
    assert_eq!(all(&once).verdict, Holds);
    let p = all(&once).answers[0].p.unwrap();
    assert!((0.032..0.033).contains(&p), "twice 0.0161, since a look has half: {p}");
    let mut twice = once.to_vec();
    twice[0].tag.look = 1;
    twice.insert(0, run(&[("c", first(&even))]));
    assert_eq!(all(&twice).verdict, Undecided);
}

/// A claim's questions share its error rate, and no other claim has a part in it.
#[test]
fn more_questions_make_a_claim_harder_to_decide_and_more_claims_do_not() {
    let series =
        [("a", about(1.0, 0.05, 0)), ("b", about(1.1, 0.05, 3)), ("c", about(1.1, 0.05, 5))];
    let p = |study: &Study| {
        let found = results(study, &[run(&series)]);
        found.claims[0].measured.answers[0].p.expect("a was compared with b")
    };
    let alone = study("lower", "1, 1, 1", "a better than b");
    let mut among_many = alone.clone();
    among_many.claims = vec![alone.claims[0].clone(); 50];
    assert_eq!(p(&among_many), p(&alone));
    let two = p(&study("lower", "1, 1, 1", "a best"));
    assert!(two > p(&alone), "{two}");
}

#[test]
fn a_table_is_of_the_largest_size_at_which_its_part_was_run_and_says_so() {
    let study = study("lower", "1, 1, 1", "a better than b");
    let of = |larger: PartRun| {
        let made = results(&study, &[at(0.1, [1.0, 2.0, 9.0]), larger]);
        let table = &made.tables[0];
        (table.title.clone(), table.rows[0].measured[2].mean.unwrap().round(), made.details.len())
    };
    let own = at(0.5, [1.0, 2.0, 5.0]);
    let mut other = own.clone();
    other.tag.part = "another".to_owned();
    assert_eq!(of(own), ("Table".to_owned(), 5.0, 1));
    assert_eq!(of(other), ("Table (measured at 10 %)".to_owned(), 9.0, 1));
}

#[test]
fn a_claim_that_has_no_figure_at_any_size_says_why_where_its_part_was_run() {
    let study = study("lower", "1, 1, 1", "a better than b");
    let mut lost = at(0.1, [1.0, 2.0, 9.0]);
    let refused = Outcome::Refused { reason: "no room".to_owned() };
    lost.run.trials.iter_mut().for_each(|it| it.record = TrialRecord::ended(refused.clone()));
    let mut other = at(0.5, [1.0, 2.0, 5.0]);
    other.tag.part = "another".to_owned();
    let mut made = results(&study, &[lost, other]);
    assert_eq!(made.tables[0].title, "Table", "nothing was measured at any size");
    let found = made.claims.remove(0).measured;
    assert_eq!(found.verdict, NotRun);
    assert!(found.reason.as_ref().unwrap().contains("trial refused"), "{found:?}");
}
