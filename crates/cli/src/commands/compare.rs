//! `fstrial compare`: compares a run with an earlier one of the same work.

use report::{AtLimit, ChangeVerdict, Changes, Gate};
use store::Store;

use crate::arguments::Compare;
use crate::destination::Destination;
use crate::exit::{Ended, Exit, Failure};
use crate::output::{print, tell};

/// Shows what changed; with a limit, also reports what exceeds it.
pub(crate) fn compare(arguments: &Compare) -> Ended {
    let json = arguments.json.as_deref().map(Destination::open).transpose()?;
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
    if !arguments.anyway && !changes.refusals().is_empty() {
        return Err(Failure::new(Exit::NotAlike, not_alike(&changes)));
    }
    if !arguments.phase.is_empty() && !changes.phases.is_empty() {
        changes =
            changes.only(&arguments.phase).map_err(|message| Failure::new(Exit::Usage, message))?;
    }
    if let Some(to) = &json {
        to.write(&changes.to_json(), "the runs are in the store")?;
    }
    if !json.is_some_and(|to| to.is_standard_output()) {
        print(&changes.to_text(arguments.full))?;
    }
    if changes.phases.is_empty() {
        let message = format!(
            "{} and {} have no phase of a contender in common; `fstrial list runs` shows both",
            before.header.id, after.header.id
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let Some(limit) = arguments.fail_over else { return Ok(Exit::Done) };
    explain(&changes, limit);
    Ok(match changes.gate(limit) {
        Gate::Passed => Exit::Done,
        Gate::Slower => Exit::Slower,
        Gate::Open => Exit::NotShown,
    })
}

/// Names each phase that is beyond the limit or left open, and why.
fn explain(changes: &Changes, limit: f64) {
    let percent = limit * 100.0;
    let mut of_moments = false;
    for phase in &changes.phases {
        let name = format!("{} {} on {}", phase.workload, phase.phase, phase.contender);
        match phase.at_limit(limit) {
            AtLimit::Within => {}
            AtLimit::Beyond => tell(&format!("beyond {percent} %: {name}")),
            AtLimit::Open if phase.time.verdict == ChangeVerdict::Missing => {
                tell(&format!("no figure: {name}"));
            }
            AtLimit::Open => {
                let what = match phase.time.verdict {
                    ChangeVerdict::More => {
                        "slower, but not shown well enough for a gate".to_owned()
                    }
                    _ => format!("neither slower nor within {percent} % is shown"),
                };
                of_moments |= phase.of_moments.is_some();
                let help = phase.of_moments.map(|it| it.words());
                let help = help.unwrap_or_else(|| "more --repeats".to_owned());
                tell(&format!("{what}: {name}; {help}"));
            }
        }
    }
    if of_moments {
        tell(
            "two moments of a real machine may differ by twice the time with nothing changed: \
             measure more, when the machine is idle",
        );
    }
}

/// Why two runs are not compared, and what to do about it.
fn not_alike(changes: &Changes) -> String {
    let reasons: Vec<String> = changes
        .refusals()
        .iter()
        .map(|it| format!("  {} ({})", it.words(), it.reason().unwrap_or_default()))
        .collect();
    format!(
        "{} and {} are not compared, since they are not alike:\n{}\n--anyway shows the figures",
        changes.before,
        changes.after,
        reasons.join("\n")
    )
}
