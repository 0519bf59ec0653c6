//! Runs tests that share one lab, as `cargo test` would. Where the lab cannot be had they are
//! reported as ignored, unless `FSTRIAL_TEST_LAB=required`.

use std::path::{Path, PathBuf};

use lab::LabError;
use libtest_mimic::{Arguments, Trial};

/// A test's name and what it does with the lab, which is kept in the directory.
pub(crate) type Test<L> = (&'static str, fn(&L, &Path));

/// Opens the lab and runs the tests, at most `guests` at a time.
pub(crate) fn run<L: Send + Sync + 'static>(
    open: impl FnOnce(&Path) -> Result<L, LabError>,
    guests: usize,
    tests: &[Test<L>],
) -> ! {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(arguments.test_threads.unwrap_or(guests).min(guests));
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
    let trials = tests.iter().map(|&(name, test)| {
        let trial = Trial::test(name, move || {
            test(lab.ok_or("there is no lab")?, cache);
            Ok(())
        });
        trial.with_ignored_flag(lab.is_none())
    });
    libtest_mimic::run(&arguments, trials.collect()).exit()
}
