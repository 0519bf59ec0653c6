//! Layouts and drivers in the lab, with real guests: software and hardware RAID, journals on
//! disks of their own, every filesystem from mkfs to its check.
//!
//! Needs what the test `guest` needs, and is ignored where that cannot be had unless
//! `FSTRIAL_TEST_LAB=required`. The lab gets its optional part `zfs`, whose modules take three
//! or four minutes to compile on two cores; they are kept in the user's cache, so that this is
//! done once on a machine.

mod arrays;
mod capabilities;
mod drivers;
#[path = "../harness/mod.rs"]
mod harness;
mod matrix;
mod pools;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use disk::{Operation, RequestLog};
use lab::{BuildOptions, Extras, Lab, LabError, MachineProfile};
use stack::Contender;
use testbed::Stop;
use trial::{Event, InputFiles, Made, Outcome, SpaceUse, TrialSpec, WorkloadChoice};
use units::{Bytes, Nanos};
use workload::{Parameters, PhaseEvent, Seed};

use crate::harness::Test;

fn main() {
    let tests: [Test<Labs>; 13] = [
        ("the twelve of 2007", |labs, _| matrix::the_twelve_of_2007(labs)),
        ("a journal's disk gets the journal's flushes", |labs, _| {
            arrays::a_journals_disk_gets_its_flushes(labs)
        }),
        ("a battery answers before the disks", |labs, _| {
            arrays::a_battery_answers_before_the_disks(labs)
        }),
        ("arrays that lost a disk", |labs, _| arrays::arrays_that_lost_a_disk(labs)),
        ("a controller's array that lost a disk", |labs, _| {
            arrays::a_controllers_array_that_lost_a_disk(labs)
        }),
        ("scheduler and read-ahead", |labs, _| arrays::scheduler_and_read_ahead(labs)),
        ("the options of 2004 as printed", |labs, _| arrays::the_options_of_2004(labs)),
        ("repeats on every layout are identical", |labs, _| arrays::repeats_are_identical(labs)),
        ("pools repeat and keep their promise", |labs, _| {
            pools::pools_repeat_and_keep_their_promise(labs)
        }),
        ("a cold pool reads from its disk", |labs, _| pools::a_cold_pool_reads_from_its_disk(labs)),
        ("what ships as tried is found again", |labs, _| {
            capabilities::what_ships_is_found_again(labs)
        }),
        ("a busy host changes no request", |labs, _| drivers::a_busy_host_changes_no_request(labs)),
        ("every driver from mkfs to check", |labs, _| drivers::every_driver(labs)),
    ];
    harness::run(Labs::open, &tests, &[]);
}

/// Labs of three machines. The two of 1 GiB share a checkpoint.
pub(crate) struct Labs {
    /// Drive caches off, a controller with a battery.
    pub(crate) array: Lab,
    /// SATA drives with their caches on.
    pub(crate) sata: Lab,
    /// The mail server of 2004.
    pub(crate) mail: Lab,
}

impl Labs {
    /// With zfs, or without it where it cannot be had and need not be.
    fn open(cache: &Path) -> Result<Labs, LabError> {
        let required = std::env::var("FSTRIAL_TEST_LAB").is_ok_and(|value| value == "required");
        let build = |with: &[&str]| {
            let with = with.iter().map(|part| (*part).to_owned()).collect();
            let options = BuildOptions { with, ..BuildOptions::default() };
            lab::build(cache, &options, &mut |step| println!("{step:?}"))
        };
        if let Err(error) = share_what_is_compiled(cache) {
            println!("what is compiled here is not kept: {error}");
        }
        let built = match build(&["zfs"]) {
            Err(error) if !required => {
                println!("without zfs: {error}");
                build(&[])?
            }
            built => built?,
        };
        let open = |name: &str| {
            let profile = MachineProfile::find(name)?;
            let lab = Lab::open(built.parts()?, cache, profile, &InputFiles::default())?;
            lab.warm_up(&Stop::new())?;
            Ok::<_, LabError>(lab)
        };
        Ok(Labs { array: open("array-2007")?, sata: open("sata-2007")?, mail: open("raid-2004")? })
    }
}

