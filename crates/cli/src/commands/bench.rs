//! `fstrial self bench`: fstrial's own overhead, measured on tmpfs, where no disk hides it.

use std::path::Path;

use workload::overhead;

use crate::exit::{Ended, Exit, Failure};
use crate::output::{print, say};

/// Number of rounds in which engine and bare loop alternate.
const ROUNDS: usize = 200;

/// The lowest acceptable rate of the engine, as a share of the bare loop's.
const RATIO_MIN: f64 = 0.95;

/// Measures and prints.
pub(crate) fn bench() -> Ended {
    let mut lines: Vec<String> = Vec::new();
    say!("measuring for a few seconds");
    let costs =
        overhead::measure(Path::new("/dev/shm"), ROUNDS).map_err(Failure::from(Exit::Refused))?;
    lines.push(
        "ops a second of the workload engine, latency histograms on, against a bare loop of\n\
         the same system calls that also reads the clock once per op; tmpfs, alternating\n"
            .to_owned(),
    );
    lines.push(format!("{:<22} {:>10} {:>10} {:>7}", "op", "bare ns", "engine ns", "ratio"));
    for cost in &costs {
        lines.push(format!(
            "{:<22} {:>10.0} {:>10.0} {:>7.3}",
            cost.op, cost.bare_ns, cost.engine_ns, cost.ratio
        ));
    }
    let enough = costs.iter().all(|cost| cost.ratio >= RATIO_MIN);
    lines.push(format!("\nat least {RATIO_MIN} everywhere: {}", if enough { "yes" } else { "no" }));
    print(&(lines.join("\n") + "\n"))?;
    Ok(if enough { Exit::Done } else { Exit::SomeFailed })
}
