//! The lab as a whole, with real guests: builds it from packages, runs trials, makes guests
//! fail.
//!
//! Needs apt-get with a source that has a 6.12 kernel, and a compiler; says which is missing and is
//! ignored where it cannot run, unless `FSTRIAL_TEST_LAB=required`.

#[path = "../harness/mod.rs"]
mod harness;
mod processors;
mod stock_kernel;

use std::collections::BTreeMap;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use guest::Sabotage;
use lab::{Backing, BuildOptions, Extras, Lab, LabError, MachineProfile};
use stack::Contender;
use testbed::{Stop, Testbed};
use trial::{Event, InputFiles, Outcome, Step, TrialSpec, WorkloadChoice};
use units::{Bytes, Nanos};
use workload::{Parameters, PhaseEvent, Seed};

use crate::harness::Test;

const A_MINUTE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(1);

fn main() {
    let tests: [Test<Lab>; 13] = [
        ("one specification gives one result", repeats_are_identical),
        ("what memory the host has left changes nothing", the_hosts_memory_is_not_felt),
        ("a processor of today repeats", a_fine_clock_repeats),
        (
            "a stock kernel answers many requests at once over nbd",
            stock_kernel::nbd_answers_many_at_once,
        ),
        ("four processors repeat, and do the work of several", processors::repeat),
        ("another seed gives another", seeds_differ),
        ("a small memory limits what is written first", a_small_memory_limits_writing),
        ("a panic is an outcome with its log", a_panic_is_an_outcome),
        ("a trial's process that is killed is an outcome", a_kill_is_an_outcome),
        ("a trial whose memory runs out while it waits says so", a_lack_of_memory_is_an_outcome),
        ("waiting for ever ends in virtual time", waiting_ends),
        ("a hang is called by its instructions", a_hang_is_an_outcome),
        ("disks that are full are an outcome", full_disks_are_an_outcome),
    ];
    // These stop or kill every emulator, and damage every checkpoint there is.
    let alone: [Test<Lab>; 3] = [
        ("an emulator that is stopped and goes on changes nothing", a_pause_is_not_felt),
        ("an emulator that is killed has lost its trial", a_killed_emulator_is_an_outcome),
        ("a damaged checkpoint is made again", a_damaged_checkpoint_is_made_again),
    ];
    harness::run(open, &tests, &alone);
}

fn open(cache: &Path) -> Result<Lab, LabError> {
    lab::build(cache, &BuildOptions::default(), &mut |step| println!("{step:?}"))?;
    let lab = with_checkpoints_in(cache, cache)?;
    lab.warm_up(&Stop::new())?;
    Ok(lab)
}

fn with_checkpoints_in(checkpoints: &Path, cache: &Path) -> Result<Lab, LabError> {
    let software = lab::find(cache, lab::DEFAULT_LAB)?;
    let profile = MachineProfile::find("scsi-2004")?;
    Lab::open(software.parts()?, checkpoints, profile, &InputFiles::default())
}

fn spec(seed: u64) -> TrialSpec {
    let null = workload::find("null").expect("it is in the catalogue").describe();
    let given = BTreeMap::from([("ops".to_owned(), "1000".to_owned())]);
    let parameters = Parameters::resolve(null, &given, 1.0).expect("1000 ops are allowed");
    TrialSpec {
        contender: Contender::parse_list("ext4").expect("ext4 is in the catalogue").remove(0),
        workloads: vec![WorkloadChoice { name: "null".to_owned(), parameters }],
        seed: Seed(seed),
        block: 0,
        size: Some(Bytes::from_mib(256)),
        verify: false,
        timeout: Nanos::from_secs(300),
    }
}

fn outcome(lab: &Lab, extras: &Extras) -> Outcome {
    let mut ends = Vec::new();
    lab.carry_out(&spec(1), extras, &Stop::new(), &mut |event| {
        if let Event::Ended(outcome) = event {
            ends.push(outcome);
        }
    })
    .expect("a guest starts");
    assert_eq!(ends.len(), 1, "exactly one end: {ends:?}");
    ends.remove(0)
}

