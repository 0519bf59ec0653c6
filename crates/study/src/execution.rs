//! Runs a study: every planned run, then seeds that replace lost ones, then seeds for what is
//! not decided. The session determines where it runs; events go to an observer.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use runner::{Limit, Prepared, Request, RunEnd, RunEvent, Session, SessionError, StudyTag};
use store::Store;
use trial::TrialSpec;

use crate::matrix::Planned;
use crate::{PartRun, Study};

/// How far an execution goes.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Seeds are added to what is not decided until no interval reaches farther than this
    /// (0.02: 2 %) to either side; if it is `None`, no seeds are added.
    pub until: Option<f64>,
    /// Number of seeds that every chosen cell is to have, if that is more than it was planned with.
    pub seeds: Option<u32>,
    /// The same under each assumption, if that number differs.
    pub assumption_seeds: Option<u32>,
    /// Nothing begins after this time.
    pub budget: Option<Duration>,
    /// Devices whose contents may be destroyed.
    pub destroy: Vec<PathBuf>,
}

/// An event of a running execution.
#[derive(Debug)]
pub enum Told<'a> {
    /// The trials of a run begin.
    Begins(&'a Request),
    /// An event of the runner.
    Run(RunEvent<'a>),
    /// The trials of that run have ended.
    Ends,
    /// A run cannot be started; the others continue.
    LeftOut(&'a Request, &'a SessionError),
    /// Trials were added.
    Added(usize, Added),
}

/// Why trials were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// Lost trials are replaced: they gave no figure.
    InPlaceOfLost,
    /// More seeds were asked for than it was planned with.
    AskedFor,
    /// A question is not decided yet.
    ToDecide,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionEnd {
    /// Everything was run.
    Complete,
    /// The budget was spent first.
    Budget,
    /// It was asked to stop.
    Stopped,
}

/// Hands the trials of a run to the nodes of a cluster.
pub trait Spreading {
    /// Hands over the run, if that was requested now or when the run was started.
    ///
    /// # Errors
    /// When the nodes cannot take it.
    fn over(&self, prepared: Prepared, run: &str) -> Result<Prepared, SessionError>;

    /// A run is complete: the nodes no longer need their files of it.
    fn done(&self, run: &str);
}

/// Receives the events.
pub type Observer<'o> = &'o mut (dyn FnMut(Told<'_>) + Send);

/// One execution of a study, which may take several sessions of work.
pub struct Execution<'a> {
    pub(crate) study: &'a Study,
    pub(crate) key: String,
    pub(crate) limits: Limits,
    /// What seeds that are asked for are added to; to everything, if this is `None`.
    pub(crate) chosen: Option<&'a [Planned]>,
    spreading: Option<&'a dyn Spreading>,
    began: Instant,
    /// Trials that were run since then.
    trials_done: usize,
}

impl<'a> Execution<'a> {
    /// An execution whose runs share `key`; its budget begins now.
    pub fn new(study: &'a Study, key: &str, limits: Limits) -> Execution<'a> {
        let (key, began) = (key.to_owned(), Instant::now());
        Execution { study, key, limits, chosen: None, spreading: None, began, trials_done: 0 }
    }

    /// The same; seeds that are asked for are added only to the cells of `planned`.
    #[must_use]
    pub fn choosing(self, planned: &'a [Planned]) -> Execution<'a> {
        Execution { chosen: Some(planned), ..self }
    }

    /// The same, with its trials handed to the nodes of a cluster.
    #[must_use]
    pub fn spread(self, spreading: &'a dyn Spreading) -> Execution<'a> {
        Execution { spreading: Some(spreading), ..self }
    }

    /// Puts planned runs into the store, without what is there already. A run that cannot be started
    /// is left out and reported.
    ///
    /// # Errors
    /// When no run can be started: with the last reason.
    pub fn create(
        &self,
        session: &mut Session<'_>,
        planned: &[Planned],
        observer: Observer<'_>,
    ) -> Result<(), SessionError> {
        let known = stored_runs(&session.store, &self.key)?;
        let mut begun = known.len();
        let mut failure = None;
        for one in planned {
            let created = not_among(session, one, &known).and_then(|missing| match missing {
                None => Ok(()),
                Some(it) => {
                    session.create(&it, &mut |event| observer(Told::Run(event))).map(|_| ())
                }
            });
            match created {
                Ok(()) => begun += 1,
                Err(error) => {
                    observer(Told::LeftOut(&one.request, &error));
                    failure = Some(error);
                }
            }
        }
        match failure {
            Some(error) if begun == 0 => Err(error),
            _ => Ok(()),
        }
    }

    /// Runs what is in the store, then the seeds that turn out to be needed.
    ///
    /// # Errors
    /// When the store or a testbed cannot be used. What was finished is in the store.
    pub fn execute(
        &mut self,
        session: &mut Session<'_>,
        observer: Observer<'_>,
    ) -> Result<ExecutionEnd, SessionError> {
        loop {
            let ended = self.execute_pending(session, observer)?;
            if ended != ExecutionEnd::Complete {
                return Ok(ended);
            }
            // Lost trials first: whether something is decided depends on complete results.
            let mut whys = [Added::InPlaceOfLost, Added::AskedFor, Added::ToDecide].into_iter();
            let added = whys.try_for_each(|why| match self.add(session, why, observer) {
                Ok(0) => ControlFlow::Continue(()),
                Ok(added) => {
                    observer(Told::Added(added, why));
                    ControlFlow::Break(Ok(()))
                }
                Err(error) => ControlFlow::Break(Err(error)),
            });
            match added {
                ControlFlow::Continue(()) => return Ok(ExecutionEnd::Complete),
                ControlFlow::Break(added) => added?,
            }
        }
    }

    fn execute_pending(
        &mut self,
        session: &mut Session<'_>,
        observer: Observer<'_>,
    ) -> Result<ExecutionEnd, SessionError> {
        for (id, request) in stored_requests(&session.store, &self.key)? {
            let pending = session.store.unfinished(&id)?.len();
            if pending == 0 {
                continue;
            }
            if self.time_left() == Some(Duration::ZERO) {
                return Ok(ExecutionEnd::Budget);
            }
            observer(Told::Begins(&request));
            let header = session.store.run_header(&id)?;
            let mut prepared = session.reopen(&header, &self.limits.destroy)?;
            if let Some(spreading) = self.spreading {
                prepared = spreading.over(prepared, &id)?;
            }
            let instant = self.limits.budget.map(|budget| self.began + budget);
            let limit = Limit { instant, ..Limit::NONE };
            let testbed = prepared.testbed.as_ref();
            let ended =
                session.execute(&id, testbed, limit, &mut |event| observer(Told::Run(event)))?;
            observer(Told::Ends);
            self.trials_done += pending;
            if ended == RunEnd::Stopped {
                return Ok(match session.stopped() {
                    true => ExecutionEnd::Stopped,
                    false => ExecutionEnd::Budget,
                });
            }
            if let Some(spreading) = self.spreading {
                spreading.done(&id);
            }
        }
        Ok(ExecutionEnd::Complete)
    }

    fn time_left(&self) -> Option<Duration> {
        Some(self.limits.budget?.saturating_sub(self.began.elapsed()))
    }

    /// How many trials fit into the rest of the budget if they take as long as those so far.
    pub(crate) fn trials_that_fit(&self) -> usize {
        match self.time_left() {
            Some(left) if self.trials_done > 0 => {
                let each = self.began.elapsed().as_secs_f64() / self.trials_done as f64;
                (left.as_secs_f64() / each) as usize
            }
            _ => usize::MAX,
        }
    }
}

/// A part with only the trials that are wanted.
///
/// # Errors
/// When it cannot be prepared.
fn prepared(session: &Session<'_>, planned: &Planned) -> Result<Prepared, SessionError> {
    let mut prepared = session.prepare(planned.request.clone())?;
    prepared.retain(|trials| planned.trimmed(trials));
    Ok(prepared)
}

/// The trials of a planned run that these runs lack: of a contender, or of a workload, that none of
/// the same part, size and assumption has, whatever the seed. `None` if they lack nothing.
///
/// # Errors
/// When the planned run cannot be prepared.
pub(crate) fn not_among(
    session: &Session<'_>,
    planned: &Planned,
    runs: &[PartRun],
) -> Result<Option<Prepared>, SessionError> {
    let tag = planned.request.study.as_ref();
    let of_cell = || runs.iter().filter(|it| tag.is_some_and(|tag| is_same_cell(&it.tag, tag)));
    let known: Vec<&TrialSpec> =
        of_cell().flat_map(|it| &it.run.trials).map(|trial| &trial.spec).collect();
    let mut planned = planned.clone();
    if let Some(first) = of_cell().next() {
        // Only trials with the same random choices can be compared.
        planned.request.seed = first.run.header.seed;
    }
    let mut prepared = prepared(session, &planned)?;
    // A sequence that is there in part would be run from its beginning again.
    let is_whole = planned.request.sequence;
    let is_known = |spec: &TrialSpec| {
        known.iter().any(|known| {
            known.contender.name == spec.contender.name
                && (is_whole || known.workloads == spec.workloads)
        })
    };
    prepared.retain(|mut trials| {
        trials.retain(|spec| !is_known(spec));
        trials
    });
    Ok((!prepared.trials.is_empty()).then_some(prepared))
}

/// Whether two runs are of one part, size and assumption.
pub(crate) fn is_same_cell(a: &StudyTag, b: &StudyTag) -> bool {
    (&a.part, a.size, &a.assumption) == (&b.part, b.size, &b.assumption)
}

/// The runs of an execution by their id, with what was asked for, in the order they were planned.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn stored_requests(
    store: &Store,
    key: &str,
) -> Result<Vec<(String, Request)>, SessionError> {
    let mut found = Vec::new();
    for (id, unchecked) in store.unchecked_requests()? {
        let read = serde_json::from_str::<Request>(&unchecked);
        let group = read.as_ref().map(|it| it.study.as_ref().map(|tag| tag.group.as_str()));
        if group.is_ok_and(|group| group != Some(key)) {
            continue;
        }
        // Where it cannot be read, that is so for a run of another version or a damaged one.
        let request = store.request(&id)?;
        if let Ok(request) = serde_json::from_str::<Request>(&request) {
            found.push((id, request));
        }
    }
    found.sort_by_key(|(id, _)| id.trim_start_matches('r').parse::<u64>().ok());
    Ok(found)
}

/// The runs of an execution with all their trials.
///
/// # Errors
/// When the store cannot be read.
pub fn stored_runs(store: &Store, key: &str) -> Result<Vec<PartRun>, SessionError> {
    stored_requests(store, key)?
        .into_iter()
        .filter_map(|(id, request)| Some((id, request.study?)))
        .map(|(id, tag)| Ok(PartRun { tag, run: store.run(&id)? }))
        .collect()
}
