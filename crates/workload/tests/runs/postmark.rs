//! PostMark, run for real with verification.

use workload::{Inputs, PhaseStatus};

use crate::support::run;

#[test]
fn counts_bytes_and_figures_of_a_run() {
    for (switches, buffered) in
        [("", true), ("buffered=off read_block=100 write_block=1000", false)]
    {
        let target = tempfile::tempdir().unwrap();
        let settings = format!("number=300 transactions=700 subdirectories=5 {switches}");
        let ran = run("postmark", target.path(), &Inputs::default(), 1, &settings);
        assert!(ran.ended.is_ok(), "{buffered}: {:?}", ran.ended);
        let create = ran.phase("create");
        assert_eq!((create.ops, create.latencies["create"].count()), (300, 300));
        let transactions = ran.phase("transactions");
        let count = |op: &str| transactions.latencies[op].count();
        let all = count("create") + count("delete") + count("read") + count("append");
        assert_eq!(transactions.ops, all);
        // An append to a file that is as large as files get is no op.
        assert!((1390..=1400).contains(&all), "{all}");
        assert_eq!(ran.phase("delete").ops, 300 + count("create") - count("delete"));
        assert!(ran.phase("delete").figures["original_total_s"] >= 1.0);
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
    }
}

#[test]
fn the_seed_of_the_trial_counts_only_when_asked_for() {
    let digest = |seed: u64, switches: &str| {
        let target = tempfile::tempdir().unwrap();
        let settings = format!("number=50 transactions=50 {switches}");
        run("postmark", target.path(), &Inputs::default(), seed, &settings).phase("create").digest
    };
    assert_eq!(digest(1, ""), digest(2, ""));
    assert_eq!(digest(1, "pm_seed=0"), digest(1, "pm_seed=0"));
    assert_ne!(digest(1, "pm_seed=0"), digest(2, "pm_seed=0"));
}

#[test]
fn a_pool_that_empties_says_so() {
    let target = tempfile::tempdir().unwrap();
    let settings = "number=10 transactions=100 bias_create=0";
    let ran = run("postmark", target.path(), &Inputs::default(), 1, settings);
    let message = ran.ended.as_ref().unwrap_err().to_string();
    assert!(message.contains("no file was left after 10 transactions"), "{message}");
    assert!(matches!(ran.phase("transactions").status, PhaseStatus::Failed { .. }));
    assert!(matches!(ran.phase("delete").status, PhaseStatus::Skipped { .. }));
}

#[test]
fn sizes_that_make_no_sense_are_refused() {
    let target = tempfile::tempdir().unwrap();
    let message = |settings: &str| {
        run("postmark", target.path(), &Inputs::default(), 1, settings)
            .ended
            .unwrap_err()
            .to_string()
    };
    assert_eq!(message("size_low=10K size_high=9K"), "size_low is above size_high");
    assert!(message("size_low=0").contains("size_low=0 B is not between"));
}