fn repeats_are_identical(lab: &Lab, _: &Path) {
    let result = lab::verify(lab, &spec(1), 4, &Stop::new(), &|_, _| {}).expect("guests start");
    assert_eq!(result.first_difference(), None);
    let (_, first) = &result.repeats[0];
    assert!(first.requests > 50, "mke2fs wrote to the simulated disk: {first:?}");
}

fn the_hosts_memory_is_not_felt(lab: &Lab, _: &Path) {
    // Numbers of eight and of eleven digits, and none.
    let told = |limit: Option<Bytes>, backing: Backing| {
        let store_limit = limit;
        let extras = Extras { store_limit, backing, keep_requests: true, ..Extras::default() };
        let mut walls = Vec::new();
        let carried = lab
            .carry_out(&spec(1), &extras, &Stop::new(), &mut |event| {
                if let Event::Phase(PhaseEvent::Finished(result)) = event {
                    walls.push((result.phase.clone(), result.wall));
                }
            })
            .expect("a guest starts");
        assert!(!walls.is_empty(), "it worked");
        (walls, carried.log_digest)
    };
    let free = told(None, Backing::Memory);
    for limit in [64_000_000, 12_000_000_000] {
        assert_eq!(told(Some(Bytes(limit)), Backing::Memory), free, "{limit}");
    }
    assert_eq!(told(None, Backing::File), free, "contents of disks in a file");
}

/// With a clock in quarters of a nanosecond: what ends a budget of instructions early, at a
/// moment that depends on the host, must not move a timer.
fn a_fine_clock_repeats(slow: &Lab, cache: &Path) {
    let parts = lab::find(cache, lab::DEFAULT_LAB)
        .and_then(|software| software.parts())
        .expect("it is built");
    let profile = MachineProfile::find("server-ssd").expect("it is shipped");
    assert_eq!(profile.instruction_ns, 0.25);
    let lab = Lab::open(parts, cache, profile, &InputFiles::default()).expect("it opens");
    let tree = workload::find("tree").expect("it is in the catalogue").describe();
    let parameters = Parameters::resolve(tree, &BTreeMap::new(), 0.002).expect("it is allowed");
    let workloads = vec![WorkloadChoice { name: "tree".to_owned(), parameters }];
    let trial = |contender: &str| TrialSpec {
        contender: Contender::parse_list(contender).expect("it is in the catalogue").remove(0),
        workloads: workloads.clone(),
        size: Some(Bytes::from_gib(1)),
        ..spec(1)
    };
    let result = lab::verify(&lab, &trial("btrfs"), 4, &Stop::new(), &|_, _| {});
    assert_eq!(result.expect("guests start").first_difference(), None);
    // And it is quicker where the processor is what is waited for.
    let time = |lab: &Lab| {
        let mut time = Nanos::ZERO;
        let carried = lab.carry_out(&spec(1), &Extras::default(), &Stop::new(), &mut |event| {
            if let Event::Phase(PhaseEvent::Finished(result)) = event {
                time += result.wall;
            }
        });
        carried.expect("a guest starts");
        time
    };
    let (fine, whole) = (time(&lab), time(slow));
    let factor = whole.0 as f64 / fine.0 as f64;
    assert!((3.5..4.5).contains(&factor), "{whole} with 1 ns an instruction, {fine} with 1/4");
}

fn seeds_differ(lab: &Lab, _: &Path) {
    let digest = |seed: u64| {
        let extras = Extras { keep_requests: true, ..Extras::default() };
        let carried =
            lab.carry_out(&spec(seed), &extras, &Stop::new(), &mut |_| {}).expect("a guest starts");
        assert_eq!(carried.logs.len(), 1);
        assert_eq!(carried.logs[0].records.len() as u64, carried.requests);
        carried.log_digest
    };
    assert_ne!(digest(1), digest(2), "the platter stands elsewhere");
}

