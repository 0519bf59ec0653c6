//! The workload `age`, run for real.

use workload::{Inputs, PhaseStatus};

use crate::support::{run, scratch};

#[test]
fn files_are_replaced_and_the_fullness_stays() {
    let target = tempfile::tempdir().unwrap();
    let settings = "capacity=40M fullness=0.5 overwrites=3 profile=mail";
    let ran = run("age", target.path(), &Inputs::default(), 1, settings);
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    let (fill, churn) = (ran.phase("fill"), ran.phase("churn"));
    let (mut files, mut held) = (0, 0);
    let mut directories = vec![target.path().join("age")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let metadata = entry.as_ref().unwrap().metadata().unwrap();
            if metadata.is_dir() {
                directories.push(entry.unwrap().path());
            } else {
                files += 1;
                held += metadata.len().next_multiple_of(4096);
            }
        }
    }
    let goal = 20 << 20;
    assert!(held <= goal && held > goal * 98 / 100, "{held} of {goal}");
    let deleted = churn.latencies["delete"].count();
    let made = fill.ops + churn.latencies["create"].count();
    assert_eq!(files, made - deleted);
    // Three times what the files take, rounding up to blocks included.
    assert!(churn.write_bytes.0 >= 3 * (goal * 98 / 100), "{}", churn.write_bytes);
    assert_eq!(churn.figures["files"], files as f64);
    if ran.phase("score").status == PhaseStatus::Completed {
        let score = ran.phase("score").figures["layout_score"];
        assert!((0.0..=1.0).contains(&score), "{score}");
    }
}

#[test]
fn a_seed_is_a_history() {
    let digests = |seed| {
        let target = scratch();
        let settings = "capacity=4M overwrites=1 profile=mail";
        let ran = run("age", target.path(), &Inputs::default(), seed, settings);
        [ran.phase("fill").digest, ran.phase("churn").digest]
    };
    assert_eq!(digests(1), digests(1));
    assert_ne!(digests(1), digests(2));
}
