//! How long an instruction takes on this machine, as far as it matters to filesystems: the same
//! work on tmpfs is timed here and in the lab.

use std::collections::BTreeMap;
use std::path::Path;

use lab::Price;
use runner::{Request, TestbedRequest, parse_workload};
use stack::Contender;

use crate::arguments::StoreArgument;
use crate::exit::{Exit, Failure};
use crate::places::Here;
use crate::progress::Watch;
use crate::testbeds;

/// Half of what `self agreement --here` compares: the other half is held out of any fitting.
pub(super) const WORKLOADS: [&str; 3] = ["maildir-write", "tree", "postmark"];
/// Phases shorter than this (in seconds) on either side are left out: they show the clock's
/// resolution more than the processor's speed.
const SHORTEST: f64 = 0.002;
/// The filesystem that has no disk.
const MEMORY: &str = "tmpfs";
/// A tmpfs that every user can write to.
const IN_MEMORY: &str = "/dev/shm";
/// Repeats on this machine, where times vary; in the lab one is enough.
const REPEATS: u32 = 5;
/// Long enough to be timed, short enough to be waited for.
const SCALE: f64 = 0.05;
/// The lab's machine profile for the comparison.
const PROFILE: &str = "ideal";
/// Nanoseconds per instruction that the lab's machine is given for the comparison.
const UNIT_NS: f64 = 0.25;

/// Phases that lie further apart than this say nothing of the processor: on a machine at rest the
/// slowest took 1.4 times as long an instruction as the fastest.
const APART: f64 = 2.0;

/// What was found.
pub(super) struct Processor {
    /// Nanoseconds per instruction, the geometric mean over the phases.
    pub(super) instruction_ns: f64,
    /// The lowest and the highest value of a single phase.
    pub(super) range: [f64; 2],
    /// How many phases were compared.
    pub(super) phases: usize,
    /// The two runs, in the store.
    pub(super) runs: [String; 2],
}

/// Runs the workloads on memory, here and in the lab.
///
/// # Errors
/// When there is no lab, no directory in memory, or a run fails.
pub(super) fn measure(lab: Option<&str>, store: &StoreArgument) -> Result<Processor, Failure> {
    let here = Here::open()?;
    let mut session = here.session(store)?;
    // The directory is removed when this value is dropped; the ledger removes it should this
    // process be killed.
    let directory = here.ledger().make_directory(Path::new(IN_MEMORY));
    let directory = directory.map_err(Failure::from(Exit::Refused))?;
    let real = testbeds::dir::of(directory.path(), MEMORY)?;
    let changes = BTreeMap::from([("instruction_ns".to_owned(), UNIT_NS.to_string())]);
    let twin = testbeds::lab::Settings::of(PROFILE, changes).in_lab(lab).request()?;
    let mut watch = Watch::new(false);
    let mut run = |testbed, repeats| -> Result<String, Failure> {
        let prepared = session.prepare(request(testbed, repeats)?)?;
        Ok(session.measure(&prepared, &mut |event| watch.show(event))?)
    };
    // The lab first: if there is none, no time is spent on measuring here.
    let twin = run(twin, 1)?;
    let real = run(real, REPEATS)?;
    watch.finish();
    let read = |id: &String| session.store.run(id).map_err(Failure::from(Exit::Store));
    let times = report::two_times(&report::analyse(&read(&real)?), &report::analyse(&read(&twin)?));
    let long = |one: &&report::TwoTimes| {
        let least = [&one.first, &one.second].map(|times| times.first().copied().unwrap_or(0.0));
        least.iter().all(|seconds| *seconds >= SHORTEST)
    };
    let each: Vec<f64> = times.iter().filter(long).map(|one| UNIT_NS / one.factor()).collect();
    found(&each, [real, twin]).ok_or_else(|| {
        Failure::new(Exit::SomeFailed, "no phase was timed both here and in the lab")
    })
}

fn found(each: &[f64], runs: [String; 2]) -> Option<Processor> {
    let low = each.iter().copied().reduce(f64::min)?;
    let high = each.iter().copied().reduce(f64::max)?;
    let logarithm = each.iter().map(|ns| ns.ln()).sum::<f64>() / each.len() as f64;
    // Kept within the range that the lab's clock can represent.
    let instruction_ns = Price::of(logarithm.exp())?.ns();
    Some(Processor { instruction_ns, range: [low, high], phases: each.len(), runs })
}

impl Processor {
    /// In a sentence.
    pub(super) fn words(&self) -> String {
        let [low, high] = self.range;
        let [real, twin] = &self.runs;
        format!(
            "An instruction takes {:.2} ns, by {} phases of {} on memory alone ({low:.2} to {high:.2}; \
             runs {real} and {twin}).",
            self.instruction_ns,
            self.phases,
            WORKLOADS.join(", "),
        )
    }

    /// Why it is not the processor of this machine, if the phases disagree.
    pub(super) fn poor(&self) -> Option<String> {
        let [low, high] = self.range;
        (high > low * APART).then(|| {
            format!(
                "the time of an instruction differs by phase, {low:.2} to {high:.2} ns: other \
                 programs used the processor while it was measured"
            )
        })
    }
}

fn request(testbed: TestbedRequest, repeats: u32) -> Result<Request, Failure> {
    let parsed = WORKLOADS.iter().map(|text| parse_workload(text));
    let workloads = parsed.collect::<Result<Vec<_>, _>>();
    let workloads = workloads.map_err(|message| Failure::new(Exit::Usage, message))?;
    let contenders = vec![Contender::plain(MEMORY)];
    Ok(Request { repeats, scale: SCALE, ..Request::new(workloads, contenders, testbed) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(each: &[f64]) -> Processor {
        found(each, ["r1".to_owned(), "r2".to_owned()]).unwrap()
    }

    #[test]
    fn the_mean_is_of_factors() {
        let found = of(&[0.1, 0.4]);
        assert!((found.instruction_ns / 0.2 - 1.0).abs() < 0.01, "{}", found.instruction_ns);
        assert_eq!((found.range, found.phases), ([0.1, 0.4], 2));
        assert!(found.words().starts_with("An instruction takes 0.20 ns, by 2 phases"));
    }

    #[test]
    fn phases_that_disagree_are_no_processor() {
        assert_eq!(of(&[0.25, 0.28, 0.33]).poor(), None);
        let found = of(&[0.25, 1.5, 5.37]).poor().unwrap();
        assert!(found.contains("0.25 to 5.37 ns"), "{found}");
    }

    #[test]
    fn without_a_phase_there_is_no_figure() {
        assert!(super::found(&[], [String::new(), String::new()]).is_none());
    }
}
