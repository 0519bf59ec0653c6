//! `fstrial study run`: every part under every assumption, then what is still needed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use device::Ledger;
use lab::PartDescription;
use runner::{Request, RunEnd, TestbedRequest};
use store::Store;
use study::{Part, PartRun, Planned, Source, Study, Wishes, matrix, needs};
use testbed::Stop;
use trial::{Outcome, TrialSpec};

use super::{group, place};
use crate::arguments::StudyRun;
use crate::commands::run::request::prepare;
use crate::commands::run::{Prepared, carry_on, create, earlier_durations, stop_on_signals};
use crate::exit::{Ended, Exit, Failure};
use crate::output::{Documents, print};
use crate::progress::rounded;

/// Runs, resumes, or shows what would be run.
pub(super) fn run(arguments: &StudyRun) -> Ended {
    let documents = Documents::of_study(&arguments.outputs)?;
    let ledger = testbed::open_ledger()
        .map_err(|refusal| Failure::new(Exit::Refused, refusal.to_string()))?;
    crate::commands::clean::sweep_at_start(&ledger)?;
    let path = arguments.store.path.clone().unwrap_or_else(Store::default_path);
    let mut store = Store::open(&path).map_err(Failure::from(Exit::Store))?;
    let (named, key) = match (&arguments.resume, &arguments.study) {
        (Some(id), _) => {
            let found = group::find(&store, id)?;
            (found.study, found.key)
        }
        (None, named) => (named.clone().unwrap_or_default(), group::new_key()),
    };
    let (source, study) = super::read_with_source(&named)?;
    let mut session = Session {
        arguments,
        ledger,
        study,
        source,
        named,
        key,
        began: Instant::now(),
        trials_done: 0,
    };
    if arguments.resume.is_none() {
        let planned = session.plan()?;
        if arguments.dry_run {
            return session.describe(&planned, &store);
        }
        // Before any run is created: a run belongs to the lab that it began in.
        crate::commands::lab::complete(&session.lacking(&planned)?)?;
        session.create_all(&mut store, &planned)?;
    }
    let ended = session.execute(&mut store)?;
    session.finish(&store, &documents, ended)
}

struct Session<'a> {
    arguments: &'a StudyRun,
    ledger: Ledger,
    study: Study,
    source: Source,
    named: String,
    key: String,
    began: Instant,
    /// Trials this command has run.
    trials_done: usize,
}

/// Why a session has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SessionEnd {
    Complete,
    Budget,
    Stopped,
}

