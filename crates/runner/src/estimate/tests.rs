//! How long a run takes, from invented earlier trials.

use super::*;
use stack::Contender;
use store::Store;
use trial::TrialSpec;
use trial::{Outcome, TrialRecord, WorkloadChoice};
use units::Nanos;
use workload::{Parameters, Seed};

fn spec(filesystem: &str, ops: u64) -> TrialSpec {
    let null = workload::find("null").unwrap().describe();
    let given = BTreeMap::from([("ops".to_owned(), ops.to_string())]);
    let parameters = Parameters::resolve(null, &given, 1.0).unwrap();
    TrialSpec {
        contender: Contender::plain(filesystem),
        workloads: vec![WorkloadChoice { name: "null".to_owned(), parameters }],
        seed: Seed(1),
        block: 0,
        size: None,
        verify: false,
        timeout: Nanos::from_secs(1),
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn like_trials_are_what_is_gone_by() {
    let mut durations = Durations::default();
    durations.add(&spec("ext4", 1), 2 * SECOND);
    durations.add(&spec("ext4", 1), 4 * SECOND);
    durations.add(&spec("xfs", 1), 12 * SECOND);
    let specs = [spec("ext4", 1), spec("ext4", 1), spec("xfs", 1), spec("btrfs", 1)];
    let mut remaining = Remaining::of(&specs);
    let all = remaining.estimate(&durations).unwrap();
    // 3 + 3 + 12, and for btrfs the mean of all with this workload.
    assert_eq!((all.total, all.known, all.trials), (24 * SECOND, 4, 4));
    remaining.ended(&specs[2]);
    assert_eq!(remaining.estimate(&durations).unwrap().total, 12 * SECOND);
    remaining.ended(&specs[2]);
    assert_eq!(remaining.estimate(&durations).unwrap().trials, 3, "it was the only one");
}

/// Of one testbed's trials, and of each kind the newest.
#[test]
fn earlier_trials_are_those_of_the_store() {
    let mut store = Store::in_memory().unwrap();
    let trials = vec![spec("ext4", 1); NEWEST + 1];
    let run = store::NewRun {
        fstrial_version: "0",
        testbed: "lab",
        lab_id: None,
        environment: &store::Environment(BTreeMap::new()),
        seed: 1,
        contenders: &["ext4".to_owned()],
        repeats: trials.len() as u32,
        scale: 1.0,
        request: "{}",
        trials: &trials,
    };
    let run = store.create_run(&run).unwrap();
    for ordinal in 0..trials.len() as u32 {
        let mut record = TrialRecord::ended(Outcome::Done);
        record.host = Some((ordinal + 1) * SECOND);
        store.finish_trial(&run, ordinal, &record).unwrap();
    }
    let one = Remaining::of(&trials[..1]);
    let with = |testbed, facts| {
        one.estimate(&Durations::earlier(&store, testbed, &store::Environment(facts)).unwrap())
    };
    let on = |testbed| with(testbed, BTreeMap::new());
    // (2 + 3 + 4 + 5 + 6 + 7) / 6 s
    assert_eq!(on("lab").unwrap().total, Duration::from_millis(4500));
    assert_eq!(on("dir"), None);
    // An own tar of three bytes says nothing of the sources that are invented.
    let own = BTreeMap::from([("source_tree".to_owned(), "own:t.tar".to_owned())]);
    assert_eq!(with("lab", own), None);
}

#[test]
fn estimates_one_after_the_other_are_added() {
    let estimate = |seconds: [u32; 3], known, trials| {
        let [total, least, most] = seconds.map(|seconds| seconds * SECOND);
        Estimate { total, least, most, known, trials }
    };
    let all = [estimate([5, 3, 7], 2, 4), estimate([50, 30, 90], 10, 11)];
    assert_eq!(all.into_iter().sum::<Estimate>(), estimate([55, 33, 97], 12, 15));
}

#[test]
fn nothing_is_said_without_a_basis() {
    let mut durations = Durations::default();
    let specs = [spec("ext4", 1), spec("ext4", 2), spec("ext4", 3)];
    assert_eq!(Remaining::of(&specs).estimate(&durations), None);
    durations.add(&spec("ext4", 1), SECOND);
    assert_eq!(Remaining::of(&specs).estimate(&durations), None, "one of three kinds");
    durations.add(&spec("xfs", 2), SECOND);
    let estimate = Remaining::of(&specs).estimate(&durations).unwrap();
    assert_eq!((estimate.total, estimate.known), (3 * SECOND, 2));
    let half = Remaining::of(&[spec("ext4", 1), spec("ext4", 3)]);
    assert_eq!(half.estimate(&durations).map(|estimate| estimate.known), Some(1));
    assert_eq!(Remaining::of(&[]).estimate(&durations), None);
}

/// Every end of the range is worked out by hand.
#[test]
fn an_estimate_says_how_sure_it_is() {
    let mut durations = Durations::default();
    durations.add(&spec("ext4", 1), 10 * SECOND);
    let ends = |durations: &Durations, filesystem: &str| {
        let estimate =
            Remaining::of(&[spec(filesystem, 1), spec(filesystem, 1)]).estimate(durations).unwrap();
        let ends = [estimate.least, estimate.total, estimate.most];
        (ends.map(|end| end.as_secs_f64().round() as u64), estimate.is_sure())
    };
    assert_eq!(ends(&durations, "ext4"), ([17, 20, 24], true));
    assert_eq!(ends(&durations, "xfs"), ([13, 20, 32], false), "another filesystem");
    durations.add(&spec("ext4", 1), 20 * SECOND);
    assert_eq!(ends(&durations, "ext4"), ([17, 30, 48], false), "its like vary");
    // Six newer ones: the first two no longer count.
    for _ in 0..NEWEST {
        durations.add(&spec("ext4", 1), 30 * SECOND);
    }
    assert_eq!(ends(&durations, "ext4"), ([50, 60, 72], true));
    // One of three is like none: no time at the least, twice as long at the most.
    let three = [spec("ext4", 1), spec("ext4", 1), spec("ext4", 2)];
    let estimate = Remaining::of(&three).estimate(&durations).unwrap();
    assert_eq!((estimate.least, estimate.total), (50 * SECOND, 90 * SECOND));
    assert_eq!(estimate.most, 144 * SECOND);
}

/// Two lanes, and a long trial that runs to the end alone.
#[test]
fn what_runs_beside_each_other_ends_with_the_last() {
    let (long, short) = (spec("ext4", 1), spec("ext4", 2));
    let mut durations = Durations::default();
    durations.add(&long, 100 * SECOND);
    durations.add(&short, 10 * SECOND);
    let left = |all: &[TrialSpec], running: &[(&TrialSpec, Duration)], lanes| {
        Remaining::of(all).left(&durations, running, lanes).unwrap().total
    };
    let two = [long.clone(), short.clone()];
    assert_eq!(left(&two, &[], 1), 110 * SECOND);
    assert_eq!(left(&two, &[], 2), 100 * SECOND);
    assert_eq!(left(&two, &[(&long, 30 * SECOND)], 2), 70 * SECOND);
    assert_eq!(left(&two, &[(&long, 30 * SECOND), (&short, 2 * SECOND)], 2), 70 * SECOND);
    assert_eq!(left(&two, &[(&long, 200 * SECOND)], 2), 10 * SECOND, "it is overdue");
    assert_eq!(left(&two, &[(&short, 4 * SECOND)], 0), 106 * SECOND, "there is one lane");
    // Each end of the range ends with the last of its own.
    let ends = Remaining::of(&two).left(&durations, &[], 2).unwrap();
    let ends = [ends.least, ends.most].map(|end| end.as_secs_f64().round());
    assert_eq!(ends, [83.0, 120.0]);
    // Thousands of trials fill all lanes.
    let many = vec![short.clone(); 5001];
    assert_eq!(left(&many, &[], 4), 1251 * 10 * SECOND);
    assert_eq!(left(&many, &[(&short, 4 * SECOND)], 4), 1250 * 10 * SECOND + 6 * SECOND);
}

/// Whoever shares the machine waits as long as the newest trials did; what runs has its turn.
#[test]
fn turns_of_others_are_in_the_time_left() {
    let one = spec("ext4", 1);
    let mut durations = Durations::default();
    durations.add(&one, 10 * SECOND);
    let mut three = Remaining::of(&[one.clone(), one.clone(), one.clone()]);
    three.waited(90 * SECOND);
    for _ in 0..NEWEST / 2 {
        three.waited(20 * SECOND);
        three.waited(40 * SECOND);
    }
    let left = three.left(&durations, &[(&one, 4 * SECOND)], 1).unwrap();
    assert_eq!(left.total, 6 * SECOND + 2 * (10 + 30) * SECOND);
    // (8.3 - 4) + 2 × (8.3 + 20) and (12 - 4) + 2 × (12 + 40).
    let ends = [left.least, left.most].map(|end| end.as_secs_f64().round());
    assert_eq!(ends, [61.0, 112.0]);
}
