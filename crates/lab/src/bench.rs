//! `fstrial self lab-bench`: how long a trial takes to start, and how much virtual time a core of the
//! host yields. Each figure is compared with a reference from the same run: an emulator that is
//! only resumed, and a guest that only counts.

use std::collections::BTreeMap;
use std::time::Duration;

use stack::Contender;
use testbed::Stop;
use trial::{Event, Outcome, TrialSpec, WorkloadChoice};
use units::{Bytes, Nanos};
use workload::{Parameters, PhaseEvent, PhaseResult, Seed};

use crate::error::LabError;
use crate::lab::Lab;
use crate::session::Carried;
use crate::session::Extras;
use crate::vm::Spent;

/// Processor time from the start of a trial to its first op that is still good enough, as a
/// multiple of what it takes to only resume an emulator.
pub const START_MAX: f64 = 25.0;
/// The least virtual time of disk-bound work that a second of the emulator's processor time should
/// yield, as a multiple of what it yields while a guest only counts.
pub const RATE_MIN: f64 = 2.0;
/// A phase in which the processor is busy for less than this share of the time is disk-bound.
const DISK_BOUND: f64 = 0.5;
/// Work that waits for its disk, with and without a pause for each write.
const WORK: [(&str, &[(&str, &str)]); 2] = [
    ("fsync-append", &[("records", "1500")]),
    ("randomio", &[("size", "256M"), ("ops", "3000"), ("threads", "4")]),
];
/// Ops of the counting loop: some seconds of the guest's time.
const COUNTED: &str = "40000000";

/// The start of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Until the guest resumed from its checkpoint: the reference.
    pub resumed: Spent,
    /// Until each step began, in order.
    pub steps: Vec<(String, Spent)>,
    /// Until the first op.
    pub first_op: Spent,
}

/// A phase of work.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// Workload and phase.
    pub phase: String,
    /// Virtual time.
    pub time: Nanos,
    /// Share of it in which the guest's processor was busy.
    pub computing: f64,
    /// Requests its disk served.
    pub requests: u64,
    /// What it took on the host.
    pub spent: Spent,
}

impl Work {
    /// Whether its time is the disk's rather than the processor's.
    fn is_disk_bound(&self) -> bool {
        self.computing < DISK_BOUND
    }

    /// Virtual seconds a second of the emulator's processor time.
    pub fn rate(&self) -> f64 {
        rate(self.time, self.spent.processor)
    }
}

/// Virtual seconds in a second of the host's; 0 where none was spent.
pub fn rate(time: Nanos, of: Duration) -> f64 {
    if of.is_zero() { 0.0 } else { time.0 as f64 / of.as_nanos() as f64 }
}

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Bench {
    /// Starts of trials, one after the other.
    pub starts: Vec<Start>,
    /// Phases of work.
    pub work: Vec<Work>,
    /// A phase that only counts: the reference for instructions a second.
    pub counting: Work,
    /// What an instruction takes, in nanoseconds of the guest's time.
    pub instruction_ns: f64,
}

impl Bench {
    /// Instructions that the guest executed in a phase for each disk request; `None` where there
    /// were no requests.
    pub fn instructions_a_request(&self, work: &Work) -> Option<f64> {
        let instructions = work.computing * work.time.0 as f64 / self.instruction_ns;
        (work.requests > 0).then(|| instructions / work.requests as f64)
    }

    /// Instructions of the guest in a second of the emulator's processor time, while it counts.
    pub fn instructions_a_second(&self) -> f64 {
        self.counting.rate() * 1e9 / self.instruction_ns
    }

    /// Virtual time of disk-bound work, as a multiple of what the counting loop yields for the same
    /// processor time; `None` where no work was disk-bound.
    pub fn disk_bound_ratio(&self) -> Option<f64> {
        let (time, spent) = self.disk_bound();
        let counting = self.counting.rate();
        (time.0 > 0 && counting > 0.0).then(|| rate(time, spent.processor) / counting)
    }

    /// Virtual time and cost of all phases that are disk-bound.
    pub fn disk_bound(&self) -> (Nanos, Spent) {
        let bound = self.work.iter().filter(|work| work.is_disk_bound());
        bound.fold((Nanos::ZERO, Spent::default()), |(time, spent), work| {
            let wall = spent.wall + work.spent.wall;
            let processor = spent.processor + work.spent.processor;
            (time + work.time, Spent { wall, processor })
        })
    }
}

