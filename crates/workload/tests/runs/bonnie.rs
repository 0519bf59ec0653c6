//! The workload `bonnie`, run for real with verification.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use skippable::{Ending, needs_program};
use workload::{Context, Inputs, Parameters, PhaseEvent, PhaseResult, PhaseStatus, Seed, find};

use crate::support::{FakeHost, corpus, program, run, scratch};
use crate::watching::refused;

const SMALL: &str = "size=4M files=1 seeks=500";

fn fresh(seed: u64, settings: &str) -> crate::support::Ran {
    let target = scratch();
    let ran = run("bonnie", target.path(), &Inputs::default(), seed, settings);
    assert!(ran.ended.is_ok(), "{settings}: {:?}", ran.ended);
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
    ran
}

pub(crate) fn both_manners_do_what_their_version_does() {
    for (manner, chars, char_ops, syncs) in
        [("1.03a", 4 << 20, 1024, 0), ("2.00a", 3 << 20, 3 << 20, 1)]
    {
        let ran = fresh(1, &format!("{SMALL} manner={manner}"));
        let count = |phase: &str, op: &str| {
            ran.phase(phase).latencies.get(op).map_or(0, |latencies| latencies.count())
        };
        for phase in ["write-char", "read-char"] {
            let result = ran.phase(phase);
            let bytes = result.read_bytes.0 + result.write_bytes.0;
            assert_eq!((bytes, result.ops), (chars, char_ops), "{manner} {phase}");
        }
        for phase in ["write-block", "rewrite", "read-block"] {
            assert_eq!(ran.phase(phase).ops, 512, "{manner} {phase}");
            assert!(ran.phase(phase).figures["k_per_sec"] > 0.0);
        }
        assert_eq!(ran.phase("rewrite").write_bytes.0, 4 << 20);
        let seeks = ran.phase("seeks");
        assert_eq!(seeks.ops, 500);
        let rewritten = seeks.figures["rewritten"];
        assert_eq!(rewritten, count("seeks", "rewrite") as f64);
        assert!((25.0..90.0).contains(&rewritten), "{manner}: {rewritten} of 500");
        for phase in ["create-sequential", "delete-sequential", "create-random", "delete-random"] {
            assert_eq!(ran.phase(phase).ops, 1024, "{manner} {phase}");
            assert_eq!(count(phase, "syncfs"), syncs, "{manner} {phase}");
        }
        for phase in ["write-char", "write-block", "rewrite"] {
            assert_eq!(count(phase, "fsync"), syncs, "{manner} {phase}");
        }
        assert_eq!(ran.phases.len(), 12);
    }
}

pub(crate) fn files_have_sizes_directories_and_links_as_asked_for() {
    let sizes = "size=0 files=2 max_size=3000 min_size=100 directories=5 chunk=1024";
    let digests = |seed: u64, settings: &str| -> Vec<u64> {
        let ran = fresh(seed, settings);
        assert!(matches!(ran.phase("seeks").status, PhaseStatus::Skipped { .. }));
        let create = ran.phase("create-random");
        let mean = create.write_bytes.0 / 2048;
        assert!((1400..1700).contains(&mean), "mean size {mean}");
        for phase in ["stat-sequential", "stat-random"] {
            assert_eq!(ran.phase(phase).read_bytes, create.write_bytes, "{phase}");
        }
        ran.phases.iter().map(|phase| phase.digest).collect()
    };
    assert_eq!(digests(1, sizes), digests(1, sizes));
    assert_ne!(digests(1, sizes), digests(2, sizes));
    for links in ["hard", "symbolic"] {
        for directories in [1, 3] {
            let settings =
                format!("size=0 files=1 links={links} directories={directories} manner=1.03a");
            let ran = fresh(1, &settings);
            assert_eq!(ran.phase("stat-random").ops, 1024, "{settings}");
        }
    }
    let target = scratch();
    let settings = "size=1M files=1 seeks=20 fsync=on manner=1.03a";
    let ran = run("bonnie", target.path(), &Inputs::default(), 1, settings);
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    assert_eq!(ran.phase("rewrite").latencies["fsync"].count(), 1);
}

