//! From answers to parameters: a pure function. The search is CMA-ES over the logarithms of the
//! parameters, so that times of nanoseconds and of milliseconds weigh alike.

use cmaes::{CMAESOptions, DVector};
use units::Nanos;

use crate::FitError;
use crate::parameters::{Description, Named, Unknown};
use crate::plan::{Plan, Role, Times, serve};
use crate::quality::{ascending, quantile};

/// The first step of the search, in logarithms: most of what is 30 % off lies within it.
const STEP: f64 = 0.2;
/// A parameter is looked for within this factor of where the search begins.
const FARTHEST: f64 = 8.0;
/// What a model that cannot be built is worth.
const IMPOSSIBLE: f64 = 1e3;
/// Where the platter of a candidate stands: anywhere, since nobody knows where the disk's did.
const SEED: u64 = 20;

/// A model that was fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Its parameters.
    pub description: Description,
    fitted: Vec<Unknown>,
}

impl Fitted {
    /// Its file's text: named, of `sectors`, each parameter with its origin. `source` says what
    /// was measured.
    pub fn text(&self, name: &str, title: &str, sectors: u64, source: &str) -> String {
        let named = Named { name, title, sectors, source };
        self.description.clone().told(&named, &self.fitted).text()
    }
}

/// Of several models the one whose answers are nearest to those measured.
///
/// # Errors
/// When there is none of the plan's kind.
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

/// Finds the parameters with which a model answers `plan` as `measured`, beginning with those of
/// `start`. First what reads tell, then what writes tell, then all together. `seed` decides what
/// the search tries; equal arguments give equal parameters.
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
            description = search(&target, description, &unknowns, STEP, 90, seed)?;
            fitted.extend(unknowns);
        }
    }
    progress("all");
    let target = Target::new(plan, measured, &[Role::Reads, Role::Writes]);
    let description = search(&target, description, &fitted, STEP / 4.0, 40, seed)?;
    Ok(Fitted { description, fitted })
}

fn search(
    target: &Target,
    start: Description,
    unknowns: &[Unknown],
    step: f64,
    generations: usize,
    seed: u64,
) -> Result<Description, FitError> {
    let at = |point: &DVector<f64>| {
        let mut candidate = start.clone();
        for (unknown, logarithm) in unknowns.iter().zip(point.iter()) {
            candidate.scale(unknown, logarithm.exp().clamp(1.0 / FARTHEST, FARTHEST));
        }
        candidate
    };
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

/// Percentiles that are compared, and how much each counts.
const PERCENTILES: [(f64, f64); 13] = [
    (0.02, 0.5),
    (0.1, 1.0),
    (0.2, 1.0),
    (0.3, 1.0),
    (0.4, 1.0),
    (0.5, 2.0),
    (0.6, 1.0),
    (0.7, 1.0),
    (0.8, 1.0),
    (0.9, 1.0),
    (0.95, 2.0),
    (0.97, 1.0),
    (0.99, 2.0),
];

/// What a model's answers are compared with.
struct Target {
    plan: Plan,
    measured: Vec<Vec<Nanos>>,
}

impl Target {
    fn new(plan: &Plan, measured: &[Times], roles: &[Role]) -> Target {
        let plan_of = plan.only(roles);
        let kept =
            plan.sessions.iter().zip(measured).filter(|(session, _)| {
                session.role == Role::Prepare || roles.contains(&session.role)
            });
        Target { measured: kept.map(|(_, times)| ascending(times)).collect(), plan: plan_of }
    }

    /// Mean square distance of the logarithms of times at equal percentiles, over all sessions.
    fn distance(&self, candidate: &Description) -> f64 {
        let answers = candidate.disk().and_then(|disk| serve(&disk, SEED, &self.plan));
        let Ok(answers) = answers else { return IMPOSSIBLE };
        let (mut sum, mut weights) = (0.0, 0.0);
        for ((session, measured), answer) in
            self.plan.sessions.iter().zip(&self.measured).zip(&answers)
        {
            if session.role == Role::Prepare || measured.is_empty() || answer.is_empty() {
                continue;
            }
            let answer = ascending(answer);
            let logarithm = |time: Nanos| (time.0.max(1) as f64).ln();
            for (part, weight) in PERCENTILES {
                let miss = logarithm(quantile(&answer, part)) - logarithm(quantile(measured, part));
                sum += weight * miss * miss;
                weights += weight;
            }
        }
        if weights > 0.0 { sum / weights } else { IMPOSSIBLE }
    }
}
