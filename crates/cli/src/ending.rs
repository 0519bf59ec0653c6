//! What is told while fstrial ends: signals, and what is still being removed.

use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use testbed::Stop;

use crate::exit::{Exit, Failure};
use crate::progress::aside;

/// A removal that takes longer is told.
const TOLD_AFTER: Duration = Duration::from_secs(2);
/// How often it is told.
const TELL_EVERY: Duration = Duration::from_secs(5);
/// How often is looked.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Asked to stop by Ctrl-C, a termination signal, or a terminal that was closed. The first asks,
/// the second is told what is waited for, the third leaves the rest of a removal to the next
/// start. One for the whole process.
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

/// What an end that was asked for still waits for.
fn still() -> String {
    let what = removal().unwrap_or_else(|| "still ending what runs".to_owned());
    format!("{what}; once more leaves what remains to be removed to the next start")
}

fn removal() -> Option<String> {
    let now = files::removing()?;
    let gone = report::counted(usize::try_from(now.gone).unwrap_or(usize::MAX), "file");
    Some(format!("still removing {}: {gone} gone so far", now.path.display()))
}

/// Tells of removals that take long, from now on.
pub(crate) fn tell_of_removals() {
    static WATCH: OnceLock<thread::JoinHandle<()>> = OnceLock::new();
    WATCH.get_or_init(|| {
        thread::spawn(|| {
            let mut told: Option<Instant> = None;
            loop {
                thread::park_timeout(LOOK_EVERY);
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
