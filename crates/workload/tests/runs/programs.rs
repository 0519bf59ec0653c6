//! The workloads that run real programs, as they are installed here.

use workload::{Failure, Inputs, PROGRAMS};

use crate::support::{Ran, run, scratch};

fn installed() -> Inputs {
    Inputs { programs: vec!["/usr/bin".into(), "/bin".into()], ..Inputs::default() }
}

/// Runs one at a small size; nothing is left.
fn small(name: &str, settings: &str) -> Ran {
    let target = scratch();
    let ran = run(name, target.path(), &installed(), 1, settings);
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "{name} leaves nothing");
    ran
}

/// All phases are done, and the program's own check of its data passes.
fn passes(name: &str, settings: &str) {
    let ran = small(name, settings);
    assert!(ran.ended.is_ok(), "{name} {settings}: {:?}", ran.ended);
    for phase in workload::find(name).unwrap().describe().phases {
        assert!(ran.completed(phase.name), "{name} {settings}: {}", phase.name);
        assert!(ran.phase(phase.name).wall.0 > 0, "{name} {settings}: {}", phase.name);
    }
}

pub(crate) fn sqlite_keeps_its_rows_with_every_journal() {
    for journal in ["wal", "delete", "truncate", "persist"] {
        passes("sqlite", &format!("rows=200 transactions=50 journal={journal}"));
    }
    let ran = small("sqlite", "rows=200 transactions=50");
    assert_eq!((ran.phase("load").ops, ran.phase("insert").ops), (200, 50));
}

pub(crate) fn git_clones_what_it_was_given() {
    passes("git", "files=60 commits=3 changed=10");
}

pub(crate) fn rsync_copies_and_backs_up_with_hard_links() {
    passes("rsync", "files=120 changed=10 days=3");
}

pub(crate) fn one_that_is_not_installed_says_which_package_has_it() {
    let target = scratch();
    for workload in PROGRAMS {
        let description = workload.describe();
        let ran = run(description.name, target.path(), &Inputs::default(), 1, "");
        let program = description.programs().next().expect("it runs a program");
        let Err(Failure::Input(said)) = &ran.ended else { panic!("{:?}", ran.ended) };
        assert!(said.contains(program.name) && said.contains(program.package), "{said}");
    }
}
