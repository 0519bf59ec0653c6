//! `fstrial lab agreement`: do a run of the lab and one of a real device agree?

use store::Store;

use crate::arguments::LabAgreement;
use crate::exit::{Ended, Exit, Failure};
use crate::output::print;

/// Compares two stored runs and prints the table.
pub(super) fn agreement(arguments: &LabAgreement) -> Ended {
    let path = arguments.store.path.clone().unwrap_or_else(Store::default_path);
    let store = Store::open(&path).map_err(Failure::from(Exit::Store))?;
    let read = |id: &str| store.run(id).map_err(Failure::from(Exit::Store));
    let (one, other) = (read(&arguments.one)?, read(&arguments.other)?);
    let found = report::agreements(&report::analyse(&one), &report::analyse(&other));
    if found.is_empty() {
        let message = format!(
            "runs {} and {} have no pair of contenders in common that both compare: give both the \
             same workloads, parameters and contenders, and at least two repeats",
            one.header.id, other.header.id
        );
        return Err(Failure::new(Exit::Refused, message));
    }
    let name = |run: &store::StoredRun| format!("{} ({})", run.header.testbed, run.header.id);
    let (first, second) = (name(&one), name(&other));
    print(&report::agreement_table(&found, [&first, &second]))?;
    let discordant = found.iter().any(|one| one.verdict == report::AgreementVerdict::Discordant);
    Ok(if discordant { Exit::SomeFailed } else { Exit::Done })
}
