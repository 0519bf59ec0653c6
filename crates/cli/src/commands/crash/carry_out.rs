//! Carries out every pair of contender and program, one guest each.

use std::sync::Mutex;
use std::time::Instant;

use crash::{Checked, Column, Mounted, Plan, Problem, Stage, State, Told, Tried};
use lab::{Lab, LabError};
use stack::Contender;
use trial::Outcome;
use workload::Seed;

use super::kept::{Asked, Cell, Finding, Kept};
use crate::ending::stop_on_signals;
use crate::exit::{Exit, Failure};
use crate::output::say;

/// Every pair, side by side on the cores there are.
pub(super) fn carry_out(lab: &Lab, asked: Asked, quiet: bool) -> Result<Kept, Failure> {
    let stop = stop_on_signals()?;
    lab.warm_up(&stop).map_err(failure)?;
    let pairs: Vec<(usize, &Contender, &String)> = asked
        .contenders
        .iter()
        .flat_map(|contender| asked.programs.iter().map(move |program| (contender, program)))
        .enumerate()
        .map(|(nth, (contender, program))| (nth, contender, program))
        .collect();
    let lanes = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let left = Mutex::new(pairs.iter());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..lanes.min(pairs.len()) {
            scope.spawn(|| {
                loop {
                    let next = left.lock().map(|mut left| left.next()).ok().flatten();
                    let Some((nth, contender, program)) = next else { break };
                    if stop.asked() {
                        break;
                    }
                    let cell = one(lab, &asked, contender, program, &stop, quiet);
                    if let Ok(mut done) = done.lock() {
                        done.push((*nth, cell));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(nth, _)| *nth);
    let cells: Vec<Cell> = done.into_iter().map(|(_, cell)| cell).collect();
    let kernel = lab.parts().modules.file_name().unwrap_or_default();
    let kernel = kernel.to_string_lossy().into_owned();
    let stopped = stop.asked();
    if stopped && cells.iter().all(|cell| cell.tried == 0) {
        return Err(failure(LabError::Stopped));
    }
    let (id, lab_id) = (String::new(), lab.id().to_owned());
    Ok(Kept { id, lab_id, kernel, asked, stopped, cells })
}

fn failure(error: LabError) -> Failure {
    match error {
        LabError::Stopped => {
            Failure::new(Exit::Stopped, "stopped before any state was tried: nothing was kept")
        }
        error => Failure::new(Exit::Refused, error.to_string()),
    }
}

fn plan(asked: &Asked, only: Option<State>) -> Plan {
    let Asked { cache, states, seed, tear, each, .. } = asked;
    let unit = (tear / units::SECTOR_BYTES).max(1);
    Plan { cache: *cache, unit, states: *states, seed: *seed, only, each: *each }
}

fn one(
    lab: &Lab,
    asked: &Asked,
    contender: &Contender,
    program: &str,
    stop: &testbed::Stop,
    quiet: bool,
) -> Cell {
    let task = asked.task(program);
    let (mut recorded, mut all, mut alike, mut shrunk) = (None, Vec::new(), 0, Vec::new());
    let mut open: Option<State> = None;
    let name = &contender.name;
    let mut clock = Clock::default();
    let plan = plan(asked, None);
    let ended =
        lab.cut_power(contender, &task, &plan, Seed(asked.seed), stop, &mut |told| match told {
            Told::Recorded(what) => {
                if !quiet {
                    let (writes, states) = (what.writes, what.states);
                    say!("{name}, {program}: {writes} writes recorded, {states} states to try");
                }
                recorded = Some(what);
            }
            Told::Begins(state) => open = Some(state),
            Told::Stage(Stage::Compare) => clock.goes_to(Stage::Compare),
            Told::Stage(stage) if open.is_some() => clock.goes_to(stage),
            // Of a state that is tried only to find one with fewer writes lost.
            Told::Stage(_) => {}
            Told::Tried(tried) | Told::Alike(tried) => {
                clock.stops();
                // Only what is tried begins.
                alike += usize::from(open.take().is_none());
                all.push(tried);
                if !quiet && all.len() % 100 == 0 {
                    say!("{name}, {program}: {} states tried", all.len());
                }
            }
            Told::Shrunk { to, .. } => shrunk.push(to),
        });
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(LabError::Stopped) => Outcome::Lost { reason: "stopped".to_owned() },
        Err(error) => Outcome::Refused { reason: error.to_string() },
    };
    let digest = recorded.as_ref().map_or(0, |recorded| recorded.digest);
    let finding = |problem: Problem, example: Tried| Finding {
        id: String::new(),
        contender: contender.clone(),
        program: program.to_owned(),
        states: 1,
        torn: usize::from(example.state.is_torn()),
        problem,
        example,
        digest,
    };
    let mut findings = findings(&all, &shrunk, &finding);
    if let (Some(state), Outcome::GuestDied { reason, .. }) = (open, &outcome) {
        let mounted = Mounted::Refused(reason.clone());
        let example = Tried { state, mounted, checked: Checked::Missing, lost: Vec::new() };
        findings.push(finding(Problem::Died, example));
    }
    Cell { alike, ..counted(contender, program, outcome, recorded, &all, findings, &clock.took) }
}

/// Each kind of problem once, with its smallest example.
fn findings(
    all: &[Tried],
    shrunk: &[Tried],
    finding: &dyn Fn(Problem, Tried) -> Finding,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for tried in all {
        for problem in tried.problems() {
            let torn = usize::from(tried.state_of(&problem).is_torn());
            match findings.iter_mut().find(|known| known.problem == problem) {
                Some(known) => {
                    known.states += 1;
                    known.torn += torn;
                    known.example = fewest(&problem, tried, std::slice::from_ref(&known.example));
                }
                None => {
                    let example = fewest(&problem, tried, shrunk);
                    findings.push(Finding { torn, ..finding(problem, example) });
                }
            }
        }
    }
    findings
}

/// Of this and the others, the first that shows the problem with no write torn and the fewest lost.
fn fewest(problem: &Problem, tried: &Tried, others: &[Tried]) -> Tried {
    let same = others.iter().filter(|one| one.problems().contains(problem));
    let least = same.chain([tried]).min_by_key(|one| {
        let state = one.state_of(problem);
        (state.is_torn(), state.lost())
    });
    let example = least.unwrap_or(tried).clone();
    Tried { state: example.state_of(problem).clone(), ..example }
}

fn counted(
    contender: &Contender,
    program: &str,
    outcome: Outcome,
    recorded: Option<crash::Recorded>,
    all: &[Tried],
    findings: Vec<Finding>,
    took: &[(Stage, f64)],
) -> Cell {
    let states = |such: &dyn Fn(&Tried) -> bool| all.iter().filter(|tried| such(tried)).count();
    let lost = |column: Column| {
        states(&|tried| tried.lost.iter().any(|lost| lost.expectation.column == column))
    };
    let mut mounts: Vec<u64> = all
        .iter()
        .filter_map(|tried| match tried.mounted {
            Mounted::After(nanos) => Some(nanos),
            Mounted::Refused(_) => None,
        })
        .collect();
    mounts.sort_unstable();
    let died = findings.iter().any(|finding| finding.problem == Problem::Died);
    Cell {
        contender: contender.clone(),
        program: program.to_owned(),
        outcome,
        recorded,
        tried: all.len(),
        alike: 0,
        promised: lost(Column::Promised),
        relied: lost(Column::Relied),
        damaged: states(&Tried::is_damaged),
        silent: states(&Tried::is_silent_damage),
        refused: states(&|tried| matches!(tried.mounted, Mounted::Refused(_))) + usize::from(died),
        mount_median: mounts.get(mounts.len() / 2).copied(),
        mount_longest: mounts.last().copied(),
        seconds: took.to_vec(),
        findings,
    }
}

/// A finding's state once more: what is found there, or why it could not be tried.
pub(super) fn again(
    lab: &Lab,
    asked: &Asked,
    finding: &Finding,
) -> Result<Result<Tried, String>, Failure> {
    let task = asked.task(&finding.program);
    let plan = plan(asked, Some(finding.example.state.clone()));
    let (mut digest, mut tried) = (None, None);
    let stop = stop_on_signals()?;
    let contender = &finding.contender;
    let ended =
        lab.cut_power(contender, &task, &plan, Seed(asked.seed), &stop, &mut |told| match told {
            Told::Recorded(recorded) => digest = Some(recorded.digest),
            Told::Tried(one) => tried = Some(one),
            Told::Begins(_) | Told::Stage(_) | Told::Alike(_) | Told::Shrunk { .. } => {}
        });
    let outcome = ended.map_err(failure)?;
    Ok(match tried {
        _ if digest != Some(finding.digest) => Err("the disk saw other requests".to_owned()),
        Some(tried) => Ok(tried),
        None => Err(outcome.to_string()),
    })
}

/// The seconds of this machine that each stage of the states took.
#[derive(Default)]
struct Clock {
    now: Option<(Stage, Instant)>,
    took: Vec<(Stage, f64)>,
}

impl Clock {
    fn goes_to(&mut self, stage: Stage) {
        self.stops();
        self.now = Some((stage, Instant::now()));
    }

    fn stops(&mut self) {
        let Some((stage, began)) = self.now.take() else { return };
        let seconds = began.elapsed().as_secs_f64();
        match self.took.iter_mut().find(|(known, _)| *known == stage) {
            Some((_, sum)) => *sum += seconds,
            None => self.took.push((stage, seconds)),
        }
    }
}
