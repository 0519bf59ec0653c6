//! Bonnie's large file, made small: its names, every byte that a phase leaves or reads, and what
//! each seeker does.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use tempfile::TempDir;

use super::super::{READ_BLOCK, READ_CHAR, SEEKS, WRITE_BLOCK, WRITE_CHAR};
use super::*;
use crate::engine::file_io::open_target;

/// Four blocks of 256 bytes.
fn large(manner: Manner) -> Large {
    Large { manner, size: 1024, chunk: 256, fsync: false, cold: false }
}

/// A directory in memory where there is one, since a disk takes long for an fsync.
fn scratch() -> (TempDir, OwnedFd) {
    let home = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let target = open_target(home.path()).unwrap();
    (home, target)
}

/// Two files of 512 bytes each, in the place of files of 1 GiB.
fn two_files(home: &Path) -> Files {
    let open = |name: &str| -> OwnedFd {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.open(home.join(name)).unwrap().into()
    };
    let files = vec![open("first"), open("second")];
    Files { files, path: PathBuffer::new(), each: 512, number: 0 }
}

/// What was written as block 0, 1, 2, ...: that many bytes and one more have been counted up to 1.
fn written(block: usize) -> Vec<u8> {
    (0..256).map(|at| u8::from(at <= block)).collect()
}

/// What a rewrite made of it: the last of these bytes has been counted up again.
fn rewritten(block: usize) -> Vec<u8> {
    let mut bytes = written(block);
    bytes[block] = 2;
    bytes
}

#[test]
fn only_the_older_version_starts_another_file_at_a_gib() {
    let sized = |manner, size, chunk| Large { size, chunk, ..large(manner) };
    // A file holds whole blocks: 357,913 of 3000 bytes are 2,824 bytes less than a GiB.
    for (chunk, each) in [(256, 1_073_741_824), (1 << 20, 1_073_741_824), (3000, 1_073_739_000)] {
        assert_eq!(sized(Manner::V103a, 1024, chunk).each(), each);
        assert_eq!(sized(Manner::V200a, 1024, chunk).each(), u64::MAX);
    }
    for (size, older) in [(0, 1), (1 << 30, 1), (2 << 30, 2), ((2 << 30) + 8192, 3)] {
        assert_eq!(sized(Manner::V103a, size, 8192).count(), older, "{size}");
        assert_eq!(sized(Manner::V200a, size, 8192).count(), 1, "{size}");
    }
}

