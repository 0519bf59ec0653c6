//! Job files of fio: what they include and their variables, read where the user is.

use std::path::Path;

use runner::Request;
use workload::{FioSurroundings, Parameters};

use crate::exit::{Exit, Failure};
use crate::output::say;

/// The workload.
pub(super) const NAME: &str = "fio";
/// How many times as long the lab takes at most as its clock, while the processor is busy.
const SLOWER: f64 = 40.0;

/// The text of a job file with all that belongs to it.
pub(super) fn expanded(text: &str, path: &Path) -> Result<String, Failure> {
    let surroundings = FioSurroundings {
        read: &|path| ::files::read_text(path).map_err(|error| error.source),
        variable: &|name| std::env::var(name).ok(),
    };
    let (text, notes) = workload::fio_job_text(text, path, &surroundings)
        .map_err(|problem| Failure::new(Exit::Input, problem))?;
    for note in notes {
        say!("note: {note}");
    }
    Ok(text)
}

/// Says what jobs that run for a time cost in the lab, whose clock goes slower than the host's.
pub(super) fn warn_of_cost(request: &Request, is_slow: bool) {
    if !is_slow {
        return;
    }
    for asked in &request.workloads {
        let Some(workload) = workload::find(&asked.name) else { continue };
        let given = &asked.parameters;
        let parameters = Parameters::resolve(workload.describe(), given, request.scale);
        let Ok(parameters) = parameters else { continue };
        let Some(time) = workload.runs_for(&parameters) else { continue };
        let most = time.as_secs_f64() * SLOWER / 60.0;
        say!(
            "note: the jobs run for {time} of the lab's clock in each trial, which takes this \
             machine up to {} where they keep the processor busy; nothing varies in the lab, so a \
             `runtime` of a second or two says as much",
            match most {
                less if less < 2.0 => format!("{:.0} s", less * 60.0),
                most => format!("{most:.0} min"),
            }
        );
    }
}
