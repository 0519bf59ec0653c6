//! The Maildir workloads and `unpack`, run for real in temporary directories. Every run
//! verifies: each mail is there, once, byte by byte.

use std::fs;
use std::path::Path;

use crate::support::{Ran, corpus, run, scratch};
use workload::{Cache, Inputs, PhaseStatus};

const SMALL: &str = "mails=60 read_mails=20 maildirs=24 maildirs_per_base=10 ops=300";

fn inputs(directory: &Path) -> Inputs {
    Inputs { mail: Some(corpus(directory)), ..Inputs::default() }
}

fn files_below(path: &Path) -> usize {
    fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(
            |entry| {
                if entry.file_type().unwrap().is_dir() { files_below(&entry.path()) } else { 1 }
            },
        )
        .sum()
}

/// Runs in a fresh directory and checks that everything went well.
fn run_fresh(name: &str, seed: u64, settings: &str) -> Ran {
    let (home, target) = (tempfile::tempdir().unwrap(), scratch());
    let ran = run(name, target.path(), &inputs(home.path()), seed, settings);
    if let Err(failure) = &ran.ended {
        panic!("{name} {settings}: {failure}");
    }
    ran
}

#[test]
fn every_manner_of_delivery_keeps_every_mail() {
    for delivery in ["simple", "classic", "rename"] {
        for fsync in ["none", "file", "file+dir"] {
            for flush in ["per-line", "buffered"] {
                for copy_from in ["write_src", "memory"] {
                    let switches = format!(
                        "{SMALL} delivery={delivery} fsync={fsync} flush={flush} copy_from={copy_from}"
                    );
                    let ran = run_fresh("maildir-write", 7, &switches);
                    let io = ran.phase("io");
                    assert_eq!(io.ops, 300, "{switches}");
                    assert_eq!(io.figures["writes"] + io.figures["reads"], 300.0);
                    assert_eq!(io.latencies["deliver"].count() as f64, io.figures["writes"]);
                }
            }
        }
    }
}

#[test]
fn every_pool_and_listing_works_for_writes_and_reads() {
    for pool in ["write_src", "read_src", "maildirs"] {
        for relist in ["per-op", "once"] {
            for mark_seen in ["on", "off"] {
                let switches = format!("{SMALL} pool={pool} relist={relist} mark_seen={mark_seen}");
                let ran = run_fresh("maildir-write", 3, &switches);
                assert!(ran.completed("io") && ran.completed("sync"), "{switches}");
                let ran = run_fresh("maildir-read", 3, &format!("{switches} populate=50"));
                let io = ran.phase("io");
                assert_eq!(io.latencies["read"].count(), 300, "{switches}");
                assert_eq!(io.cache, Cache::Cold { how: "pretended".to_owned() });
                let listings = io.latencies.get("list").map_or(0, |list| list.count());
                let expected = match (relist, pool) {
                    ("per-op", "maildirs") => 600,
                    ("per-op", _) => 300,
                    (_, "maildirs") => 0,
                    _ => 1,
                };
                assert_eq!(listings, expected, "{switches}");
                let marked = io.latencies.get("mark").map_or(0, |mark| mark.count());
                assert_eq!(marked > 0, pool == "maildirs" && mark_seen == "on", "{switches}");
            }
        }
    }
}

#[test]
fn a_seed_fixes_the_ops_and_another_changes_them() {
    for (name, settings) in [("maildir-write", SMALL), ("maildir-read", SMALL)] {
        let digest = |seed| run_fresh(name, seed, settings).phase("io").digest;
        assert_eq!(digest(1), digest(1), "{name}");
        assert_ne!(digest(1), digest(2), "{name}");
    }
}

#[test]
fn listing_and_manner_do_not_change_which_ops_are_done() {
    let digest = |switches: &str| {
        run_fresh("maildir-write", 5, &format!("{SMALL} {switches}")).phase("io").digest
    };
    let first = digest("relist=per-op delivery=simple copy_from=write_src");
    assert_eq!(first, digest("relist=once delivery=classic fsync=file copy_from=memory"));
}

#[test]
fn phases_count_what_they_did() {
    let ran = run_fresh("maildir-write", 1, SMALL);
    assert_eq!(ran.phase("unpack").ops, 80);
    // maildirs/, 3 base directories, 24 maildirs with 3 parts each.
    assert_eq!(ran.phase("setup").ops, 1 + 3 + 24 * 4);
    assert_eq!(ran.phase("sync").ops, 1);
    let io = ran.phase("io");
    assert!(io.read_bytes.0 > 0 && io.write_bytes.0 > 0 && io.wall.0 > 0);
    let order: Vec<_> = ran.phases.iter().map(|phase| phase.phase.as_str()).collect();
    assert_eq!(order, ["unpack", "setup", "io", "sync"]);
}

#[test]
fn a_sequence_uses_what_is_there() {
    let (home, target) = (tempfile::tempdir().unwrap(), scratch());
    let (inputs, target) = (inputs(home.path()), target.path());
    let go = |name: &str, settings: &str| {
        let ran = run(name, target, &inputs, 1, settings);
        assert!(ran.ended.is_ok(), "{name}: {:?}", ran.ended);
        ran
    };
    let ran = go("unpack", "mails=60");
    assert_eq!(ran.phase("unpack").ops, 60);
    assert_eq!(files_below(&target.join("write_src")), 60);

    // Only the small directory is missing.
    let first = go("maildir-write", SMALL);
    assert_eq!(first.phase("unpack").ops, 20);
    // The same seed again: other names, nothing overwritten.
    let second = go("maildir-write", SMALL);
    assert!(matches!(second.phase("unpack").status, PhaseStatus::Skipped { .. }));
    assert_eq!(second.phase("setup").notes, ["maildirs of an earlier workload were kept"]);
    assert_eq!(first.phase("io").digest, second.phase("io").digest);
    let delivered = first.phase("io").figures["writes"] * 2.0;
    assert_eq!(files_below(&target.join("maildirs")) as f64, delivered);

    let read = go("maildir-read", &format!("{SMALL} pool=maildirs mark_seen=on"));
    assert!(matches!(read.phase("populate").status, PhaseStatus::Skipped { .. }));
    let again = go("maildir-read", &format!("{SMALL} pool=maildirs mark_seen=on"));
    let marked = |ran: &Ran| ran.phase("io").latencies.get("mark").map_or(0, |mark| mark.count());
    assert!(marked(&read) > marked(&again), "most were moved to cur the first time");
    assert_eq!(files_below(&target.join("maildirs")) as f64, delivered);
}

#[test]
fn another_number_of_mails_in_a_sequence_is_refused() {
    let (home, target) = (tempfile::tempdir().unwrap(), scratch());
    let inputs = inputs(home.path());
    assert!(run("unpack", target.path(), &inputs, 1, "mails=10").ended.is_ok());
    let ran = run("maildir-write", target.path(), &inputs, 1, SMALL);
    let message = ran.ended.unwrap_err().to_string();
    assert!(message.starts_with("write_src holds 10 files and should hold 60"), "{message}");
    assert!(ran.phases.iter().all(|phase| matches!(phase.status, PhaseStatus::Skipped { .. })));
    assert_eq!(ran.phases.len(), 4, "every phase says why it is missing");
}

#[test]
fn a_trial_without_mail_says_so() {
    let target = tempfile::tempdir().unwrap();
    let ran = run("unpack", target.path(), &Inputs::default(), 1, "mails=3");
    assert_eq!(ran.ended.unwrap_err().to_string(), "the trial carries no mail corpus");
}
