//! A program of the user's own: from the words behind `--` or a file to a workload, and what is
//! wrong with it found before anything is made.

use std::path::{Component, Path, PathBuf};

use runner::{Request, WorkloadRequest};
use units::Bytes;
use workload::Job;

use crate::exit::{Exit, Failure};
use crate::files::tool_path;
use crate::output::say;

/// The workload that runs a command.
pub(super) fn of_command(words: &[String]) -> Result<WorkloadRequest, Failure> {
    let text = job_of_command(words, None)?
        .to_text()
        .map_err(|problem| Failure::new(Exit::Input, problem))?;
    let parameters = [("file".to_owned(), text)].into();
    Ok(WorkloadRequest { name: "program".to_owned(), parameters })
}

/// The job of a command, and of one that checks what it left.
pub(crate) fn job_of_command(words: &[String], check: Option<Vec<String>>) -> Result<Job, Failure> {
    let here = here()?;
    let mut job = Job::of_command(words.to_vec(), &here);
    if let Some(check) = check {
        job = job.checked_by(check, &here);
    }
    carry(&mut job, &here)?;
    if !job.carried.is_empty() {
        job.directory = Some(here);
    }
    Ok(job)
}

/// The text of a job's file with the directory in which its relative paths begin.
pub(super) fn located(text: &str, file: &Path) -> Result<String, Failure> {
    let named =
        |problem: String| Failure::new(Exit::Input, format!("{}: {problem}", file.display()));
    let mut job = Job::read(text).map_err(named)?;
    // Without links and `..`: the lab packs what a path names under that path.
    let file = here()?.join(file);
    let file = file.canonicalize().map_err(|error| named(error.to_string()))?;
    let start = file.parent().unwrap_or(Path::new("/"));
    let start: PathBuf =
        start.join(job.directory.clone().unwrap_or_default()).components().collect();
    carry(&mut job, &start)?;
    job.directory = Some(start);
    job.to_text().map_err(named)
}

/// Largest file that is copied because a command names it.
const CARRIED_MAX: Bytes = Bytes::from_mib(256);

/// Notes the files below `start` that the job's commands name: the program works in a directory of
/// its own, in which it would not find them.
fn carry(job: &mut Job, start: &Path) -> Result<(), Failure> {
    let mut carried: Vec<PathBuf> = Vec::new();
    for word in job.commands().flat_map(|words| words.iter().skip(1)) {
        for named in lab::own_program::files_named(word) {
            let path = start.join(named);
            let is_file = std::fs::metadata(&path).is_ok_and(|found| found.is_file());
            let is_known = carried.iter().chain(&job.inputs).any(|known| known == named);
            if named.is_absolute() || !is_file || is_known {
                continue;
            }
            let line = |why: &str| {
                let (named, name) = (named.display(), named.file_name().unwrap_or_default());
                let name = name.display();
                let message = format!(
                    "`{word}`: {why}; in a job's file (docs/howto/program.md) write inputs = \
                     [\"{named}\"], and {{target}}/{name} in the command"
                );
                Failure::new(Exit::Input, message)
            };
            let below = path.canonicalize().is_ok_and(|path| path.starts_with(start));
            if !below || named.components().any(|part| part == Component::ParentDir) {
                return Err(line(&format!("{} is not below {}", path.display(), start.display())));
            }
            let size = Bytes(std::fs::metadata(&path).map_or(0, |found| found.len()));
            if size > CARRIED_MAX {
                return Err(line(&format!(
                    "{} has {size}, and no more than {CARRIED_MAX} is copied unasked",
                    path.display()
                )));
            }
            say!(
                "note: {} is copied into the program's directory, since its command names it",
                named.display()
            );
            carried.push(named.components().filter(|part| *part != Component::CurDir).collect());
        }
    }
    job.carried = carried;
    Ok(())
}

fn here() -> Result<PathBuf, Failure> {
    let failed = |error| Failure::new(Exit::Input, format!("the current directory: {error}"));
    std::env::current_dir().map_err(failed)
}

/// Every job among these workloads.
pub(crate) fn jobs(workloads: &[WorkloadRequest]) -> Result<Vec<Job>, Failure> {
    let texts = workloads.iter().filter(|asked| asked.name == "program");
    texts
        .map(|asked| {
            let text = asked.parameters.get("file").map_or("", String::as_str);
            Job::read(text).map_err(|problem| Failure::new(Exit::Input, problem))
        })
        .collect()
}

/// Checks that the programs a job names exist and can run on this machine.
pub(crate) fn look(job: &Job) -> Result<(), Failure> {
    let refused = |problem: lab::LabError| Failure::new(Exit::Input, problem.to_string());
    let search = tool_path();
    for words in job.commands() {
        lab::own_program::find(&job.program(words), &search).map_err(refused)?;
    }
    for file in job.inputs.iter().chain(&job.carried) {
        lab::own_program::file(&job.path(file), &search).map_err(refused)?;
    }
    Ok(())
}

/// Names the large files of a job, which are read before anything begins.
fn say_what_takes_long(job: &Job, search: &[PathBuf]) {
    let programs = job.commands().map(|words| job.program(words));
    for named in programs.chain(job.inputs.iter().map(|file| job.path(file))) {
        let path = lab::own_program::file(&named, search).ok();
        let found = path.and_then(|path| std::fs::metadata(path).ok());
        let size = Bytes(found.map_or(0, |found| found.len()));
        if size > CARRIED_MAX {
            say!("note: {} has {size}: it is read first, to know it again", named.display());
        }
    }
}

/// What sets the programs of a request apart from others behind the same words.
pub(crate) fn digest(request: &Request) -> Result<String, Failure> {
    let search = tool_path();
    let of = |job: &Job| {
        say_what_takes_long(job, &search);
        lab::program_digest(job, &search)
            .map_err(|problem| Failure::new(Exit::Input, problem.to_string()))
    };
    Ok(jobs(&request.workloads)?.iter().map(of).collect::<Result<Vec<_>, _>>()?.join(", "))
}

/// The archive that is a job's root in the lab.
pub(crate) fn archive(job: &Job) -> Result<PathBuf, Failure> {
    let cache = crate::files::private_cache()?.join("lab");
    lab::own_program::archive(job, &tool_path(), &cache)
        .map_err(|problem| Failure::new(Exit::Input, problem.to_string()))
}
