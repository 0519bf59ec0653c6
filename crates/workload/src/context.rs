//! The environment of a running workload: the target directory, its parameters and inputs, and the
//! clocks. The context starts and stops every clock and asks the [`Host`] before and after each
//! phase whether the target is still what it should be.

use std::path::{Path, PathBuf};

use measure::{ProcessCpu, now};
use units::Nanos;

use crate::begun::Begun;
use crate::corpora::MailCorpus;
use crate::inputs::Inputs;
use crate::{
    Cache, Description, Failure, Host, NotComparable, OpError, Parameters, PhaseDescription,
    PhaseEvent, PhaseResult, PhaseStatus, Program, Recorder, Seed,
};

/// The course is kept of phases that last so long and end so many ops.
const COURSE_FROM: Nanos = Nanos::from_secs(1);
const COURSE_OPS_LEAST: u64 = 10;

/// A workload's view of its trial.
pub struct Context<'h> {
    host: &'h dyn Host,
    description: &'static Description,
    target: PathBuf,
    parameters: Parameters,
    inputs: &'h Inputs,
    seed: Seed,
    verify: bool,
    cache: Cache,
    phases_failed: Vec<&'static str>,
    phases_reported: Vec<&'static str>,
    /// Why none of its measurements may be compared, if so.
    tainted: Option<NotComparable>,
}

