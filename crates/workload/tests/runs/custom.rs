//! The workload `custom`, run for real with verification.

use workload::{Inputs, PhaseStatus};

use crate::support::{run_with, scratch};
use crate::watching::{event, traced};

const ALL: &str = r#"
summary = "every kind of op"
[[phase]]
name = "make"
threads = 3
repeat = 10
sync = true
[[phase.op]]
do = "mkdir"
[[phase.op]]
do = "create"
size = "lognormal 2K 1.0 20K"
count = 3
[[phase.op]]
do = "append"
size = "uniform 1 5K"
fsync = true
block = "1K"
[[phase.op]]
do = "link"
[[phase.op]]
do = "symlink"
[[phase]]
name = "use"
threads = 2
repeat = 12
cold = true
op = [
    { do = "write", size = "700", pick = "next" },
    { do = "read" },
    { do = "stat", pick = "last" },
    { do = "list" },
    { do = "rename" },
    { do = "truncate", size = "100" },
    { do = "fsync" },
    { do = "think", time = "1ms" },
    { do = "unlink" },
]
"#;

pub(crate) fn every_kind_of_op_does_what_it_says_whatever_the_threads_do() {
    let outcome = |seed| {
        let target = scratch();
        let ran = run_with("custom", target.path(), &Inputs::default(), seed, &[("file", ALL)]);
        assert!(ran.ended.is_ok(), "sizes are verified: {:?}", ran.ended);
        let (make, used) = (ran.phase("make"), ran.phase("use"));
        assert_eq!((make.ops, make.latencies["create"].count()), (3 * 10 * 7, 90));
        assert_eq!((used.ops, used.latencies["think"].count()), (2 * 12 * 9, 24));
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
        [make, used].map(|phase| (phase.digest, phase.read_bytes, phase.write_bytes))
    };
    assert_eq!(outcome(1), outcome(1));
    assert_ne!(outcome(1)[0].0, outcome(2)[0].0);
}

pub(crate) fn repeat_is_scaled_and_ops_without_a_file_are_counted() {
    let target = scratch();
    let text = "[[phase]]\nname = \"a\"\nrepeat = 100\nop = [{ do = \"unlink\" }]\n";
    let settings = [("file", text), ("permille", "250")];
    let ran = run_with("custom", target.path(), &Inputs::default(), 1, &settings);
    assert!(ran.ended.is_ok());
    let phase = ran.phase("a");
    assert_eq!((phase.ops, &phase.status), (0, &PhaseStatus::Completed));
    assert!(phase.notes[0].contains("25 ops were left out"), "{:?}", phase.notes);
}

pub(crate) fn a_read_makes_no_call_when_nothing_is_left_to_read() {
    let read = r#"{do="read",size="1K",block="512"}"#;
    let script = format!(r#"file=phase=[{{name="a",op=[{{do="create",size="3K"}},{read}]}}]"#);
    let (events, calls) = traced("trace=read", "custom", &script);
    assert_eq!(event(&events, "finished", "a")["read_bytes"], 1024);
    // A call for no bytes would be `read(5, "", 0)`.
    let full = calls.iter().filter(|call| call.contains(", 512)")).count();
    assert!(full >= 2, "{calls:#?}");
    assert!(!calls.iter().any(|call| call.contains(r#", "", 0)"#)), "{calls:#?}");
}
