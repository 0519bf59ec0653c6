//! Runs tests that share one lab, as `cargo test` would. Where the lab cannot be had they are
//! reported as ignored, unless `FSTRIAL_TEST_LAB=required`.

use std::path::{Path, PathBuf};

use lab::LabError;
use libtest_mimic::{Arguments, Trial};

/// A test's name and what it does with the lab, which is kept in the directory.
pub(crate) type Test<L> = (&'static str, fn(&L, &Path));

/// So many guests run at a time: each keeps a core busy.
const GUESTS: usize = 2;

/// Opens the lab and runs the tests side by side, then those that have to be alone.
pub(crate) fn run<L: Send + Sync + 'static>(
    open: impl FnOnce(&Path) -> Result<L, LabError>,
    tests: &[Test<L>],
    alone: &[Test<L>],
) -> ! {
    let arguments = Arguments::from_args();
    let cache: &'static Path =
        Box::leak(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("lab").into_boxed_path());
    let required = std::env::var("FSTRIAL_TEST_LAB").is_ok_and(|value| value == "required");
    let lab: Option<&'static L> = match arguments.list {
        true => None,
        false => match open(cache) {
            Ok(lab) => Some(Box::leak(Box::new(lab))),
            Err(error) if required => panic!("the lab is required and cannot be had: {error}"),
            Err(error) => {
                println!("skipped: the lab cannot be had here: {error}");
                None
            }
        },
    };
    let mut failed = false;
    for (tests, most) in [(tests, GUESTS), (alone, 1)].into_iter().filter(|it| !it.0.is_empty()) {
        let trials = tests.iter().map(|&(name, test)| {
            let trial = Trial::test(name, move || {
                test(lab.ok_or("there is no lab")?, cache);
                Ok(())
            });
            trial.with_ignored_flag(lab.is_none())
        });
        let threads = arguments.test_threads.unwrap_or(most).min(most);
        let arguments = Arguments { test_threads: Some(threads), ..arguments.clone() };
        failed |= libtest_mimic::run(&arguments, trials.collect()).has_failed();
    }
    std::process::exit(if failed { 101 } else { 0 })
}
