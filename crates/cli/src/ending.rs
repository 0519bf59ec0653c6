//! Ending fstrial: signals, and messages about what is still being removed.

use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use testbed::Stop;

use crate::exit::{Exit, Failure};
use crate::progress::aside;
use crate::writing::is_writing;

/// A removal that takes longer than this is reported.
const TOLD_AFTER: Duration = Duration::from_secs(2);
/// How often it is reported.
const TELL_EVERY: Duration = Duration::from_secs(5);
/// How often removals are checked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The process's request to stop, made by Ctrl-C, a termination signal or a closed terminal. The
/// first signal requests it, the second reports what fstrial is waiting for, the third leaves the
/// rest of a removal to the next start.
pub(crate) fn stop_on_signals() -> Result<Stop, Failure> {
    static STOP: Mutex<Option<Stop>> = Mutex::new(None);
    let mut known = STOP.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(stop) = known.as_ref() {
        return Ok(stop.clone());
    }
    let stop = Stop::new();
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Failure::from(Exit::Refused))?;
    let asked = stop.clone();
    thread::spawn(move || {
        for (nth, _) in signals.forever().enumerate() {
            if is_writing() {
                // The reader of a pipe may never read on. The results are in the store.
                aside("stopped while a document was written; the results are in the store");
                std::process::exit(Exit::Stopped as i32);
            }
            match nth {
                0 => asked.ask(),
                1 => aside(&still()),
                _ => {
                    files::leave_the_rest();
                    aside("what remains to be removed is left to the next start of fstrial");
                }
            }
        }
    });
    *known = Some(stop.clone());
    Ok(stop)
}

/// What fstrial is still waiting for before it can stop.
fn still() -> String {
    let what = removal().unwrap_or_else(|| "still ending the running trials".to_owned());
    format!("{what}; another signal leaves the rest of the removal to the next start of fstrial")
}

fn removal() -> Option<String> {
    let now = files::removing()?;
    let gone = report::counted(usize::try_from(now.gone).unwrap_or(usize::MAX), "file");
    Some(format!("still removing {}: {gone} gone so far", now.path.display()))
}

/// From now on, reports removals that take long.
pub(crate) fn tell_of_removals() {
    static WATCH: OnceLock<thread::JoinHandle<()>> = OnceLock::new();
    WATCH.get_or_init(|| {
        thread::spawn(|| {
            let mut told: Option<Instant> = None;
            loop {
                waiting::pause(LOOK_EVERY, "a removal that is told of only when it takes long");
                let long = files::removing().is_some_and(|now| now.since.elapsed() > TOLD_AFTER);
                if !long || told.is_some_and(|last| last.elapsed() < TELL_EVERY) {
                    continue;
                }
                if let Some(line) = removal() {
                    told = Some(Instant::now());
                    aside(&line);
                }
            }
        })
    });
}
