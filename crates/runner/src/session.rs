//! What every command that runs trials does: prepare a request, put it into the store, execute
//! it, resume it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stack::Refusal;
use store::{Environment, HeldRun, NewRun, RunHeader, RunState, Store};
use testbed::{Lanes, Stop, Testbed};
use trial::{InputFiles, Outcome, TrialRecord, TrialSpec};
use units::Bytes;
use workload::{InputFacts, InputKind, Space};

use crate::admission::admit;
use crate::error::SessionError;
use crate::{Durations, Inputs, Places, Request, RunEnd, RunEvent, device_size, plan, room, run};

/// A request with everything that has to be known before it can be run.
pub struct Prepared {
    /// As asked for, with the size that was computed.
    pub request: Request,
    /// Where it runs.
    pub testbed: Box<dyn Testbed>,
    /// Its trials in order of execution.
    pub trials: Vec<TrialSpec>,
    /// Which of them cannot run there, and why.
    pub refused: Vec<(usize, Refusal)>,
    /// What the workloads read.
    pub inputs: InputFiles,
    /// What the largest trial writes.
    pub room: Space,
    /// Which source tree, and what it holds.
    source_tree: String,
    pub(crate) facts: InputFacts,
    /// As in [`Inputs`].
    program: String,
}

impl Prepared {
    /// Leaves some trials out, before the run is created.
    pub fn retain(&mut self, change: impl FnOnce(Vec<TrialSpec>) -> Vec<TrialSpec>) {
        self.trials = change(std::mem::take(&mut self.trials));
        self.refused = admit(self.testbed.as_ref(), &self.trials, &self.facts);
    }

    /// Where it takes place, and what its workloads read.
    pub fn environment(&self) -> Environment {
        let mut environment = self.testbed.environment();
        let mut add =
            |key: &str, value: &String| environment.0.insert(key.to_owned(), value.clone());
        add("mail_source", &self.request.mail);
        add("source_tree", &self.source_tree);
        if !self.program.is_empty() {
            add("own_program", &self.program);
        }
        environment
    }

    /// The reason, where not one trial can run.
    fn impossible(&self) -> Option<&Refusal> {
        let (_, first) = self.refused.first()?;
        (self.refused.len() == self.trials.len()).then_some(first)
    }
}

/// When the execution of a run ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// No trial begins after it.
    pub instant: Option<std::time::Instant>,
    /// No more trials than these.
    pub trials: Option<usize>,
}

impl Limit {
    /// To the end.
    pub const NONE: Limit = Limit { instant: None, trials: None };
}

/// A store, places to run in, and what was asked to stop it all.
pub struct Session<'a> {
    /// The results.
    pub store: Store,
    places: &'a dyn Places,
    stop: Stop,
    command_line: String,
    machine: Option<Lanes>,
    /// Runs that this session executes, which nobody else does meanwhile.
    held: BTreeMap<String, HeldRun>,
}

