//! What a run costs whose workloads say how long they take.

use runner::Request;
use workload::Parameters;

use crate::output::say;

/// How many times as long the lab takes at most as its clock, while the processor is busy.
const SLOWER: f64 = 40.0;

/// Says what jobs that run for a time cost in the lab, whose clock goes slower than the host's.
pub(super) fn warn(request: &Request, is_slow: bool) {
    if !is_slow {
        return;
    }
    for asked in &request.workloads {
        let Some(workload) = workload::find(&asked.name) else { continue };
        let given = &asked.parameters;
        let parameters = Parameters::resolve(workload.describe(), given, request.scale);
        let Ok(parameters) = parameters else { continue };
        let Some(time) = workload.runs_for(&parameters) else { continue };
        let most = time.as_secs_f64() * SLOWER / 60.0;
        say!(
            "note: {} runs for {time} of the lab's clock in each trial, which takes this \
             machine up to {} where it keeps the processor busy; nothing varies in the lab, so a \
             second or two says as much",
            asked.name,
            match most {
                less if less < 2.0 => format!("{:.0} s", less * 60.0),
                most => format!("{most:.0} min"),
            }
        );
    }
}