/// Measures `starts` starts, and the work once.
///
/// # Errors
/// When a guest cannot be started or a trial does not end well.
pub fn bench(lab: Lab, starts: usize, stop: &Stop) -> Result<Bench, LabError> {
    lab.warm_up(stop)?;
    let mut timed = Vec::new();
    for _ in 0..starts {
        let (carried, _) = carry_out(&lab, "null", &[("ops", "10")], stop)?;
        let first_op = carried.phases.first().map_or(carried.whole, |phase| phase.began);
        let steps = carried.steps.iter().map(|(step, spent)| (step.to_string(), *spent));
        let steps = steps.collect();
        timed.push(Start { resumed: carried.to_guest, steps, first_op });
    }
    let mut all_work = work_and_counting(&lab, stop)?;
    let counting = all_work.pop().unwrap_or_else(nothing);
    let instruction_ns = lab.profile().instruction_ns;
    Ok(Bench { starts: timed, work: all_work, counting, instruction_ns })
}

/// All work, and last the counting.
fn work_and_counting(lab: &Lab, stop: &Stop) -> Result<Vec<Work>, LabError> {
    let mut done = Vec::new();
    for (name, parameters) in WORK {
        let (carried, results) = carry_out(lab, name, parameters, stop)?;
        done.extend(work(&carried, &results));
    }
    let (carried, results) = carry_out(lab, "null", &[("ops", COUNTED)], stop)?;
    done.push(work(&carried, &results).next().unwrap_or_else(nothing));
    Ok(done)
}

fn nothing() -> Work {
    let phase = String::new();
    Work { phase, time: Nanos::ZERO, computing: 0.0, requests: 0, spent: Spent::default() }
}

fn work(carried: &Carried, results: &[PhaseResult]) -> impl Iterator<Item = Work> {
    let phases = carried.phases.iter().zip(results).filter(|(_, result)| result.wall.0 > 0);
    phases.map(|(phase, result)| Work {
        phase: phase.phase.clone(),
        time: result.wall,
        computing: result.machine_cpu.map_or(1.0, |cpu| cpu.0 as f64 / result.wall.0 as f64),
        requests: result.figures.get("disk_requests").map_or(0, |&count| count as u64),
        spent: phase.spent,
    })
}

fn carry_out(
    lab: &Lab,
    name: &str,
    parameters: &[(&str, &str)],
    stop: &Stop,
) -> Result<(Carried, Vec<PhaseResult>), LabError> {
    let wrong = |problem: String| LabError::value(format!("bench: {name}"), problem);
    let known = workload::find(name).ok_or_else(|| wrong("no such workload".to_owned()))?;
    let given: BTreeMap<_, _> =
        parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let parameters = Parameters::resolve(known.describe(), &given, 1.0)
        .map_err(|error| wrong(error.to_string()))?;
    let contender = Contender::parse_list("ext4").map_err(|error| wrong(error.to_string()))?;
    let spec = TrialSpec {
        contender: contender.into_iter().next().ok_or_else(|| wrong("no ext4".to_owned()))?,
        workloads: vec![WorkloadChoice { name: name.to_owned(), parameters }],
        seed: Seed(1),
        block: 0,
        size: Some(Bytes::from_gib(1)),
        verify: false,
        timeout: Nanos::from_secs(3600),
    };
    let (mut results, mut outcome) = (Vec::new(), None);
    let carried = lab.carry_out(&spec, &Extras::default(), stop, &mut |event| match event {
        Event::Phase(PhaseEvent::Finished(result)) => results.push(*result),
        Event::Ended(how) => outcome = Some(how),
        _ => {}
    })?;
    match outcome {
        Some(Outcome::Done) => Ok((carried, results)),
        Some(other) => Err(wrong(other.to_string())),
        None => Err(wrong("it reported no outcome".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_waits_for_its_disk_is_disk_bound_work() {
        let of = |computing, seconds| Work {
            phase: "x".to_owned(),
            time: Nanos::from_secs(seconds),
            computing,
            requests: 0,
            spent: Spent { wall: Duration::from_secs(2), processor: Duration::from_secs(1) },
        };
        let starts = Vec::new();
        let counting = of(1.0, 1);
        let work = vec![of(0.1, 10), of(0.9, 99)];
        let bench = Bench { starts, work, counting, instruction_ns: 0.25 };
        let (time, spent) = bench.disk_bound();
        assert_eq!((time, spent.wall), (Nanos::from_secs(10), Duration::from_secs(2)));
        assert!((rate(time, spent.wall) - 5.0).abs() < 1e-9);
        assert!((bench.work[0].rate() - 10.0).abs() < 1e-9);
        assert_eq!(bench.disk_bound_ratio(), Some(10.0), "in those of the loop, which gives one");
        assert_eq!(bench.instructions_a_second(), 4e9);
        let asked = Work { requests: 1000, ..of(0.5, 1) };
        assert_eq!(bench.instructions_a_request(&asked), Some(2e6));
        assert_eq!(bench.instructions_a_request(&of(0.5, 1)), None);
    }
}
