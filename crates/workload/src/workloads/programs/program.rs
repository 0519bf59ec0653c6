//! A program of the user's own.

use std::path::{Path, PathBuf};

use measure::ProcessCpu;

use super::call::{Call, Done};
use super::job::{Job, JobPhase, SYNC_ENDING};
use super::metric::{Better, Metric};
use super::steps::in_directory_of;
use super::trace::Trace;
use crate::typed::DocumentParameter;
use crate::{
    Context, Description, Failure, Headline, InputFacts, InputKind, NotComparable, OpError,
    OwnFigure, Parameters, PhaseDescription, PhaseResult, Space, Workload,
};

/// A program of the user's own, from a file or the command line.
pub(in crate::workloads) struct OwnProgram;

/// Where it works, below the target.
const DIRECTORY: &str = "program";
/// Free blocks below which a filesystem counts as full.
const BLOCKS_LEFT: u64 = 16;

static RUN: PhaseDescription = PhaseDescription {
    name: "run",
    summary: "the program, from its start to its end",
    clock: "from just before the program is started until it has ended; data that it leaves to the \
kernel to write is timed in `sync`",
    ops: &[],
    disk_bound: false,
};

static SYNC: PhaseDescription = PhaseDescription {
    name: "sync",
    summary: "writing what the program left in memory",
    clock: "one syncfs, after the program has ended",
    ops: &[],
    disk_bound: false,
};

const FILE: DocumentParameter =
    DocumentParameter::new("file", "The file that describes the program.", &[], "");

static DESCRIPTION: Description = Description {
    name: "program",
    summary: "your own program: fstrial run -- ./program {target}",
    origin: "Any program. It works in an empty directory of the filesystem under test. In its \
arguments and its environment, `{target}` stands for that directory and `{seed}` for a number \
drawn from the trial's seed. Processes that it starts are ended with it. A TOML file says how to \
prepare and check it, and what to read from its output: docs/howto/program.md. The file's text, \
not its name, is kept with the results.",
    headline: Headline { question: "the given program", phase: "run", metric: "wall", things: "" },
    presets: &[],
    inputs: &[InputKind::OwnProgram],
    parameters: &[FILE.row],
    phases: &[&RUN, &SYNC],
};

impl Workload for OwnProgram {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        Job::read(parameters.get(&FILE)).map(drop)
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let job = Job::read(parameters.get(&FILE));
        Space { bytes: job.map(|job| job.space()).unwrap_or_default(), inodes: 10_000 }
    }

    fn question(&self, parameters: &[(String, String)]) -> String {
        let text = parameters.iter().find(|(name, _)| name == FILE.row.name).map(|(_, it)| it);
        let job = text.and_then(|text| Job::read(text).ok());
        if let Some(job) = job.as_ref().filter(|job| !job.summary.is_empty()) {
            return job.summary.clone();
        }
        let command = job.as_ref().and_then(|job| job.timed().next());
        let command = command.as_ref().and_then(|phase| phase.run.first()).map(Path::new);
        match command.and_then(Path::file_name) {
            Some(name) => format!("`{}`", name.display()),
            None => DESCRIPTION.headline.question.to_owned(),
        }
    }

    fn figures(&self, parameters: &Parameters) -> Vec<OwnFigure> {
        let Ok(job) = Job::read(parameters.get(&FILE)) else { return Vec::new() };
        let own = |metric: &Metric| OwnFigure {
            name: figure_name(metric),
            label: match metric.unit.as_str() {
                "" => metric.name.replace('_', " "),
                unit => format!("{}, {unit}", metric.name.replace('_', " ")),
            },
            higher_is_better: metric.better == Better::Higher,
        };
        job.metrics.iter().map(own).collect()
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let job = Job::read(context.parameters().get(&FILE)).map_err(Failure::Input)?;
        let phases = Timed::of(&job);
        let reported: Vec<_> = phases.iter().flat_map(|it| [it.run, it.sync]).collect();
        in_directory_of(context, DIRECTORY, &reported, |context, directory| {
            let root = context.program_tree().map(super::tree::unpacked).transpose()?;
            let seed = context.seed().stream("program").below(1 << 31);
            Place { job, root, directory, seed }.work(context, &phases)
        })
    }
}

/// A timed part with its two phases.
struct Timed {
    part: JobPhase,
    run: &'static PhaseDescription,
    sync: &'static PhaseDescription,
}

