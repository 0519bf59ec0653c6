//! `fstrial study run`: every part under every assumption, then what is still needed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lab::PartDescription;
use runner::{Prepared, Request, RunEnd, Session};
use store::Store;
use study::{Part, PartRun, Planned, Source, Study, Wishes, matrix, needs};
use trial::{Outcome, TrialSpec};

use super::{group, place};
use crate::arguments::StudyRun;
use crate::exit::{Ended, Exit, Failure};
use crate::output::{Documents, print};
use crate::places::Here;
use crate::progress::{Watch, rounded};

/// Runs, resumes, or shows what would be run.
pub(super) fn run(arguments: &StudyRun) -> Ended {
    let documents = Documents::of_study(&arguments.outputs)?;
    let here = Here::open()?;
    let mut session = here.session(&arguments.store)?;
    let (named, key) = match (&arguments.resume, &arguments.study) {
        (Some(id), _) => {
            let found = group::find(&session.store, id)?;
            (found.study, found.key)
        }
        (None, named) => (named.clone().unwrap_or_default(), group::new_key()),
    };
    let (source, study) = super::read_with_source(&named)?;
    let mut execution =
        Execution { arguments, study, source, named, key, began: Instant::now(), trials_done: 0 };
    if arguments.resume.is_none() {
        let planned = execution.plan()?;
        if arguments.dry_run {
            return execution.describe(&planned, &session);
        }
        // Before any run is created: a run belongs to the lab that it began in.
        crate::commands::lab::complete(&execution.lacking(&planned)?)?;
        execution.create_all(&mut session, &planned)?;
    }
    let ended = execution.execute(&mut session)?;
    execution.finish(&session.store, &documents, ended)
}

/// One execution of a study, which may take several sessions of work.
struct Execution<'a> {
    arguments: &'a StudyRun,
    study: Study,
    source: Source,
    named: String,
    key: String,
    began: Instant,
    /// Trials this command has run.
    trials_done: usize,
}

/// Why an execution has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExecutionEnd {
    Complete,
    Budget,
    Stopped,
}

