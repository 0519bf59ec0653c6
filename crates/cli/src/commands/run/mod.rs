//! `fstrial run`: from the command line to a stored run and its report.

mod dry;
pub(crate) mod request;

use std::io::Write;
use std::path::Path;

use device::Ledger;
use runner::{Durations, Request, RunEnd, TestbedRequest};
use store::{NewRun, Store, StoredRun};
use testbed::{Stop, Testbed};
use trial::{Outcome, TrialSpec};

use crate::arguments::Run;
use crate::exit::{Ended, Exit, Failure};
use crate::output::{Documents, print};
use crate::progress::Progress;

/// Runs, or resumes, or shows what would be run.
pub(crate) fn run(arguments: Box<Run>) -> Ended {
    let ledger = testbed::open_ledger()
        .map_err(|refusal| Failure::new(Exit::Refused, refusal.to_string()))?;
    crate::commands::clean::sweep_at_start(&ledger)?;
    let store_path = arguments.store.path.clone().unwrap_or_else(Store::default_path);
    match arguments.resume.clone() {
        Some(id) => resume(&arguments, &ledger, &store_path, &id),
        None => begin(&arguments, &ledger, &store_path),
    }
}

/// A request with everything that had to be found out before it can be planned.
pub(crate) struct Prepared {
    pub(crate) request: Request,
    pub(crate) testbed: Box<dyn Testbed>,
    pub(crate) trials: Vec<TrialSpec>,
    /// Which source tree, and what it holds.
    pub(crate) source_tree: String,
    pub(crate) refused: Vec<(usize, stack::Refusal)>,
}

fn begin(arguments: &Run, ledger: &Ledger, store_path: &Path) -> Ended {
    let documents = Documents::new(&arguments.outputs)?;
    let request = request::from_arguments(arguments)?;
    let prepared = request::prepare(request, ledger)?;
    // A store that cannot be used is found out before hours of work, not after.
    let mut store = Store::open(store_path).map_err(Failure::from(Exit::Store))?;
    dry::warn_about_power(&prepared);
    if arguments.dry_run {
        print(&dry::describe(&prepared, &earlier_durations(&store, prepared.testbed.as_ref())))?;
        return Ok(Exit::Done);
    }
    if let [(_, refusal), ..] = &prepared.refused[..]
        && prepared.refused.len() == prepared.trials.len()
    {
        return Err(Failure::new(Exit::Refused, refusal.to_string()));
    }
    let id = create(&mut store, &prepared)?;
    execute(arguments, store, &id, prepared.testbed.as_ref(), &documents)
}

fn resume(arguments: &Run, ledger: &Ledger, store_path: &Path, id: &str) -> Ended {
    let documents = Documents::new(&arguments.outputs)?;
    let store = Store::open(store_path).map_err(Failure::from(Exit::Store))?;
    let header = match id {
        "latest" => newest_open(&store)?,
        _ => store.run_header(id).map_err(Failure::from(Exit::Store))?,
    };
    let json = store.request(&header.id).map_err(Failure::from(Exit::Store))?;
    let mut request: Request = serde_json::from_str(&json).map_err(|error| {
        Failure::new(
            Exit::Store,
            format!("run {} was asked for by another version of fstrial: {error}", header.id),
        )
    })?;
    // A disk that was blank when the run began carries its last trial's filesystem now: it
    // takes the word of the one who resumes.
    if let TestbedRequest::Device { destroy, .. } = &mut request.testbed {
        destroy.extend(arguments.place.destroy.iter().cloned());
    }
    let prepared = request::prepare(request, ledger)?;
    if let [(_, refusal), ..] = &prepared.refused[..]
        && prepared.refused.len() == prepared.trials.len()
    {
        return Err(Failure::new(Exit::Refused, refusal.to_string()));
    }
    if prepared.testbed.lab_id() != header.lab_id {
        return Err(Failure::new(
            Exit::Refused,
            format!(
                "run {} began in lab {}, this is {}; figures of two labs do not mix: begin anew",
                header.id,
                header.lab_id.as_deref().unwrap_or("none"),
                prepared.testbed.lab_id().as_deref().unwrap_or("none")
            ),
        ));
    }
    execute(arguments, store, &header.id, prepared.testbed.as_ref(), &documents)
}

/// The newest run that has something left to do; where none has, the newest: its report may be
/// what was interrupted.
fn newest_open(store: &Store) -> Result<store::RunHeader, Failure> {
    let runs = store.runs().map_err(Failure::from(Exit::Store))?;
    let open = runs.iter().position(|run| run.state == store::RunState::Open);
    let newest = runs.into_iter().nth(open.unwrap_or(0)).ok_or_else(|| {
        Failure::new(Exit::Refused, "there is no run to resume: begin one with fstrial run")
    })?;
    if open.is_none() {
        eprintln!(
            "no run has anything left to do; this is the report of the newest, {}",
            newest.id
        );
    }
    Ok(newest)
}