/// The kernel's limit of what waits to be written goes by the memory that is left, not by what
/// there was before the rest was held back: else all of the file would wait.
fn a_small_memory_limits_writing(_: &Lab, cache: &Path) {
    let mut profile = MachineProfile::find("scsi-2004").expect("it is shipped");
    profile.available = Some(Bytes::from_mib(32));
    let parts = lab::find(cache, lab::DEFAULT_LAB)
        .and_then(|software| software.parts())
        .expect("it is built");
    let lab = Lab::open(parts, cache, profile, &InputFiles::default()).expect("as before");
    let bonnie = workload::find("bonnie").expect("it is in the catalogue").describe();
    let given = [("manner", "1.03a"), ("size", "24M"), ("files", "0"), ("fast", "on")];
    let given = given.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let parameters = Parameters::resolve(bonnie, &given.into(), 1.0).expect("these are its own");
    let workloads = vec![WorkloadChoice { name: "bonnie".to_owned(), parameters }];
    let mut written = None;
    lab.carry_out(
        &TrialSpec { workloads, ..spec(1) },
        &Extras::default(),
        &Stop::new(),
        &mut |event| match event {
            Event::Phase(PhaseEvent::Finished(result)) if result.phase == "write-block" => {
                written = result.device.map(|device| device.write_bytes);
            }
            _ => {}
        },
    )
    .expect("a guest starts");
    let written = written.expect("it writes, to a disk");
    assert!(written > Bytes::from_mib(12), "{written} of 24 MiB");
}

fn a_panic_is_an_outcome(lab: &Lab, _: &Path) {
    let extras = Extras { sabotage: Some(Sabotage::Panic), ..Extras::default() };
    match outcome(lab, &extras) {
        Outcome::GuestDied { reason, kernel_log } => {
            assert!(reason.contains("panicked"), "{reason}");
            assert!(kernel_log.contains("sysrq"), "{kernel_log}");
        }
        other => panic!("{other:?}"),
    }
}

fn a_kill_is_an_outcome(lab: &Lab, _: &Path) {
    let extras = Extras { sabotage: Some(Sabotage::Kill), ..Extras::default() };
    let outcome = outcome(lab, &extras);
    // Inside a guest it is nothing from outside: the same trial would end so again.
    assert!(matches!(&outcome, Outcome::GuestDied { reason, .. } if reason.contains("signal 9")));
}

/// The process that is killed cannot end while it waits for a disk, and its disks' server is one of
/// its threads.
fn a_lack_of_memory_is_an_outcome(lab: &Lab, _: &Path) {
    let limit = Some(Nanos::from_secs(1800));
    let sabotage = Some(Sabotage::Memory);
    let extras = Extras { sabotage, virtual_limit: limit, ..Extras::default() };
    match outcome(lab, &extras) {
        Outcome::GuestDied { reason, kernel_log } => {
            assert!(reason.starts_with("memory ran out"), "{reason}");
            assert!(kernel_log.contains("Mem-Info"), "{kernel_log}");
        }
        other => panic!("{other:?}"),
    }
}

fn waiting_ends(lab: &Lab, _: &Path) {
    // Idle time costs little: half an hour passes in about a second.
    let limit = Nanos::from_secs(1800);
    let extras =
        Extras { sabotage: Some(Sabotage::Sleep), virtual_limit: Some(limit), ..Extras::default() };
    let outcome = outcome(lab, &extras);
    assert!(matches!(outcome, Outcome::TimedOut { after, .. } if after == limit), "{outcome:?}");
}

fn a_hang_is_an_outcome(lab: &Lab, _: &Path) {
    let extras = Extras { sabotage: Some(Sabotage::Hang), patience: Some(0), ..Extras::default() };
    match outcome(lab, &extras) {
        Outcome::GuestDied { reason, kernel_log } => {
            assert!(reason.contains("million instructions"), "{reason}");
            assert!(kernel_log.contains("NMI"), "{kernel_log}");
        }
        other => panic!("{other:?}"),
    }
}

/// Processes this one has started and that run.
fn children() -> Vec<i32> {
    let threads = std::fs::read_dir("/proc/self/task").expect("proc is there").flatten();
    let lists =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

/// Whether all threads of a process are stopped.
fn is_stopped(process: rustix::process::Pid) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    threads.flatten().all(|thread| {
        let text = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    })
}