impl<'h> Context<'h> {
    /// A context for one workload on an empty or inherited `target` directory.
    pub fn new(
        host: &'h dyn Host,
        description: &'static Description,
        target: PathBuf,
        parameters: Parameters,
        inputs: &'h Inputs,
        seed: Seed,
        verify: bool,
    ) -> Context<'h> {
        let cache = Cache::Warm { why: "not asked for".to_owned() };
        let phases_failed = Vec::new();
        Context {
            host,
            description,
            target,
            parameters,
            inputs,
            seed,
            verify,
            cache,
            phases_failed,
            phases_reported: Vec::new(),
            tainted: None,
        }
    }

    /// Marks every phase as not comparable: this earlier workload of the sequence has failed
    /// and left the filesystem in another state.
    pub fn taint(&mut self, workload: &str) {
        let after = || NotComparable::AfterWorkload { workload: workload.to_owned() };
        self.tainted.get_or_insert_with(after);
    }

    /// The directory to work in, on the filesystem under test.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The workload's parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The trial's seed for this workload.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// Whether to read everything back at the end, outside any clock.
    pub fn verify(&self) -> bool {
        self.verify
    }

    /// The mails. Borrowed from the trial, so that phases can use it while the context runs.
    ///
    /// # Errors
    /// When the trial has no mail corpus, or an empty one.
    pub fn mail(&self) -> Result<&'h MailCorpus, Failure> {
        match &self.inputs.mail {
            Some(mail) if !mail.is_empty() => Ok(mail),
            Some(_) => Err(Failure::Input("the mail corpus is empty".to_owned())),
            None => Err(Failure::Input("the trial carries no mail corpus".to_owned())),
        }
    }

    /// The source tree's tar file.
    ///
    /// # Errors
    /// When the trial has none.
    pub fn source_tree(&self) -> Result<&'h Path, Failure> {
        self.inputs
            .source_tree
            .as_deref()
            .ok_or_else(|| Failure::Input("the trial carries no source tree".to_owned()))
    }

    /// The host that surrounds it.
    pub(crate) fn host(&self) -> &'h dyn Host {
        self.host
    }

    /// The workload's description.
    pub(crate) fn description(&self) -> &'static Description {
        self.description
    }

    /// Where a program that the workload runs is.
    ///
    /// # Errors
    /// When it is in none of the trial's directories of programs.
    pub fn program(&self, program: Program) -> Result<PathBuf, Failure> {
        let places = &self.inputs.programs;
        places.iter().map(|place| place.join(program.name)).find(|path| path.is_file()).ok_or_else(
            || {
                let looked: Vec<_> = places.iter().map(|p| p.display().to_string()).collect();
                Failure::Input(format!(
                    "{} is not installed (looked in {}); its Debian package is {}",
                    program.name,
                    looked.join(":"),
                    program.package
                ))
            },
        )
    }

    /// Directories in which programs are looked up.
    pub(crate) fn programs(&self) -> &'h [PathBuf] {
        &self.inputs.programs
    }

    /// The archive of files that the user's own program needs; `None` where it uses the machine's.
    pub(crate) fn program_tree(&self) -> Option<&'h Path> {
        self.inputs.program_tree.as_deref()
    }

    /// The archive of a system to boot.
    ///
    /// # Errors
    /// When the trial has none.
    pub fn system(&self) -> Result<&'h Path, Failure> {
        self.inputs
            .system
            .as_deref()
            .ok_or_else(|| Failure::Input("the trial carries no system to boot".to_owned()))
    }

    /// How long mounting the target took when it was last made cold; `None` where it was not
    /// mounted for that.
    pub fn mount_took(&self) -> Option<Nanos> {
        self.host.mount_took()
    }

    /// Empties the target's cache before the next phase, where the testbed can. Close every
    /// file of the target first.
    pub fn make_cold(&mut self) {
        self.cache = self.host.make_cold();
    }

    /// Runs one phase: checks the target, starts the clocks, calls `body`, stops the clocks,
    /// checks the target again, reports the result.
    ///
    /// # Errors
    /// When an op failed (the phase is reported as failed with what it did until then), or
    /// when the target is not the filesystem under test.
    pub fn phase<R>(
        &mut self,
        phase: &'static PhaseDescription,
        ops_planned: u64,
        body: impl FnOnce(&mut Recorder<'h>) -> Result<R, OpError>,
    ) -> Result<R, Failure> {
        self.phase_with(phase, ops_planned, body, |_, _| {})
    }

    /// Like [`Context::phase`], and lets `annotate` add figures and notes to the result
    /// from what `body` returned.
    ///
    /// # Errors
    /// As [`Context::phase`].
    pub fn phase_with<R>(
        &mut self,
        phase: &'static PhaseDescription,
        ops_planned: u64,
        body: impl FnOnce(&mut Recorder<'h>) -> Result<R, OpError>,
        annotate: impl FnOnce(&R, &mut PhaseResult),
    ) -> Result<R, Failure> {
        let mut recorder = Recorder::new(phase);
        let begun = self.begin(phase, ops_planned)?;
        let cpu_before = ProcessCpu::read();
        let start = recorder.start(self.host);
        let outcome = body(&mut recorder);
        let wall = now() - start;
        let cpu = ProcessCpu::read().since(cpu_before);
        let mut result = begun.result(self.description.name);
        (result.wall, result.cpu) = (wall, cpu);

        let (ops, read_bytes, write_bytes, digest) = recorder.totals();
        (result.ops, result.read_bytes, result.write_bytes) = (ops, read_bytes, write_bytes);
        result.digest = digest;
        let kinds: Vec<&str> = phase.ops.iter().map(|op| op.name).collect();
        let is_kept = wall >= COURSE_FROM && ops >= COURSE_OPS_LEAST;
        result.course = is_kept.then(|| recorder.course(start + wall, &kinds));
        result.latencies = phase
            .ops
            .iter()
            .zip(recorder.into_latencies())
            .filter(|(_, latencies)| latencies.count() > 0)
            .map(|(op, latencies)| (op.name.to_owned(), latencies))
            .collect();
        let ended = outcome.map_err(|error| Failure::Op { phase: phase.name, error });
        self.finish(begun, result, ended, annotate)
    }

    /// Begins a phase: checks the target, notifies the host, reads the counters.
    ///
    /// # Errors
    /// When the target is not the filesystem under test.
    pub(crate) fn begin(
        &mut self,
        phase: &'static PhaseDescription,
        ops_planned: u64,
    ) -> Result<Begun, Failure> {
        debug_assert!(
            // A workload whose phases come from a file has none or not all in its description.
            self.description.phases.is_empty()
                || self.description.inputs.contains(&crate::InputKind::OwnProgram)
                || self.description.phases.iter().any(|known| std::ptr::eq(*known, phase)),
            "phase {} is not in the description of {}",
            phase.name,
            self.description.name
        );
        self.host.check_target().map_err(Failure::TargetLost)?;
        let cache = std::mem::replace(
            &mut self.cache,
            Cache::Warm { why: "follows another phase".to_owned() },
        );
        Ok(self.begin_anywhere(phase, ops_planned, cache))
    }

    /// Begins a phase that works on no file of the target, which need not be mounted.
    pub(crate) fn begin_anywhere(
        &self,
        phase: &'static PhaseDescription,
        ops_planned: u64,
        cache: Cache,
    ) -> Begun {
        self.host.emit(PhaseEvent::Started {
            workload: self.description.name.to_owned(),
            phase: phase.name.to_owned(),
            ops_planned,
        });
        Begun::now(phase, cache, self.host.devices())
    }

    /// Ends a phase with its result: checks the target again and reports.
    ///
    /// # Errors
    /// That of `ended`, or that the target is lost.
    pub(crate) fn finish<R>(
        &mut self,
        begun: Begun,
        mut result: PhaseResult,
        ended: Result<R, Failure>,
        annotate: impl FnOnce(&R, &mut PhaseResult),
    ) -> Result<R, Failure> {
        let lost = self.host.check_target().err();
        if let Some(found) = lost {
            result.status = PhaseStatus::Failed {
                reason: format!("the target is not the filesystem under test: {found}"),
            };
            self.phases_reported.push(begun.phase.name);
            self.host.emit(PhaseEvent::Finished(Box::new(result)));
            return Err(Failure::TargetLost(found));
        }
        self.conclude(&begun, result, ended, annotate)
    }

    /// Ends a phase and reports it, wherever the target is.
    ///
    /// # Errors
    /// That of `ended`.
    pub(crate) fn conclude<R>(
        &mut self,
        begun: &Begun,
        mut result: PhaseResult,
        ended: Result<R, Failure>,
        annotate: impl FnOnce(&R, &mut PhaseResult),
    ) -> Result<R, Failure> {
        let phase = begun.phase;
        result.not_comparable = self.tainted.clone().or(result.not_comparable.take());
        if result.not_comparable.is_none()
            && phase.disk_bound
            && result.device.is_some_and(|used| used.reads + used.writes == 0)
        {
            result.not_comparable = Some(NotComparable::DeviceNotReached);
        }
        let ended = match ended {
            Err(failure) => {
                let reason = match &failure {
                    Failure::Op { error, .. } => format!("{error}: {}", error.source),
                    other => other.to_string(),
                };
                result.status = PhaseStatus::Failed { reason };
                self.phases_failed.push(phase.name);
                Err(failure)
            }
            Ok(value) => {
                annotate(&value, &mut result);
                Ok(value)
            }
        };
        self.phases_reported.push(phase.name);
        self.host.emit(PhaseEvent::Finished(Box::new(result)));
        ended
    }

    /// Reports a phase that cannot run here, with its reason, so that it shows as missing.
    pub fn skip(&mut self, phase: &'static PhaseDescription, reason: impl Into<String>) {
        let mut result = PhaseResult::empty(self.description.name, phase.name, self.cache.clone());
        result.status = PhaseStatus::Skipped { reason: reason.into() };
        self.phases_reported.push(phase.name);
        self.host.emit(PhaseEvent::Finished(Box::new(result)));
    }

    /// Reports every phase that has not been reported yet as one that cannot run. For a
    /// workload that ends early.
    pub fn skip_rest(&mut self, reason: &str) {
        self.skip_rest_of(self.description.phases, reason);
    }

    /// Like [`Context::skip_rest`], for a workload of which only these phases were asked for.
    pub fn skip_rest_of(&mut self, phases: &[&'static PhaseDescription], reason: &str) {
        for phase in phases {
            if !self.phases_reported.contains(&phase.name) {
                self.skip(phase, reason);
            }
        }
    }

    /// The phases of this workload that failed so far.
    pub fn phases_failed(&self) -> &[&'static str] {
        &self.phases_failed
    }
}
