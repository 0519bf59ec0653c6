//! Files that people bring as a workload, by their path, recognised by what stands in them.

use std::collections::btree_map::Entry;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use runner::{WorkloadRequest, parse_workload};
use workload::foreign::{Brought, READERS, Reader, given_to, promised, recognised};
use workload::{FioSurroundings, ParameterError, Parameters};

use crate::exit::{Exit, Failure};
use crate::files::find_program;
use crate::output::say;

/// The workload of a path, with what stands behind it: `varmail.f:loops=20`. `None` where there is
/// no such file.
pub(super) fn by_path(text: &str) -> Result<Option<WorkloadRequest>, Failure> {
    let (path, given) = text.split_once(':').unwrap_or((text, ""));
    let path = Path::new(path);
    if !path.is_file() {
        return Ok(None);
    }
    let named = |problem| Failure::new(Exit::Input, format!("{}: {problem}", path.display()));
    let contents = text_of(path).map_err(named)?;
    let reader = recognised(&contents).or_else(|| promised(path)).ok_or_else(|| {
        let known: Vec<&str> = READERS.iter().map(|reader| reader.what).collect();
        let message = format!(
            "{}: what stands in it is none of these: {}; a program is run by: fstrial run -- …",
            path.display(),
            known.join(", ")
        );
        Failure::new(Exit::Input, message)
    })?;
    let given = match given {
        "" => reader.workload.to_owned(),
        given => format!("{}:{given}", reader.workload),
    };
    let asked = parse_workload(&given).map_err(|problem| Failure::new(Exit::Usage, problem))?;
    completed(asked, reader, &contents, path).map(Some)
}

/// The text of a document that is given to a workload, and what it asks for beside.
pub(super) fn document(
    mut asked: WorkloadRequest,
    parameter: &str,
    path: &Path,
) -> Result<WorkloadRequest, Failure> {
    let what = format!("{}:{parameter}={}", asked.name, path.display());
    let named = |problem: String| Failure::new(Exit::Input, format!("{what}: {problem}"));
    let contents = text_of(path).map_err(named)?;
    match given_to(&asked.name, &contents).map_err(named)? {
        Some(reader) => {
            asked.parameters.remove(parameter);
            completed(asked, reader, &contents, path)
        }
        None => {
            asked.parameters.insert(parameter.to_owned(), contents);
            check(&asked, &[parameter.to_owned()]).map_err(named)?;
            Ok(asked)
        }
    }
}

fn text_of(path: &Path) -> Result<String, String> {
    let text = ::files::read_text(path).map_err(|error| error.source.to_string())?;
    // Editors of Windows write a mark before the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    match text.trim().is_empty() {
        true => Err("it is empty".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// What was asked for with what the file says; what was given on the command line counts.
fn completed(
    mut asked: WorkloadRequest,
    reader: &Reader,
    contents: &str,
    path: &Path,
) -> Result<WorkloadRequest, Failure> {
    let surroundings = FioSurroundings {
        read: &|path| ::files::read_text(path).map_err(|error| error.source),
        variable: &|name| std::env::var(name).ok(),
        objection: &objection_of_fio,
    };
    let read = reader.read(contents, path, &surroundings);
    let Brought { parameters, notes } =
        read.map_err(|problem| Failure::new(Exit::Input, problem))?;
    for note in notes {
        say!("note: {note}");
    }
    let mut of_file = Vec::new();
    for (name, mut value) in parameters {
        if reader.workload == "program" {
            value = super::program::located(&value, path)?;
        }
        if let Entry::Vacant(place) = asked.parameters.entry(name) {
            of_file.push(place.key().clone());
            place.insert(value);
        }
    }
    check(&asked, &of_file)
        .map_err(|problem| Failure::new(Exit::Input, format!("{}: {problem}", path.display())))?;
    Ok(asked)
}

/// What a workload has against the parameters that come from a file. What is wrong with those of
/// the command line is told when the run is prepared.
fn check(asked: &WorkloadRequest, of_file: &[String]) -> Result<(), String> {
    let Some(workload) = workload::find(&asked.name) else { return Ok(()) };
    match Parameters::resolve(workload.describe(), &asked.parameters, 1.0) {
        Ok(parameters) => workload.check(&parameters),
        Err(ParameterError::Value { name, value, problem, .. })
            if of_file.iter().any(|known| known == name) =>
        {
            Err(format!("{name}={value}: {problem}"))
        }
        Err(_) => Ok(()),
    }
}

/// What fio has against a job file, where it is installed: its own words, before they are said once
/// for each trial.
fn objection_of_fio(job: &str) -> Option<String> {
    let mut fio = Command::new(find_program("fio")?)
        .args(["--parse-only", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    // It may end before it has read everything.
    drop(fio.stdin.take().map(|mut input| input.write_all(job.as_bytes())));
    let ended = fio.wait_with_output().ok()?;
    if ended.status.success() {
        return None;
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Some(lines.join("; "))
}