fn a_pause_is_not_felt(lab: &Lab, _: &Path) {
    use rustix::process::{Pid, Signal, kill_process};
    let told = |pauses: bool| {
        let (mut phases, mut ends, mut stopped) = (Vec::new(), Vec::new(), 0);
        let carried = lab
            .carry_out(&spec(1), &Extras::default(), &Stop::new(), &mut |event| {
                match event {
                    Event::Phase(PhaseEvent::Finished(result)) => {
                        phases.push((result.wall, result.cpu.user, result.cpu.sys));
                    }
                    Event::Ended(ref outcome) => ends.push(outcome.clone()),
                    _ => {}
                }
                for child in children().into_iter().filter(|_| pauses) {
                    let child = Pid::from_raw(child).expect("a process has a number");
                    kill_process(child, Signal::STOP).expect("it is ours");
                    let stops = || is_stopped(child);
                    assert!(waiting::until(A_MINUTE, LOOK_EVERY, stops));
                    stopped += 1;
                    kill_process(child, Signal::CONT).expect("it is ours");
                }
            })
            .expect("a guest starts");
        assert!(ends.iter().all(Outcome::is_done), "{ends:?}");
        assert_eq!(stopped > 0, pauses, "stopped {stopped} times");
        (phases, carried.requests, carried.log_digest)
    };
    assert_eq!(told(true), told(false));
}

fn a_killed_emulator_is_an_outcome(lab: &Lab, _: &Path) {
    // As the kernel does to a process when the host has no memory left.
    let mut ends = Vec::new();
    let extras = Extras::default();
    lab.carry_out(&spec(1), &extras, &Stop::new(), &mut |event| match event {
        Event::Step(Step::Mkfs) => {
            for child in children() {
                let child = rustix::process::Pid::from_raw(child).expect("a process has a number");
                rustix::process::kill_process(child, rustix::process::Signal::KILL)
                    .expect("it is ours");
            }
        }
        Event::Ended(outcome) => ends.push(outcome),
        _ => {}
    })
    .expect("a guest starts");
    assert!(
        matches!(&ends[..], [Outcome::Lost { reason }]
            if reason.contains("emulator") && reason.contains("killed by signal 9")),
        "{ends:?}"
    );
    assert_eq!(children(), [0; 0], "nothing is left running");
}

fn full_disks_are_an_outcome(lab: &Lab, _: &Path) {
    let extras = Extras { store_limit: Some(Bytes::from_kib(64)), ..Extras::default() };
    match outcome(lab, &extras) {
        Outcome::Failed { reason, .. } => assert!(reason.contains("admitted"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

fn a_damaged_checkpoint_is_made_again(_: &Lab, cache: &Path) {
    // Other programs' tests use those of the cache meanwhile.
    let own = tempfile::tempdir_in(cache).expect("there is room");
    let open = || with_checkpoints_in(own.path(), cache).expect("the lab is there");
    let lab = open();
    let before = outcome(&lab, &Extras::default());
    assert!(before.is_done(), "{before:?}");
    for part in ["devices", "ram"] {
        let checkpoints = std::fs::read_dir(own.path().join("checkpoints")).expect("it is there");
        let checkpoints = checkpoints.map(|entry| entry.expect("it can be read").path());
        let checkpoints: Vec<_> = checkpoints.filter(|path| path.is_dir()).collect();
        assert_eq!(checkpoints.len(), 1, "{checkpoints:?}");
        let file = std::fs::File::options().write(true).open(checkpoints[0].join(part));
        let mut file = file.expect("a checkpoint is ours to write");
        file.seek(SeekFrom::Start(1 << 12)).expect("a file has places");
        file.write_all(b"not a checkpoint").expect("there is room");
        assert!(outcome(&open(), &Extras::default()).is_done(), "{part} damaged");
    }
    let mut ended = None;
    lab.run(&spec(1), &Stop::new(), &mut |event| {
        if let Event::Ended(outcome) = event {
            ended = Some(outcome);
        }
    })
    .expect("nobody asked to stop");
    assert_eq!(ended, Some(Outcome::Done));
}
