//! A host and a corpus for tests.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Once;

use units::DeviceNumber;
use workload::corpora::{Fingerprint, MailCorpus, PackWriter};
use workload::{
    Cache, Context, Failure, Host, Inputs, Parameters, PhaseEvent, PhaseResult, PhaseStatus, Seed,
    find,
};

/// Keeps every event, and shows it to a test when it happens; claims that caches can be dropped.
#[derive(Default)]
pub(crate) struct FakeHost<'a> {
    pub(crate) events: RefCell<Vec<PhaseEvent>>,
    pub(crate) look: Option<&'a dyn Fn(&PhaseEvent)>,
}

impl Host for FakeHost<'_> {
    fn make_cold(&self) -> Cache {
        Cache::Cold { how: "pretended".to_owned() }
    }

    fn check_target(&self) -> Result<(), String> {
        Ok(())
    }

    fn devices(&self) -> Vec<DeviceNumber> {
        Vec::new()
    }

    fn emit(&self, event: PhaseEvent) {
        if let Some(look) = self.look {
            look(&event);
        }
        self.events.borrow_mut().push(event);
    }
}

/// What a run left.
pub(crate) struct Ran {
    pub(crate) ended: Result<(), Failure>,
    pub(crate) phases: Vec<PhaseResult>,
}

impl Ran {
    pub(crate) fn phase(&self, name: &str) -> &PhaseResult {
        self.phases.iter().find(|phase| phase.phase == name).expect("the phase was reported")
    }

    pub(crate) fn completed(&self, name: &str) -> bool {
        self.phase(name).status == PhaseStatus::Completed
    }
}

/// Mails of many sizes and line lengths: empty, without a newline at the end, longer than a
/// buffer, lines across buffers.
pub(crate) fn corpus(directory: &Path) -> MailCorpus {
    let pack = directory.join("test.mailpack");
    let mut writer = PackWriter::create(&pack, Fingerprint::default(), false).unwrap();
    let mut line = String::new();
    for number in 0..37usize {
        let mut mail = format!("Subject: mail {number}\n\n");
        for length in 0..number * 3 {
            line.clear();
            line.extend(
                (0..(length * 7919 + number) % 150).map(|at| char::from(b'a' + (at % 26) as u8)),
            );
            mail.push_str(&line);
            mail.push('\n');
        }
        match number {
            3 => mail.clear(),
            4 => mail = "no newline".to_owned(),
            5 => mail = "x".repeat(200_000),
            6 => mail = format!("{}\n{}\n", "y".repeat(4095), "z".repeat(4096)),
            _ => {}
        }
        writer.add(mail.as_bytes()).unwrap();
    }
    writer.finish("test mails").unwrap();
    MailCorpus::open(&pack).unwrap()
}

/// Runs a workload in `target`.
pub(crate) fn run(name: &str, target: &Path, inputs: &Inputs, seed: u64, settings: &str) -> Ran {
    let settings: Vec<_> = settings
        .split_whitespace()
        .map(|setting| setting.split_once('=').expect("NAME=VALUE"))
        .collect();
    run_with(name, target, inputs, seed, &settings)
}

/// Runs a workload in `target`, with values that have blanks.
pub(crate) fn run_with(
    name: &str,
    target: &Path,
    inputs: &Inputs,
    seed: u64,
    settings: &[(&str, &str)],
) -> Ran {
    run_at(1.0, name, target, inputs, seed, settings)
}

/// Runs a workload in `target` at this scale.
pub(crate) fn run_at(
    scale: f64,
    name: &str,
    target: &Path,
    inputs: &Inputs,
    seed: u64,
    settings: &[(&str, &str)],
) -> Ran {
    let workload = find(name).expect("a workload of this name");
    let given: BTreeMap<String, String> =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let parameters = Parameters::resolve(workload.describe(), &given, scale).unwrap();
    let host = FakeHost::default();
    let mut context = Context::new(
        &host,
        workload.describe(),
        target.to_owned(),
        parameters,
        inputs,
        Seed(seed),
        true,
    );
    let ended = workload.run(&mut context);
    let phases = host
        .events
        .into_inner()
        .into_iter()
        .filter_map(|event| match event {
            PhaseEvent::Finished(result) => Some(*result),
            _ => None,
        })
        .collect();
    Ran { ended, phases }
}

/// The program that runs a workload in a process of its own.
pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_run-workload"))
}

const MEMORY: &str = "/dev/shm";
/// What the names of directories there begin with, before the number of the process.
const PREFIX: &str = "fstrial-test-";

/// A directory in memory where there is one: hundreds of fsyncs take a disk too long. Tests that were
/// killed leave theirs, which would take memory until the next boot, so the next process removes
/// them.
pub(crate) fn scratch() -> tempfile::TempDir {
    static SWEPT: Once = Once::new();
    SWEPT.call_once(sweep);
    let prefix = format!("{PREFIX}{}-", std::process::id());
    let made = tempfile::Builder::new().prefix(&prefix).tempdir_in(MEMORY);
    made.or_else(|_| tempfile::tempdir()).unwrap()
}

fn sweep() {
    for entry in fs::read_dir(MEMORY).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if owner.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
