//! Every workload of the table, at a reduced size, in one sequence.

use lab::Lab;
use workload::{InputKind, Workload};

use crate::{Sequence, how, twice_the_same};

/// Workloads with settings that make them small. A sequence: the maildirs are kept, `randomio`
/// finds the file that `bigfile` has left. Whatever is not here follows at [`crate::SCALE`].
const SMALL: Sequence<'static> = &[
    ("unpack", "mails=60"),
    ("maildir-write", "mails=60 read_mails=20 maildirs=8 ops=60"),
    ("maildir-read", "mails=60 read_mails=20 maildirs=8 ops=40"),
    ("bonnie", "size=256K files=1 seeks=100 max_size=500"),
    ("tree", "files=100 bytes=1M"),
    ("bigfile", "dd_size=2M size=1M keep=on"),
    ("randomio", "size=2M ops=200"),
    ("postmark", "number=100 transactions=200 subdirectories=3"),
    ("ffsb", "files=4 min_size=1M max_size=1M threads=3 ops=20"),
    ("mongo", "files=60 median=1000 repetitions=2"),
    ("video", "size=3M"),
    ("varmail", "files=60 threads=3 loops=3"),
    ("fileserver", "files=60 mean_size=3000 threads=3 loops=3"),
    ("webserver", "files=60 threads=3 loops=3"),
    ("fsync-append", "records=50 writers=2"),
    ("scale", "threads=2 entries=40"),
    ("age", "capacity=8M overwrites=2 profile=mail"),
    ("photos", "permille=10"),
    ("build", "permille=10"),
    (
        "custom",
        "file=phase=[{name=\"a\",threads=2,repeat=9,op=[{do=\"create\",size=\"3K\"},{do=\"read\"}]}]",
    ),
];

/// Phases that have nothing to do here.
const LEFT_OUT: &[(&str, &str, &str)] = &[
    ("maildir-read", "unpack", "an earlier workload has left the directories"),
    ("maildir-read", "populate", "reads do not go to the maildirs"),
    ("randomio", "prepare", "an earlier workload has left the file"),
    ("ffsb", "age", "not asked for"),
    ("fsync-append", "prepare", "not asked for"),
];

/// Whether another test runs it. A system to boot: the test `boot`. A program of one's own:
/// whatever it is. What makes its filesystem anew: a test of its own. A model of Filebench, which
/// these settings cannot hold: the command's tests.
fn is_elsewhere(workload: &dyn Workload) -> bool {
    let description = workload.describe();
    description.inputs.contains(&InputKind::System)
        || description.inputs.contains(&InputKind::OwnProgram)
        || workload.needs_own_filesystem().is_some()
        || description.name == "filebench"
}

/// All of the table: those with settings first.
fn sequence() -> Vec<(&'static str, &'static str)> {
    let others = workload::WORKLOADS.iter().filter(|workload| !is_elsewhere(**workload));
    let others = others.map(|workload| workload.describe().name);
    let listed = |name: &str| SMALL.iter().any(|(listed, _)| *listed == name);
    let others = others.filter(|name| !listed(name)).map(|name| (name, ""));
    SMALL.iter().copied().chain(others).collect()
}

/// All complete; a second trial gives the same to the nanosecond and the last request; and the
/// filesystems were asked for the same work.
pub(crate) fn every_workload(lab: &Lab) {
    let filesystems = ["ext4", "xfs", "reiserfs"];
    let sequence = sequence();
    let seen = twice_the_same(lab, &filesystems, &sequence);
    let mut work = Vec::new();
    for (filesystem, seen) in filesystems.iter().zip(&seen) {
        for (name, _) in &sequence {
            let mut phases = seen.phases.iter().filter(|phase| phase.workload == *name);
            assert!(phases.next().is_some(), "{filesystem}: {name} told nothing");
        }
        let left_out: Vec<_> = seen
            .phases
            .iter()
            .filter(|phase| how(phase) != "completed")
            .map(|phase| (phase.workload.as_str(), phase.phase.as_str(), how(phase)))
            .collect();
        assert_eq!(left_out, LEFT_OUT, "{filesystem}");
        let requests = seen.log.as_ref().map_or(0, |log| log.records.len());
        assert!(requests > 1000, "{filesystem}: {requests}");
        work.push(
            seen.phases.iter().map(|phase| {
                (phase.workload.as_str(), phase.phase.as_str(), phase.ops, phase.digest)
            }),
        );
    }
    let mut work = work.into_iter();
    let expected: Vec<_> = work.next().expect("there is a first filesystem").collect();
    for (filesystem, found) in filesystems[1..].iter().zip(work) {
        for (expected, found) in expected.iter().zip(found) {
            assert_eq!(*expected, found, "{filesystem} did other work than {}", filesystems[0]);
        }
    }
}
