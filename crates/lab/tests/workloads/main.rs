//! Workloads in the lab, with real guests: every one on several filesystems with identical
//! repeats, and what they say of a filesystem that has no room or lacks
//! something.
//!
//! Needs what the test `guest` needs, and is ignored where that cannot be had unless
//! `FSTRIAL_TEST_LAB=required`.

mod complete;
#[path = "../harness/mod.rs"]
mod harness;
mod lacking;
mod programs;
mod upkeep;

use std::collections::BTreeMap;
use std::path::Path;

use disk::{Operation, RequestLog};
use lab::{BuildOptions, Extras, Lab, LabError, MachineProfile};
use stack::Contender;
use testbed::Stop;
use trial::{Event, InputFiles, Outcome, TrialSpec, WorkloadChoice};
use units::{Bytes, Nanos};
use workload::corpora::CorpusChoice;
use workload::{Parameters, PhaseEvent, PhaseResult, PhaseStatus, Seed};

use crate::harness::Test;

fn main() {
    let tests: [Test<Lab>; 6] = [
        ("every workload, twice, on three filesystems", |lab, _| complete::every_workload(lab)),
        ("real programs, twice, on three filesystems", |lab, _| programs::real_programs(lab)),
        ("upkeep, twice, on four filesystems", |lab, _| upkeep::upkeep(lab)),
        ("without inodes", |lab, _| lacking::no_inodes(lab)),
        ("without links, direct I/O, places of blocks", |lab, _| lacking::no_such_feature(lab)),
        ("contents that compress", |lab, _| lacking::contents_that_compress(lab)),
    ];
    harness::run(open, &tests, &[]);
}

fn open(cache: &Path) -> Result<Lab, LabError> {
    // Beside the other tests' lab: with PostgreSQL a guest of 256 MiB does not start.
    let options = BuildOptions {
        name: Some("programs".to_owned()),
        with: ["npm", "postgresql", "programs"].map(str::to_owned).to_vec(),
        ..BuildOptions::default()
    };
    let built = lab::build(cache, &options, &mut |step| println!("{step:?}"))?;
    let mails = CorpusChoice::Synthetic { count: 60, seed: 1 };
    let mail = mails.ensure(cache).expect("mails can be written");
    let files = InputFiles { mail: Some(mail), ..InputFiles::default() };
    let profile = MachineProfile::find("scsi-2004")?;
    let lab = Lab::open(built.parts()?, cache, profile, &files)?;
    lab.warm_up(&Stop::new())?;
    Ok(lab)
}

/// The scale of a workload without settings.
pub(crate) const SCALE: f64 = 0.001;

/// Workloads by name, each with its settings: `NAME=VALUE NAME=VALUE`. One without any has its
/// defaults, at [`SCALE`].
pub(crate) type Sequence<'a> = &'a [(&'a str, &'a str)];

/// A trial of these workloads, one after the other on one filesystem.
pub(crate) fn spec(contender: &str, sequence: Sequence<'_>, size: Bytes) -> TrialSpec {
    let workloads = sequence.iter().map(|(name, settings)| {
        let given: BTreeMap<String, String> = settings
            .split_whitespace()
            .map(|setting| setting.split_once('=').expect("NAME=VALUE"))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let description = workload::find(name).expect("it is in the catalogue").describe();
        let scale = if given.is_empty() { SCALE } else { 1.0 };
        let parameters = Parameters::resolve(description, &given, scale);
        let parameters = parameters.unwrap_or_else(|error| panic!("{error}"));
        WorkloadChoice { name: (*name).to_owned(), parameters }
    });
    TrialSpec {
        contender: Contender::parse_list(contender).expect("it is well written").remove(0),
        workloads: workloads.collect(),
        seed: Seed(1),
        block: 0,
        size: Some(size),
        verify: true,
        timeout: Nanos::from_secs(3600),
    }
}

/// What was seen of a trial.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) outcome: Outcome,
    pub(crate) phases: Vec<PhaseResult>,
    /// Of its disk; `None` where it had none.
    pub(crate) log: Option<RequestLog>,
}

