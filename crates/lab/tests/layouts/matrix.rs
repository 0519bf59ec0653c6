//! The comparison of 2007: three filesystems, journal or log inside and outside, software and
//! hardware RAID of six disks. Each of the twelve in its smallest form; what was counted and
//! what mkfs and the pool found is held against a snapshot, word for word.
//!
//! After a change that was meant, `INSTA_UPDATE=always` writes the snapshots again.

use std::fmt::Write;

use disk::Operation;
use trial::SpaceUse;
use units::Bytes;

use crate::{Labs, Seen, carry_out, each, pools};

const MEMBER: Bytes = Bytes::from_mib(512);
const RECORDS: u64 = 40;

/// What a dump says that follows from the layout, by the beginnings of its lines.
const GEOMETRY: &[&str] = &[
    // xfs_info
    "meta-data",
    "data",
    "log =",
    "log stripe",
    "= sunit",
    "= sectsz",
    // dumpe2fs
    "Block count",
    "Block size",
    "Inode count",
    "Flex block group size",
    "RAID str",
    "Journal device",
    "Journal inode",
    "Journal size",
    "Total journal size",
    "Journal length",
    // zpool and zfs get
    "size",
    "recordsize",
    "checksum",
    "compression",
    "sync",
    // mdadm
    "Raid Level",
    "Raid Devices",
    "Array Size",
    "Layout",
    "Chunk Size",
];

pub(crate) fn the_twelve_of_2007(labs: &Labs) {
    let raid = [("sw", "raid10x6"), ("hw", "hw-raid10x6")];
    let mut rows = Vec::new();
    for filesystem in ["xfs", "ext4", "zfs"] {
        if filesystem == "zfs" && !pools::able(labs) {
            continue;
        }
        for (place, journal) in [("int", ""), ("ext", "+journal")] {
            for (kind, layout) in raid {
                let layout = match (filesystem, kind) {
                    ("zfs", "sw") => "zfs-mirrorx6",
                    _ => layout,
                };
                let name = format!("{filesystem}/{place}/{kind}");
                rows.push(format!("{name}={filesystem}:layout={layout}{journal}"));
            }
        }
    }
    let work = format!("fsync-append:records={RECORDS}");
    let seen = each(&rows, |contender| carry_out(&labs.array, contender, &work, MEMBER));
    for seen in seen {
        let seen = seen.expect_done();
        requests_go_where_they_should(&seen);
        insta::assert_snapshot!(seen.name.replace('/', "-"), digest(&seen));
    }
}

fn requests_go_where_they_should(seen: &Seen) {
    let made = seen.made.as_ref().expect("it was made");
    assert!(!made.features.is_empty() || seen.name.starts_with("xfs"), "{}: no feature", seen.name);
    // Six disks of RAID 10 hold what three do, whoever does it, less what a pool keeps.
    let size = made.size.expect("statfs says it");
    assert!(size > Bytes(MEMBER.0 * 2) && size <= Bytes(MEMBER.0 * 3), "{}: {size}", seen.name);
    let Some(SpaceUse::Known { new, used, left: Some(left) }) = &seen.space else {
        panic!("{}: {:?}", seen.name, seen.space)
    };
    // The workload removes its file, and the room is given back and counted so.
    assert!(left.files == 0 && used.0.abs_diff(new.0) < 1 << 20, "{}: {:?}", seen.name, seen.space);
    // Nothing here is volatile, and the kernel knows: no disk is ever told to flush.
    let linux = !seen.name.starts_with("zfs");
    for disk in (0..seen.logs.len()).filter(|_| linux) {
        assert_eq!(seen.served(disk, Operation::Flush), 0, "{} disk {disk}", seen.name);
    }
    if seen.name.contains("/ext/") {
        let journal = seen.served(seen.logs.len() - 1, Operation::Write) as u64;
        assert!(journal >= RECORDS, "{}: {journal} writes to the journal", seen.name);
    }
}

/// Counts and geometry, a line each.
fn digest(seen: &Seen) -> String {
    let mut text = format!("{}: {} disks", seen.name, seen.logs.len());
    for (phase, _, ops) in &seen.phases {
        let _ = write!(text, ", {phase} {ops} ops");
    }
    text.push('\n');
    let made = seen.made.as_ref().expect("it was made");
    // How much its cache holds is told beside a pool, and is no geometry.
    for (command, said) in made.record.iter().filter(|(command, _)| !command.contains("arcstats")) {
        let pool = command.rsplit(' ').next().unwrap_or_default();
        let mut status = false;
        for line in said.lines() {
            if command.starts_with("zpool status") {
                status = (status || line.starts_with("config:")) && !line.starts_with("errors:");
                let device = line.split_whitespace().next().filter(|_| status);
                let device = device.filter(|word| !["config:", "NAME", pool].contains(word));
                if let Some(device) = device {
                    let depth = line.len() - line.trim_start().len();
                    let _ = writeln!(text, "{}{device}", " ".repeat(depth + 1));
                }
                continue;
            }
            let words: Vec<_> = line.split_whitespace().filter(|word| *word != pool).collect();
            let line = words.join(" ");
            if GEOMETRY.iter().any(|beginning| line.starts_with(beginning)) {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    text
}
