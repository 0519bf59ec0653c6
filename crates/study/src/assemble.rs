//! Builds the results of a study from its runs.

use crate::figures::{Figures, PartRun, Which};
use crate::measured::ALPHA;
use crate::results::{Detail, Results, RunFacts};
use crate::{Published, Study, TableResults, ladder, size_in_words, tables};

/// Tables and verdicts from the runs of one study.
pub fn results(study: &Study, runs: &[PartRun]) -> Results {
    let rungs = ladder::rungs(study, runs);
    let nothing = Figures::of(study, &[], Which { assumption: None, size: None, look: 0 });
    let own = rungs.last().map_or(&nothing, |rung| &rung.own);
    // What a part shows is of the largest size at which it has figures.
    let largest = |part: &str| {
        let mut sizes = rungs.iter().rev().map(|rung| &rung.own);
        sizes.find(|figures| figures.has_figures(part)).unwrap_or(own)
    };
    let claims = (0..study.claims.len()).map(|at| ladder::claim(study, runs, &rungs, at));
    let first = runs.first();
    let mut ordered: Vec<&PartRun> = runs.iter().collect();
    ordered.sort_by_key(|it| it.run.header.id.trim_start_matches('r').parse::<u64>().ok());
    Results {
        study: study.clone(),
        named: first.map_or(study.name.clone(), |it| it.tag.study.clone()),
        testbed: first.map(|it| it.run.header.testbed.clone()).unwrap_or_default(),
        machine: first.map(|it| it.tag.machine.clone()).unwrap_or_default(),
        simulated: first.is_some_and(|it| it.run.header.is_simulated()),
        created: first.map(|it| it.run.header.created.clone()).unwrap_or_default(),
        version: first.map(|it| it.run.header.fstrial_version.clone()).unwrap_or_default(),
        alpha: ALPHA,
        runs: ordered.iter().map(|it| facts(it)).collect(),
        tables: study.tables.iter().map(|it| table(study, it, largest(&it.part), own)).collect(),
        claims: claims.collect(),
        notes: notes(study, runs, &largest),
        details: study.parts.iter().filter_map(|it| detail(it, largest(&it.id))).collect(),
    }
}

/// A table with the figures of the largest size at which its part was run; its title says so if
/// other parts were run at a larger one, whose figures are `own`.
fn table(study: &Study, of: &Published, figures: &Figures<'_>, own: &Figures<'_>) -> TableResults {
    let mut made = tables::of(study, of, figures);
    if let Some(size) = figures.share_of_part(&of.part)
        && figures.has_figures(&of.part)
        && !own.has_figures(&of.part)
    {
        made.title += &format!(" (measured at {})", size_in_words(study, size));
    }
    made
}

fn detail(part: &crate::Part, own: &Figures<'_>) -> Option<Detail> {
    let figures = own.part(&part.id)?;
    let names = part.workloads.iter().map(|it| (it.id.clone(), it.request.name.clone()));
    Some(Detail {
        part: part.id.clone(),
        title: part.title.clone(),
        workloads: names.collect(),
        run: figures.run.clone(),
        analysis: figures.analysis.clone(),
    })
}

fn facts(it: &PartRun) -> RunFacts {
    let (header, trials) = (&it.run.header, &it.run.trials);
    let done = |trial: &&store::StoredTrial| trial.outcome.as_ref().is_some_and(|o| o.is_done());
    RunFacts {
        id: header.id.clone(),
        part: it.tag.part.clone(),
        assumption: it.tag.assumption.clone(),
        size: it.tag.size,
        scale: header.scale,
        seed: header.seed,
        trials: trials.len(),
        done: trials.iter().filter(done).count(),
        outstanding: trials.iter().filter(|trial| trial.outcome.is_none()).count(),
        kernels: kernels(&it.run),
        noatime: noatime(&it.run),
        environment: public(&header.environment),
    }
}

fn kernels(run: &store::StoredRun) -> Vec<String> {
    let made = run.trials.iter().filter_map(|trial| trial.made.as_ref());
    let mut kernels: Vec<String> =
        made.map(|made| made.kernel.clone()).filter(|release| !release.is_empty()).collect();
    kernels.sort();
    kernels.dedup();
    kernels
}

fn noatime(run: &store::StoredRun) -> bool {
    let mut made = run.trials.iter().filter_map(|trial| trial.made.as_ref()).peekable();
    made.peek().is_some()
        && made.all(|made| made.mount_options.split(',').any(|option| option == "noatime"))
}

/// The environment without whatever names a person or a machine, since a study's results are
/// shown to others.
fn public(environment: &store::Environment) -> store::Environment {
    let private = store::Environment::PRIVATE;
    let all = environment.0.iter().filter(|(key, _)| !private.contains(&key.as_str()));
    store::Environment(all.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn notes<'f>(
    study: &'f Study,
    runs: &[PartRun],
    largest: &dyn Fn(&str) -> &'f Figures<'f>,
) -> Vec<String> {
    let mut notes = Vec::new();
    let is_current = |it: &PartRun| {
        study.digest_under(it.tag.assumption.as_deref()) == Some(it.tag.digest.as_str())
    };
    let changed = runs.iter().filter(|it| !is_current(it)).count();
    if changed > 0 {
        notes.push(format!(
            "Since {changed} of the {} runs were made, the study's files have changed: a part, its \
             machine, the run's assumption, a published figure, or the test of a claim. Tables and \
             claims are current.",
            runs.len()
        ));
    }
    let outstanding: usize =
        runs.iter().flat_map(|it| &it.run.trials).filter(|trial| trial.outcome.is_none()).count();
    if outstanding > 0 {
        notes.push(format!("{outstanding} trials have not been run yet; --resume runs them."));
    }
    // Each warning once, with all the parts it is about.
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    let of_part = |part: &'f str| Some((part, largest(part).part(part)?));
    for (part, figures) in study.parts.iter().filter_map(|part| of_part(&part.id)) {
        for warning in &figures.analysis.warnings {
            match said.iter_mut().find(|(text, _)| text == warning) {
                Some((_, parts)) if parts.contains(&part) => {}
                Some((_, parts)) => parts.push(part),
                None => said.push((warning, vec![part])),
            }
        }
    }
    let title = |id: &&str| study.part(id).map_or(*id, |part| &*part.title).to_owned();
    notes.extend(said.into_iter().map(|(text, parts)| {
        let parts: Vec<String> = parts.iter().map(title).collect();
        format!("{}: {text}", parts.join(", "))
    }));
    notes
}