impl<'a> Session<'a> {
    /// Opens the store. A store that cannot be used is found out before hours of work.
    /// `command_line` is kept with every run that is created.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub fn open(
        store: &Path,
        places: &'a dyn Places,
        stop: Stop,
        command_line: String,
    ) -> Result<Session<'a>, SessionError> {
        let store = Store::open(store)?;
        let held = BTreeMap::new();
        Ok(Session { store, places, stop, command_line, machine: None, held })
    }

    /// The same session, sharing the machine with the other sessions that use these lanes.
    pub fn sharing(self, machine: Lanes) -> Session<'a> {
        Session { machine: Some(machine), ..self }
    }

    /// Whether it was asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.asked()
    }

    /// See [`prepare`].
    ///
    /// # Errors
    /// As it.
    pub fn prepare(&self, request: Request) -> Result<Prepared, SessionError> {
        prepare(self.places, request)
    }

    /// What is refused once this was asked to stop may be so because nobody waited.
    fn refused(&self, refusal: &Refusal) -> SessionError {
        match self.stopped() {
            true => SessionError::StoppedBefore,
            false => SessionError::Refused(refusal.to_string()),
        }
    }

    /// Puts a run into the store; what cannot run has that as its outcome before the others
    /// begin. Returns its id.
    ///
    /// # Errors
    /// When no trial can run at all, or the store cannot be written.
    pub fn create(
        &mut self,
        prepared: &Prepared,
        observer: &mut dyn FnMut(RunEvent<'_>),
    ) -> Result<String, SessionError> {
        if let Some(refusal) = prepared.impossible() {
            return Err(self.refused(refusal));
        }
        let request = serde_json::to_string(&prepared.request)
            .map_err(|error| SessionError::Request(error.to_string()))?;
        let mut environment = prepared.environment();
        environment.0.insert("command_line".to_owned(), self.command_line.clone());
        let contenders: Vec<String> =
            prepared.request.contenders.iter().map(|known| known.name.clone()).collect();
        let id = self.store.create_run(&NewRun {
            contenders: &contenders,
            fstrial_version: env!("CARGO_PKG_VERSION"),
            testbed: prepared.testbed.name(),
            lab_id: prepared.testbed.lab_id().as_deref(),
            environment: &environment,
            seed: prepared.request.seed,
            repeats: prepared.request.repeats,
            scale: prepared.request.scale,
            request: &request,
            trials: &prepared.trials,
        })?;
        self.hold(&id)?;
        self.leave_out(&id, 0, &prepared.refused, observer)?;
        Ok(id)
    }

    /// Stores that trials cannot run; their places in the run are counted from `first`.
    pub(crate) fn leave_out(
        &mut self,
        id: &str,
        first: usize,
        refused: &[(usize, Refusal)],
        observer: &mut dyn FnMut(RunEvent<'_>),
    ) -> Result<(), SessionError> {
        let mut told: Vec<&Refusal> = Vec::new();
        let mut ended = Vec::with_capacity(refused.len());
        for (index, refusal) in refused {
            if first == 0 && !told.contains(&refusal) {
                observer(RunEvent::LeftOut { refusal });
                told.push(refusal);
            }
            let outcome = Outcome::Refused { reason: refusal.to_string() };
            let ordinal = u32::try_from(first + index).unwrap_or(u32::MAX);
            ended.push((ordinal, TrialRecord::ended(outcome)));
        }
        let refused = ended.iter().map(|(ordinal, record)| (*ordinal, record));
        self.store.finish_trials(id, refused)?;
        Ok(())
    }

    /// Makes sure that no other process executes the run as long as this session does.
    fn hold(&mut self, id: &str) -> Result<(), SessionError> {
        if !self.held.contains_key(id) {
            self.held.insert(id.to_owned(), self.store.hold_run(id)?);
        }
        Ok(())
    }

    /// Lets trials that something outside of them ended (a killed process, a full host, a lost
    /// node) run again. For a run that is resumed.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn run_lost_again(
        &mut self,
        id: &str,
        observer: &mut dyn FnMut(RunEvent<'_>),
    ) -> Result<(), SessionError> {
        let trials = self.store.run_lost_again(id)?.len();
        if trials > 0 {
            observer(RunEvent::Again { run: id, trials, most: Store::AGAIN_MAX });
        }
        Ok(())
    }

    /// Executes what a run has no outcome of yet. A trial that fails does not stop the others.
    /// None begins beyond `limit`; a run that has trials left then goes on when this is called
    /// again.
    ///
    /// # Errors
    /// When another process executes it, or the store cannot be read or written. Running trials are
    /// stopped then.
    pub fn execute(
        &mut self,
        id: &str,
        testbed: &dyn Testbed,
        limit: Limit,
        observer: &mut (dyn FnMut(RunEvent<'_>) + Send),
    ) -> Result<RunEnd, SessionError> {
        self.hold(id)?;
        let pending = self.store.unfinished(id)?;
        testbed.begin(&pending).map_err(|refusal| SessionError::Refused(refusal.to_string()))?;
        let remain: Vec<TrialSpec> = pending.into_iter().map(|(_, spec)| spec).collect();
        observer(RunEvent::Began {
            run: id,
            store: self.store.path(),
            lanes: testbed.lanes(&remain),
            durations: self.durations(testbed, &self.store.run_header(id)?.environment),
            remain,
        });
        let stop = self.stop.beginning_until(limit.instant);
        let machine = self.machine.as_ref();
        Ok(run::run(&mut self.store, id, testbed, &stop, (machine, limit.trials), observer)?)
    }

    /// What is known of how long trials take on this testbed, with what this environment has. If it
    /// cannot be read, there is no estimate.
    pub fn durations(&self, testbed: &dyn Testbed, environment: &Environment) -> Durations {
        Durations::earlier(&self.store, testbed.name(), environment).unwrap_or_default()
    }

    /// A run from its request to its end, where all of its trials have to be possible.
    ///
    /// # Errors
    /// When it cannot be prepared, one trial is refused, the store fails, or it was stopped.
    pub fn measure(
        &mut self,
        prepared: &Prepared,
        observer: &mut (dyn FnMut(RunEvent<'_>) + Send),
    ) -> Result<String, SessionError> {
        if let Some((_, refusal)) = prepared.refused.first() {
            return Err(self.refused(refusal));
        }
        let id = self.create(prepared, &mut *observer)?;
        match self.execute(&id, prepared.testbed.as_ref(), Limit::NONE, observer)? {
            RunEnd::Complete => Ok(id),
            RunEnd::Stopped => Err(SessionError::Stopped(id)),
            RunEnd::Hopeless => Err(SessionError::Input(self.hopeless(&id)?)),
        }
    }

    /// Why a run that ended [`RunEnd::Hopeless`] did, with the next step.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn hopeless(&self, id: &str) -> Result<String, SessionError> {
        Ok(run::hopeless(&self.store.run(id)?))
    }

    /// The newest run that has something left to do, and whether there is one; where none has,
    /// the newest: its report may be what was interrupted.
    ///
    /// # Errors
    /// When there is no run, or the store cannot be read.
    pub fn newest(&self) -> Result<(RunHeader, RunState), SessionError> {
        let runs = self.store.runs()?;
        let open = runs.iter().position(|run| run.state == RunState::Open);
        let newest = runs.into_iter().nth(open.unwrap_or(0)).ok_or_else(|| {
            let message = "there is no run to resume: begin one with fstrial run";
            SessionError::Refused(message.to_owned())
        })?;
        let state = newest.state;
        Ok((newest, state))
    }

    /// Prepares a stored run again, from its own request. `allow` are devices whose contents
    /// may be destroyed beside those it was begun with: a disk that was blank then carries its
    /// last trial's filesystem now.
    ///
    /// # Errors
    /// When another process executes it, its request cannot be read or prepared, or the lab is
    /// another than it began in.
    pub fn reopen(
        &mut self,
        header: &RunHeader,
        allow: &[PathBuf],
    ) -> Result<Prepared, SessionError> {
        self.hold(&header.id)?;
        let json = self.store.request(&header.id)?;
        let other_version = |error: &dyn std::fmt::Display| {
            let id = &header.id;
            let message =
                format!("run {id} is of another version of fstrial, make a new one: {error}");
            SessionError::Input(message)
        };
        let mut request: Request =
            serde_json::from_str(&json).map_err(|error| other_version(&error))?;
        let testbed = self.places.resumed(&request.testbed, allow);
        request.testbed = testbed.map_err(|error| other_version(&error))?;
        let prepared = self.prepare(request)?;
        if let Some(refusal) = prepared.impossible() {
            return Err(self.refused(refusal));
        }
        let (then, now) = (header.lab_id.as_deref(), prepared.testbed.lab_id());
        if now.as_deref() != then {
            return Err(SessionError::Refused(format!(
                "run {} began in lab {}, this is {}; figures of two labs do not mix: begin anew",
                header.id,
                then.unwrap_or("none"),
                now.as_deref().unwrap_or("none")
            )));
        }
        Ok(prepared)
    }
}

/// Opens inputs, sizes devices, plans, and asks the testbed what it refuses. Touches no store.
///
/// # Errors
/// When the request contradicts itself, or an input or the testbed is not to be had.
pub fn prepare(places: &dyn Places, mut request: Request) -> Result<Prepared, SessionError> {
    let planned = |request: &Request, size| {
        plan(request, size).map_err(|error| SessionError::Request(error.to_string()))
    };
    let first = planned(&request, None)?;
    let inputs = places.inputs(&request, &input_kinds(&request))?;
    // Every block does the same.
    let first_block = first.iter().take_while(|spec| spec.block == 0);
    let groups: Vec<_> = first_block.map(|spec| spec.workloads.clone()).collect();
    drop(first);
    let needs_size = places.makes_filesystems(&request.testbed)?;
    if needs_size && request.size.is_none() {
        let size = device_size(&groups, &request.contenders, &inputs.facts)
            .map_err(|refusal| SessionError::Request(refusal.to_string()))?;
        request.size = Some(size.max(request.least_size.unwrap_or(Bytes::ZERO)));
    }
    let trials = planned(&request, request.size.filter(|_| needs_size))?;
    let room = room(&groups, &inputs.facts);
    let testbed = places.testbed(&request.testbed, inputs.files.clone(), room)?;
    let refused = admit(testbed.as_ref(), &trials, &inputs.facts);
    // The user's own path is left out: the command line has it.
    let name = request.source_tree.split(':').next().unwrap_or_default();
    let source_tree = match inputs.facts.source_tree {
        None => name.to_owned(),
        Some(tree) => {
            let files = if tree.files == 1 { "file" } else { "files" };
            format!("{name}: {} {files}, {}", tree.files, Bytes(tree.bytes))
        }
    };
    let Inputs { files: inputs, facts, program } = inputs;
    Ok(Prepared { request, testbed, trials, refused, inputs, room, source_tree, facts, program })
}

/// Every kind of input that some workload of the request reads, once.
fn input_kinds(request: &Request) -> Vec<InputKind> {
    let mut kinds: Vec<InputKind> = Vec::new();
    let workloads = request.workloads.iter().filter_map(|asked| workload::find(&asked.name));
    for kind in workloads.flat_map(|workload| workload.describe().inputs) {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    kinds
}