impl Timed {
    /// The parts of a job.
    fn of(job: &Job) -> Vec<Timed> {
        let described = |name: String, like: &PhaseDescription| {
            PhaseDescription::of_user(name, like.summary, like.clock)
        };
        let timed = job.timed().map(|part| match part.name.as_str() {
            "run" => Timed { part, run: &RUN, sync: &SYNC },
            name => Timed {
                run: described(name.to_owned(), &RUN),
                sync: described(format!("{name}{SYNC_ENDING}"), &SYNC),
                part,
            },
        });
        timed.collect()
    }
}

/// A job and where it runs.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) job: Job,
    pub(super) root: Option<PathBuf>,
    pub(super) directory: PathBuf,
    pub(super) seed: u64,
}

impl Place {
    fn work(&self, context: &mut Context<'_>, phases: &[Timed]) -> Result<(), Failure> {
        self.bring().map_err(Failure::Input)?;
        let programs = context.programs().to_vec();
        let call = |words: &[String]| self.call(words, &programs);
        for words in &self.job.setup {
            let untouched = Trace::of(&self.directory);
            call(words).succeed().map_err(|why| match untouched == Trace::of(&self.directory) {
                true => unbegun("setup", words, &why),
                false => failed("setup", words, &why),
            })?;
        }
        let mut found = vec![false; self.job.metrics.len()];
        for (at, timed) in phases.iter().enumerate() {
            if timed.part.cold {
                context.make_cold();
            }
            let place = At { is_first: at == 0, is_last: at + 1 == phases.len() };
            let wrote = self.time(context, &call(&timed.part.run), timed, place, &mut found)?;
            self.sync(context, timed.sync, wrote)?;
        }
        for words in &self.job.check {
            let checked = call(words).succeed();
            let failed = |why| Failure::Verify(format!("`{}`: {why}", text::shell_words(words)));
            checked.map_err(failed)?;
        }
        Ok(())
    }

    /// Copies into the target what the job names.
    pub(super) fn bring(&self) -> Result<(), String> {
        let from = |path: &Path| {
            let path = self.job.path(path);
            self.root.as_ref().map_or(path.clone(), |root| below(root, &path))
        };
        for input in &self.job.inputs {
            let name = input.file_name().unwrap_or(input.as_os_str());
            copy(&from(input), &self.directory.join(name))?;
        }
        for carried in &self.job.carried {
            let to = self.directory.join(carried);
            if let Some(parent) = to.parent() {
                let named = |error: std::io::Error| format!("{}: {error}", parent.display());
                std::fs::create_dir_all(parent).map_err(named)?;
            }
            copy(&from(carried), &to)?;
        }
        Ok(())
    }

    /// Writes what a part left in memory; `wrote` is the number of its requests to the device.
    fn sync(
        &self,
        context: &mut Context<'_>,
        phase: &'static PhaseDescription,
        wrote: Option<u64>,
    ) -> Result<(), Failure> {
        context.phase_with(
            phase,
            0,
            |_| {
                let target = std::fs::File::open(&self.directory)
                    .map_err(OpError::at("open", &self.directory))?;
                rustix::fs::syncfs(&target).map_err(OpError::at("syncfs", &self.directory))
            },
            |(), result| {
                let here = result.device.map(|used| used.reads + used.writes);
                if let (Some(0), Some(0)) = (wrote, here) {
                    let why = NOTHING.to_owned();
                    result.not_comparable = Some(NotComparable::Other { why });
                }
            },
        )
    }

    /// A timed part. Returns the requests to its device, if it has one.
    fn time(
        &self,
        context: &mut Context<'_>,
        call: &Call<'_>,
        timed: &Timed,
        at: At,
        found: &mut [bool],
    ) -> Result<Option<u64>, Failure> {
        let untouched = Trace::of(&self.directory);
        let begun = context.begin(timed.run, 0)?;
        let before = ProcessCpu::read_children();
        let ended = call.run();
        let cpu = ProcessCpu::read_children().since(before);
        let mut result = begun.result(context.description().name);
        result.cpu = cpu;
        let requests = result.device.map(|used| used.reads + used.writes);
        let (name, words) = (timed.run.name, &timed.part.run);
        let ended = match ended {
            Err(why) if at.is_first => Err(unbegun(name, words, &why)),
            Err(why) => Err(failed(name, words, &why)),
            Ok(done) => {
                result.wall = done.end - done.start;
                self.describe(&done, name, at, found, &mut result);
                match self.judge(call, &done) {
                    None => Ok(()),
                    Some(why) if at.is_first && untouched == Trace::of(&self.directory) => {
                        Err(unbegun(name, words, &why))
                    }
                    Some(why) => Err(failed(name, words, &why)),
                }
            }
        };
        context.finish(begun, result, ended, |(), _| {})?;
        Ok(requests)
    }

