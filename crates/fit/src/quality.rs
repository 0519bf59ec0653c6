//! How well a model's answers agree with the measurement, for the sessions it was fitted to and for
//! the held-out ones.

use units::Nanos;

use crate::plan::{Plan, Role, Times};

/// A session: the measured time and the model's at each of three percentiles.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Which session.
    pub name: &'static str,
    /// Whether the fit has seen it.
    pub held_out: bool,
    /// Percentile, measured time, the model's.
    pub percentiles: [(u32, Nanos, Nanos); 3],
}

impl Compared {
    /// The largest error of the three, as a fraction of the measured time.
    pub fn worst(&self) -> f64 {
        let errors = self
            .percentiles
            .iter()
            .map(|(_, measured, model)| (model.0 as f64 / measured.0.max(1) as f64 - 1.0).abs());
        errors.fold(0.0, f64::max)
    }
}

/// The largest error of the held-out sessions; `None` if there are none.
pub fn worst(compared: &[Compared]) -> Option<f64> {
    let held_out = compared.iter().filter(|session| session.held_out);
    held_out.map(Compared::worst).reduce(f64::max)
}

/// Compares two answers to a plan, session by session.
pub fn quality(plan: &Plan, measured: &[Times], model: &[Times]) -> Vec<Compared> {
    let sessions = plan.sessions.iter().zip(measured).zip(model);
    let compared = sessions.filter(|((session, times), model)| {
        session.role != Role::Prepare && !times.is_empty() && !model.is_empty()
    });
    compared
        .map(|((session, measured), model)| {
            let (measured, model) = (ascending(measured), ascending(model));
            let held_out = session.role == Role::HeldOut;
            let at = |percent: u32| {
                let part = f64::from(percent) / 100.0;
                (percent, quantile(&measured, part), quantile(&model, part))
            };
            Compared { name: session.name, held_out, percentiles: [at(50), at(95), at(99)] }
        })
        .collect()
}

pub(crate) fn ascending(times: &[Nanos]) -> Vec<Nanos> {
    let mut times = times.to_vec();
    times.sort_unstable();
    times
}

/// A quantile of ascending times; there has to be at least one.
pub(crate) fn quantile(times: &[Nanos], part: f64) -> Nanos {
    times[((times.len() - 1) as f64 * part).round() as usize]
}
