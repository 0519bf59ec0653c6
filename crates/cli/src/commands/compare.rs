//! `fstrial compare`: compares a run with an earlier one of the same work.

use std::path::Path;

use store::Store;

use crate::arguments::Compare;
use crate::exit::{Ended, Exit, Failure};
use crate::files::write_whole;
use crate::output::{print, print_document, tell};

/// Shows what changed; with a limit, also reports what exceeds it.
pub(crate) fn compare(arguments: &Compare) -> Ended {
    let path = arguments.store.path.clone().unwrap_or_else(Store::default_path);
    if !path.exists() {
        let message = format!("there is no store {} yet; `fstrial run` makes it", path.display());
        return Err(Failure::new(Exit::Store, message));
    }
    let store = crate::files::open_store(&path)?;
    let run = |id: &str| store.run(id).map_err(Failure::from(Exit::Store));
    let (before, after) = (run(&arguments.before)?, run(&arguments.after)?);
    if before.header.id == after.header.id {
        let message = format!("{} is compared with itself; name two runs", before.header.id);
        return Err(Failure::new(Exit::Usage, message));
    }
    let mut changes = report::changes(&before, &after);
    if !arguments.phase.is_empty() && !changes.phases.is_empty() {
        changes =
            changes.only(&arguments.phase).map_err(|message| Failure::new(Exit::Usage, message))?;
    }
    match &arguments.json {
        Some(file) if file == Path::new("-") => print_document(&changes.to_json())?,
        Some(file) => {
            write_whole(file, changes.to_json().as_bytes()).map_err(|error| {
                let left = "the runs are in the store";
                Failure::new(Exit::Output, format!("{}: {error}; {left}", file.display()))
            })?;
            print(&changes.to_text(arguments.full))?;
        }
        None => print(&changes.to_text(arguments.full))?,
    }
    if changes.phases.is_empty() {
        let message = format!(
            "{} and {} have no phase of a contender in common; `fstrial list runs` shows both",
            before.header.id, after.header.id
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let Some(limit) = arguments.fail_over else { return Ok(Exit::Done) };
    let beyond = changes.beyond(limit);
    for phase in &beyond {
        let (workload, contender) = (&phase.workload, &phase.contender);
        tell(&format!("beyond {} %: {workload} {} on {contender}", limit * 100.0, phase.phase));
    }
    Ok(if beyond.is_empty() { Exit::Done } else { Exit::Slower })
}