impl Execution<'_> {
    fn plan(&self) -> Result<Vec<Planned>, Failure> {
        let wishes = Wishes {
            scale: self.arguments.scale,
            seeds: self.arguments.seeds,
            seed: self.arguments.seed,
            only: self.arguments.only.clone(),
            assumptions: !self.arguments.no_assumptions,
            timeout: self.arguments.timeout,
        };
        self.matrix(&wishes)
    }

    fn matrix(&self, wishes: &Wishes) -> Result<Vec<Planned>, Failure> {
        let at = place::of(self.arguments, &self.source, &self.study)?;
        let in_lab = matches!(at, place::Place::Lab { .. });
        let wishes = Wishes { assumptions: wishes.assumptions && in_lab, ..wishes.clone() };
        let usage = |message: String| Failure::new(Exit::Usage, message);
        let testbed = |part: &Part, changes: &BTreeMap<String, String>| at.request(part, changes);
        let mut planned =
            matrix(&self.study, &self.named, &self.key, &wishes, &testbed).map_err(usage)?;
        if let place::Place::Dir { contenders, .. } = &at {
            for one in &mut planned {
                // A directory stands for the contender of its name; the others have none.
                one.request.contenders.retain_mut(|known| {
                    let own = contenders.iter().find(|own| own.name == known.name);
                    own.map(|own| *known = own.clone()).is_some()
                });
            }
            planned.retain(|one| !one.request.contenders.is_empty());
        }
        if planned.is_empty() {
            return Err(usage("no directory is given for any contender: --dir NAME=PATH".into()));
        }
        Ok(planned)
    }

    /// A part with only the trials that are wanted.
    fn prepare(&self, session: &Session<'_>, planned: &Planned) -> Result<Prepared, Failure> {
        let mut prepared = session.prepare(planned.request.clone())?;
        prepared.retain(|trials| planned.trimmed(trials));
        Ok(prepared)
    }

    /// The optional parts of the lab that the study needs and the lab does not have.
    fn lacking(&self, planned: &[Planned]) -> Result<Vec<&'static PartDescription>, Failure> {
        let in_lab: Vec<&Planned> =
            planned.iter().filter(|one| one.request.testbed.is_lab()).collect();
        if in_lab.is_empty() {
            return Ok(Vec::new());
        }
        let contenders = in_lab.iter().flat_map(|one| one.contenders());
        crate::commands::lab::lacking(contenders, in_lab.iter().flat_map(|one| one.workloads()))
    }

    /// A part that cannot be begun is left out, with its reason; the others go on.
    fn create_all(&self, session: &mut Session<'_>, planned: &[Planned]) -> Result<(), Failure> {
        let mut failure = None;
        let mut created = 0;
        for one in planned {
            let mut watch = Watch::new(self.arguments.quiet);
            let begun = self.prepare(session, one).and_then(|prepared| {
                Ok(session.create(&prepared, &mut |event| watch.show(event))?)
            });
            match begun {
                Ok(_) => created += 1,
                Err(error) => {
                    eprintln!("left out: {}: {}", title(&one.request), error.message);
                    failure = Some(error);
                }
            }
        }
        match failure {
            Some(error) if created == 0 => Err(error),
            _ => Ok(()),
        }
    }

    fn execute(&mut self, session: &mut Session<'_>) -> Result<ExecutionEnd, Failure> {
        let ended = self.execute_pending(session)?;
        let Some(half_width) = self.arguments.until.filter(|_| ended == ExecutionEnd::Complete)
        else {
            return Ok(ended);
        };
        loop {
            let added = self.add_what_is_needed(session, half_width)?;
            if added == 0 {
                return Ok(ExecutionEnd::Complete);
            }
            if !self.arguments.quiet {
                eprintln!("{added} more trials until every interval is narrow enough");
            }
            let ended = self.execute_pending(session)?;
            if ended != ExecutionEnd::Complete {
                return Ok(ended);
            }
        }
    }

    fn execute_pending(&mut self, session: &mut Session<'_>) -> Result<ExecutionEnd, Failure> {
        for (id, request) in group::requests(&session.store, &self.key)? {
            let pending = session.store.unfinished(&id).map_err(Failure::from(Exit::Store))?.len();
            if pending == 0 {
                continue;
            }
            if self.time_left() == Some(Duration::ZERO) {
                return Ok(ExecutionEnd::Budget);
            }
            if !self.arguments.quiet {
                eprintln!("{}", title(&request));
            }
            let header = session.store.run_header(&id).map_err(Failure::from(Exit::Store))?;
            let prepared = session.reopen(&header, &self.arguments.destroy)?;
            let until = self.arguments.budget.map(|it| self.began + it.into());
            let mut watch = Watch::new(self.arguments.quiet);
            let testbed = prepared.testbed.as_ref();
            let ended = session.execute(&id, testbed, until, &mut |event| watch.show(event))?;
            watch.finish();
            self.trials_done += pending;
            if ended == RunEnd::Stopped {
                return Ok(if session.stopped() {
                    ExecutionEnd::Stopped
                } else {
                    ExecutionEnd::Budget
                });
            }
        }
        Ok(ExecutionEnd::Complete)
    }

    fn time_left(&self) -> Option<Duration> {
        let budget = Duration::from(self.arguments.budget?);
        Some(budget.saturating_sub(self.began.elapsed()))
    }

    /// How many trials the rest of the budget has room for, as long as those so far took.
    fn trials_that_fit(&self) -> usize {
        match self.time_left() {
            Some(left) if self.trials_done > 0 => {
                let each = self.began.elapsed().as_secs_f64() / self.trials_done as f64;
                (left.as_secs_f64() / each) as usize
            }
            _ => usize::MAX,
        }
    }

    /// Plans the cells whose intervals are still too wide; returns the trials added.
    fn add_what_is_needed(
        &self,
        session: &mut Session<'_>,
        half_width: f64,
    ) -> Result<usize, Failure> {
        let runs = group::runs(&session.store, &self.key)?;
        let requests = group::requests(&session.store, &self.key)?;
        let mut room = self.trials_that_fit();
        let mut added = 0;
        let mut seen: Vec<(String, Option<String>)> = Vec::new();
        for (_, request) in requests {
            let Some(tag) = request.study.clone() else { continue };
            let at = (tag.part.clone(), tag.assumption.clone());
            if seen.contains(&at) {
                continue;
            }
            seen.push(at);
            let (study, assumption) = (&self.study, tag.assumption.as_deref());
            let Some(part) = study.part(&tag.part) else { continue };
            let wanted: Vec<_> = needs(study, &runs, assumption, tag.size, half_width)
                .into_iter()
                .filter(|need| need.part == tag.part)
                .collect();
            let Some(most) = wanted.iter().map(|need| need.seeds).max() else { continue };
            let own: Vec<&TrialSpec> = runs
                .iter()
                .filter(|it| it.tag.part == tag.part && it.tag.assumption == tag.assumption)
                .flat_map(|it| &it.run.trials)
                .map(|trial| &trial.spec)
                .collect();
            let size = own.iter().find_map(|spec| spec.size);
            let repeats = u32::try_from(most).unwrap_or(u32::MAX);
            let more = Request { repeats, size: size.or(request.size), ..request };
            let mut prepared = session.prepare(more)?;
            if part.sequence {
                // What --only left out of a sequence stays out.
                let length = own.first().map_or(usize::MAX, |spec| spec.workloads.len());
                prepared.trials.iter_mut().for_each(|spec| spec.workloads.truncate(length));
            }
            let scale = prepared.request.scale;
            prepared.trials.retain(|spec| {
                let does = |known: &study::NamedWorkload| {
                    let parameters = known.at_scale(scale);
                    spec.workloads.iter().any(|choice| {
                        choice.name == known.request.name
                            && Some(&choice.parameters) == parameters.as_ref()
                    })
                };
                let wants = |need: &study::Need| {
                    let named = part.workloads.iter().find(|known| known.id == need.workload);
                    need.contender == spec.contender.name
                        && (spec.block as usize) < need.seeds
                        && named.is_some_and(does)
                };
                wanted.iter().any(wants) && !own.contains(&spec)
            });
            prepared.trials.truncate(room);
            if prepared.trials.is_empty() {
                continue;
            }
            room -= prepared.trials.len();
            added += prepared.trials.len();
            prepared.retain(|trials| trials);
            let mut watch = Watch::new(self.arguments.quiet);
            session.create(&prepared, &mut |event| watch.show(event))?;
        }
        Ok(added)
    }

    fn describe(&self, planned: &[Planned], session: &Session<'_>) -> Ended {
        let mut text = format!("{} ({})\n\n", self.study.title, self.study.name);
        let (mut all, mut total, mut known) = (0, Duration::ZERO, true);
        for one in planned {
            let prepared = self.prepare(session, one)?;
            let durations = session.durations(prepared.testbed.as_ref());
            let estimate = durations.estimate(&prepared.trials);
            let time = estimate.map_or("unknown".to_owned(), |found| rounded(found.total));
            text += &format!(
                "{}\n    {} trials, {} refused; scale {}; disks of {}; time inside {time}\n",
                title(&prepared.request),
                prepared.trials.len(),
                prepared.refused.len(),
                prepared.request.scale,
                prepared.request.size.map_or("any size".to_owned(), |size| size.to_string()),
            );
            let mut told: Vec<String> = Vec::new();
            for (_, refusal) in &prepared.refused {
                let line = format!("    left out: {refusal}\n");
                if !told.contains(&line) {
                    told.push(line);
                }
            }
            text += &told.concat();
            all += prepared.trials.len();
            total += estimate.map(|found| found.total).unwrap_or_default();
            known &= estimate.is_some();
        }
        let time = match known {
            true => format!("about {} inside the trials", rounded(total)),
            false => "unknown: not all of it was run before".to_owned(),
        };
        text += &format!("\n{all} trials in {} runs; time: {time}\n", planned.len());
        for part in self.lacking(planned)? {
            text += &format!(
                "the run begins by building the lab's part `{}`, without which trials are left out \
                 above: {}\n",
                part.name, part.summary
            );
        }
        print(&text)?;
        Ok(Exit::Done)
    }

    fn finish(&self, store: &Store, documents: &Documents, ended: ExecutionEnd) -> Ended {
        let runs = group::runs(store, &self.key)?;
        documents.write_study(&study::results(&self.study, &runs))?;
        let left = |it: &PartRun| it.run.trials.iter().filter(|t| t.outcome.is_none()).count();
        let left: usize = runs.iter().map(left).sum();
        let first = runs.first().map(|it| it.run.header.id.clone()).unwrap_or_default();
        match ended {
            ExecutionEnd::Stopped | ExecutionEnd::Budget if left > 0 => {
                let why =
                    if ended == ExecutionEnd::Budget { "the budget is spent" } else { "stopped" };
                eprintln!(
                    "{why}: {left} trials remain; go on with: fstrial study run --resume {first}"
                );
                Ok(if ended == ExecutionEnd::Stopped { Exit::Stopped } else { Exit::SomeFailed })
            }
            _ => {
                eprintln!("the report again: fstrial study report {first}");
                let well = runs
                    .iter()
                    .flat_map(|it| &it.run.trials)
                    .all(|trial| trial.outcome.as_ref().is_some_and(Outcome::is_done));
                Ok(if well { Exit::Done } else { Exit::SomeFailed })
            }
        }
    }
}

/// `part single under slow-cpu`
fn title(request: &Request) -> String {
    let Some(tag) = &request.study else { return String::new() };
    match &tag.assumption {
        None => format!("part {}", tag.part),
        Some(assumption) => format!("part {} under {assumption}", tag.part),
    }
}
