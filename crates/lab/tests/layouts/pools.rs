//! zfs: pools as layouts.

use disk::Operation;
use units::Bytes;

use crate::{Labs, carry_out, each};

const MEMBER: Bytes = Bytes::from_mib(512);
const WORK: &str = "fsync-append:records=40";

/// Whether the lab has the part.
pub(crate) fn able(labs: &Labs) -> bool {
    let zfs = stack::filesystems::find("zfs").expect("it is in the catalogue").describe();
    match labs.array.offer().refusal("zfs", zfs) {
        None => true,
        Some(refusal) => {
            println!("skipped: {refusal}");
            false
        }
    }
}

/// What fsync promises shows in flushes; a pool's identity repeats with the trial.
pub(crate) fn pools_repeat_and_keep_their_promise(labs: &Labs) {
    if !able(labs) {
        return;
    }
    let rows =
        ["zfs", "zfs", "zfs:fsync=ignored", "zfs:layout=zfs-raidzx3", "zfs:layout=zfs-raidzx3"];
    let seen = each(&rows, |contender| carry_out(&labs.sata, contender, WORK, MEMBER));
    for [first, second] in [[0, 1], [3, 4]].map(|pair| pair.map(|nth: usize| &seen[nth])) {
        assert!(first.outcome.is_done(), "{}: {}", first.name, first.outcome);
        assert_eq!(first.phases, second.phases, "{}", first.name);
        assert_eq!(first.digest, second.digest, "{}", first.name);
        assert_eq!(first.record(), second.record(), "{}", first.name);
    }
    let flushes = |nth: usize| seen[nth].served(0, Operation::Flush);
    assert!(flushes(0) >= 40, "{} flushes for 40 records", flushes(0));
    assert!(flushes(2) < 10, "{} flushes with fsync ignored", flushes(2));
}

/// Beginning cold, a pool reads from its disk what it has just written; warm, it has it.
pub(crate) fn a_cold_pool_reads_from_its_disk(labs: &Labs) {
    if !able(labs) {
        return;
    }
    let reads = |work: &str| {
        // That of today takes no direct I/O of 2 KiB, and the phase would be skipped.
        let seen = each(&["zfs@2007"], |contender| carry_out(&labs.sata, contender, work, MEMBER));
        assert!(seen[0].outcome.is_done(), "{work}: {}", seen[0].outcome);
        seen[0].served(0, Operation::Read)
    };
    let work = "randomio:size=8M:ops=60:write_share=0";
    let (warm, cold) = (reads(work), reads(&format!("{work}:cold=on")));
    // 60 places among 64 records of 128 KiB.
    assert!(warm < 10 && cold >= 25, "{warm} reads warm, {cold} cold");
}
