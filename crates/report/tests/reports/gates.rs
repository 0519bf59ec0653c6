//! How often a gate is wrong: invented noise through the statistics of `compare`, two runs that
//! differ in nothing, or in a planted share.

use report::{Gate, changes};
use store::StoredRun;
use units::Nanos;
use workload::Seed;

use crate::synthetic::{Synthetic, normal, phase, planted};

const GATES: u64 = 200;

/// A run of three phases.
fn run(repeats: u32) -> StoredRun {
    let phases = [("unpack", 2.0), ("io", 1.4), ("remove", 0.3)];
    Synthetic {
        contenders: vec![planted("ext4", "ext4", 1.0, 0.0)],
        phases: phases.map(|(name, wall)| phase("maildir-write", name, wall, &[])).to_vec(),
        repeats,
        ..Synthetic::small()
    }
    .run()
}

/// The run again: every time has noise of its own, and is `factor` times as long.
fn again(run: &StoredRun, seed: u64, spread: f64, factor: f64) -> StoredRun {
    let mut run = run.clone();
    let mut draw = Seed(seed).stream("noise");
    for phase in run.trials.iter_mut().flat_map(|trial| &mut trial.record.phases) {
        let times = factor * (spread * normal(&mut draw)).exp();
        phase.wall = Nanos((phase.wall.0 as f64 * times) as u64);
    }
    run
}

/// How many gates pass, find something slower, or show neither, at 5 %, between a run and one of
/// the same seeds that takes `factor` times as long.
fn ends(repeats: u32, spread: f64, factor: f64) -> [usize; 3] {
    let run = run(repeats);
    let mut ends = [0; 3];
    for seed in 0..GATES {
        let before = again(&run, 2 * seed, spread, 1.0);
        let after = again(&run, 2 * seed + 1, spread, factor);
        ends[match changes(&before, &after).gate(0.05) {
            Gate::Passed => 0,
            Gate::Slower => 1,
            Gate::Open => 2,
        }] += 1;
    }
    ends
}

/// The spreads of a lab (0.1 to 1 % from seed to seed), of a quiet machine and of noisy ones. A gate
/// is wrong in at most 1 of 200, and in none of a lab.
#[test]
fn a_run_is_not_called_slower_than_itself() {
    for (repeats, spread, wrong_most, passed_least) in [
        (3, 0.001, 0, 195),
        (3, 0.005, 0, 150),
        (5, 0.01, 0, 150),
        (5, 0.03, 1, 0),
        (8, 0.05, 1, 0),
        (3, 0.08, 1, 0),
    ] {
        let [passed, slower, open] = ends(repeats, spread, 1.0);
        println!("{repeats} repeats, {spread}: {passed} passed, {slower} slower, {open} open");
        assert!(slower <= wrong_most, "{repeats} repeats, {spread}: {slower} slower");
        assert!(passed >= passed_least, "{repeats} repeats, {spread}: {passed} passed");
    }
}

#[test]
fn what_is_slower_by_a_tenth_does_not_pass() {
    for (repeats, spread, found_least) in [(3, 0.001, 195), (5, 0.01, 195)] {
        let [passed, slower, open] = ends(repeats, spread, 1.1);
        println!("{repeats} repeats, {spread}: {passed} passed, {slower} slower, {open} open");
        assert_eq!(passed, 0, "{repeats} repeats, {spread}");
        assert!(slower >= found_least, "{repeats} repeats, {spread}: {slower}");
    }
}

/// Two runs on a busy machine, each in a moment of its own, which all its repeats share: they are
/// much closer to each other than the runs are.
#[test]
fn two_moments_of_a_busy_machine_are_no_difference() {
    let ends = |load: &str, factor: f64| {
        let mut run = run(3);
        run.header.testbed = "dir".to_owned();
        run.header.environment.0.retain(|key, _| !key.starts_with("lab_"));
        run.header.environment.0.insert("load_at_start".to_owned(), load.to_owned());
        let mut slower = 0;
        for seed in 0..GATES {
            let moment = |seed: u64| (0.2 * normal(&mut Seed(seed).stream("moment"))).exp();
            let before = again(&run, 2 * seed, 0.03, moment(2 * seed));
            let after = again(&run, 2 * seed + 1, 0.03, factor * moment(2 * seed + 1));
            slower += usize::from(changes(&before, &after).gate(0.05) == Gate::Slower);
        }
        slower
    };
    assert!(ends("0.08", 1.0) > 20, "a quiet machine has no such moments, and these are found");
    assert!(ends("38", 1.0) <= 1);
    assert!(ends("38", 8.0) >= 195, "what takes eight times as long is found all the same");
}