impl Seen {
    pub(crate) fn phase(&self, workload: &str, name: &str) -> &PhaseResult {
        let found =
            self.phases.iter().find(|phase| phase.workload == workload && phase.phase == name);
        found.unwrap_or_else(|| panic!("{workload} has told no {name}: {:?}", self.outcome))
    }

    /// Bytes the disk was told to write while workloads ran.
    pub(crate) fn written(&self) -> u64 {
        let during =
            |record: &&disk::Record| record.phase > 0 && record.operation == Operation::Write;
        let records = self.log.iter().flat_map(|log| &log.records);
        records.filter(during).map(|record| u64::from(record.sectors) * 512).sum()
    }
}

/// Whether a phase did all it should, and if not, why.
pub(crate) fn how(phase: &PhaseResult) -> &str {
    match &phase.status {
        PhaseStatus::Completed => "completed",
        PhaseStatus::Failed { reason } | PhaseStatus::Skipped { reason } => reason,
    }
}

/// Carries out a trial and keeps everything it tells.
pub(crate) fn carry_out(lab: &Lab, spec: &TrialSpec) -> Seen {
    let (mut phases, mut outcome) = (Vec::new(), None);
    let extras = Extras { keep_requests: true, ..Extras::default() };
    let carried = lab.carry_out(spec, &extras, &Stop::new(), &mut |event| match event {
        Event::Phase(PhaseEvent::Finished(phase)) => phases.push(*phase),
        Event::Ended(ended) => outcome = Some(ended),
        _ => {}
    });
    let carried = carried.unwrap_or_else(|error| panic!("{}: {error}", spec.contender.name));
    let outcome = outcome.expect("every trial ends");
    Seen { outcome, phases, log: carried.logs.into_iter().next() }
}

/// Carries out several trials, as many at a time as the machine has processors.
pub(crate) fn carry_out_all(lab: &Lab, specs: &[TrialSpec]) -> Vec<Seen> {
    let waiting = std::sync::Mutex::new(specs.iter().enumerate());
    let lanes = std::thread::available_parallelism().map_or(1, usize::from);
    let mut seen: Vec<(usize, Seen)> = std::thread::scope(|scope| {
        let lane = || {
            let next = || waiting.lock().expect("nobody panics with it").next();
            std::iter::from_fn(next).map(|(nth, spec)| (nth, carry_out(lab, spec))).collect()
        };
        let lanes: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        let done = lanes.into_iter().map(|lane| lane.join().expect("it has told why"));
        done.flat_map(|seen: Vec<_>| seen).collect()
    });
    seen.sort_by_key(|(nth, _)| *nth);
    seen.into_iter().map(|(_, seen)| seen).collect()
}

/// Carries out the same sequence twice on each filesystem: both are complete and equal to the
/// nanosecond, in every figure and in every request. The first of each pair, in order.
pub(crate) fn twice_the_same(lab: &Lab, filesystems: &[&str], sequence: Sequence<'_>) -> Vec<Seen> {
    let specs: Vec<_> = filesystems
        .iter()
        .map(|filesystem| spec(filesystem, sequence, Bytes::from_mib(512)))
        .flat_map(|spec| [spec.clone(), spec])
        .collect();
    let mut seen = carry_out_all(lab, &specs).into_iter();
    let mut firsts = Vec::new();
    for filesystem in filesystems {
        let (Some(first), Some(second)) = (seen.next(), seen.next()) else { break };
        assert!(first.outcome.is_done(), "{filesystem}: {}", first.outcome);
        assert_eq!(first.phases.len(), second.phases.len(), "{filesystem}");
        for (phase, again) in first.phases.iter().zip(&second.phases) {
            let name = format!("{filesystem}: {} {}", phase.workload, phase.phase);
            assert_eq!(phase.wall, again.wall, "{name}");
            assert!(phase == again, "{name}: other figures");
        }
        assert!(first.log == second.log, "{filesystem}: another log of requests");
        firsts.push(first);
    }
    assert_eq!(firsts.len(), filesystems.len());
    firsts
}
