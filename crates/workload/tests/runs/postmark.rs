//! PostMark, run for real with verification.

use std::fs;

use workload::{Inputs, PhaseEvent, PhaseStatus};

use crate::support::{run, scratch};
use crate::watching::{refused, watched};

pub(crate) fn counts_bytes_and_figures_of_a_run() {
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

pub(crate) fn the_seed_of_the_trial_counts_only_when_asked_for() {
    let digest = |seed: u64, switches: &str| {
        let target = tempfile::tempdir().unwrap();
        let settings = format!("number=50 transactions=50 {switches}");
        run("postmark", target.path(), &Inputs::default(), seed, &settings).phase("create").digest
    };
    assert_eq!(digest(1, ""), digest(2, ""));
    assert_eq!(digest(1, "pm_seed=0"), digest(1, "pm_seed=0"));
    assert_ne!(digest(1, "pm_seed=0"), digest(2, "pm_seed=0"));
}

pub(crate) fn a_pool_that_empties_says_so() {
    let target = tempfile::tempdir().unwrap();
    let settings = "number=10 transactions=100 bias_create=0";
    let ran = run("postmark", target.path(), &Inputs::default(), 1, settings);
    let message = ran.ended.as_ref().unwrap_err().to_string();
    assert!(message.contains("no file is left after 10 transactions"), "{message}");
    assert!(matches!(ran.phase("transactions").status, PhaseStatus::Failed { .. }));
    assert!(matches!(ran.phase("delete").status, PhaseStatus::Skipped { .. }));
}

pub(crate) fn sizes_that_make_no_sense_are_refused() {
    for name in ["postmark", "original-postmark"] {
        let message = |settings: &str| refused(name, settings).unwrap();
        let said = "size_low=10 KiB is above size_high=9 KiB";
        assert_eq!(message("size_low=10K size_high=9K"), said);
        assert!(message("size_low=0").contains("size_low=0: a size from 1 to 1073741823"));
        // Found by drawing all transactions before anything is made.
        let said = message("number=1");
        assert!(said.starts_with("no file is left after "), "{said}");
        assert_eq!(refused(name, "number=500"), None);
    }
}

pub(crate) fn files_may_all_be_of_one_size() {
    let target = tempfile::tempdir().unwrap();
    let settings =
        "number=3 transactions=2 size_low=1000 size_high=1000 bias_read=10 bias_create=10";
    let ran = run("postmark", target.path(), &Inputs::default(), 1, settings);
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    let counts = |phase: &str| {
        let result = ran.phase(phase);
        (result.ops, result.read_bytes.0, result.write_bytes.0)
    };
    assert_eq!(counts("create"), (3, 0, 3000));
    // Each transaction reads a file and creates one.
    assert_eq!(counts("transactions"), (4, 2000, 2000));
    assert_eq!(counts("delete"), (5, 0, 0));
}

pub(crate) fn the_originals_rates_are_of_all_bytes_read_and_written() {
    let target = tempfile::tempdir().unwrap();
    let settings = "number=40 transactions=90";
    let ran = run("postmark", target.path(), &Inputs::default(), 1, settings);
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    let figures = &ran.phase("delete").figures;
    // However many seconds it took.
    let bytes =
        |rate: &str| (figures[rate] * figures["original_total_s"] * 1_048_576.0).round() as u64;
    let (create, transactions) = (ran.phase("create"), ran.phase("transactions"));
    // No file is below 500 bytes.
    assert!(transactions.read_bytes.0 >= 500 && create.write_bytes.0 >= 40 * 500);
    assert_eq!(bytes("original_read_mb_per_s"), transactions.read_bytes.0);
    let written = create.write_bytes.0 + transactions.write_bytes.0;
    assert_eq!(bytes("original_write_mb_per_s"), written);
}

pub(crate) fn what_is_left_is_read_back_where_that_is_asked_for() {
    let ended = |verify: bool| {
        let target = scratch();
        let files = target.path().join("postmark");
        // Changes a byte of a file when the transactions are over.
        let meddle = |event: &PhaseEvent| {
            if let PhaseEvent::Finished(result) = event
                && result.phase == "transactions"
            {
                let file = fs::read_dir(&files).unwrap().next().unwrap().unwrap().path();
                let mut contents = fs::read(&file).unwrap();
                contents[0] ^= 1;
                fs::write(&file, contents).unwrap();
            }
        };
        let settings = "number=5 transactions=1";
        watched("postmark", target.path(), &Inputs::default(), settings, verify, &meddle)
    };
    assert!(ended(false).is_ok());
    let message = ended(true).unwrap_err().to_string();
    assert!(message.starts_with("verification: "), "{message}");
    assert!(message.ends_with(" has other contents than written"), "{message}");
}
