//! `fstrial bench`: what fstrial itself costs, on tmpfs, where nothing hides it.

use std::path::Path;

use workload::overhead;

use crate::exit::{Ended, Exit, Failure};

/// Alternating rounds of engine and bare loop.
const ROUNDS: usize = 60;

/// Rate of the engine that is still good enough, as a share of the bare loop's.
const RATIO_MIN: f64 = 0.95;

/// Measures and prints.
pub(crate) fn bench() -> Ended {
    eprintln!("measuring for some seconds");
    let costs =
        overhead::measure(Path::new("/dev/shm"), ROUNDS).map_err(Failure::from(Exit::Refused))?;
    println!("ops a second of the workload engine, latency histograms on, against a bare loop of");
    println!("the same system calls that also reads the clock once per op; tmpfs, alternating\n");
    println!("{:<22} {:>10} {:>10} {:>7}", "op", "bare ns", "engine ns", "ratio");
    for cost in &costs {
        println!(
            "{:<22} {:>10.0} {:>10.0} {:>7.3}",
            cost.op,
            cost.bare_ns,
            cost.engine_ns,
            cost.ratio()
        );
    }
    let enough = costs.iter().all(|cost| cost.ratio() >= RATIO_MIN);
    println!("\nat least {RATIO_MIN} everywhere: {}", if enough { "yes" } else { "no" });
    Ok(if enough { Exit::Done } else { Exit::SomeFailed })
}
