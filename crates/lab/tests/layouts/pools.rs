//! zfs: pools as layouts, where the lab has that optional part. Its modules take minutes to
//! compile: `FSTRIAL_TEST_ZFS=required` builds them, and without it these tests say that
//! they did not run where the part is not there.

use disk::Operation;
use units::Bytes;

use crate::{Labs, carry_out, each};

const MEMBER: Bytes = Bytes::from_mib(512);
const WORK: &str = "fsync-append:records=40";

/// Whether the tests' lab is to have the part.
pub(crate) fn wanted() -> bool {
    std::env::var("FSTRIAL_TEST_ZFS").is_ok_and(|value| value == "required")
}

/// Whether it has it.
fn able(labs: &Labs) -> bool {
    let zfs = stack::filesystems::find("zfs").expect("it is in the catalogue").describe();
    match labs.array.offer().refusal("zfs", zfs) {
        None => true,
        Some(refusal) => {
            println!("skipped: {refusal}");
            false
        }
    }
}

/// The four of the comparison of 2007: three mirrors of two, or a controller's RAID 10; the
/// intent log inside or on a disk of its own.
pub(crate) fn four_pools_of_2007(labs: &Labs) {
    if !able(labs) {
        return;
    }
    let rows = [
        ("zfs/int/sw=zfs:layout=zfs-mirrorx6", 6),
        ("zfs/ext/sw=zfs:layout=zfs-mirrorx6+journal", 7),
        ("zfs/int/hw=zfs:layout=hw-raid10x6", 1),
        ("zfs/ext/hw=zfs:layout=hw-raid10x6+journal", 2),
    ];
    let seen = each(&rows, |(contender, _)| carry_out(&labs.array, contender, WORK, MEMBER));
    for (seen, (contender, disks)) in seen.into_iter().zip(rows) {
        let seen = seen.expect_done();
        assert_eq!(seen.logs.len(), disks, "{}", seen.name);
        let record = seen.record();
        assert_eq!(record.contains("mirror-2"), contender.contains("/sw"), "{record}");
        assert!(!record.contains("mirror-3"), "{record}");
        let made = seen.made.as_ref().expect("it was made");
        assert!(!made.features.is_empty(), "{}: no feature is active", seen.name);
        let size = made.size.expect("statfs says it");
        // Three of six disks' room, less what a pool keeps for itself.
        assert!(size > Bytes(MEMBER.0 * 2) && size <= Bytes(MEMBER.0 * 3), "{size}");
        if contender.contains("/ext/") {
            assert!(record.contains("\tlogs"), "{record}");
            let log = seen.served(disks - 1, Operation::Write);
            assert!(log >= 40, "{}: {log} writes to the log device", seen.name);
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
