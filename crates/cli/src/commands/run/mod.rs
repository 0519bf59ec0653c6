//! `fstrial run`: from the command line to a stored run and its report.

mod brought;
mod cost;
mod dry;
mod like;
mod named;
pub(crate) mod program;
pub(crate) mod request;

use runner::{Durations, Prepared, RunEnd, RunEvent, Session, SessionError};
use store::{RunState, Store, StoredRun};
use trial::Outcome;

use crate::arguments::Run;
use crate::cluster::Spread;
use crate::documents::Documents;
use crate::ending::stop_on_signals;
use crate::exit::{Ended, Exit, Failure};
use crate::output::{print, say};
use crate::places::Here;
use crate::progress::Watch;
use crate::testbeds;

/// Runs, or resumes, or shows what would be run.
pub(crate) fn run(arguments: Box<Run>) -> Ended {
    // Before signals are caught: waiting for the reader of a pipe ends as for any program.
    let documents = Documents::new(&arguments.outputs)?;
    let here = Here::open()?;
    let store = arguments.store.path.clone().unwrap_or_else(Store::default_path);
    let spread = Spread::new(&arguments.cluster, &store)?;
    match arguments.resume.clone() {
        Some(id) => resume(&arguments, here.session(&arguments.store)?, &id, &spread, &documents),
        None => begin(&arguments, &here, &spread, &documents),
    }
}

fn begin(arguments: &Run, here: &Here, spread: &Spread, documents: &Documents) -> Ended {
    let request = match &arguments.like {
        Some(id) => like::request(arguments, id)?,
        None => request::from_arguments(arguments)?,
    };
    let prepared = runner::prepare(here, request)?;
    cost::warn(&prepared.request, testbeds::describe(&prepared.request.testbed)?.slow);
    spread.check(&prepared.request.testbed)?;
    if !arguments.quiet {
        dry::warn_about_power(&prepared);
    }
    if arguments.dry_run {
        // A dry run does not create a missing store.
        let store = arguments.store.path.clone().unwrap_or_else(Store::default_path);
        let known = match store.exists() {
            true => here
                .session(&arguments.store)?
                .durations(prepared.testbed.as_ref(), &prepared.environment()),
            false => Durations::default(),
        };
        if !prepared.refused.is_empty() && stop_on_signals()?.asked() {
            return Err(SessionError::StoppedBefore.into());
        }
        print(&dry::describe(&prepared, &known)?)?;
        return Ok(Exit::Done);
    }
    // A store that cannot be used is found out before hours of work, not after.
    let mut session = here.session(&arguments.store)?;
    if let Some(id) = &arguments.like {
        like::tell_of_differences(&session.store, id, &prepared);
    }
    let mut watch = Watch::new(arguments.quiet);
    let id = session.create(&prepared, &mut |event| watch.show(event))?;
    execute(arguments, session, &id, prepared, watch, spread, documents)
}

fn resume(
    arguments: &Run,
    mut session: Session<'_>,
    id: &str,
    spread: &Spread,
    documents: &Documents,
) -> Ended {
    let header = match id {
        "latest" => {
            let (newest, state) = session.newest()?;
            if state == RunState::Complete {
                let id = &newest.id;
                say!("no run has anything left to do; this is the report of the newest, {id}");
            }
            newest
        }
        _ => session.store.run_header(id).map_err(Failure::from(Exit::Store))?,
    };
    if id != "latest" && header.state == RunState::Complete {
        say!("{id} has nothing left to do; this is its report");
    }
    let prepared = session.reopen(&header, &testbeds::may_destroy(&arguments.place.testbed.0))?;
    let mut watch = Watch::new(arguments.quiet);
    session.run_lost_again(&header.id, &mut |event| watch.show(event))?;
    execute(arguments, session, &header.id, prepared, watch, spread, documents)
}

fn execute(
    arguments: &Run,
    mut session: Session<'_>,
    id: &str,
    prepared: Prepared,
    mut watch: Watch,
    spread: &Spread,
    documents: &Documents,
) -> Ended {
    let prepared = spread.over(prepared, id)?;
    let tell = &mut |event: RunEvent<'_>| watch.show(event);
    let ended = session.execute_until_decided(id, &prepared, &report::first_place, tell)?;
    let unwritten = prepared.testbed.unwritten();
    // Nothing of the run is left on the machine while a reader may be waited for.
    drop(prepared);
    watch.finish();
    if ended == RunEnd::Hopeless {
        let why = session.hopeless(id)? + &arguments.store.suffix();
        return Err(Failure::new(Exit::Input, why));
    }
    let run = session.store.run(id).map_err(Failure::from(Exit::Store))?;
    // A run that was stopped before any trial ended has nothing to report.
    if ended != RunEnd::Stopped || run.trials.iter().any(|trial| trial.outcome.is_some()) {
        documents.write(&run)?;
    }
    let store = arguments.store.suffix();
    if ended == RunEnd::Stopped {
        let left = run.trials.iter().filter(|trial| trial.outcome.is_none()).count();
        say!(
            "stopped: {left} of {} trials remain; go on with: fstrial run --resume {id}{store}",
            run.trials.len()
        );
        return Ok(Exit::Stopped);
    }
    spread.done(id);
    if let Some(what) = unwritten {
        return Err(Failure::new(Exit::Output, what));
    }
    let is_lost = |outcome: &Option<Outcome>| matches!(outcome, Some(Outcome::Lost { .. }));
    let lost = run.trials.iter().filter(|trial| is_lost(&trial.outcome)).count();
    if lost > 0 && run.header.state == RunState::Open {
        let lost = report::counted(lost, "trial");
        say!("{lost} ended from outside; run again with: fstrial run --resume {id}{store}");
    }
    Ok(exit_of(&run))
}

/// 0 only when every trial and every phase ended well.
fn exit_of(run: &StoredRun) -> Exit {
    let well = |outcome: &Option<Outcome>| outcome.as_ref().is_some_and(Outcome::is_done);
    if run.trials.iter().all(|trial| well(&trial.outcome)) { Exit::Done } else { Exit::SomeFailed }
}
