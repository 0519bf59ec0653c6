//! The Maildir workloads and `unpack`, run for real in temporary directories. Every run
//! verifies: each mail is there, once, byte by byte.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use crate::support::{Ran, corpus, run, scratch};
use crate::watching::{opens, room, traced, watched};
use units::Bytes;
use workload::{Cache, InputFacts, Inputs, PhaseEvent, PhaseResult, PhaseStatus};

const SMALL: &str = "mails=60 read_mails=20 maildirs=24 maildirs_per_base=10 ops=300";
const FEW: &str = "mails=6 read_mails=4 maildirs=5 maildirs_per_base=3 ops=20";

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

pub(crate) fn every_manner_of_delivery_keeps_every_mail() {
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

pub(crate) fn every_pool_and_listing_works_for_writes_and_reads() {
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

pub(crate) fn a_seed_fixes_the_ops_and_another_changes_them() {
    for (name, settings) in [("maildir-write", SMALL), ("maildir-read", SMALL)] {
        let digest = |seed| run_fresh(name, seed, settings).phase("io").digest;
        assert_eq!(digest(1), digest(1), "{name}");
        assert_ne!(digest(1), digest(2), "{name}");
    }
}

pub(crate) fn listing_and_manner_do_not_change_which_ops_are_done() {
    let digest = |switches: &str| {
        run_fresh("maildir-write", 5, &format!("{SMALL} {switches}")).phase("io").digest
    };
    let first = digest("relist=per-op delivery=simple copy_from=write_src");
    assert_eq!(first, digest("relist=once delivery=classic fsync=file copy_from=memory"));
}

pub(crate) fn phases_count_what_they_did() {
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

pub(crate) fn a_sequence_uses_what_is_there() {
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

pub(crate) fn another_number_of_mails_in_a_sequence_is_refused() {
    let (home, target) = (tempfile::tempdir().unwrap(), scratch());
    let inputs = inputs(home.path());
    assert!(run("unpack", target.path(), &inputs, 1, "mails=10").ended.is_ok());
    let ran = run("maildir-write", target.path(), &inputs, 1, SMALL);
    let message = ran.ended.unwrap_err().to_string();
    assert!(message.starts_with("write_src holds 10 files and should hold 60"), "{message}");
    assert!(ran.phases.iter().all(|phase| matches!(phase.status, PhaseStatus::Skipped { .. })));
    assert_eq!(ran.phases.len(), 4, "every phase says why it is missing");
}

pub(crate) fn a_trial_without_mail_says_so() {
    let target = tempfile::tempdir().unwrap();
    let ran = run("unpack", target.path(), &Inputs::default(), 1, "mails=3");
    assert_eq!(ran.ended.unwrap_err().to_string(), "the trial carries no mail corpus");
}

/// Runs without reading anything back, and checks that everything went well.
fn run_unverified(name: &str, target: &Path, inputs: &Inputs, settings: &str) -> Ran {
    let phases = RefCell::new(Vec::new());
    let look = |event: &PhaseEvent| {
        if let PhaseEvent::Finished(result) = event {
            phases.borrow_mut().push(PhaseResult::clone(result));
        }
    };
    let ended = watched(name, target, inputs, settings, false, &look);
    assert!(ended.is_ok(), "{name} {settings}: {ended:?}");
    Ran { ended, phases: phases.into_inner() }
}

pub(crate) fn mails_of_an_earlier_workload_are_read_whether_or_not_they_are_verified() {
    let (home, target) = (tempfile::tempdir().unwrap(), scratch());
    let (inputs, target) = (inputs(home.path()), target.path());
    let done = |settings: &str| {
        let settings = format!("{FEW} pool=maildirs {settings}");
        let ran = run_unverified("maildir-write", target, &inputs, &settings);
        let figures = &ran.phase("io").figures;
        (figures["writes"], figures["reads"])
    };
    assert_eq!(done("write_share=1"), (20.0, 0.0));
    // With nothing to read, the first op would become a delivery.
    assert_eq!(done("write_share=0"), (0.0, 20.0));
}

pub(crate) fn maildirs_that_no_op_reads_from_are_not_listed() {
    let (home, target) = (tempfile::tempdir().unwrap(), scratch());
    let (inputs, target) = (inputs(home.path()), target.path());
    run_unverified("maildir-write", target, &inputs, FEW);
    // The second time, there are mails: listing them would bring the maildirs into the cache.
    let pack = inputs.mail.as_ref().unwrap().path();
    let opened = opens("maildir-write", target, pack, FEW);
    let below: Vec<_> = opened.iter().filter(|(path, _)| path.starts_with("maildirs/")).collect();
    assert!(!below.is_empty(), "mails are delivered");
    assert!(below.iter().all(|(_, flags)| flags.contains("O_CREAT")), "{below:?}");
}

pub(crate) fn what_was_read_is_compared_only_where_that_is_asked_for() {
    let (home, target) = (tempfile::tempdir().unwrap(), scratch());
    let (inputs, target) = (inputs(home.path()), target.path());
    run_unverified("maildir-read", target, &inputs, FEW);
    let mail = fs::read_dir(target.join("write_src"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| fs::metadata(path).unwrap().len() > 0)
        .unwrap();
    let mut bytes = fs::read(&mail).unwrap();
    bytes[0] ^= 1;
    fs::write(&mail, bytes).unwrap();

    run_unverified("maildir-read", target, &inputs, FEW);
    let ran = run("maildir-read", target, &inputs, 1, FEW);
    let message = ran.ended.unwrap_err().to_string();
    assert!(message.contains("has other contents than written"), "{message}");
}

pub(crate) fn empty_maildirs_of_an_earlier_workload_are_populated() {
    let (home, target) = (tempfile::tempdir().unwrap(), scratch());
    let (inputs, target) = (inputs(home.path()), target.path());
    let written = run_unverified("maildir-write", target, &inputs, &format!("{FEW} write_share=0"));
    assert_eq!(written.phase("io").figures["writes"], 0.0);

    let settings = format!("{FEW} pool=maildirs populate=7");
    let read = run("maildir-read", target, &inputs, 1, &settings);
    assert!(read.ended.is_ok(), "{:?}", read.ended);
    assert_eq!(read.phase("setup").notes, ["maildirs of an earlier workload were kept"]);
    assert!(read.completed("populate"));
    assert_eq!((read.phase("populate").ops, files_below(&target.join("maildirs"))), (7, 7));
    assert_eq!(read.phase("io").latencies["read"].count(), 20);
}

pub(crate) fn where_nothing_is_read_no_mails_to_read_are_unpacked() {
    let ran = run_fresh("maildir-write", 1, &format!("{FEW} write_share=1"));
    assert_eq!(ran.phase("unpack").ops, 6);
    let ran = run_fresh("maildir-write", 1, &format!("{FEW} write_share=0.5"));
    assert_eq!(ran.phase("unpack").ops, 6 + 4);
}

/// A mail of 1000 bytes is taken to fill 3048 (half a block is lost), a directory 4096.
pub(crate) fn mails_and_directories_need_room() {
    let facts = InputFacts { mean_mail: Bytes(1_000), ..InputFacts::default() };
    let needed = |name: &str, settings: &str| room(name, &format!("{SMALL} {settings}"), &facts);
    let of =
        |files: u64, directories: u64| (3_048 * files + 4_096 * directories, files + directories);
    // `maildirs`, 3 base directories and 24 maildirs with 3 parts each.
    let maildirs = 1 + 3 + 24 * 4;
    // Every op may be a delivery; `write_src` and `read_src`.
    assert_eq!(needed("maildir-write", ""), of(60 + 20 + 300, maildirs + 2));
    assert_eq!(needed("maildir-write", "write_share=1"), of(60 + 300, maildirs + 1));
    assert_eq!(needed("maildir-write", "copy_from=memory"), of(20 + 300, maildirs + 1));
    assert_eq!(needed("maildir-read", ""), of(60, maildirs + 1));
    assert_eq!(needed("maildir-read", "pool=read_src"), of(20, maildirs + 1));
    assert_eq!(needed("maildir-read", "pool=maildirs populate=50"), of(50, maildirs + 1));
}

/// `O_CLOEXEC` keeps programs from inheriting a file, `O_DIRECTORY` a file from being taken for a
/// directory.
pub(crate) fn every_file_is_opened_with_the_flags_for_its_use() {
    let (home, target) = (tempfile::tempdir().unwrap(), scratch());
    let mails = corpus(home.path());
    // Of 20 ops, both deliveries and reads of the small directory.
    let settings = format!("{FEW} write_share=0.5 delivery=classic fsync=file+dir relist=once");
    let opened = opens("maildir-write", target.path(), mails.path(), &settings);
    let flags = |begins: &str, ends: &str| {
        let mut found: Vec<String> = opened
            .iter()
            .filter(|(path, _)| path.starts_with(begins) && path.ends_with(ends))
            .map(|(_, flags)| flags.clone())
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    let unpacked = "O_CLOEXEC|O_CREAT|O_EXCL|O_NOCTTY|O_NONBLOCK|O_WRONLY";
    let read = "O_CLOEXEC|O_RDONLY";
    assert_eq!(flags("write_src/", ".mail"), [unpacked, read]);
    assert_eq!(flags("read_src/", ".mail"), [unpacked, read]);
    assert_eq!(flags("maildirs/", ".mail"), ["O_CLOEXEC|O_CREAT|O_EXCL|O_WRONLY"]);
    assert_eq!(flags("maildirs/", "/new"), ["O_CLOEXEC|O_DIRECTORY|O_RDONLY"]);
}

pub(crate) fn what_was_prepared_is_made_durable_before_the_ops_unless_that_is_switched_off() {
    let syncs = |settle: &str| {
        let settings = format!("{FEW} flush=buffered relist=once settle={settle}");
        let (_, calls) = traced("trace=syncfs", "maildir-write", &settings);
        calls.iter().filter(|call| call.starts_with("syncfs(")).count()
    };
    // One is phase `sync`.
    assert_eq!((syncs("on"), syncs("off")), (2, 1));
}