/// Puts a run into the store; what cannot run here has its outcome before the others begin.
pub(crate) fn create(store: &mut Store, prepared: &Prepared) -> Result<String, Failure> {
    let request = serde_json::to_string(&prepared.request).map_err(Failure::from(Exit::Store))?;
    let mut environment = prepared.testbed.environment();
    environment.0.insert("command_line".to_owned(), command_line());
    environment.0.insert("mail_source".to_owned(), prepared.request.mail.clone());
    environment.0.insert("source_tree".to_owned(), prepared.source_tree.clone());
    let id = store
        .create_run(&NewRun {
            fstrial_version: env!("CARGO_PKG_VERSION"),
            testbed: prepared.testbed.name(),
            lab_id: prepared.testbed.lab_id().as_deref(),
            environment: &environment,
            seed: prepared.request.seed,
            repeats: prepared.request.repeats,
            scale: prepared.request.scale,
            request: &request,
            trials: &prepared.trials,
        })
        .map_err(Failure::from(Exit::Store))?;
    store_refusals(store, &id, &prepared.refused)?;
    Ok(id)
}

/// Executes what a run has no outcome of yet, with its progress on standard error.
pub(crate) fn carry_on(
    store: &mut Store,
    id: &str,
    testbed: &dyn Testbed,
    stop: &Stop,
    quiet: bool,
) -> Result<RunEnd, Failure> {
    let durations = earlier_durations(store, testbed);
    let pending = store.unfinished(id).map_err(Failure::from(Exit::Store))?;
    let specs: Vec<TrialSpec> = pending.into_iter().map(|(_, spec)| spec).collect();
    if !quiet {
        eprintln!("run {id}: {} trials, results in {}", specs.len(), store.path().display());
    }
    let lanes = testbed.lanes(&specs);
    let mut progress = Progress::new(specs, lanes, durations, quiet);
    let ended = runner::run(store, id, testbed, stop, &mut |event| progress.show(event));
    progress.finish();
    ended.map_err(Failure::from(Exit::Store))
}

/// Asked to stop by Ctrl-C, a termination signal, or a terminal that was closed.
pub(crate) fn stop_on_signals() -> Result<Stop, Failure> {
    let stop = Stop::new();
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, stop.flag()).map_err(Failure::from(Exit::Refused))?;
    }
    Ok(stop)
}

fn execute(
    arguments: &Run,
    mut store: Store,
    id: &str,
    testbed: &dyn Testbed,
    documents: &Documents,
) -> Ended {
    let ended = carry_on(&mut store, id, testbed, &stop_on_signals()?, arguments.quiet)?;
    let run = store.run(id).map_err(Failure::from(Exit::Store))?;
    documents.write(&run)?;
    if ended == RunEnd::Stopped {
        let left = run.trials.iter().filter(|trial| trial.outcome.is_none()).count();
        // A closed terminal takes no more lines.
        let _ = writeln!(
            std::io::stderr(),
            "stopped: {left} of {} trials remain; go on with: fstrial run --resume {id}",
            run.trials.len()
        );
        return Ok(Exit::Stopped);
    }
    Ok(exit_of(&run))
}

/// 0 only when every trial and every phase ended well.
fn exit_of(run: &StoredRun) -> Exit {
    let well = |outcome: &Option<Outcome>| outcome.as_ref().is_some_and(Outcome::is_done);
    if run.trials.iter().all(|trial| well(&trial.outcome)) { Exit::Done } else { Exit::SomeFailed }
}

fn store_refusals(
    store: &mut Store,
    id: &str,
    refused: &[(usize, stack::Refusal)],
) -> Result<(), Failure> {
    let mut told: Vec<&stack::Refusal> = Vec::new();
    for (index, refusal) in refused {
        if !told.contains(&refusal) {
            eprintln!("left out: {refusal}");
            told.push(refusal);
        }
        let outcome = Outcome::Refused { reason: refusal.to_string() };
        let finished = store::FinishedTrial {
            outcome: &outcome,
            made: None,
            space: None,
            host: None,
            phases: &[],
            notes: &[],
        };
        let ordinal = u32::try_from(*index).unwrap_or(u32::MAX);
        store.finish_trial(id, ordinal, &finished).map_err(Failure::from(Exit::Store))?;
    }
    Ok(())
}

/// What is known of how long trials take on this testbed. What cannot be read only costs the
/// estimate.
pub(crate) fn earlier_durations(store: &Store, testbed: &dyn Testbed) -> Durations {
    let profile = testbed.environment().0.remove("lab_profile");
    Durations::earlier(store, testbed.name(), profile.as_deref()).unwrap_or_default()
}

/// The command as one would type it again.
fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    stack::Command::new("fstrial", words).to_string()
}