/// Lets the tests' lab keep what its parts take long to compile where the user's own labs do.
/// There it lies by names that hold all it depends on, and outlives the folder of the sources.
fn share_what_is_compiled(cache: &Path) -> std::io::Result<()> {
    let users = lab::cache_directory().map_err(std::io::Error::other)?.join("built");
    let ours = cache.join("built");
    std::fs::create_dir_all(&users)?;
    std::fs::create_dir_all(cache)?;
    match std::os::unix::fs::symlink(users, &ours) {
        Err(_) if ours.exists() => Ok(()),
        done => done,
    }
}

/// What was seen of a trial.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    pub(crate) made: Option<Box<Made>>,
    /// Phase, time and ops.
    pub(crate) phases: Vec<(String, Nanos, u64)>,
    pub(crate) space: Option<SpaceUse>,
    pub(crate) notes: Vec<String>,
    pub(crate) logs: Vec<RequestLog>,
    pub(crate) digest: String,
}

impl Seen {
    /// Everything printed while it was made and looked at.
    pub(crate) fn record(&self) -> String {
        let made = self.made.as_ref().unwrap_or_else(|| panic!("{self:?}"));
        made.record.iter().map(|(command, said)| format!("$ {command}\n{said}\n")).collect()
    }

    /// Requests of a kind that a disk served while workloads ran.
    pub(crate) fn served(&self, disk: usize, operation: Operation) -> usize {
        let during = |record: &&disk::Record| record.phase > 0 && record.operation == operation;
        self.logs[disk].records.iter().filter(during).count()
    }

    pub(crate) fn expect_done(self) -> Seen {
        assert!(self.outcome.is_done(), "{}: {}", self.name, self.outcome);
        self
    }
}

/// One trial on disks of this size.
pub(crate) fn spec(contender: &str, work: &str, size: Bytes) -> TrialSpec {
    let (name, given) = work.split_once(':').unwrap_or((work, ""));
    let given: BTreeMap<String, String> = given
        .split(':')
        .filter_map(|one| one.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let description = workload::find(name).expect("it is in the catalogue").describe();
    let parameters = Parameters::resolve(description, &given, 1.0).expect("they are its own");
    let contender = Contender::parse_list(contender).expect("it is well written").remove(0);
    contender.validate().unwrap_or_else(|refusal| panic!("{refusal}"));
    TrialSpec {
        contender,
        workloads: vec![WorkloadChoice { name: name.to_owned(), parameters }],
        seed: Seed(1),
        block: 0,
        size: Some(size),
        verify: true,
        timeout: Nanos::from_secs(600),
    }
}

/// Runs one trial on disks of this size.
pub(crate) fn carry_out(lab: &Lab, contender: &str, work: &str, size: Bytes) -> Seen {
    let spec = spec(contender, work, size);
    let mut seen = Seen {
        name: spec.contender.name.clone(),
        outcome: Outcome::Done,
        made: None,
        phases: Vec::new(),
        space: None,
        notes: Vec::new(),
        logs: Vec::new(),
        digest: String::new(),
    };
    let extras = Extras { keep_requests: true, ..Extras::default() };
    let carried = lab
        .carry_out(&spec, &extras, &Stop::new(), &mut |event| match event {
            Event::Made(made) => seen.made = Some(made),
            Event::Note(note) => seen.notes.push(note),
            Event::Phase(PhaseEvent::Finished(phase)) => {
                seen.phases.push((phase.phase.clone(), phase.wall, phase.ops));
            }
            Event::Ended(outcome) => seen.outcome = outcome,
            Event::Space(space) => seen.space = Some(space),
            Event::Phase(_)
            | Event::Step(_)
            | Event::Found(_)
            | Event::Crash(_)
            | Event::Took(_) => {}
        })
        .unwrap_or_else(|error| panic!("{}: {error}", spec.contender.name));
    seen.logs = carried.logs;
    seen.digest = carried.log_digest;
    seen
}

/// Does `work` for each item, two at a time, in order of the items.
pub(crate) fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(0);
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let nth = {
                        let mut next = next.lock().expect("nobody panics with it");
                        *next += 1;
                        *next - 1
                    };
                    let Some(item) = items.get(nth) else { return };
                    let result = work(item);
                    done.lock().expect("nobody panics with it").insert(nth, result);
                }
            });
        }
    });
    done.into_inner().expect("nobody panics with it").into_values().collect()
}
