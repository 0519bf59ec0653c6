//! A program of the user's own: from the words behind `--` or a file to a workload, and what is
//! wrong with it found before anything is made.

use std::path::{Path, PathBuf};

use runner::{Request, WorkloadRequest};
use workload::Job;

use crate::exit::{Exit, Failure};
use crate::files::tool_path;

/// The workload that runs a command.
pub(super) fn of_command(words: &[String]) -> Result<WorkloadRequest, Failure> {
    let job = Job::of_command(words.to_vec(), &here()?);
    let text = job.to_text().map_err(|problem| Failure::new(Exit::Input, problem))?;
    let parameters = [("file".to_owned(), text)].into();
    Ok(WorkloadRequest { name: "program".to_owned(), parameters })
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
    job.directory = Some(start.join(job.directory.unwrap_or_default()).components().collect());
    job.to_text().map_err(named)
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
    for file in &job.inputs {
        lab::own_program::file(&job.path(file), &search).map_err(refused)?;
    }
    Ok(())
}

/// What sets the programs of a request apart from others behind the same words.
pub(crate) fn digest(request: &Request) -> Result<String, Failure> {
    let search = tool_path();
    let of = |job: &Job| {
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