pub(crate) fn cold_reads_begin_with_an_empty_cache_and_cold_writes_wait() {
    let cold = |ran: &crate::support::Ran, phase: &str| {
        matches!(ran.phase(phase).cache, workload::Cache::Cold { .. })
    };
    let fsyncs = |ran: &crate::support::Ran, phase: &str| {
        ran.phase(phase).latencies.get("fsync").map_or(0, |latencies| latencies.count())
    };
    let warm = fresh(1, &format!("{SMALL} manner=1.03a"));
    let ran = fresh(1, &format!("{SMALL} manner=1.03a cold=on"));
    for (phase, reads, writes) in [
        ("write-char", false, true),
        ("write-block", false, true),
        ("rewrite", true, true),
        ("read-char", true, false),
        ("read-block", true, false),
        ("create-sequential", false, false),
        ("stat-random", false, false),
    ] {
        assert_eq!(cold(&ran, phase), reads, "{phase}");
        assert_eq!(fsyncs(&ran, phase), u64::from(writes), "{phase}");
        assert!(!cold(&warm, phase) && fsyncs(&warm, phase) == 0, "{phase}");
        assert_eq!(ran.phase(phase).digest, warm.phase(phase).digest, "{phase}");
    }
    assert!(cold(&ran, "seeks"));
    assert_eq!(fsyncs(&ran, "seeks"), 3, "one of each seeker");
}

/// Runs it in `target` and lets `look` see every event when it happens; all events.
fn watched(
    target: &Path,
    verify: bool,
    settings: &str,
    look: &dyn Fn(&PhaseEvent),
) -> Vec<PhaseEvent> {
    let bonnie = find("bonnie").unwrap();
    let pairs = settings.split_whitespace().map(|setting| setting.split_once('=').unwrap());
    let given: BTreeMap<String, String> =
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let parameters = Parameters::resolve(bonnie.describe(), &given, 1.0).unwrap();
    let host = FakeHost { look: Some(look), ..FakeHost::default() };
    let (inputs, to) = (Inputs::default(), target.to_owned());
    let mut context =
        Context::new(&host, bonnie.describe(), to, parameters, &inputs, Seed(1), verify);
    bonnie.run(&mut context).unwrap();
    assert_eq!(std::fs::read_dir(target).unwrap().count(), 0, "nothing is left");
    host.events.into_inner()
}

pub(crate) fn phases_of_the_large_file_announce_their_ops_and_tell_kib_a_second() {
    for (cold, expected) in [("off", true), ("on", false)] {
        let target = scratch();
        let settings = format!("size=8K chunk=1K files=0 seeks=5 manner=1.03a cold={cold}");
        let events = watched(target.path(), true, &settings, &|_| {});
        let planned: Vec<(&str, u64)> = events
            .iter()
            .filter_map(|event| match event {
                PhaseEvent::Started { phase, ops_planned, .. } => Some((&phase[..], *ops_planned)),
                _ => None,
            })
            .collect();
        // By byte through a buffer of 4 KiB, otherwise in blocks of 1 KiB.
        assert_eq!(
            planned,
            [
                ("write-char", 2),
                ("write-block", 8),
                ("rewrite", 8),
                ("read-char", 2),
                ("read-block", 8),
                ("seeks", 5)
            ]
        );
        let results: Vec<&PhaseResult> = events
            .iter()
            .filter_map(|event| match event {
                PhaseEvent::Finished(result) => Some(&**result),
                _ => None,
            })
            .collect();
        for result in &results[..5] {
            let seconds = result.wall.0 as f64 / 1e9;
            let kib = result.figures["k_per_sec"] * seconds;
            assert!((kib - 8.0).abs() < 1e-6, "{}: {kib}", result.phase);
            // No machine has less memory than half of 8 KiB.
            let note = "the file is smaller than twice the memory: caches matter";
            assert_eq!(result.notes.iter().any(|it| it == note), expected, "{}", result.phase);
        }
    }
}

