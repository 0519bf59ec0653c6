//! `fstrial study run`: every part under every assumption, then what is still needed.

use std::time::Duration;

use lab::PartDescription;
use runner::{Estimate, Prepared, Remaining, Request, Session};
use store::Store;
use study::{
    Added, Ahead, Execution, ExecutionEnd, Limits, PartRun, Planned, Study, Told, Wishes, matrix,
};
use trial::Outcome;

use super::group;
use crate::arguments::StudyRun;
use crate::cluster::Spread;
use crate::documents::Documents;
use crate::exit::{Ended, Exit, Failure};
use crate::output::{print, say};
use crate::places::Here;
use crate::progress::{Watch, span};
use crate::testbeds;

/// Runs, resumes, or shows what would be run.
pub(super) fn run(arguments: &StudyRun) -> Ended {
    let documents = Documents::of_study(&arguments.outputs)?;
    // A resumed study takes its testbed from the store.
    if arguments.resume.is_none() {
        testbeds::refuse_in_vain_in_study(&arguments.testbed.0)?;
    }
    let goes_on = arguments.resume.is_some() && arguments.scale.is_empty();
    refuse_in_vain(arguments, goes_on)?;
    let here = Here::open()?;
    let mut session = here.session(&arguments.store)?;
    let resumed =
        arguments.resume.as_ref().map(|id| group::find(&session.store, id)).transpose()?;
    let (named, key) = match &resumed {
        Some(group) => (group.study.clone(), group.key.clone()),
        None => (arguments.study.clone().unwrap_or_default(), group::new_key()),
    };
    let study = super::read(&named)?;
    let store = arguments.store.path.clone().unwrap_or_else(Store::default_path);
    let spread = Spread::new(&arguments.cluster, &store)?;
    let asked = Asked { arguments, study, named, key, spread };
    let planned = if goes_on { None } else { Some(asked.plan()?) };
    for one in planned.iter().flatten() {
        resumed.iter().try_for_each(|group| group.refuse_elsewhere(&one.request.testbed))?;
        asked.spread.check(&one.request.testbed)?;
    }
    if arguments.dry_run {
        return asked.describe(planned.as_deref(), &mut session);
    }
    if let Some(planned) = &planned {
        // Before any run is created: a run belongs to the lab that it began in.
        let (lab, lacking) = asked.lacking(planned)?;
        crate::labs::complete(lab.as_deref(), &lacking)?;
        let execution = asked.execution();
        let mut shown = Shown::new(&asked.study, arguments.quiet);
        execution.create(&mut session, planned, &mut shown.observer())?;
    }
    let mut execution = asked.execution();
    if let Some(planned) = &planned {
        execution = execution.choosing(planned);
    }
    let mut shown = Shown::new(&asked.study, arguments.quiet);
    let ended = execution.execute(&mut session, &mut shown.observer())?;
    asked.finish(&session.store, &documents, ended)
}

/// Refuses options that would have no effect, above all when a study is only resumed.
fn refuse_in_vain(arguments: &StudyRun, goes_on: bool) -> Result<(), Failure> {
    let chooses = !arguments.only.is_empty() || arguments.no_assumptions;
    let why = match (goes_on, chooses) {
        _ if arguments.no_assumptions && arguments.assumption_seeds.is_some() => {
            "--assumption-seeds sets how often assumptions are tested, and --no-assumptions leaves \
             the tests out: give only one of them"
        }
        (true, true) => {
            "with --resume, --only and --no-assumptions apply to the sizes that --scale names: give \
             --scale too"
        }
        _ => return Ok(()),
    };
    Err(Failure::new(Exit::Usage, why))
}

/// Progress shown while the study runs.
struct Shown<'a> {
    study: &'a Study,
    quiet: bool,
    watch: Watch,
}

impl Shown<'_> {
    fn new(study: &Study, quiet: bool) -> Shown<'_> {
        Shown { study, quiet, watch: Watch::new(quiet) }
    }

    fn observer(&mut self) -> impl FnMut(Told<'_>) + Send {
        |told| match told {
            Told::Run(event) => self.watch.show(event),
            Told::Begins(request) => {
                self.watch = Watch::new(self.quiet);
                if !self.quiet {
                    say!("{}", title(self.study, request));
                }
            }
            Told::Ends => self.watch.finish(),
            Told::LeftOut(request, error) => {
                say!("left out: {}: {error}", title(self.study, request))
            }
            Told::Added(trials, why) if !self.quiet => {
                say!("{} {}", report::counted(trials, "more trial"), added_for(why));
            }
            Told::Added(..) => {}
        }
    }
}