impl Session<'_> {
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
    fn prepare(&self, planned: &Planned) -> Result<Prepared, Failure> {
        let mut prepared = prepare(planned.request.clone(), &self.ledger)?;
        prepared.trials = planned.trimmed(prepared.trials);
        prepared.refused = prepared.testbed.admit(&prepared.trials);
        Ok(prepared)
    }

    /// The optional parts of the lab that the study needs and the lab does not have.
    fn lacking(&self, planned: &[Planned]) -> Result<Vec<&'static PartDescription>, Failure> {
        let in_lab: Vec<&Planned> = planned
            .iter()
            .filter(|one| matches!(one.request.testbed, TestbedRequest::Lab { .. }))
            .collect();
        if in_lab.is_empty() {
            return Ok(Vec::new());
        }
        let contenders = in_lab.iter().flat_map(|one| one.contenders());
        crate::commands::lab::lacking(contenders, in_lab.iter().flat_map(|one| one.workloads()))
    }

    /// A part that cannot be begun is left out, with its reason; the others go on.
    fn create_all(&self, store: &mut Store, planned: &[Planned]) -> Result<(), Failure> {
        let mut failure = None;
        let mut created = 0;
        for one in planned {
            match self.prepare(one) {
                Ok(prepared) => {
                    create(store, &prepared)?;
                    created += 1;
                }
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

    fn execute(&mut self, store: &mut Store) -> Result<SessionEnd, Failure> {
        let stop = stop_on_signals()?;
        let ended = self.execute_pending(store, &stop)?;
        let Some(half_width) = self.arguments.until.filter(|_| ended == SessionEnd::Complete)
        else {
            return Ok(ended);
        };
        loop {
            let added = self.add_what_is_needed(store, half_width)?;
            if added == 0 {
                return Ok(SessionEnd::Complete);
            }
            if !self.arguments.quiet {
                eprintln!("{added} more trials until every interval is narrow enough");
            }
            let ended = self.execute_pending(store, &stop)?;
            if ended != SessionEnd::Complete {
                return Ok(ended);
            }
        }
    }

    fn execute_pending(&mut self, store: &mut Store, stop: &Stop) -> Result<SessionEnd, Failure> {
        for (id, request) in group::requests(store, &self.key)? {
            let pending = store.unfinished(&id).map_err(Failure::from(Exit::Store))?.len();
            if pending == 0 {
                continue;
            }
            if self.time_left() == Some(Duration::ZERO) {
                return Ok(SessionEnd::Budget);
            }
            if !self.arguments.quiet {
                eprintln!("{}", title(&request));
            }
            let mut request = request;
            if let TestbedRequest::Device { destroy, .. } = &mut request.testbed {
                destroy.extend(self.arguments.destroy.iter().cloned());
            }
            let prepared = prepare(request, &self.ledger)?;
            let header = store.run_header(&id).map_err(Failure::from(Exit::Store))?;
            if prepared.testbed.lab_id() != header.lab_id {
                return Err(Failure::new(
                    Exit::Refused,
                    format!(
                        "run {id} began in another lab than this; figures of two labs do not \
                         mix: begin the study anew"
                    ),
                ));
            }
            let testbed = prepared.testbed.as_ref();
            let stop = stop.beginning_until(self.arguments.budget.map(|it| self.began + it.into()));
            let ended = carry_on(store, &id, testbed, &stop, self.arguments.quiet)?;
            self.trials_done += pending;
            if ended == RunEnd::Stopped {
                return Ok(if stop.asked() { SessionEnd::Stopped } else { SessionEnd::Budget });
            }
        }
        Ok(SessionEnd::Complete)
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
    fn add_what_is_needed(&self, store: &mut Store, half_width: f64) -> Result<usize, Failure> {
        let runs = group::runs(store, &self.key)?;
        let requests = group::requests(store, &self.key)?;
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
            let wanted: Vec<_> = needs(study, &runs, assumption, half_width)
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
            let mut prepared = prepare(more, &self.ledger)?;
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
            prepared.refused = prepared.testbed.admit(&prepared.trials);
            create(store, &prepared)?;
        }
        Ok(added)
    }

    fn describe(&self, planned: &[Planned], store: &Store) -> Ended {
        let mut text = format!("{} ({})\n\n", self.study.title, self.study.name);
        let (mut all, mut total, mut known) = (0, Duration::ZERO, true);
        for one in planned {
            let prepared = self.prepare(one)?;
            let durations = earlier_durations(store, prepared.testbed.as_ref());
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

    fn finish(&self, store: &Store, documents: &Documents, ended: SessionEnd) -> Ended {
        let runs = group::runs(store, &self.key)?;
        documents.write_study(&study::results(&self.study, &runs))?;
        let left = |it: &PartRun| it.run.trials.iter().filter(|t| t.outcome.is_none()).count();
        let left: usize = runs.iter().map(left).sum();
        let first = runs.first().map(|it| it.run.header.id.clone()).unwrap_or_default();
        match ended {
            SessionEnd::Stopped | SessionEnd::Budget if left > 0 => {
                let why =
                    if ended == SessionEnd::Budget { "the budget is spent" } else { "stopped" };
                eprintln!(
                    "{why}: {left} trials remain; go on with: fstrial study run --resume {first}"
                );
                Ok(if ended == SessionEnd::Stopped { Exit::Stopped } else { Exit::SomeFailed })
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

/// Writes a study's own machine profile where the lab finds it.
pub(super) fn profile_file(text: &str, cache: &Path) -> Result<PathBuf, Failure> {
    let directory = cache.join("profiles");
    let path = directory.join(format!("{}.toml", study::digest(text)));
    let failed =
        |error: std::io::Error| Failure::new(Exit::Output, format!("{}: {error}", path.display()));
    std::fs::create_dir_all(&directory).map_err(failed)?;
    crate::files::write_whole(&path, text.as_bytes()).map_err(failed)?;
    Ok(path)
}