pub(crate) fn without_verification_nobody_looks_for_the_file_that_seekers_have_removed() {
    let target = scratch();
    watched(target.path(), false, "size=8K chunk=1K fast=on files=0 seeks=5", &|_| {});
}

pub(crate) fn small_files_are_links_of_the_kind_that_is_asked_for() {
    // How many files there are apart from their names, and how many symbolic links.
    for (links, expected) in [("none", (1024, 0)), ("hard", (1, 0)), ("symbolic", (1, 1023))] {
        let target = scratch();
        let seen = Cell::new((0, 0));
        let look = |event: &PhaseEvent| {
            let PhaseEvent::Finished(result) = event else { return };
            if result.phase != "create-sequential" {
                return;
            }
            let (mut files, mut symbolic) = (BTreeSet::new(), 0);
            for entry in std::fs::read_dir(target.path().join("Bonnie")).unwrap() {
                let entry = entry.unwrap().metadata().unwrap();
                if entry.is_symlink() {
                    symbolic += 1;
                } else {
                    files.insert(entry.ino());
                }
            }
            seen.set((files.len(), symbolic));
        };
        let settings = format!("size=0 files=1 manner=1.03a links={links}");
        watched(target.path(), true, &settings, &look);
        assert_eq!(seen.get(), expected, "{links}");
    }
}

pub(crate) fn chunks_and_sizes_that_it_cannot_have_are_refused() {
    let refused = |settings: &str| refused("bonnie", settings);
    for chunk in [128, 2_097_152] {
        let reason = "a size from 256 to 1M is expected";
        let said = format!("bonnie: chunk={chunk}: {reason}");
        assert_eq!(refused(&format!("chunk={chunk}")), Some(said));
    }
    assert_eq!(refused("chunk=3000").as_deref(), Some("chunk=2.93 KiB is no power of two"));
    let said = "min_size=2 B is above max_size=1 B";
    assert_eq!(refused("min_size=2 max_size=1").as_deref(), Some(said));
    let said = "size=4 KiB is below chunk=8 KiB; 0 leaves the large file out";
    assert_eq!(refused("size=4K").as_deref(), Some(said));
    for settings in ["chunk=256", "chunk=1048576", "min_size=5 max_size=1073741824", "size=0"] {
        assert_eq!(refused(settings), None, "{settings}");
    }
}

/// How often each call on the small files is made: creates, reads, writes, stats, unlinks.
fn calls_on_files(mut command: Command) -> BTreeMap<String, usize> {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("strace");
    let traced = "trace=openat,newfstatat,unlink,unlinkat,read,write,mkdir,mkdirat,rmdir";
    let mut strace = Command::new("strace");
    strace.arg("-f").arg("-s").arg("40").arg("-e").arg(traced).arg("-o").arg(&log);
    strace.arg(command.get_program()).args(command.get_args());
    let status = strace.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.expect("strace is installed").success(), "{:?}", command.get_program());
    command.stdin(Stdio::null());
    let mut counts = BTreeMap::new();
    let mut file = None;
    for line in std::fs::read_to_string(log).unwrap().lines() {
        let Some((_, line)) = line.split_once(' ') else { continue };
        let line = line.trim_start();
        let call = line.split('(').next().unwrap_or("");
        let name = line.split('"').nth(1).unwrap_or("").rsplit('/').next().unwrap_or("");
        // Ten hexadecimal digits at one end, and no dot as in the names of libraries.
        let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_file = (10..=22).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && (is_hex(&name[..10]) || is_hex(&name[name.len() - 10..]));
        let result = line.rsplit("= ").next().unwrap_or("");
        let key = match call {
            "openat" if is_file => {
                file = Some(format!("({result},"));
                if line.contains("O_CREAT|O_EXCL") {
                    "create".to_owned()
                } else {
                    "open".to_owned()
                }
            }
            "newfstatat" if is_file => "stat".to_owned(),
            "unlink" | "unlinkat" if is_file => "unlink".to_owned(),
            // Shorter ones are of other files that got the same descriptor later.
            "read" | "write" if file.as_ref().is_some_and(|fd| line.contains(fd.as_str())) => {
                if result.len() < 4 {
                    continue;
                }
                call.to_owned()
            }
            "mkdir" | "mkdirat" if name.len() == 5 => "mkdir".to_owned(),
            _ => continue,
        };
        *counts.entry(key).or_default() += 1;
    }
    counts
}

