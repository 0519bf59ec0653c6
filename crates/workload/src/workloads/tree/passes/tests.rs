//! Passes over a small tree: what each counts and adds up, and what it takes for no failure.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::symlink;

use rustix::io::FdFlags;
use tempfile::TempDir;
use units::Bytes;

use super::*;
use crate::engine::file_io::open_target;
use crate::workloads::tree::{COPY, FIND, TAR};

/// A target with the tree `t`: four names of files, of which two are one file, and three others
/// (two directories and a symbolic link).
fn target() -> (TempDir, OwnedFd) {
    let home = tempfile::tempdir().unwrap();
    let tree = home.path().join("t");
    fs::create_dir_all(tree.join("d")).unwrap();
    fs::write(tree.join("one"), "abc").unwrap();
    fs::hard_link(tree.join("one"), tree.join("two")).unwrap();
    fs::write(tree.join("empty"), "").unwrap();
    fs::write(tree.join("d/long"), [7_u8; 600]).unwrap();
    symlink("one", tree.join("link")).unwrap();
    let opened = open_target(home.path()).unwrap();
    (home, opened)
}

fn path(text: &str) -> PathBuffer {
    let mut path = PathBuffer::new();
    path.text(text);
    path
}

/// How many ops there were of each kind.
fn counts(recorder: Recorder<'_>) -> Vec<u64> {
    recorder.into_latencies().iter().map(|latencies| latencies.count()).collect()
}

#[test]
fn a_copy_counts_each_entry_once_and_a_second_name_without_bytes() {
    let (home, target) = target();
    let mut recorder = Recorder::new(&COPY);
    let seen = copy(target.as_fd(), "t", "u", &mut recorder, (Op(0), Op(1))).unwrap();
    assert_eq!((seen.entries, seen.left_out), (7, 0));
    // 3 bytes, 600 and none.
    let (ops, read, written, _) = recorder.totals();
    assert_eq!((ops, read, written), (7, Bytes(603), Bytes(603)));
    assert_eq!(counts(recorder), [4, 3]);
    let copied = home.path().join("u");
    assert_eq!(fs::read(copied.join("two")).unwrap(), b"abc");
    assert_eq!(fs::read(copied.join("d/long")).unwrap(), [7_u8; 600]);
    assert!(is_hard_linked(&lstat(target.as_fd(), &path("u/two")).unwrap()));
}

#[test]
fn a_pack_counts_each_entry_once_and_writes_whole_records() {
    let (home, target) = target();
    let mut recorder = Recorder::new(&TAR);
    let seen = pack(target.as_fd(), "t", "p.tar", &mut recorder, (Op(0), Op(1))).unwrap();
    assert_eq!((seen.entries, seen.left_out), (7, 0));
    // Seven headers, contents of one block and of two, two blocks at the end: 12 of the 20 blocks
    // of a record.
    let (ops, read, written, _) = recorder.totals();
    assert_eq!((ops, read, written), (7, Bytes(603), Bytes(10_240)));
    assert_eq!(counts(recorder), [4, 3]);
    assert_eq!(fs::metadata(home.path().join("p.tar")).unwrap().len(), 10_240);
}

#[test]
fn a_find_counts_each_entry_once() {
    let (_home, target) = target();
    let mut recorder = Recorder::new(&FIND);
    let seen = find(target.as_fd(), "t", &mut recorder, Op(0)).unwrap();
    assert_eq!((seen.entries, recorder.ops_done()), (7, 7));
    assert_eq!(counts(recorder), [7]);
}

#[test]
fn a_find_adds_up_the_sizes_of_files_and_not_of_directories() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("t")).unwrap();
    fs::write(home.path().join("t/f"), "abc").unwrap();
    let target = open_target(home.path()).unwrap();
    let seen = find(target.as_fd(), "t", &mut Recorder::new(&FIND), Op(0)).unwrap();
    // FNV-1a of `t` is af63e94c860202a3, that of `t/f` 561faa1943abe5e6. Three times 9e3779b9 is
    // 1daa66d2b, which makes the latter 561faa18990d88cd; of the sum the lower 64 bits are kept.
    assert_eq!(seen.sum, 0x0583_9365_1f0f_8b70);
}

#[test]
fn a_path_and_its_bytes_are_one_summand() {
    let mut seen = Seen::default();
    // FNV-1a of `a` is published as af63dc4c8601ec8c; its lower half differs from 9e3779b9 in the
    // bits 18369535.
    seen.count(b"a", 1);
    assert_eq!((seen.entries, seen.sum), (1, 0xaf63_dc4c_1836_9535));
    // That of nothing is cbf29ce484222325, and no bytes change nothing of it.
    seen.count(b"", 0);
    assert_eq!((seen.entries, seen.sum), (2, 0x7b56_7930_9c58_b85a));
}

#[test]
fn the_sum_becomes_the_digest_and_the_rest_stays() {
    let mut recorder = Recorder::new(&FIND);
    let seen = Seen { entries: 2, sum: 0, left_out: 1 }.into_digest(&mut recorder);
    assert_eq!((seen.entries, seen.left_out), (2, 1));
    // What SplitMix64 is published to give first, from the state 0.
    assert_eq!(recorder.totals().3, 0xe220_a839_7b1d_cdaf);
}

#[test]
fn only_a_file_with_several_names_is_hard_linked() {
    let (_home, target) = target();
    let linked = |text| is_hard_linked(&lstat(target.as_fd(), &path(text)).unwrap());
    assert!(linked("t/one") && linked("t/two"));
    assert!(!linked("t/empty"), "it has one name");
    assert!(!linked("t"), "each directory in it is a link to it on many filesystems");
    assert!(!linked("t/link"));
}

#[test]
fn the_last_piece_of_a_copy_ends_where_lstat_said() {
    // Two pieces of 512 bytes and a byte. A file that has grown since would give more.
    let pieces = [0, 512, 1024].map(|done| cpio_piece(1025, done));
    assert_eq!(pieces, [512, 512, 1]);
    assert_eq!(cpio_piece(1024, 512), 512);
}

#[test]
fn a_file_that_is_read_is_not_inherited_by_programs() {
    let (_home, target) = target();
    let opened = open_to_read(target.as_fd(), &path("t/one")).unwrap();
    assert!(rustix::io::fcntl_getfd(&opened).unwrap().contains(FdFlags::CLOEXEC));
}

#[test]
fn links_that_are_not_supported_are_counted_and_other_errors_are_failures() {
    let mut seen = Seen::default();
    assert_eq!(seen.take_link(Ok(())), Ok(()));
    assert_eq!(seen.left_out, 0);
    for lacking in [Errno::PERM, Errno::MLINK, Errno::OPNOTSUPP] {
        assert_eq!(seen.take_link(Err(lacking)), Ok(()), "{lacking}");
    }
    assert_eq!(seen.left_out, 3);
    assert_eq!(seen.take_link(Err(Errno::NOSPC)), Err(Errno::NOSPC));
    assert_eq!(seen.left_out, 3);
}

#[test]
fn a_filesystem_without_owners_is_no_failure_and_a_full_one_is() {
    assert_eq!(allowed(Ok(())), Ok(()));
    assert_eq!(allowed(Err(Errno::PERM)), Ok(()));
    assert_eq!(allowed(Err(Errno::DQUOT)), Err(Errno::DQUOT));
}