/// A study and how it was asked for.
struct Asked<'a> {
    arguments: &'a StudyRun,
    study: Study,
    named: String,
    key: String,
    spread: Spread,
}

impl Asked<'_> {
    fn execution(&self) -> Execution<'_> {
        let limits = Limits {
            until: self.arguments.until,
            seeds: self.arguments.seeds,
            assumption_seeds: self.arguments.assumption_seeds,
            budget: self.arguments.budget.map(Duration::from),
            destroy: testbeds::may_destroy(&self.arguments.testbed.0),
        };
        Execution::new(&self.study, &self.key, limits).spread(&self.spread)
    }

    fn plan(&self) -> Result<Vec<Planned>, Failure> {
        let wishes = Wishes {
            sizes: self.arguments.scale.clone(),
            seeds: self.arguments.seeds,
            assumption_seeds: self.arguments.assumption_seeds,
            seed: self.arguments.seed,
            only: self.arguments.only.clone(),
            assumptions: !self.arguments.no_assumptions,
            timeout: self.arguments.timeout,
        };
        self.matrix(&wishes)
    }

    fn matrix(&self, wishes: &Wishes) -> Result<Vec<Planned>, Failure> {
        let (testbed, simulated) =
            testbeds::asked_for_study(&self.arguments.testbed.0, &self.study)?;
        let wishes = Wishes { assumptions: wishes.assumptions && simulated, ..wishes.clone() };
        let usage = |message: String| Failure::new(Exit::Usage, message);
        let mut planned =
            matrix(&self.study, &self.named, &self.key, &wishes, &testbed).map_err(usage)?;
        let machine = testbeds::machine_in_study(&self.arguments.testbed.0);
        for one in &mut planned {
            if let Some(tag) = &mut one.request.study {
                tag.machine.clone_from(&machine);
            }
            let Some(contenders) = testbeds::read(&one.request.testbed)?.contenders()? else {
                continue;
            };
            // With --dir only the contenders that were given a directory can run.
            one.request.contenders.retain_mut(|known| {
                let own = contenders.iter().find(|own| own.name == known.name);
                own.map(|own| *known = own.clone()).is_some()
            });
        }
        planned.retain(|one| !one.request.contenders.is_empty());
        if planned.is_empty() {
            return Err(usage("no directory is given for any contender: --dir NAME=PATH".into()));
        }
        Ok(planned)
    }

    /// The lab in which the study runs, if in one, and the optional parts that the study needs and
    /// the lab does not have.
    fn lacking(
        &self,
        planned: &[Planned],
    ) -> Result<(Option<String>, Vec<&'static PartDescription>), Failure> {
        let Some(first) = planned.first() else { return Ok((None, Vec::new())) };
        let configured = testbeds::read(&first.request.testbed)?;
        let Some(lab) = configured.lab() else { return Ok((None, Vec::new())) };
        let contenders = planned.iter().flat_map(|one| one.contenders());
        let workloads = planned.iter().flat_map(|one| one.workloads());
        let lacking = crate::labs::lacking(Some(lab), contenders, workloads)?;
        Ok((Some(lab.to_owned()), lacking))
    }

    /// Shows what would be run now, and runs nothing.
    fn describe(&self, planned: Option<&[Planned]>, session: &mut Session<'_>) -> Ended {
        let mut text = format!("{} ({})\n\n", self.study.title, self.study.name);
        let (mut all, mut runs) = (0, 0);
        let mut times: Vec<Option<Estimate>> = Vec::new();
        let mut execution = self.execution();
        if let Some(planned) = planned {
            execution = execution.choosing(planned);
        }
        let planned = planned.unwrap_or_default();
        execution.each_ahead(session, planned, &mut |session, ahead, prepared| {
            let durations = session.durations(prepared.testbed.as_ref(), &prepared.environment());
            let lanes = prepared.testbed.lanes(&prepared.trials);
            let estimate = Remaining::of(&prepared.trials).left(&durations, &[], lanes);
            text += &self.part_ahead(ahead, &prepared, estimate);
            all += prepared.trials.len();
            runs += 1;
            times.push(estimate);
        })?;
        if runs == 0 {
            text +=
                "Nothing is left to run. --seeds N asks for more seeds, --scale for other sizes.\n";
            print(&text)?;
            return Ok(Exit::Done);
        }
        // Of all runs, or of none.
        let time = match times.into_iter().sum::<Option<Estimate>>() {
            Some(whole) => span(whole),
            None => "unknown: not all of it was run before; docs/howto/study.md lists the times \
                     of studies elsewhere"
                .to_owned(),
        };
        let (all, runs) = (report::counted(all, "trial"), report::counted(runs, "run"));
        text += &format!("\n{all} in {runs}; time: {time}\n");
        for part in self.lacking(planned)?.1 {
            text += &format!(
                "the run first builds the lab's part `{}`; the plan above leaves out trials that \
                 need it: {}\n",
                part.name, part.summary
            );
        }
        print(&text)?;
        Ok(Exit::Done)
    }

    /// What is ahead of one run, for [`Asked::describe`].
    fn part_ahead(&self, ahead: Ahead, prepared: &Prepared, time: Option<Estimate>) -> String {
        let counted = |what| report::counted(prepared.trials.len(), what);
        let trials = match ahead {
            Ahead::Planned => counted("trial"),
            Ahead::Unfinished => counted("unfinished trial"),
            Ahead::Added(why) => format!("{} {}", counted("more trial"), added_for(why)),
        };
        let mut text = format!(
            "{}\n    {trials}, {} refused; scale {}; disks of {}; time: {}\n",
            title(&self.study, &prepared.request),
            prepared.refused.len(),
            prepared.request.scale,
            prepared.request.size.map_or("any size".to_owned(), |size| size.to_string()),
            time.map_or("unknown".to_owned(), span),
        );
        let mut told: Vec<String> = Vec::new();
        for (_, refusal) in &prepared.refused {
            let line = format!("    left out: {refusal}\n");
            if !told.contains(&line) {
                told.push(line);
            }
        }
        text += &told.concat();
        text
    }

    fn finish(&self, store: &Store, documents: &Documents, ended: ExecutionEnd) -> Ended {
        let runs = study::stored_runs(store, &self.key)?;
        documents.write_study(&study::results(&self.study, &runs))?;
        let left = |it: &PartRun| it.run.trials.iter().filter(|t| t.outcome.is_none()).count();
        let left: usize = runs.iter().map(left).sum();
        let first = runs.first().map(|it| it.run.header.id.clone()).unwrap_or_default();
        let store = self.arguments.store.suffix();
        match ended {
            ExecutionEnd::Stopped | ExecutionEnd::Budget if left > 0 => {
                let why =
                    if ended == ExecutionEnd::Budget { "the budget is spent" } else { "stopped" };
                let left = report::counted(left, "trial");
                let remain = if left.starts_with("1 ") { "remains" } else { "remain" };
                say!(
                    "{why}: {left} {remain}; go on with: fstrial study run --resume {first}{store}"
                );
                Ok(if ended == ExecutionEnd::Stopped { Exit::Stopped } else { Exit::SomeFailed })
            }
            _ => {
                say!("the report again: fstrial study report {first}{store}");
                let well = runs
                    .iter()
                    .flat_map(|it| &it.run.trials)
                    .all(|trial| trial.outcome.as_ref().is_some_and(Outcome::is_done));
                Ok(if well { Exit::Done } else { Exit::SomeFailed })
            }
        }
    }
}

/// What trials are added for.
fn added_for(why: Added) -> &'static str {
    match why {
        Added::InPlaceOfLost => "in place of those that gave no figure",
        Added::AskedFor => "for the seeds that were asked for",
        Added::ToDecide => "to decide what is not decided",
    }
}

/// `part single at 3 % under slow-cpu`
fn title(study: &Study, request: &Request) -> String {
    let Some(tag) = &request.study else { return String::new() };
    let size = tag.size.map(|size| format!(" at {}", study::size_in_words(study, size)));
    let under = tag.assumption.as_ref().map_or(String::new(), |it| format!(" under {it}"));
    format!("part {}{}{under}", tag.part, size.unwrap_or_default())
}
