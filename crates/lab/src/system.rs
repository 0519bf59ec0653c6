//! A bootable system, made in a guest: by the scripts of its packages, which then run nowhere else.

use std::path::Path;

use stack::Contender;
use testbed::Stop;
use trial::{Event, InputFiles, Outcome, TrialSpec};
use units::{Bytes, Nanos};
use workload::Seed;

use crate::error::LabError;
use crate::lab::Lab;
use crate::parts::Parts;
use crate::profile::MachineProfile;
use crate::session::Extras;

/// Boots a guest of `parts` that makes a system from an archive of packages, and writes it to the
/// file `to`.
///
/// # Errors
/// When the guest does not start or what it does fails: with its last words.
pub(crate) fn prepare(
    parts: Parts,
    cache: &Path,
    packages: &Path,
    to: &Path,
) -> Result<(), LabError> {
    let files = InputFiles { system: Some(packages.to_owned()), ..InputFiles::default() };
    let lab = Lab::open(parts, cache, workplace()?, &files)?;
    let extras = Extras { prepare_system: Some(to.to_owned()), ..Extras::default() };
    let mut outcome = None;
    let carried = lab.carry_out(&order(), &extras, &Stop::new(), &mut |event| {
        if let Event::Ended(ended) = event {
            outcome = Some(ended);
        }
    })?;
    match outcome {
        Some(Outcome::Done) if carried.output.is_some() => Ok(()),
        outcome => Err(LabError::Program {
            command: "the guest that makes the system".to_owned(),
            said: format!("{outcome:?}; {}", carried.said),
            next: None,
        }),
    }
}

/// The machine on which a system is made: with room for both the packages and the tree.
fn workplace() -> Result<MachineProfile, LabError> {
    let mut profile = MachineProfile::find("ideal")?;
    profile.ram = Bytes::from_mib(2560);
    Ok(profile)
}

/// The specification in the order to make a system. It has to be there, but no trial is run.
fn order() -> TrialSpec {
    TrialSpec {
        contender: Contender::plain("tmpfs"),
        workloads: Vec::new(),
        seed: Seed(1),
        block: 0,
        size: None,
        verify: false,
        timeout: Nanos::from_secs(4 * 3600),
    }
}
