//! Arrays and journals: what mkfs finds, where requests go, what is lost without a disk.

use disk::Operation;
use units::{Bytes, Nanos};

use crate::{Labs, carry_out, each};

const MEMBER: Bytes = Bytes::from_mib(512);
const WORK: &str = "fsync-append:records=40";

/// Flushes of a disk for the data and one for the journal, both with volatile caches, for
/// each fsync: as counted at real devices.
pub(crate) fn a_journals_disk_gets_its_flushes(labs: &Labs) {
    // ext4 tells only the journal's disk (seen on 6.12 outside the lab, too).
    let rows = [("ext4:layout=single+journal", 0, 2), ("xfs:layout=single+journal", 1, 1)];
    let seen = each(&rows, |(contender, ..)| carry_out(&labs.sata, contender, WORK, MEMBER));
    for (seen, (_, data, journal)) in seen.into_iter().zip(rows) {
        let seen = seen.expect_done();
        let flushes = [0, 1].map(|disk| seen.served(disk, Operation::Flush));
        let least = [data, journal].map(|each| each * 40);
        assert!(flushes[0] >= least[0] && flushes[1] >= least[1], "{}: {flushes:?}", seen.name);
        assert!(flushes[0] <= least[0] * 2 + 8, "{}: {flushes:?}", seen.name);
    }
}

/// With a battery a write is done when the controller has it; without, when the disks do.
pub(crate) fn a_battery_answers_before_the_disks(labs: &Labs) {
    let rows = ["ext4:layout=hw-raid5x3", "ext4:layout=hw-raid5x3+battery=off"];
    let seen = each(&rows, |contender| carry_out(&labs.mail, contender, WORK, MEMBER));
    let times = seen.into_iter().map(|seen| {
        let seen = seen.expect_done();
        assert_eq!(seen.served(0, Operation::Flush), 0, "{}", seen.name);
        seen.phases.iter().map(|(_, wall, _)| *wall).sum::<Nanos>()
    });
    let times: Vec<Nanos> = times.collect();
    assert!(times[1].0 > times[0].0 * 4, "{times:?}");
}

/// A missing disk is not asked; a new one is filled beginning with the first workload.
pub(crate) fn arrays_that_lost_a_disk(labs: &Labs) {
    let rows = [
        ("ext4:layout=raid5x3+state=degraded", "degraded"),
        ("ext4:layout=raid5x3+state=rebuilding", "recovering"),
        ("ext4:layout=raid1x2+state=degraded", "degraded"),
        ("ext4:layout=raid10x4+state=rebuilding", "recovering"),
    ];
    let seen = each(&rows, |(contender, _)| carry_out(&labs.array, contender, WORK, MEMBER));
    for (seen, (contender, state)) in seen.into_iter().zip(rows) {
        let seen = seen.expect_done();
        let after = seen.notes.iter().find(|note| note.starts_with("after the workloads"));
        let after = after.unwrap_or_else(|| panic!("{}: {:?}", seen.name, seen.notes));
        assert!(after.contains(state), "{}: {after}", seen.name);
        assert!(seen.record().contains("degraded"), "{}", seen.record());
        let last = &seen.logs[seen.logs.len() - 1].records;
        let writes = |work: bool| {
            let wanted = |record: &&disk::Record| {
                record.operation == Operation::Write && (record.phase > 0) == work
            };
            last.iter().filter(wanted).map(|record| u64::from(record.sectors)).sum::<u64>()
        };
        if contender.contains("rebuilding") {
            assert!(writes(true) > 1000, "{}: {} sectors filled", seen.name, writes(true));
            // It begins just before the first clock: by then less than a fifth is done.
            assert!(writes(false) < 210_000, "{}: {} sectors before", seen.name, writes(false));
        } else {
            assert_eq!(writes(true) + writes(false), 0, "{}", seen.name);
        }
    }
}

/// Behind a controller what a disk had is computed from the others, and a new one is filled
/// beside the work: both leave less to random reads.
pub(crate) fn a_controllers_array_that_lost_a_disk(labs: &Labs) {
    let work = "randomio:size=64M:time=1500ms:write_share=0";
    let rows = ["clean", "degraded", "rebuilding"];
    let seen = each(&rows, |state| {
        carry_out(&labs.mail, &format!("ext4:layout=hw-raid5x3+state={state}"), work, MEMBER)
    });
    let reads: Vec<u64> = seen
        .into_iter()
        .map(|seen| {
            let seen = seen.expect_done();
            seen.phases.iter().find(|(phase, ..)| phase == "random").expect("it reads").2
        })
        .collect();
    assert!(reads[1] * 10 < reads[0] * 9 && reads[2] * 10 < reads[0] * 9, "{reads:?}");
}