    /// Why a run does not count, if it does not.
    fn judge(&self, call: &Call<'_>, done: &Done) -> Option<String> {
        let full = rustix::fs::statvfs(&self.directory)
            .is_ok_and(|room| room.f_blocks > 0 && room.f_bfree < BLOCKS_LEFT);
        let said = [&done.output, &done.errors].iter().any(|text| text.contains(NO_SPACE));
        match call.failure(done) {
            Some(failure) if full || said => Some(format!("{FULL}: {failure}")),
            None if full => Some(format!("{FULL}; what it wrote may be lost")),
            failure => failure,
        }
    }

    fn describe(
        &self,
        done: &Done,
        phase: &str,
        at: At,
        found: &mut [bool],
        result: &mut PhaseResult,
    ) {
        result.figures.insert("peak_memory_kib".to_owned(), done.memory as f64);
        if let Some(code) = done.status.code() {
            result.figures.insert("exit_code".to_owned(), f64::from(code));
        }
        let said = format!("{}\n{}", done.output, done.errors);
        for (metric, found) in self.job.metrics.iter().zip(found) {
            if !metric.is_of(phase) {
                continue;
            }
            match metric.find(&said) {
                Ok(Some(value)) => {
                    *found = true;
                    result.notes.extend(value.note);
                    result.figures.insert(figure_name(metric), value.value);
                }
                // Another part may print it.
                Ok(None) if *found || metric.phase.is_none() && !at.is_last => {}
                Ok(None) => result.notes.push(metric.unprinted()),
                Err(why) => result.notes.push(why),
            }
        }
        if done.left > 0 {
            let left = match done.left {
                1 => "1 process that it started went on after it had ended, and was killed".into(),
                left => format!(
                    "{left} processes that it started went on after it had ended, and were killed"
                ),
            };
            result.notes.push(left);
        }
    }

    pub(super) fn call<'a>(&'a self, words: &[String], search: &'a [PathBuf]) -> Call<'a> {
        let mut filled: Vec<_> = words.iter().map(|word| self.filled(word)).collect();
        filled[0] = self.job.program(&filled).display().to_string();
        let environment = self.job.environment.iter();
        Call {
            words: filled.into_iter().map(Into::into).collect(),
            directory: &self.directory,
            environment: environment.map(|(k, v)| (k.clone(), self.filled(v))).collect(),
            search,
            root: self.root.as_deref(),
            input: String::new(),
            user: None,
            limit: self.job.timeout(),
        }
    }

    /// A word with its placeholders replaced.
    fn filled(&self, word: &str) -> String {
        word.replace("{target}", &self.directory.display().to_string())
            .replace("{seed}", &self.seed.to_string())
    }
}

const NOTHING: &str = "the program sent no request to the device and left nothing to write: this \
compares processors, not filesystems; does it work in {target}?";
/// The message of a program that passes on the kernel's error. Some filesystems reserve blocks
/// that no file can use, so it is checked besides the free blocks.
const NO_SPACE: &str = "No space left on device";
const FULL: &str = "the filesystem is full (more `space` in the job's file, or a larger --size)";

/// A metric's name in the results: with its unit, as all figures have it.
fn figure_name(metric: &Metric) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let unit = metric.unit.replace("/s", "_per_sec").replace('%', "percent");
    let unit: String = unit.chars().map(plain).collect();
    let unit = unit.trim_matches('_');
    match unit {
        "" => format!("own_{}", metric.name),
        unit => format!("own_{}_{unit}", metric.name),
    }
}

fn failed(step: &str, words: &[String], why: &str) -> Failure {
    let said = format!("{step}: `{}`: {why}", text::shell_words(words));
    Failure::Program { program: "program", said }
}

/// A failure before the program did anything: others of the run would fail likewise.
fn unbegun(step: &str, words: &[String], why: &str) -> Failure {
    Failure::Unbegun(format!("{step}: `{}`: {why}", text::shell_words(words)))
}

/// The place of a timed part among the others.
#[derive(Debug, Clone, Copy)]
struct At {
    is_first: bool,
    is_last: bool,
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Copies a file, a link or a whole directory.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let named = |error: std::io::Error| format!("input {}: {error}", from.display());
    let found = std::fs::metadata(from).map_err(named)?;
    if !found.is_dir() {
        return std::fs::copy(from, to).map(drop).map_err(named);
    }
    std::fs::create_dir(to).map_err(named)?;
    let mut names: Vec<_> = std::fs::read_dir(from)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect())
        .map_err(named)?;
    names.sort();
    names.iter().try_for_each(|name| copy(&from.join(name), &to.join(name)))
}
