//! Power cuts, tried in a guest.

use crash::{Plan, Told};
use stack::Contender;
use testbed::Stop;
use trial::{CrashTask, Event, Outcome, TrialSpec};
use units::{Bytes, Nanos};
use workload::Seed;

use crate::capabilities::without_workloads;
use crate::error::LabError;
use crate::lab::Lab;
use crate::session::{Extras, PowerCuts};

/// The disk: the smallest on which every filesystem can be made, since each state costs a check.
const DISK: Bytes = Bytes::from_mib(384);

/// A day: each of many states takes its time.
const DAY: Nanos = Nanos::from_secs(24 * 3600);

/// Filesystems of which nothing is said, since what was seen may be their tools' doing.
const UNSETTLED: [(&str, &str); 2] = [
    (
        "jfs",
        "after one, fsck.jfs did not replay its log but repaired what it found, and it is not known \
         why",
    ),
    (
        "ntfs3",
        "after one, the kernel does not mount it, and Linux has no check of it: ntfsfix empties its \
         journal",
    ),
];

impl Lab {
    /// Runs a program on a contender, cuts the power and tries states that this may leave; `sink`
    /// gets what is found.
    ///
    /// # Errors
    /// When no guest could be started, the contender cannot be made here, or it was asked to stop.
    pub fn cut_power(
        &self,
        contender: &Contender,
        task: &CrashTask,
        plan: &Plan,
        seed: Seed,
        stop: &Stop,
        sink: &mut dyn FnMut(Told),
    ) -> Result<Outcome, LabError> {
        let failed = |why: String| LabError::value(contender.name.as_str(), why);
        let filesystem = self.made_here(contender)?;
        if let Some((_, why)) = UNSETTLED.iter().find(|(name, _)| *name == filesystem.name) {
            return Err(failed(format!("no power cut is tried on {}: {why}", filesystem.name)));
        }
        let spec = TrialSpec { seed, ..without_workloads(contender, DISK, DAY) };
        let cuts = PowerCuts { task: task.clone(), plan: plan.clone() };
        let extras = Extras { crash: Some(cuts), ..Extras::default() };
        let mut outcome = Outcome::Done;
        self.carry_out(&spec, &extras, stop, &mut |event| match event {
            Event::Crash(told) => sink(told),
            Event::Ended(ended) => outcome = ended,
            _ => {}
        })?;
        Ok(outcome)
    }
}
