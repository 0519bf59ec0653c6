//! Whether a real machine had other work to do while it measured.

use serde::Serialize;
use store::RunHeader;

/// A machine whose load per processor was above this was busy.
const BUSY: f64 = 0.5;

/// The work that a machine had beside.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Load {
    /// The average of the last minute, as the kernel gives it.
    pub load: f64,
    /// The machine's processors.
    pub processors: f64,
}

impl std::fmt::Display for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Load { load, processors } = self;
        write!(f, "load {load}; above {} it is busy", BUSY * processors)
    }
}

/// The load of a real machine that was busy when a run began; `None` where it was not, where that
/// is not known, and in the lab, whose time does not depend on it.
pub(crate) fn busy_load(header: &RunHeader) -> Option<Load> {
    if header.is_simulated() {
        return None;
    }
    let fact = |name: &str| header.environment.0.get(name)?.parse::<f64>().ok();
    let load = fact("load_at_start")?;
    let processors = fact("processors").or_else(|| fact("cpus")).unwrap_or(1.0);
    is_busy(load, processors).then_some(Load { load, processors })
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
