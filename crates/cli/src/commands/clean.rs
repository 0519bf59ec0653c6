//! `fstrial clean`: what interrupted runs left behind.

use device::Ledger;

use crate::exit::{Ended, Exit, Failure};
use crate::output::{print, say};

/// Removes leftovers of runs that are no longer alive, and says what.
pub(crate) fn clean() -> Ended {
    let refused = |refusal: stack::Refusal| Failure::new(Exit::Refused, refusal.to_string());
    let ledger = testbed::open_ledger().map_err(refused)?;
    let report = testbed::sweep(&ledger).map_err(refused)?;
    match report.is_empty() {
        true => print("nothing was left behind\n")?,
        false => print(&format!("{report}\n"))?,
    }
    Ok(if report.left.is_empty() { Exit::Done } else { Exit::SomeFailed })
}

/// The same at every start; silent when there is nothing to remove. Failures are reported and do
/// not stop a new run.
pub(crate) fn sweep_at_start(ledger: &Ledger) -> Result<(), Failure> {
    let report = testbed::sweep(ledger)
        .map_err(|refusal| Failure::new(Exit::Refused, refusal.to_string()))?;
    if !report.is_empty() {
        say!("after an interrupted run: {report}");
    }
    Ok(())
}
