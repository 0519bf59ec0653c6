//! `fstrial crosscheck`: a workload of ours and the program it follows, alternately on fresh
//! filesystems, judged pair by pair.

use std::path::Path;

use runner::{Request, RunEnd, parse_workload};
use store::Store;

use crate::arguments::Crosscheck;
use crate::commands::run::{self, request};
use crate::exit::{Ended, Exit, Failure};
use crate::files::write_whole;
use crate::output::print;

/// Runs the pairs, or takes those of an earlier run, and judges.
pub(crate) fn crosscheck(arguments: &Crosscheck) -> Ended {
    let usage = |message: String| Failure::new(Exit::Usage, message);
    let ours = parse_workload(&arguments.workload).map_err(usage)?;
    let original = original_of(&ours.name)?;
    let margin = margin(&arguments.margin)?;
    let path = arguments.store.path.clone().unwrap_or_else(Store::default_path);
    let mut store = Store::open(&path).map_err(Failure::from(Exit::Store))?;
    let id = match &arguments.from {
        Some(id) => id.clone(),
        None => {
            let (testbed, contenders) = request::testbed_and_contenders(&arguments.place)?;
            let theirs = runner::WorkloadRequest { name: original.to_owned(), ..ours.clone() };
            let asked = Request {
                workloads: vec![ours.clone(), theirs],
                contenders,
                testbed,
                repeats: arguments.pairs,
                seed: arguments.seed,
                scale: 1.0,
                verify: false,
                sequence: false,
                size: arguments.place.size,
                timeout: arguments.place.timeout,
                mail: "synthetic".to_owned(),
                source_tree: "synthetic".to_owned(),
                least_size: None,
                study: None,
            };
            measure(&mut store, asked, arguments.quiet)?
        }
    };
    let run = store.run(&id).map_err(Failure::from(Exit::Store))?;
    let check = report::crosscheck(&run, original, &ours.name, margin);
    match &arguments.json {
        Some(file) if file == Path::new("-") => print(&check.to_json())?,
        Some(file) => {
            write_whole(file, check.to_json().as_bytes()).map_err(|error| {
                let left = "the results are in the store";
                Failure::new(Exit::Output, format!("{}: {error}; {left}", file.display()))
            })?;
            print(&check.to_text())?;
        }
        None => print(&check.to_text())?,
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
        format!("{name} is held against no original; those that are: {}", known.join(", "));
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

fn measure(store: &mut Store, asked: Request, quiet: bool) -> Result<String, Failure> {
    let ledger = testbed::open_ledger().map_err(Failure::from(Exit::Refused))?;
    crate::commands::clean::sweep_at_start(&ledger)?;
    let prepared = request::prepare(asked, &ledger)?;
    if let Some((_, refusal)) = prepared.refused.first() {
        return Err(Failure::new(Exit::Refused, refusal.to_string()));
    }
    let id = run::create(store, &prepared)?;
    let stop = run::stop_on_signals()?;
    match run::carry_on(store, &id, prepared.testbed.as_ref(), &stop, quiet)? {
        RunEnd::Complete => Ok(id),
        RunEnd::Stopped => Err(Failure::new(
            Exit::Stopped,
            format!("stopped; go on with fstrial run --resume {id}, then judge with --from {id}"),
        )),
    }
}
