//! The installed dbench.

use units::{Bytes, Nanos};

use super::running::{Invocation, Knowledge, Passed, Said, run, sweep};
use crate::typed::{CountParameter, TIME_MAX, TimeParameter};
use crate::{
    Context, Description, Failure, Headline, InputFacts, InputKind, Parameters, PhaseDescription,
    PhaseResult, Program,
};
use crate::{Space, Workload};

pub(super) struct OriginalDbench;

const PROGRAM: Program = Program { name: "dbench", package: "dbench" };
/// The room that one client needs on the filesystem, with the load file of the package.
const EACH_CLIENT: Bytes = Bytes::from_mib(32);

static RUN: PhaseDescription = PhaseDescription {
    name: "run",
    summary: "clients replay the calls of a file server",
    clock: "the whole program by fstrial's clock, including its warm-up of a fifth of `duration` \
            and its clean-up. The program's own figures leave both out: `own_mb_per_sec`, \
            `own_longest_ms`, and for each of its operations `own_…_count` and `own_…_ms`",
    ops: &[],
    disk_bound: false,
};

const CLIENTS: CountParameter =
    CountParameter::new("clients", "Clients, a process each.", 1, 1024, "4");
const DURATION: TimeParameter = TimeParameter::new(
    "duration",
    "Time measured, in whole seconds, after the warm-up.",
    Nanos::from_secs(1),
    TIME_MAX,
    "60s",
)
.in_steps_of(1_000_000_000)
.scaled();

static DESCRIPTION: Description = Description {
    name: "original-dbench",
    summary: "the installed dbench 4.00: clients of a file server",
    origin: "The program of Debian's package dbench (Andrew Tridgell) with the load file that the \
package installs in /usr/share/dbench. It runs for a fixed time, so the amount of work differs: \
compare its rates and nothing else.",
    headline: Headline {
        question: "a file server's calls, as dbench replays them",
        phase: "run",
        metric: "wall",
        things: "",
    },
    presets: &[],
    inputs: &[InputKind::Program(PROGRAM)],
    parameters: &[CLIENTS.row, DURATION.row],
    phases: &[&RUN],
};

impl Workload for OriginalDbench {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let clients = parameters.get(&CLIENTS);
        Space { bytes: EACH_CLIENT * clients, inodes: 4096 * clients }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let parameters = context.parameters();
        let seconds = (parameters.get(&DURATION).0 / 1_000_000_000).max(1);
        let arguments = [
            "-D".to_owned(),
            context.target().display().to_string(),
            "-t".to_owned(),
            seconds.to_string(),
            parameters.get(&CLIENTS).to_string(),
        ];
        let invocation = Invocation {
            program: PROGRAM,
            arguments: arguments.map(Into::into).into(),
            directory: context.target().to_owned(),
            input: String::new(),
        };
        let knowledge = Knowledge { signs: &[], complaint, death: |_| None };
        spend_first_semaphore();
        run(context, &invocation, Some((&RUN, 0)), &knowledge, |said, passed| {
            let Some(Passed { result, .. }) = passed.first_mut() else { return Ok(()) };
            read(said, result)
        })?;
        sweep(context, "clients")
    }
}

/// Creates and removes a set of semaphores. The first set after boot has the number 0, which
/// dbench 4.00 mistakes for a failure to create one; no later set has that number.
fn spend_first_semaphore() {
    // SAFETY: both calls take numbers only. Where no set can be made dbench says so itself.
    unsafe {
        let set = libc::semget(libc::IPC_PRIVATE, 1, 0o600);
        if set >= 0 {
            libc::semctl(set, 0, libc::IPC_RMID);
        }
    }
}

/// A client that gives up prints a message; the other clients and the exit code may not show it.
fn complaint(said: &str) -> Option<String> {
    let telling = |line: &&str| line.contains("failed") || line.contains("No space left");
    said.lines().find(telling).map(|line| line.trim().to_owned())
}

fn read(said: &Said, result: &mut PhaseResult) -> Result<(), String> {
    let lines = || said.output.lines();
    let throughput = lines()
        .find_map(|line| line.strip_prefix("Throughput "))
        .ok_or("it printed no line `Throughput`")?;
    let rate = throughput.split_whitespace().next().and_then(|word| word.parse().ok());
    let rate: f64 = rate.ok_or_else(|| format!("`{throughput}` is no rate"))?;
    result.figures.insert("own_mb_per_sec".to_owned(), rate);
    let longest = throughput
        .split("max_latency=")
        .nth(1)
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    if let Some(longest) = longest {
        result.figures.insert("own_longest_ms".to_owned(), longest);
    }
    let table = lines().skip_while(|line| !line.contains("Count    AvgLat"));
    for line in table.skip(2).take_while(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, count, mean, _] = words[..] else {
            return Err(format!("`{line}` is no row of its table"));
        };
        let number = |text: &str| match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            _ => Err(format!("`{text}` is no number")),
        };
        let (name, count) = (name.to_ascii_lowercase(), number(count)?);
        result.ops = result.ops.saturating_add(count as u64);
        result.figures.insert(format!("own_{name}_count"), count);
        result.figures.insert(format!("own_{name}_ms"), number(mean)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cache;

    fn result() -> PhaseResult {
        let cache = Cache::Warm { why: String::new() };
        PhaseResult::empty("original-dbench", "run", cache)
    }

    #[test]
    fn a_real_run() {
        let output = include_str!("../../../tests/originals/dbench_4cl.txt").to_owned();
        assert_eq!(complaint(&output), None);
        let mut result = result();
        read(&Said { output, errors: String::new() }, &mut result).unwrap();
        assert_eq!(result.figures["own_mb_per_sec"], 870.61);
        assert_eq!(result.figures["own_longest_ms"], 12.604);
        assert_eq!(result.figures["own_flush_ms"], 1.293);
        assert_eq!(result.figures["own_unlink_count"], 28141.0);
        assert_eq!(result.ops, 804_752);
    }

    #[test]
    fn a_run_without_its_last_line() {
        let said = Said { output: "4 of 4 processes prepared".to_owned(), errors: String::new() };
        assert!(read(&said, &mut result()).unwrap_err().contains("Throughput"));
        let full = "[79] write failed on handle 10012 (No space left on device)\n";
        assert!(complaint(full).unwrap().starts_with("[79] write failed"));
    }

    #[test]
    fn any_output_is_read_or_refused() {
        fuzz::run(
            "dbench",
            &[include_bytes!("../../../tests/originals/dbench_4cl.txt").to_vec()],
            |input| {
                let output = String::from_utf8_lossy(input).into_owned();
                let _ = complaint(&output);
                let _ = read(&Said { output, errors: String::new() }, &mut result());
            },
        );
    }
}