/// The options the Maildir comparison of 2004 printed, and those of 2011.
pub(crate) fn the_options_of_2004(labs: &Labs) {
    const EXT3: &str = "ext3@2004:journal_size=256M:inode_ratio=4K";
    const XFS: &str = "xfs@2004:block_size=1K:stripe_unit=16K:stripe_width=3";
    let indexed = format!("{EXT3}:dir_index=on");
    let xfs = format!("{XFS}:layout=hw-raid5x3+journal");
    let rows = [
        (EXT3, "-J size=256 /dev"),
        (indexed.as_str(), "dir_index"),
        (xfs.as_str(), "= sunit=16 swidth=48 blks"),
        ("reiserfs@2004:layout=hw-raid5x3+journal", "jdev"),
        ("ext2@2004:layout=hw-raid5x3", "sparse_super"),
        ("ext4@2011:barrier=off:layout=raid5x3", "nobarrier"),
    ];
    let seen = each(&rows, |(contender, _)| {
        carry_out(&labs.mail, contender, "varmail:loops=1:files=40:threads=4", Bytes::from_gib(1))
    });
    for (seen, (_, part)) in seen.into_iter().zip(rows) {
        let seen = seen.expect_done();
        let options = &seen.made.as_ref().expect("it was made").mount_options;
        let record: Vec<_> = seen.record().split_whitespace().map(str::to_owned).collect();
        let all = format!("{} {options}", record.join(" "));
        assert!(all.contains(part), "{}: {all}", seen.name);
    }
}

/// Equal specifications give equal nanoseconds and equal requests on every layout.
pub(crate) fn repeats_are_identical(labs: &Labs) {
    let layouts = [
        "xfs:layout=raid0x2",
        "ext4:layout=raid1",
        "ext4:layout=raid5x3+journal",
        "ext4:layout=raid6x4+state=rebuilding",
        "btrfs:layout=btrfs-raid1",
        "btrfs:layout=btrfs-raid10",
        "ext4:layout=crypt",
        "ext4:layout=thin+size=1G",
        "xfs:layout=hw-raid10x4+journal",
    ];
    let twice: Vec<_> = layouts.iter().flat_map(|layout| [*layout, *layout]).collect();
    let seen = each(&twice, |layout| carry_out(&labs.array, layout, WORK, MEMBER).expect_done());
    for pair in seen.chunks(2) {
        assert_eq!(pair[0].phases, pair[1].phases, "{}", pair[0].name);
        assert_eq!(pair[0].digest, pair[1].digest, "{}", pair[0].name);
    }
}

/// The same file is read with the same ops; only what goes to the disk differs, also after the
/// cache was emptied by mounting again.
pub(crate) fn scheduler_and_read_ahead(labs: &Labs) {
    let rows = [
        "ext4:scheduler=bfq:read_ahead=16K",
        "ext4:scheduler=none:read_ahead=512K",
        "btrfs:scheduler=kyber:read_ahead=16K",
        "btrfs:read_ahead=512K",
    ];
    let work = "bigfile:dd_size=0:size=16M:block=4K";
    let seen = each(&rows, |contender| carry_out(&labs.sata, contender, work, MEMBER));
    let seen: Vec<_> = seen.into_iter().map(|seen| seen.expect_done()).collect();
    for (seen, scheduler) in seen.iter().zip(["bfq", "none", "kyber", "mq-deadline"]) {
        let record = seen.record();
        assert!(record.contains("$ scheduler of /dev/"), "{record}");
        assert!(record.contains(&format!("\n{scheduler}\n")), "{}: {record}", seen.name);
    }
    let largest = |seen: &crate::Seen| {
        let reads = seen.logs[0]
            .records
            .iter()
            .filter(|record| record.phase > 0 && record.operation == Operation::Read);
        reads.map(|record| u64::from(record.sectors) * 512).max().unwrap_or_default()
    };
    for pair in seen.chunks(2) {
        let [near, far] = [largest(&pair[0]), largest(&pair[1])];
        assert!(near <= 64 << 10, "{}: {near}", pair[0].name);
        assert!(far >= 256 << 10, "{}: {far}", pair[1].name);
    }
}
