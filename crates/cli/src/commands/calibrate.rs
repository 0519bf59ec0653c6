//! `fstrial self calibrate`: comparisons with a known answer, decided by the same statistics as every
//! report. A filesystem compared with itself must not differ more often than chance allows; a disk
//! that is slower by a known share must be detected.

use runner::{Prepared, Request, Session, SessionError, parse_workload};
use stack::Contender;
use stats::{Answers, Observation};
use store::Store;
use units::Nanos;

use crate::arguments::{Calibrate, CalibrateAction, CalibrateTask};
use crate::exit::{Ended, Exit, Failure};
use crate::output::{print, say};
use crate::places::Here;
use crate::progress::Watch;
use crate::testbeds::lab;

/// Error rate of a single comparison.
const ALPHA: f64 = 0.05;

/// The share of batches that must detect the slower disk.
const FOUND_MIN: f64 = 0.9;

/// Runs the comparisons, or judges stored ones.
pub(crate) fn calibrate(arguments: Calibrate) -> Ended {
    match arguments.action {
        CalibrateAction::Same { comparisons, task } => same(comparisons, &task),
        CalibrateAction::Slower { share, batches, task } => slower(&share, batches, &task),
    }
}

fn same(comparisons: u32, task: &CalibrateTask) -> Ended {
    may_be_judged(task, 1)?;
    let here = Here::open()?;
    let mut session = here.session(&task.store)?;
    let id = match &task.from[..] {
        [id] => id.clone(),
        _ => {
            let repeats = comparisons.saturating_mul(task.seeds).saturating_mul(2);
            let prepared = session.prepare(request(task, repeats, &[])?)?;
            measure(&mut session, task, &prepared)?
        }
    };
    let figures = figures(&session.store, &id, task)?;
    let answers = stats::compare_with_itself(&figures, task.seeds as usize, ALPHA);
    note_if_few(&answers, comparisons)?;
    let most = stats::most_by_chance(answers.comparisons(), ALPHA);
    let well = answers.differ() <= most;
    print(&format!(
        "{fs} against itself, {seeds} seeds a side, no seed used twice: {subject}\n\
         {n} comparisons at {ALPHA}: {differ} differ ({larger} larger, {smaller} smaller)\n\
         at most {most} may by chance (binomial, 97.5 %): {verdict}\n\
         judge again with: fstrial self calibrate same --from {id}\n",
        fs = task.fs,
        seeds = task.seeds,
        subject = subject(task),
        n = answers.comparisons(),
        differ = answers.differ(),
        larger = answers.larger,
        smaller = answers.smaller,
        verdict = if well { "kept" } else { "exceeded" },
    ))?;
    Ok(if well { Exit::Done } else { Exit::SomeFailed })
}

fn slower(share: &str, batches: u32, task: &CalibrateTask) -> Ended {
    may_be_judged(task, 2)?;
    let here = Here::open()?;
    let mut session = here.session(&task.store)?;
    let repeats = batches.saturating_mul(task.seeds);
    let (plain, slowed) = match &task.from[..] {
        [plain, slowed] => (plain.clone(), slowed.clone()),
        _ => {
            // Both requests before either runs: an invalid share is refused at once.
            let change = ("disk.options.slower".to_owned(), share.to_owned());
            let plain = session.prepare(request(task, repeats, &[])?)?;
            let slowed = session.prepare(request(task, repeats, &[change])?)?;
            (measure(&mut session, task, &plain)?, measure(&mut session, task, &slowed)?)
        }
    };
    let (first, second) =
        (figures(&session.store, &plain, task)?, figures(&session.store, &slowed, task)?);
    let answers = stats::compare_in_batches(&first, &second, task.seeds as usize, ALPHA);
    note_if_few(&answers, batches)?;
    let least = (answers.comparisons() as f64 * FOUND_MIN).ceil() as usize;
    let well = answers.larger >= least && answers.smaller == 0;
    print(&format!(
        "a disk slower by {share} against the same disk, {seeds} seeds a batch: {subject}\n\
         {n} batches at {ALPHA}: {found} find it, {missed} do not, {wrong} find the opposite\n\
         at least {least} have to find it, none the opposite: {verdict}\n\
         judge again with: fstrial self calibrate slower --from {plain},{slowed}\n",
        seeds = task.seeds,
        subject = subject(task),
        n = answers.comparisons(),
        found = answers.larger,
        missed = answers.alike,
        wrong = answers.smaller,
        verdict = if well { "kept" } else { "not kept" },
    ))?;
    Ok(if well { Exit::Done } else { Exit::SomeFailed })
}

