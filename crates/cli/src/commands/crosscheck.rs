//! `fstrial self crosscheck`: runs a workload and the original program that it follows, alternately on
//! fresh filesystems, and judges the pairs.

use runner::{Request, parse_workload};

use crate::arguments::Crosscheck;
use crate::commands::run::request;
use crate::destination::Destination;
use crate::exit::{Ended, Exit, Failure};
use crate::output::print;
use crate::places::Here;
use crate::progress::Watch;

/// Runs the pairs, or takes those of an earlier run, and judges them.
pub(crate) fn crosscheck(arguments: &Crosscheck) -> Ended {
    let usage = |message: String| Failure::new(Exit::Usage, message);
    let ours = parse_workload(&arguments.workload).map_err(usage)?;
    let original = original_of(&ours.name)?;
    let margin = margin(&arguments.margin)?;
    let json = arguments.json.as_deref().map(Destination::open).transpose()?;
    let here = Here::open()?;
    let mut session = here.session(&arguments.store)?;
    let id = match &arguments.from {
        Some(id) => id.clone(),
        None => {
            let (testbed, contenders) = request::testbed_and_contenders(&arguments.place)?;
            let theirs = runner::WorkloadRequest { name: original.to_owned(), ..ours.clone() };
            let asked = Request {
                repeats: arguments.pairs,
                seed: arguments.seed,
                size: arguments.place.size,
                timeout: arguments.place.timeout(),
                ..Request::new(vec![ours.clone(), theirs], contenders, testbed)
            };
            let prepared = session.prepare(asked)?;
            let mut watch = Watch::new(arguments.quiet);
            session.measure(&prepared, &mut |event| watch.show(event))?
        }
    };
    let run = session.store.run(&id).map_err(Failure::from(Exit::Store))?;
    let check = report::crosscheck(&run, original, &ours.name, margin);
    if let Some(to) = &json {
        to.write(&check.to_json(), "the results are in the store")?;
    }
    if !json.is_some_and(|to| to.is_standard_output()) {
        print(&check.to_text())?;
    }
    Ok(if check.holds() { Exit::Done } else { Exit::Departs })
}

fn original_of(name: &str) -> Result<&'static str, Failure> {
    if let Some(original) = workload::original_of(name) {
        return Ok(original.describe().name);
    }
    let known: Vec<&str> =
        workload::ORIGINALS.iter().filter_map(|original| original.counterpart()).collect();
    let message =
        format!("{name} has no original to compare with; these have: {}", known.join(", "));
    Err(Failure::new(Exit::Usage, message))
}

/// `10%` or `0.1`.
fn margin(text: &str) -> Result<f64, Failure> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>().map(|number| number / scale) {
        Ok(margin) if margin > 0.0 && margin < 1.0 => Ok(margin),
        _ => Err(Failure::new(
            Exit::Usage,
            format!("--margin {text}: a share between 0 and 100 % is expected"),
        )),
    }
}
