//! How well a model answers what no fit has seen.

use units::Nanos;

use crate::plan::{Plan, Role, Times};

/// A held-out session: time at each of three percentiles, measured and of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// Which session.
    pub name: &'static str,
    /// Percentile, measured time, the model's.
    pub percentiles: [(u32, Nanos, Nanos); 3],
}

impl HeldOut {
    /// The largest error of the three, in parts of what was measured.
    pub fn worst(&self) -> f64 {
        let errors = self
            .percentiles
            .iter()
            .map(|(_, measured, model)| (model.0 as f64 / measured.0.max(1) as f64 - 1.0).abs());
        errors.fold(0.0, f64::max)
    }
}

/// The largest error of all; `None` where nothing was held out.
pub fn worst(held_out: &[HeldOut]) -> Option<f64> {
    held_out.iter().map(HeldOut::worst).reduce(f64::max)
}

/// Compares two answers to a plan by its held-out sessions.
pub fn quality(plan: &Plan, measured: &[Times], model: &[Times]) -> Vec<HeldOut> {
    let sessions = plan.sessions.iter().zip(measured).zip(model);
    let held_out = sessions.filter(|((session, times), model)| {
        session.role == Role::HeldOut && !times.is_empty() && !model.is_empty()
    });
    held_out
        .map(|((session, measured), model)| {
            let (measured, model) = (ascending(measured), ascending(model));
            let at = |percent: u32| {
                let part = f64::from(percent) / 100.0;
                (percent, quantile(&measured, part), quantile(&model, part))
            };
            HeldOut { name: session.name, percentiles: [at(50), at(95), at(99)] }
        })
        .collect()
}

pub(crate) fn ascending(times: &[Nanos]) -> Vec<Nanos> {
    let mut times = times.to_vec();
    times.sort_unstable();
    times
}

/// Of ascending times, at least one.
pub(crate) fn quantile(times: &[Nanos], part: f64) -> Nanos {
    times[((times.len() - 1) as f64 * part).round() as usize]
}
