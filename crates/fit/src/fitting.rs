//! Finds parameters from the times of requests: a pure function. The search works on the logarithms
//! of the parameters, so that nanoseconds and milliseconds have the same weight. It first goes
//! downhill. If that ends far from the measurement, as with a disk that no model describes, CMA-ES
//! searches a wider range.

use cmaes::{CMAESOptions, DVector};

use crate::FitError;
use crate::parameters::{Description, Named, Unknown};
use crate::plan::{Plan, Role, Times};
use crate::polish::polish;
use crate::target::Target;

/// The first step of the search, in logarithms: large enough for most parameters that are 30 % off.
const STEP: f64 = 0.2;
/// A parameter is searched for within this factor of its start value.
const FARTHEST: f64 = 8.0;
/// How far a parameter is moved to see its effect: widely first, so that noise does not hide it.
const WIDTHS: [f64; 3] = [0.1, 0.05, 0.02];
/// Below this distance, 2 % off on average, there is no random search for something better.
const NEAR: f64 = 4e-4;
/// Generations of the random search.
const GENERATIONS: usize = 60;
/// The most steps of each width.
const STEPS: usize = 6;
/// How many combinations of counts are tried together with the other parameters.
const COUNTS: usize = 12;
/// How many of these are followed to the end.
const FINALISTS: usize = 3;

/// A fitted model.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Its parameters.
    pub description: Description,
    fitted: Vec<Unknown>,
}

impl Fitted {
    /// The text of its file, with this name and title, of `sectors`, and with the origin of each
    /// parameter. `source` says what was measured.
    pub fn text(&self, name: &str, title: &str, sectors: u64, source: &str) -> String {
        let named = Named { name, title, sectors, source };
        self.description.clone().told(&named, &self.fitted).text()
    }
}

/// The model, out of several, whose answers are closest to the measured ones.
///
/// # Errors
/// When none of them is of the plan's kind.
pub fn nearest(
    plan: &Plan,
    measured: &[Times],
    models: Vec<Description>,
) -> Result<Description, FitError> {
    let target = Target::new(plan, measured, &[Role::Reads, Role::Writes]);
    let of_kind = models.into_iter().filter(|model| model.kind() == plan.kind);
    let rated = of_kind.map(|model| (target.distance(&model), model));
    rated
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, model)| model)
        .ok_or_else(|| FitError::Unfit("no model is of this disk's kind".to_owned()))
}

/// Finds the parameters with which a model answers `plan` as `measured`, starting with those of
/// `start`. It fits the parameters that reads depend on, then those that writes depend on, then all
/// together. `seed` decides what the search tries; equal arguments give equal parameters.
///
/// # Errors
/// When the search cannot begin.
pub fn fit(
    plan: &Plan,
    measured: &[Times],
    start: Description,
    seed: u64,
    mut progress: impl FnMut(&str),
) -> Result<Fitted, FitError> {
    let unknowns = start.unknowns();
    let told_by = |role: Role| -> Vec<Unknown> {
        unknowns.iter().filter(|unknown| unknown.told_by == role).copied().collect()
    };
    let has = |role: Role| plan.sessions.iter().any(|session| session.role == role);
    let mut description = start;
    let mut fitted = Vec::new();
    for (role, doing) in [(Role::Reads, "reads"), (Role::Writes, "writes")] {
        if has(role) {
            progress(doing);
            let unknowns = told_by(role);
            let target = Target::new(plan, measured, &[role]);
            let target = target.weighed(&description, &unknowns, seed);
            description = found(&target, description, &unknowns, seed)?;
            fitted.extend(unknowns);
        }
    }
    progress("all");
    let target = Target::new(plan, measured, &[Role::Reads, Role::Writes]);
    let target = target.weighed(&description, &fitted, seed);
    let description = polished(&target, &description, &fitted, &WIDTHS, STEPS);
    Ok(Fitted { description, fitted })
}

