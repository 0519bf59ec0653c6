//! The measured answers, prepared for comparison with a model's while it is fitted.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::parameters::{Description, Unknown};
use crate::plan::{Plan, Role, Times, serve};
use crate::quality::ascending;

/// The distance of a model that cannot be built.
const IMPOSSIBLE: f64 = 1e3;
/// The seed of candidates, which decides the position of the platter. Any will do, since the
/// position on the real disk is unknown.
const SEED: u64 = 20;
/// The smallest deviation that matters, in logarithms.
const EXACT: f64 = 0.01;
/// Larger deviations, in logarithms, count as this: one part would otherwise outweigh all others.
const FARTHEST_MISS: f64 = 0.7;

/// Parts of the answers, sorted by time: start, end, and weight. The mean of a part is compared
/// instead of a single percentile. Where a disk has two ways of answering, such as hit and miss, a
/// percentile near the boundary jumps from one to the other, so the search would not see that it is
/// getting closer.
const PARTS: [(f64, f64, f64); 13] = [
    (0.0, 0.06, 0.5),
    (0.06, 0.15, 1.0),
    (0.15, 0.25, 1.0),
    (0.25, 0.35, 1.0),
    (0.35, 0.45, 1.0),
    (0.45, 0.55, 2.0),
    (0.55, 0.65, 1.0),
    (0.65, 0.75, 1.0),
    (0.75, 0.85, 1.0),
    (0.85, 0.925, 1.0),
    (0.925, 0.96, 2.0),
    (0.96, 0.98, 1.0),
    (0.98, 0.998, 2.0),
];

/// The effect of chance is estimated from this number of nearly equal models.
const NEIGHBOURS: usize = 8;
/// How far each parameter of these models differs.
const HARDLY: f64 = 0.002;

/// The measured answers with which a model's are compared.
#[derive(Debug)]
pub(crate) struct Target {
    plan: Plan,
    measured: Vec<Vec<f64>>,
    /// The weight of each part of each session: the square root of its share of all weights.
    weights: Vec<f64>,
}

impl Target {
    pub(crate) fn new(plan: &Plan, measured: &[Times], roles: &[Role]) -> Target {
        let kept =
            plan.sessions.iter().zip(measured).filter(|(session, _)| {
                session.role == Role::Prepare || roles.contains(&session.role)
            });
        let told = kept.filter(|(session, _)| session.role != Role::Prepare);
        let measured: Vec<_> = told.map(|(_, times)| means(times)).collect();
        let counts = measured.iter().flat_map(|means| PARTS.iter().take(means.len()));
        let weights = roots(counts.map(|(_, _, counts)| *counts).collect());
        Target { measured, plan: plan.only(roles), weights }
    }

    /// The same target with new weights, from models close to `about`: a part that varies much
    /// while the parameters hardly change says little about the parameters.
    pub(crate) fn weighed(
        mut self,
        about: &Description,
        unknowns: &[Unknown],
        seed: u64,
    ) -> Target {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let neighbours = (0..NEIGHBOURS).filter_map(|nth| {
            let mut near = about.clone();
            for unknown in unknowns {
                near.scale(unknown, 1.0 + random.random_range(-HARDLY..HARDLY));
            }
            self.logarithms(&near, SEED + 1 + nth as u64)
        });
        let neighbours: Vec<Vec<f64>> = neighbours.collect();
        let count = neighbours.len() as f64;
        let weigh = |(nth, (_, _, counts)): (usize, (f64, f64, f64))| {
            let mean = neighbours.iter().map(|of| of[nth]).sum::<f64>() / count;
            let square = neighbours.iter().map(|of| (of[nth] - mean).powi(2)).sum::<f64>();
            let chance = if count > 1.0 { square / (count - 1.0) } else { 0.0 };
            counts * EXACT * EXACT / (EXACT * EXACT + chance)
        };
        let all = PARTS.iter().copied().cycle().take(self.weights.len());
        self.weights = roots(all.enumerate().map(weigh).collect());
        self
    }

    /// The logarithm of each part of each session; `None` for a model that cannot be built or does
    /// not answer.
    fn logarithms(&self, candidate: &Description, seed: u64) -> Option<Vec<f64>> {
        let disk = candidate.disk().ok()?;
        let answers = serve(&disk, seed, &self.plan).ok()?;
        let told = self.plan.sessions.iter().zip(answers);
        let told = told.filter(|(session, _)| session.role != Role::Prepare).map(|(_, told)| told);
        let mut all = Vec::with_capacity(self.weights.len());
        for (_, answer) in self.measured.iter().zip(told).filter(|(of, _)| !of.is_empty()) {
            if answer.is_empty() {
                return None;
            }
            all.extend(means(&answer));
        }
        Some(all)
    }

    /// How far each part of each session is off, in logarithms, times its weight; `None`
    /// for a model that cannot be built or does not answer.
    pub(crate) fn misses(&self, candidate: &Description) -> Option<Vec<f64>> {
        let found = self.logarithms(candidate, SEED)?;
        let measured = self.measured.iter().flatten();
        let pairs = found.iter().zip(measured).zip(&self.weights);
        let misses = pairs.map(|((found, measured), weight)| {
            (found - measured).clamp(-FARTHEST_MISS, FARTHEST_MISS) * weight
        });
        Some(misses.collect())
    }

    /// The mean square of a candidate's weighted deviations.
    pub(crate) fn distance(&self, candidate: &Description) -> f64 {
        self.misses(candidate).map_or(IMPOSSIBLE, |misses| square(&misses))
    }
}

/// The square roots of the weights' shares of their sum.
fn roots(mut weights: Vec<f64>) -> Vec<f64> {
    let all: f64 = weights.iter().sum();
    for weight in &mut weights {
        *weight = (*weight / all).sqrt();
    }
    weights
}

/// The sum of squares.
pub(crate) fn square(misses: &[f64]) -> f64 {
    misses.iter().map(|miss| miss * miss).sum()
}

/// The mean logarithm of each part of the answers; empty if there are no answers.
fn means(times: &Times) -> Vec<f64> {
    if times.is_empty() {
        return Vec::new();
    }
    let times = ascending(times);
    let place = |part: f64| (times.len() as f64 * part).round() as usize;
    let mean = |(from, to, _): &(f64, f64, f64)| {
        let from = place(*from).min(times.len() - 1);
        let part = &times[from..place(*to).max(from + 1)];
        part.iter().map(|time| (time.0.max(1) as f64).ln()).sum::<f64>() / part.len() as f64
    };
    PARTS.iter().map(mean).collect()
}
