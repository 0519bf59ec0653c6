//! fio with the user's own job file.

mod allowed;
mod figures;
mod jobs;
mod room;
mod written;

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use measure::ProcessCpu;
use rustix::fs::MemfdFlags;
use units::Nanos;

use self::figures::Missing;
use self::jobs::{Group, Jobs};
pub use self::written::{Surroundings, fio_job_text};
use super::call::Call;
use super::steps::in_directory_of;
use crate::typed::DocumentParameter;
use crate::{
    Context, Description, Failure, Headline, InputFacts, InputKind, OwnFigure, Parameters,
    PhaseDescription, Program, Space, Workload,
};

/// fio with the user's own job file.
pub(in crate::workloads) struct Fio;

const PROGRAM: Program = Program { name: "fio", package: "fio" };
/// Where it works, below the target.
const DIRECTORY: &str = "fio";
/// Time after which it is ended.
const LIMIT: Nanos = Nanos::from_secs(24 * 3600);

const JOB: DocumentParameter =
    DocumentParameter::new("job", "The job file, as fio reads it: fio:job=PATH.", &[], "");

const CLOCK: &str = "the whole program by fstrial's clock, with the creation of its files and \
what it waits for; its own figures leave that out";

static DESCRIPTION: Description = Description {
    name: "fio",
    summary: "fio with your own job file: fio:job=PATH, or PATH.fio itself",
    origin: "The program of Debian's package fio (Jens Axboe), run with the user's job file as it \
is. Jobs before the next `stonewall` are a phase; what fio counts and times of each job stays \
fio's, and stands beside the requests to the device and the processor time that fstrial counts. \
Three things differ: `randseed` comes from the trial's seed, or all repeats would draw the same; a \
`directory` outside is left out, since the jobs work in the directory under test; `${NAME}` is \
filled in when the run is asked for. A job that names a device or another file outside, starts a \
program, writes logs or uses an engine for something other than files is refused with its line. The \
job's text is kept with the results. Jobs that wait for others by name (`wait_for`) are one phase.",
    headline: Headline { question: "the given fio jobs", phase: "", metric: "wall", things: "" },
    presets: &[],
    inputs: &[InputKind::Program(PROGRAM)],
    parameters: &[JOB.row],
    // The phases are the job's groups.
    phases: &[],
};

impl Fio {
    fn jobs(&self, parameters: &Parameters) -> Result<Jobs, String> {
        match parameters.get(&JOB) {
            "" => {
                Err("no job is given: fio:job=PATH, or PATH.fio as the workload; for a job of a \
                       common kind without a file, original-fio"
                    .to_owned())
            }
            text => Jobs::read(text),
        }
    }
}

impl Workload for Fio {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        self.jobs(parameters).map(drop)
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        self.jobs(parameters).map(|jobs| room::space(&jobs)).unwrap_or_default()
    }

    fn figures(&self, parameters: &Parameters) -> Vec<OwnFigure> {
        let Ok(jobs) = self.jobs(parameters) else { return Vec::new() };
        jobs.sections.iter().flat_map(figures::own).collect()
    }

    fn runs_for(&self, parameters: &Parameters) -> Option<Nanos> {
        room::runs_for(&self.jobs(parameters).ok()?)
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let jobs = self.jobs(context.parameters()).map_err(Failure::Input)?;
        let described = |group: Group| {
            (PhaseDescription::of_user(group.name.clone(), "jobs of fio", CLOCK), group)
        };
        let groups: Vec<_> = jobs.groups().into_iter().map(described).collect();
        let phases: Vec<_> = groups.iter().map(|(phase, _)| *phase).collect();
        in_directory_of(context, DIRECTORY, &phases, |context, directory| {
            for name in jobs.directories() {
                let path = directory.join(&name);
                let failed = |error| Failure::Input(format!("directory={name}: {error}"));
                std::fs::create_dir_all(path).map_err(failed)?;
            }
            let seed = context.seed().stream("fio").below(1 << 31);
            groups.iter().try_for_each(|(phase, group)| {
                time(context, phase, &jobs.text_of(group, seed), &directory)
            })
        })
    }
}

/// Runs one group as a phase.
fn time(
    context: &mut Context<'_>,
    phase: &'static PhaseDescription,
    job: &str,
    directory: &PathBuf,
) -> Result<(), Failure> {
    let failed = |said: String| Failure::Program { program: PROGRAM.name, said };
    // In memory: a file would be written to some filesystem while the clock runs.
    let output = rustix::fs::memfd_create("fio", MemfdFlags::CLOEXEC)
        .map_err(|error| failed(format!("no room for its output: {error}")))?;
    let place = format!("--output=/proc/{}/fd/{}", std::process::id(), output.as_raw_fd());
    let mut output = File::from(output);
    let words = [context.program(PROGRAM)?.into(), "--output-format=json".into(), place.into()];
    let call = Call {
        words: words.into_iter().chain(["-".into()]).collect(),
        directory,
        environment: Vec::new(),
        search: context.programs(),
        root: None,
        input: job.to_owned(),
        user: None,
        limit: LIMIT,
    };
    let begun = context.begin(phase, 0)?;
    let before = ProcessCpu::read_children();
    let ended = call.run();
    let cpu = ProcessCpu::read_children().since(before);
    let mut result = begun.result(context.description().name);
    result.cpu = cpu;
    let ended = ended.and_then(|done| {
        result.wall = done.end - done.start;
        result.figures.insert("peak_memory_kib".to_owned(), done.memory as f64);
        let mut text = Vec::new();
        let read = output.rewind().and_then(|()| output.read_to_end(&mut text));
        read.map_err(|error| format!("its output: {error}"))?;
        // Its exit code is not 0 where a job failed, and the JSON says why.
        let figures = figures::read(&text, &mut result);
        match call.failure(&done) {
            Some(failure) => Err(match figures {
                Err(Missing::Job(why)) => why,
                _ => failure,
            }),
            None => figures.map_err(Missing::words),
        }
    });
    context.finish(begun, result, ended.map_err(failed), |(), _| {})
}
