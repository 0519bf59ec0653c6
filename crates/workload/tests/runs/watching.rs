//! Runs that a test watches: each event, and each call.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use workload::{
    Context, Failure, InputFacts, Inputs, ParameterError, Parameters, PhaseEvent, Seed, find,
};

use crate::support::{FakeHost, corpus, program, scratch};

fn parameters(name: &str, settings: &str) -> Parameters {
    resolved(name, settings).unwrap()
}

fn resolved(name: &str, settings: &str) -> Result<Parameters, ParameterError> {
    let given: BTreeMap<String, String> = settings
        .split_whitespace()
        .map(|setting| setting.split_once('=').expect("NAME=VALUE"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let workload = find(name).expect("a workload of this name");
    Parameters::resolve(workload.describe(), &given, 1.0)
}

/// Why these settings are refused before anything is run, if they are.
pub(crate) fn refused(name: &str, settings: &str) -> Option<String> {
    match resolved(name, settings) {
        Ok(parameters) => find(name).expect("a workload of this name").check(&parameters).err(),
        Err(error) => Some(error.to_string()),
    }
}

/// Runs a workload in `target`, with or without verification, and calls `look` at each event.
/// A panic of `look` when a phase with threads starts would leave them waiting.
pub(crate) fn watched(
    name: &str,
    target: &Path,
    inputs: &Inputs,
    settings: &str,
    verify: bool,
    look: &dyn Fn(&PhaseEvent),
) -> Result<(), Failure> {
    let workload = find(name).expect("a workload of this name");
    let host = FakeHost { look: Some(look), ..FakeHost::default() };
    let mut context = Context::new(
        &host,
        workload.describe(),
        target.to_owned(),
        parameters(name, settings),
        inputs,
        Seed(1),
        verify,
    );
    workload.run(&mut context)
}

/// The name of each phase that begins and the ops that it will do.
pub(crate) fn planned(name: &str, target: &Path, settings: &str) -> Vec<(String, u64)> {
    let planned = RefCell::new(Vec::new());
    let look = |event: &PhaseEvent| {
        if let PhaseEvent::Started { phase, ops_planned, .. } = event {
            planned.borrow_mut().push((phase.clone(), *ops_planned));
        }
    };
    watched(name, target, &Inputs::default(), settings, true, &look).unwrap();
    planned.into_inner()
}

/// The room that a workload says it needs: bytes and inodes.
pub(crate) fn room(name: &str, settings: &str, inputs: &InputFacts) -> (u64, u64) {
    let workload = find(name).expect("a workload of this name");
    let space = workload.space(&parameters(name, settings), inputs);
    (space.bytes.0, space.inodes)
}

/// Path and flags of what a run opens, in order, seen by strace.
pub(crate) fn opens(
    name: &str,
    target: &Path,
    pack: &Path,
    settings: &str,
) -> Vec<(String, String)> {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("strace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-e", "trace=openat", "-o"]).arg(&log).arg(program());
    strace.arg(name).arg(target).arg(pack).args(settings.split_whitespace());
    let status = strace.stdout(Stdio::null()).status().expect("strace is installed");
    assert!(status.success(), "the traced program failed");
    let log = fs::read_to_string(log).unwrap();
    log.lines()
        .filter(|line| line.contains("openat("))
        .filter_map(|line| {
            let mut parts = line.split('"').skip(1);
            let (path, rest) = (parts.next()?, parts.next()?);
            let flags = rest.split([',', ')', '<']).nth(1)?.trim();
            // Sorted: their order is strace's. O_LARGEFILE means nothing where files are large anyway.
            let mut flags: Vec<_> = flags.split('|').filter(|it| *it != "O_LARGEFILE").collect();
            flags.sort_unstable();
            Some((path.to_owned(), flags.join("|")))
        })
        .collect()
}

/// The events that a process printed, a line each.
pub(crate) fn events(output: &[u8]) -> Vec<Value> {
    let lines = String::from_utf8_lossy(output);
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs a workload in a process of its own under strace: its events, and its calls of these kinds
/// without process ids.
pub(crate) fn traced(calls: &str, workload: &str, settings: &str) -> (Vec<Value>, Vec<String>) {
    let home = scratch();
    let (target, log) = (home.path().join("target"), home.path().join("strace"));
    std::fs::create_dir(&target).unwrap();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-s", "40", "-e", calls, "-o"]).arg(&log).arg(program());
    strace.arg(workload).arg(&target).arg(corpus(home.path()).path());
    let output = strace.args(settings.split_whitespace()).output().expect("strace is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = std::fs::read_to_string(log).unwrap();
    let made =
        log.lines().filter_map(|line| line.split_once(' ')).map(|(_, call)| call.trim_start());
    (events(&output.stdout), made.map(str::to_owned).collect())
}

/// The event of this kind that a phase has.
pub(crate) fn event<'e>(events: &'e [Value], kind: &str, phase: &str) -> &'e Value {
    let is_it = |event: &&Value| event["event"] == kind && event["phase"] == phase;
    events.iter().find(is_it).expect("the phase has such an event")
}