/// Goes downhill from `start`, and searches at random if that ends far from the measurement.
fn found(
    target: &Target,
    start: Description,
    unknowns: &[Unknown],
    seed: u64,
) -> Result<Description, FitError> {
    let downhill = counted(target, &start, unknowns);
    if target.distance(&downhill) <= NEAR {
        return Ok(downhill);
    }
    let chance = search(target, downhill.clone(), unknowns, STEP, GENERATIONS, seed)?;
    let chance = counted(target, &chance, unknowns);
    Ok(nearest_of(target, vec![downhill, chance], 1).pop().unwrap_or(start))
}

/// `start` with each parameter changed by the logarithm in `point`.
fn moved(start: &Description, unknowns: &[Unknown], point: &[f64]) -> Description {
    let mut candidate = start.clone();
    for (unknown, logarithm) in unknowns.iter().zip(point) {
        candidate.scale(unknown, logarithm.exp().clamp(1.0 / FARTHEST, FARTHEST));
    }
    candidate
}

/// Goes downhill as far as possible.
fn polished(
    target: &Target,
    start: &Description,
    unknowns: &[Unknown],
    widths: &[f64],
    steps: usize,
) -> Description {
    let misses = |point: &[f64]| target.misses(&moved(start, unknowns, point));
    let point = polish(misses, vec![0.0; unknowns.len()], widths, steps);
    moved(start, unknowns, &point)
}

/// Goes downhill, and also tries other values of small counts (of channels or dies, say). There is
/// no slope between two counts, and the best values of the other parameters differ for each count.
fn counted(target: &Target, start: &Description, unknowns: &[Unknown]) -> Description {
    let near = polished(target, start, unknowns, &WIDTHS, STEPS);
    let mut others = vec![near.clone()];
    for unknown in unknowns.iter().filter(|unknown| unknown.is_few()) {
        others = others.iter().flat_map(|other| with_other_counts(other, unknown)).collect();
    }
    if others.len() == 1 {
        return near;
    }
    let others = nearest_of(target, others, COUNTS);
    let others = others.iter().map(|other| polished(target, other, unknowns, &WIDTHS[1..2], 2));
    let others = nearest_of(target, others.collect(), FINALISTS);
    let others = others.iter().map(|other| polished(target, other, unknowns, &WIDTHS, STEPS));
    nearest_of(target, others.chain([near.clone()]).collect(), 1).pop().unwrap_or(near)
}

/// The model with other values of a count, from half to twice as many.
fn with_other_counts(model: &Description, unknown: &Unknown) -> Vec<Description> {
    let count = model.get(unknown).unwrap_or(1.0);
    let scaled = |new: u64| {
        let mut other = model.clone();
        other.scale(unknown, new as f64 / count);
        other
    };
    ((count / 2.0).ceil() as u64..=(count * 2.0) as u64).map(scaled).collect()
}

/// The `many` closest models, the closest first.
fn nearest_of(target: &Target, models: Vec<Description>, many: usize) -> Vec<Description> {
    let mut rated: Vec<_> =
        models.into_iter().map(|model| (target.distance(&model), model)).collect();
    rated.sort_by(|a, b| a.0.total_cmp(&b.0));
    rated.into_iter().take(many).map(|(_, model)| model).collect()
}

/// The best result of a random search.
fn search(
    target: &Target,
    start: Description,
    unknowns: &[Unknown],
    step: f64,
    generations: usize,
    seed: u64,
) -> Result<Description, FitError> {
    let at = |point: &DVector<f64>| moved(&start, unknowns, point.as_slice());
    let beginning = vec![0.0; unknowns.len()];
    let mut state = CMAESOptions::new(beginning, step)
        .seed(seed)
        .max_generations(generations)
        .build(|point: &DVector<f64>| target.distance(&at(point)))
        .map_err(|error| FitError::Unfit(format!("the search cannot begin: {error:?}")))?;
    let found = state.run();
    match found.overall_best {
        Some(best) if best.value < target.distance(&start) => Ok(at(&best.point)),
        _ => Ok(start),
    }
}
