//! Whether a real machine had other work to do while it measured.

use store::RunHeader;

/// A machine whose load per processor was above this was busy.
const BUSY: f64 = 0.5;

/// The load of a real machine that was busy when a run began; `None` where it was not, where that
/// is not known, and in the lab, whose time does not depend on it.
pub(crate) fn busy_load(header: &RunHeader) -> Option<f64> {
    if header.is_simulated() {
        return None;
    }
    let fact = |name: &str| header.environment.0.get(name)?.parse::<f64>().ok();
    let load = fact("load_at_start")?;
    let processors = fact("processors").or_else(|| fact("cpus")).unwrap_or(1.0);
    is_busy(load, processors).then_some(load)
}

fn is_busy(load: f64, processors: f64) -> bool {
    load > BUSY * processors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_one_of_all_processors_together() {
        assert!(is_busy(0.6, 1.0) && is_busy(4.1, 8.0));
        assert!(!is_busy(0.4, 1.0) && !is_busy(3.9, 8.0));
    }
}
