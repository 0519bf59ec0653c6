//! The workload `program`: real programs, well-behaved and not.

use workload::{Failure, Inputs};

use crate::support::{Ran, run_with, scratch};

/// Runs a shell script as the program, with more of the job's file.
fn shell(script: &str, rest: &str) -> Ran {
    let target = scratch();
    let text = format!("run = ['/bin/sh', '-c', '''{script}''']\n{rest}");
    let inputs = Inputs { programs: vec!["/usr/bin".into(), "/bin".into()], ..Inputs::default() };
    let ran = run_with("program", target.path(), &inputs, 1, &[("file", &text)]);
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
    ran
}

const RATE: &str = "[[metric]]\nname = 'rate'\nunit = 'MB/s'\npattern = 'rate (?<value>[0-9.]+)'\n";
const CHECK: &str = "check = [['/bin/sh', '-c', 'grep -q data {target}/f']]\n";

pub(crate) fn one_that_succeeds_is_timed_checked_and_its_figures_are_read() {
    let ran = shell("echo data >{target}/f; echo rate 12.5", &format!("{CHECK}{RATE}"));
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    assert!(ran.completed("run") && ran.completed("sync"));
    let figures = &ran.phase("run").figures;
    assert_eq!((figures["own_rate_mb_per_sec"], figures["exit_code"]), (12.5, 0.0));
    let ran = shell("echo other >{target}/f", CHECK);
    assert!(matches!(ran.ended, Err(Failure::Verify(_))), "{:?}", ran.ended);
}

pub(crate) fn one_that_fails_says_how_and_its_last_words() {
    let ran = shell("echo the disk is odd >&2; exit 3", "");
    let said = ran.ended.unwrap_err().to_string();
    assert!(said.contains("exit code 3") && said.contains("the disk is odd"), "{said}");
}

pub(crate) fn a_metric_that_is_not_printed_is_missing() {
    let ran = shell("echo nothing", RATE);
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    let run = ran.phase("run");
    assert!(!run.figures.contains_key("own_rate_mb_per_sec"), "{:?}", run.figures);
    assert!(run.notes[0].contains("rate is missing"), "{:?}", run.notes);
}

pub(crate) fn what_it_leaves_running_is_killed_and_said() {
    // The file lies outside the target, which is removed.
    let outside = tempfile::NamedTempFile::new().unwrap();
    let path = outside.path().display().to_string();
    let ran = shell(
        &format!(
            "setsid sh -c 'echo $$ >{path}; exec sleep 600' & while [ ! -s {path} ]; do :; done"
        ),
        "",
    );
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    let notes = &ran.phase("run").notes;
    assert!(notes.iter().any(|note| note.ends_with("killed")), "{notes:?}");
}