fn subject(task: &CalibrateTask) -> String {
    format!("{}, phase {}, on {}", task.workload, task.phase, task.profile)
}

/// Refuses arguments whose results could not be judged afterwards.
fn may_be_judged(task: &CalibrateTask, wanted: usize) -> Result<(), Failure> {
    if !task.from.is_empty() && task.from.len() != wanted {
        let message = format!("--from takes {wanted} run(s) here, not {}", task.from.len());
        return Err(Failure::new(Exit::Usage, message));
    }
    if task.seeds < 2 {
        let message = "--seeds: a comparison needs at least two figures per side";
        return Err(Failure::new(Exit::Usage, message.to_owned()));
    }
    Ok(())
}

/// A request for one contender with many seeds: a run like any other.
fn request(
    task: &CalibrateTask,
    repeats: u32,
    changes: &[(String, String)],
) -> Result<Request, Failure> {
    let usage = |message: String| Failure::new(Exit::Usage, message);
    let contenders = Contender::parse_list(&task.fs).map_err(Failure::from(Exit::Usage))?;
    if contenders.len() != 1 {
        return Err(usage(format!("--fs {}: one contender is compared with itself", task.fs)));
    }
    let workloads = vec![parse_workload(&task.workload).map_err(usage)?];
    let testbed = lab::Settings::of(&task.profile, changes.iter().cloned().collect()).request()?;
    let (seed, timeout) = (task.seed, Nanos::from_secs(600));
    Ok(Request { repeats, seed, timeout, ..Request::new(workloads, contenders, testbed) })
}

/// Runs the request to its end; returns the run's id.
fn measure(
    session: &mut Session<'_>,
    task: &CalibrateTask,
    prepared: &Prepared,
) -> Result<String, Failure> {
    let mut watch = Watch::new(task.quiet);
    let measured = session.measure(prepared, &mut |event| watch.show(event));
    measured.map_err(|error| match error {
        SessionError::Stopped(_) => {
            Failure::new(Exit::Stopped, format!("{error}, then judge it with --from"))
        }
        other => other.into(),
    })
}

/// The wall times of the phase that is compared, block by block.
fn figures(store: &Store, id: &str, task: &CalibrateTask) -> Result<Vec<Observation>, Failure> {
    let run = store.run(id).map_err(Failure::from(Exit::Store))?;
    let analysis = report::analyse(&run);
    let phases = analysis.workloads.iter().flat_map(|workload| &workload.phases);
    let known: Vec<&str> = phases.clone().map(|phase| phase.name.as_str()).collect();
    let phase = phases.into_iter().find(|phase| phase.name == task.phase).ok_or_else(|| {
        let message = format!("run {id} has no phase {}; it has: {}", task.phase, known.join(", "));
        Failure::new(Exit::Usage, message)
    })?;
    let cell = phase.table("wall").and_then(|table| table.cells.first());
    let mut figures: Vec<Observation> = cell
        .into_iter()
        .flat_map(|cell| &cell.figures)
        .map(|figure| Observation { block: figure.block, value: figure.value })
        .collect();
    figures.sort_by_key(|figure| figure.block);
    Ok(figures)
}

/// Notes when some comparisons could not be made because trials failed.
fn note_if_few(answers: &Answers, asked: u32) -> Result<(), Failure> {
    if answers.comparisons() == 0 {
        let message = "no comparison could be made: see fstrial report";
        return Err(Failure::new(Exit::SomeFailed, message.to_owned()));
    }
    if answers.comparisons() < asked as usize {
        say!("note: {} of {asked} comparisons could be made", answers.comparisons());
    }
    Ok(())
}