#[test]
fn each_version_has_its_names_and_makes_only_new_files() {
    for (manner, names) in [
        (Manner::V103a, &["Bonnie.1.000", "Bonnie.1.001", "Bonnie.1.002"][..]),
        (Manner::V200a, &["Bonnie.1"][..]),
    ] {
        let (home, target) = scratch();
        let job = Large { size: (2 << 30) + 8192, chunk: 8192, ..large(manner) };
        let failed = |new| job.open(target.as_fd(), new).err().map(|error| error.source.kind());
        assert_eq!(failed(false), Some(ErrorKind::NotFound));
        assert_eq!(failed(true), None);
        assert_eq!(failed(true), Some(ErrorKind::AlreadyExists));
        assert_eq!(failed(false), None);
        let found: BTreeSet<String> = fs::read_dir(home.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(found.iter().eq(names), "{found:?}");
        job.remove(target.as_fd()).unwrap();
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }
}

#[test]
fn only_the_newer_version_stops_going_byte_by_byte_at_3_mib() {
    // 3 MiB are 3 * 1,048,576 bytes.
    for (size, newer) in [(4_194_304, 3_145_728), (2_097_152, 2_097_152)] {
        let bytes = |manner| Large { size, ..large(manner) }.bytes_by_char();
        assert_eq!(bytes(Manner::V103a), size);
        assert_eq!(bytes(Manner::V200a), newer);
    }
}

/// A buffer of 4096 bytes, and 100 bytes that do not fill another.
#[test]
fn bytes_count_from_0_to_127_again_and_again_and_are_all_read() {
    for (manner, name, ops, syncs) in
        [(Manner::V103a, "Bonnie.1.000", 2, 0), (Manner::V200a, "Bonnie.1", 4196, 1)]
    {
        let (home, target) = scratch();
        let path = home.path().join(name);
        let job = Large { size: 4196, ..large(manner) };
        let mut recorder = Recorder::for_thread(&WRITE_CHAR);
        job.write_chars(job.open(target.as_fd(), true).unwrap(), &mut recorder).unwrap();
        assert_eq!((recorder.ops, recorder.write_bytes), (ops, 4196), "{name}");
        assert_eq!(recorder.into_latencies()[1].count(), syncs, "{name}");
        let counted: Vec<u8> = (0..=127_u8).cycle().take(4196).collect();
        assert!(fs::read(&path).unwrap() == counted, "{name}");

        let mut recorder = Recorder::for_thread(&READ_CHAR);
        job.read_chars(job.open(target.as_fd(), false).unwrap(), &mut recorder).unwrap();
        assert_eq!((recorder.ops, recorder.read_bytes), (ops, 4196), "{name}");

        fs::write(&path, &counted[..4195]).unwrap();
        let mut recorder = Recorder::for_thread(&READ_CHAR);
        let short = job.read_chars(job.open(target.as_fd(), false).unwrap(), &mut recorder);
        assert_eq!(short.unwrap_err().source.kind(), ErrorKind::UnexpectedEof, "{name}");
    }
}

#[test]
fn blocks_go_on_in_the_next_file_and_each_counts_up_one_byte_more() {
    let (home, _target) = scratch();
    let job = large(Manner::V103a);
    let contents = || ["first", "second"].map(|name| fs::read(home.path().join(name)).unwrap());
    let mut recorder = Recorder::for_thread(&WRITE_BLOCK);
    // What the buffer held before does not matter.
    job.write_blocks(two_files(home.path()), &mut [7; 256], &mut recorder).unwrap();
    assert_eq!((recorder.ops, recorder.write_bytes), (4, 1024));
    let [first, second] = contents();
    assert!(first == [written(0), written(1)].concat(), "{first:?}");
    assert!(second == [written(2), written(3)].concat(), "{second:?}");

    let (mut recorder, mut buffer) = (Recorder::for_thread(&READ_BLOCK), [7; 256]);
    job.read_blocks(two_files(home.path()), &mut buffer, &mut recorder).unwrap();
    assert_eq!((recorder.ops, recorder.read_bytes), (4, 1024));
    assert!(buffer[..] == written(3), "the last one is still there");

    let mut recorder = Recorder::for_thread(&super::super::REWRITE);
    job.rewrite(two_files(home.path()), &mut [7; 256], &mut recorder).unwrap();
    assert_eq!((recorder.ops, recorder.read_bytes, recorder.write_bytes), (4, 1024, 1024));
    let [first, second] = contents();
    assert!(first == [rewritten(0), rewritten(1)].concat(), "{first:?}");
    assert!(second == [rewritten(2), rewritten(3)].concat(), "{second:?}");
}

/// Block 256 counts up byte 0 again, as there is no byte 256.
#[test]
fn a_changed_byte_is_found_unless_a_seek_may_have_changed_it() {
    let (home, target) = scratch();
    let path = home.path().join("Bonnie.1");
    let job = Large { size: 65_792, ..large(Manner::V200a) };
    let mut recorder = Recorder::for_thread(&WRITE_BLOCK);
    let new = job.open(target.as_fd(), true).unwrap();
    job.write_blocks(new, &mut [0; 256], &mut recorder).unwrap();
    let mut last = [1_u8; 256];
    last[0] = 2;
    assert!(fs::read(&path).unwrap()[65_536..] == last);
    let verdict = || job.verify(target.as_fd());
    let other = "other contents than written in block";
    // Only the first byte of block 0 was still to be counted up, and that of block 1 was not.
    assert_eq!(verdict(), Err(format!("{other} 1")));

    let mut recorder = Recorder::for_thread(&super::super::REWRITE);
    let files = job.open(target.as_fd(), false).unwrap();
    job.rewrite(files, &mut [0; 256], &mut recorder).unwrap();
    assert_eq!(verdict(), Ok(()));
    let whole = fs::read(&path).unwrap();
    for (at, found) in [(512, Ok(())), (513, Err(format!("{other} 2")))] {
        let mut changed = whole.clone();
        changed[at] += 1;
        fs::write(&path, changed).unwrap();
        assert_eq!(verdict(), found, "byte {at}");
    }
    fs::write(&path, &whole[..65_791]).unwrap();
    assert!(verdict().is_err(), "its last byte is missing");
}

/// In numbers of ten blocks, the multiples of ten are all of block 0; of twenty, of 0 and 10.
#[test]
fn one_number_decides_which_block_is_sought_and_whether_it_is_rewritten() {
    for (blocks, rewritten) in [(10, &[0][..]), (20, &[0, 10][..])] {
        let job = Large { size: blocks * 256, ..large(Manner::V200a) };
        let seeks = Seeks::draw(Seed(1), 1000, job, true);
        assert_eq!(seeks.places.len(), 1000);
        for (block, rewrite) in &seeks.places {
            assert_eq!(*rewrite, rewritten.contains(block), "block {block} of {blocks}");
        }
        let sought: BTreeSet<u64> = seeks.places.iter().map(|(block, _)| *block).collect();
        assert!(sought.into_iter().eq(0..blocks), "every block is sought");
    }
}

/// Seeks of these blocks; the newer version rewrites those marked so.
fn planned(places: &[(u64, bool)], keep: bool) -> Seeks {
    let (next, begun) = (AtomicUsize::new(0), AtomicBool::new(false));
    Seeks { places: places.to_vec(), next, begun, keep }
}

/// What one seeker did: blocks that it says it rewrote, bytes read, bytes written, and how often
/// it read, rewrote and synced.
fn sought(
    job: Large,
    seeks: &Seeks,
    target: &OwnedFd,
    group: &ThreadGroup,
) -> (u64, u64, u64, Vec<u64>) {
    let files = job.open(target.as_fd(), false).unwrap();
    let (mut recorder, mut buffer) = (Recorder::for_thread(&SEEKS), vec![0; job.chunk]);
    let performed =
        seeks.perform(job, target.as_fd(), files, &mut buffer, group, &mut recorder).unwrap();
    let (read, wrote) = (recorder.read_bytes, recorder.write_bytes);
    let counts = recorder.into_latencies().iter().map(|latencies| latencies.count()).collect();
    (performed, read, wrote, counts)
}

/// Blocks of 256 bytes that are all 0, all 10, all 20, ...
fn numbered(blocks: u8) -> Vec<u8> {
    (0..blocks).flat_map(|block| [10 * block; 256]).collect()
}

#[test]
fn the_newer_version_rewrites_as_drawn_and_syncs_first_and_at_each_end() {
    let (home, target) = scratch();
    let path = home.path().join("Bonnie.1");
    let (job, group) = (large(Manner::V200a), ThreadGroup::default());
    let mut contents = numbered(4);
    fs::write(&path, &contents).unwrap();
    let seeks = planned(&[(3, true), (1, false), (2, true)], true);
    assert_eq!(sought(job, &seeks, &target, &group), (2, 768, 512, vec![1, 2, 2]));
    // Nothing is left to the next seeker but the fsync at its end.
    assert_eq!(sought(job, &seeks, &target, &group), (0, 0, 0, vec![0, 0, 1]));
    // Blocks 3 and 2 begin at bytes 768 and 512.
    (contents[768], contents[512]) = (31, 21);
    assert!(fs::read(&path).unwrap() == contents);

    group.stop();
    let seeks = planned(&[(0, true)], true);
    assert_eq!(sought(job, &seeks, &target, &group), (0, 0, 0, vec![0, 0, 2]), "stopped before");
}

/// Those are the first and the eleventh. What was drawn for the newer version is the opposite.
#[test]
fn the_older_version_rewrites_every_tenth_of_a_seeker_and_syncs_if_asked_to() {
    let (home, target) = scratch();
    let path = home.path().join("Bonnie.1.000");
    let job = Large { size: 3072, ..large(Manner::V103a) };
    let group = ThreadGroup::default();
    let mut contents = numbered(12);
    fs::write(&path, &contents).unwrap();
    let places: Vec<(u64, bool)> = (0..12).map(|block| (block, block % 10 != 0)).collect();
    let seeks = planned(&places, true);
    assert_eq!(sought(job, &seeks, &target, &group), (2, 3072, 512, vec![10, 2, 0]));
    // Block 10 begins at byte 2560 and held 100.
    (contents[0], contents[2560]) = (1, 101);
    assert!(fs::read(&path).unwrap() == contents);

    for asked in [Large { fsync: true, ..job }, Large { cold: true, ..job }] {
        assert_eq!(sought(asked, &seeks, &target, &group), (0, 0, 0, vec![0, 0, 1]), "{asked:?}");
    }
}

#[test]
fn only_seekers_of_the_newer_version_remove_the_file_unless_it_is_needed() {
    for (manner, name, keep, left) in [
        (Manner::V200a, "Bonnie.1", false, false),
        (Manner::V200a, "Bonnie.1", true, true),
        (Manner::V103a, "Bonnie.1.000", false, true),
        (Manner::V103a, "Bonnie.1.000", true, true),
    ] {
        let (home, target) = scratch();
        let path = home.path().join(name);
        fs::write(&path, numbered(4)).unwrap();
        sought(large(manner), &planned(&[], keep), &target, &ThreadGroup::default());
        assert_eq!(path.exists(), left, "{name} {keep}");
    }
}

#[test]
fn the_digest_is_of_the_blocks_in_their_order() {
    let digest = |places: &[(u64, bool)]| {
        let mut recorder = Recorder::for_thread(&SEEKS);
        planned(places, true).digest(&mut recorder);
        recorder.totals().3
    };
    let mut facts = Recorder::for_thread(&SEEKS);
    facts.digest(3);
    facts.digest(1);
    assert_eq!(digest(&[(3, true), (1, false)]), facts.totals().3);
    assert_ne!(digest(&[(1, false), (3, true)]), facts.totals().3);
}
