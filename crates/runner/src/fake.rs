//! A testbed that fails, refuses, hangs and dies on demand, for tests of sessions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use stack::{Contender, Refusal};
use store::Environment;
use testbed::{Stop, Stopped, Testbed};
use trial::{Event, InputFiles, Outcome, Step, TrialSpec};
use units::Nanos;
use workload::{InputKind, Space};

use crate::{
    Inputs, Limit, Places, Request, RunEnd, RunEvent, Session, SessionError, TestbedRequest,
    parse_workload,
};

/// What a contender of the fake testbed does, by its name.
struct Fake {
    lab: Option<String>,
    stop: Stop,
}

impl Testbed for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn environment(&self) -> Environment {
        Environment(BTreeMap::from([("kernel".to_owned(), "none".to_owned())]))
    }

    fn lab_id(&self) -> Option<String> {
        self.lab.clone()
    }

    fn lanes(&self, specs: &[TrialSpec]) -> usize {
        specs.len().min(2)
    }

    fn admit(&self, specs: &[TrialSpec]) -> Vec<(usize, Refusal)> {
        // As a signal during a long look at a device does.
        if specs.iter().any(|spec| spec.contender.name == "unexamined") {
            self.stop.ask();
        }
        let refused =
            |spec: &TrialSpec| ["refused", "unexamined"].contains(&spec.contender.name.as_str());
        let indexes = specs.iter().enumerate().filter(|(_, spec)| refused(spec));
        indexes.map(|(at, spec)| (at, Refusal::new(&spec.contender.name, "on order"))).collect()
    }

    fn run(
        &self,
        spec: &TrialSpec,
        stop: &Stop,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), Stopped> {
        sink(Event::Step(Step::Mkfs));
        sink(Event::Note("a remark".to_owned()));
        let ended = match spec.contender.name.as_str() {
            "fails" => Outcome::Failed { step: Step::Mount, reason: "on order".to_owned() },
            "unbegun" => Outcome::Failed { step: Step::Start, reason: "no such file".to_owned() },
            // Waits until it is told to stop, as a guest that hangs would.
            "hangs" => {
                self.stop.ask();
                let (limit, every) = (Duration::from_secs(60), Duration::from_millis(1));
                waiting::until(limit, every, || stop.asked());
                return Err(Stopped);
            }
            "dies" => return Ok(()),
            "killed" => Outcome::Lost { reason: "killed by signal 9".to_owned() },
            _ => Outcome::Done,
        };
        sink(Event::Ended(ended));
        Ok(())
    }
}

/// Hands out fakes; records what was asked of it.
#[derive(Default)]
pub(crate) struct FakePlaces {
    pub(crate) lab: Option<String>,
    pub(crate) stop: Stop,
    pub(crate) damaged: bool,
    pub(crate) kinds: Mutex<Vec<InputKind>>,
}

impl Places for FakePlaces {
    fn inputs(&self, _: &Request, kinds: &[InputKind]) -> Result<Inputs, SessionError> {
        self.kinds.lock().unwrap().extend(kinds);
        match self.damaged {
            true => Err(SessionError::Input("the corpus is damaged".to_owned())),
            false => Ok(Inputs::default()),
        }
    }

    fn makes_filesystems(&self, request: &TestbedRequest) -> Result<bool, SessionError> {
        Ok(request.name == "device")
    }

    fn resumed(
        &self,
        stored: &TestbedRequest,
        _: &[PathBuf],
    ) -> Result<TestbedRequest, SessionError> {
        Ok(stored.clone())
    }

    fn testbed(
        &self,
        _: &TestbedRequest,
        _: InputFiles,
        _: Space,
    ) -> Result<Box<dyn Testbed>, SessionError> {
        Ok(Box::new(Fake { lab: self.lab.clone(), stop: self.stop.clone() }))
    }
}

pub(crate) fn on(testbed: &str) -> TestbedRequest {
    TestbedRequest::new(testbed, &BTreeMap::<String, String>::new()).unwrap()
}

pub(crate) fn request(contenders: &[&str]) -> Request {
    let named = |name: &&str| Contender { name: (*name).to_owned(), ..Contender::plain("ext4") };
    Request {
        workloads: vec![parse_workload("null:ops=3").unwrap()],
        contenders: contenders.iter().map(named).collect(),
        testbed: on("device"),
        repeats: 2,
        until: None,
        seed: 7,
        scale: 1.0,
        verify: false,
        sequence: false,
        size: None,
        least_size: None,
        timeout: Nanos::from_secs(60),
        mail: "synthetic".to_owned(),
        source_tree: "synthetic".to_owned(),
        study: None,
    }
}

pub(crate) fn open<'a>(directory: &Path, places: &'a FakePlaces) -> Session<'a> {
    let command = "fstrial run".to_owned();
    Session::open(&directory.join("results.db"), places, places.stop.clone(), command).unwrap()
}

/// Prepares, creates and executes; the run's id, how it ended, and what was told.
pub(crate) fn run(session: &mut Session<'_>, request: Request) -> (String, RunEnd, Vec<String>) {
    let mut told = Vec::new();
    let mut tell = |event: RunEvent<'_>| told.push(format!("{event:?}"));
    let prepared = session.prepare(request).unwrap();
    let id = session.create(&prepared, &mut tell).unwrap();
    let ended = session.execute(&id, prepared.testbed.as_ref(), Limit::NONE, &mut tell).unwrap();
    (id, ended, told)
}

/// A testbed on which everything is done at once.
pub(crate) struct NoHang;

impl Testbed for NoHang {
    fn name(&self) -> &'static str {
        "fake"
    }
    fn environment(&self) -> Environment {
        Environment::default()
    }
    fn admit(&self, _: &[TrialSpec]) -> Vec<(usize, Refusal)> {
        Vec::new()
    }
    fn run(&self, _: &TrialSpec, _: &Stop, sink: &mut dyn FnMut(Event)) -> Result<(), Stopped> {
        sink(Event::Ended(Outcome::Done));
        Ok(())
    }
}
