//! An original held against ours, with planted differences.

use report::{Answer, Crosscheck, PhaseCheck, Verdict, crosscheck};
use store::StoredRun;
use trial::{Outcome, Step};
use units::{Bytes, Nanos};

use crate::synthetic::{Synthetic, phase, planted};

/// Twelve pairs on one filesystem whose phase `create` takes the one so long, the other so.
fn pairs(ours: f64, original: f64) -> StoredRun {
    let mut run = Synthetic {
        contenders: vec![planted("ext4", "ext4", 1.0, 0.02)],
        phases: vec![
            phase("postmark", "create", ours, &[("create", 500)]),
            phase("original-postmark", "create", original, &[("create", 500)]),
        ],
        repeats: 12,
        seed: 3,
        latencies: 10,
    }
    .run();
    for result in run.trials.iter_mut().flat_map(|trial| &mut trial.phases) {
        result.figures.insert("original_created".to_owned(), 500.0);
        result.figures.insert("original_total_s".to_owned(), result.wall.0 as f64);
    }
    run
}

fn held(run: &StoredRun) -> Crosscheck {
    crosscheck(run, "original-postmark", "postmark", 0.1)
}

fn only(check: &Crosscheck) -> &PhaseCheck {
    assert_eq!((check.contenders.len(), check.contenders[0].phases.len()), (1, 1));
    &check.contenders[0].phases[0]
}

#[test]
fn times_within_the_margin_are_equivalent_and_counts_exactly_equal() {
    let check = held(&pairs(1.03, 1.0));
    let phase = only(&check);
    assert_eq!(phase.verdict, Verdict::Equivalent);
    let ratio = phase.times[0].ratio.unwrap();
    assert!((1.0..1.06).contains(&ratio), "{ratio}");
    let names: Vec<&str> = phase.counts.iter().map(|count| count.name.as_str()).collect();
    assert_eq!(names, ["ops", "bytes written", "created"], "rates are no counts");
    assert!(phase.counts.iter().all(|count| (count.agree, count.pairs) == (12, 12)));
    assert!(check.holds());
    let text = check.to_text();
    assert!(text.contains("12 pairs") && text.contains("ops equal (500)"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn ours_that_takes_longer_departs() {
    let check = held(&pairs(1.3, 1.0));
    assert_eq!(only(&check).times[0].answer, Answer::OursMore);
    assert_eq!(only(&check).verdict, Verdict::Departs);
    assert!(!check.holds());
}

#[test]
fn ours_that_takes_less_departs_unless_it_is_the_original_s_own_code() {
    let mut run = pairs(1.0, 1.4);
    assert_eq!(only(&held(&run)).verdict, Verdict::Departs);
    for result in run.trials.iter_mut().flat_map(|trial| &mut trial.phases) {
        // All that the original takes longer is time in its own code.
        let wall = result.wall.0 as f64;
        let user = if result.workload == "postmark" { 0.0 } else { wall * 0.4 / 1.4 };
        result.cpu.user = Nanos(user as u64);
    }
    let check = held(&run);
    assert_eq!(only(&check).verdict, Verdict::OwnCode);
    assert!(check.holds());
}

#[test]
fn a_count_that_differs_in_one_pair_departs_and_is_shown() {
    let mut run = pairs(1.0, 1.0);
    let trial = run
        .trials
        .iter_mut()
        .find(|trial| trial.spec.block == 7 && trial.spec.workloads[0].name == "original-postmark");
    trial.unwrap().phases[0].write_bytes = Bytes(17);
    let check = held(&run);
    assert_eq!(only(&check).verdict, Verdict::Departs);
    let text = check.to_text();
    assert!(text.contains("bytes written DIFFER in 1 of 12: 2,650,000 and 17"), "{text}");
}

#[test]
fn too_few_pairs_and_failed_ones_decide_nothing() {
    let mut run = pairs(1.0, 1.0);
    run.trials.retain(|trial| trial.spec.block == 0);
    assert_eq!(only(&held(&run)).verdict, Verdict::Undecided);
    let reason = "postmark: it went on after an error".to_owned();
    run.trials[0].outcome = Some(Outcome::Failed { step: Step::Work, reason });
    let check = held(&run);
    assert!(!check.holds() && check.contenders[0].phases.is_empty());
    assert!(check.to_text().contains("it went on after an error"));
    let json: serde_json::Value = serde_json::from_str(&check.to_json()).unwrap();
    assert_eq!(json["contenders"][0]["pairs"], 0);
}
