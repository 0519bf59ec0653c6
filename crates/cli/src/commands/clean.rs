//! `fstrial clean`: what interrupted runs left behind.

use device::Ledger;

use crate::arguments::Clean;
use crate::exit::{Ended, Exit, Failure};
use crate::output::{print, say};

/// Removes leftovers of runs that are no longer alive, and says what.
pub(crate) fn clean(arguments: &Clean) -> Ended {
    let refused = |refusal: stack::Refusal| Failure::new(Exit::Refused, refusal.to_string());
    let ledger = testbed::open_ledger().map_err(refused)?;
    let report = testbed::sweep(&ledger).map_err(refused)?;
    match report.is_empty() {
        true => print("nothing was left behind\n")?,
        false => print(&format!("{report}\n"))?,
    }
    if report.left.is_empty() {
        return Ok(Exit::Done);
    }
    ledger.note_told(&report);
    let many = report.left.len();
    let left = ledger.forget(report, &arguments.forget).len();
    if left < many {
        let forgotten = many - left;
        print(&format!("forgotten: {forgotten} of them; they stay where they are\n"))?;
    }
    if left == 0 {
        return Ok(Exit::Done);
    }
    print(
        "mend the cause and repeat `fstrial clean`; or give up what is left: `fstrial clean \
         --forget PATH` leaves it there and does not look for it again\n",
    )?;
    Ok(Exit::SomeFailed)
}

/// The same at every start; silent when there is nothing to remove. What cannot be removed is
/// mentioned once, and does not stop a new run.
pub(crate) fn sweep_at_start(ledger: &Ledger) -> Result<(), Failure> {
    let report = testbed::sweep(ledger)
        .map_err(|refusal| Failure::new(Exit::Refused, refusal.to_string()))?;
    let news = report.news();
    if !news.is_empty() {
        say!("after an interrupted run: {news}");
    }
    if !news.left.is_empty() {
        say!("this is mentioned once; `fstrial clean` tries again and says what can be done");
        ledger.note_told(&news);
    }
    Ok(())
}