pub(crate) fn file_tests_make_the_calls_of_the_original() -> Ending {
    needs_program("bonnie++", "bonnie++")?;
    let home = scratch();
    let (ours, theirs) = (home.path().join("ours"), home.path().join("theirs"));
    std::fs::create_dir(&ours).unwrap();
    std::fs::create_dir(&theirs).unwrap();
    let mut command = Command::new("bonnie++");
    command.arg("-d").arg(&theirs).args(["-s", "0", "-n", "1:2000:1000:4", "-u", "root", "-q"]);
    let theirs = calls_on_files(command);
    let mut command = Command::new(program());
    command.arg("bonnie").arg(&ours).arg(corpus(home.path()).path());
    command.args(["size=0", "files=1", "max_size=2000", "min_size=1000", "directories=4"]);
    let ours = calls_on_files(command);
    assert_eq!(theirs["create"], 2048);
    assert_eq!(ours, theirs);
    Ok(())
}

/// How often each call on the large file is made. Every read and write is of one chunk.
fn calls_on_the_large_file(command: &Command) -> BTreeMap<String, usize> {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("strace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-s", "4", "-e", "trace=read,write,lseek,fsync", "-o"]).arg(&log);
    strace.arg(command.get_program()).args(command.get_args());
    let status = strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.expect("strace is installed").success(), "{:?}", command.get_program());
    let mut counts = BTreeMap::new();
    for line in std::fs::read_to_string(log).unwrap().lines() {
        let Some((_, line)) = line.split_once(' ') else { continue };
        let (call, arguments) = line.trim_start().split_once('(').unwrap_or_default();
        if !arguments.contains("/Bonnie.") || line.contains("resumed>") {
            continue;
        }
        let result = line.rsplit("= ").next().unwrap_or("");
        let chunk = line.ends_with("<unfinished ...>") || result == "8192";
        assert!(!matches!(call, "read" | "write") || chunk, "{line}");
        *counts.entry(call.to_owned()).or_default() += 1;
    }
    counts
}

pub(crate) fn the_large_file_sees_the_calls_of_the_original() {
    let home = scratch();
    let (ours, theirs) = (home.path().join("ours"), home.path().join("theirs"));
    std::fs::create_dir(&ours).unwrap();
    std::fs::create_dir(&theirs).unwrap();
    let mut command = Command::new("bonnie++");
    command.arg("-d").arg(&theirs).args(["-s", "2", "-n", "0", "-r", "0", "-f", "-q"]);
    if rustix::process::geteuid().is_root() {
        command.args(["-u", "0:0"]);
    }
    let theirs = calls_on_the_large_file(&command);
    let mut command = Command::new(program());
    command.arg("bonnie").arg(&ours).arg(corpus(home.path()).path());
    command.args(["size=2M", "files=0", "fast=on"]);
    let ours = calls_on_the_large_file(&command);
    let chunks = 256;
    // Written, rewritten, and a tenth of the seeks, which each draws for itself.
    let rewritten = |counts: &BTreeMap<String, usize>| counts["write"] - 2 * chunks;
    for counts in [&ours, &theirs] {
        assert_eq!(counts["read"], 2 * chunks + 8192, "{counts:?}");
        assert!((600..1050).contains(&rewritten(counts)), "{counts:?}");
    }
    let seeks = |counts: &BTreeMap<String, usize>| counts["lseek"] - rewritten(counts);
    assert_eq!(seeks(&ours), chunks + 8192);
    // With -f it makes, syncs and removes an empty file first, and rewinds where it is.
    assert_eq!(seeks(&theirs), seeks(&ours) + 2);
    assert_eq!(theirs["fsync"], ours["fsync"] + 1);
}
