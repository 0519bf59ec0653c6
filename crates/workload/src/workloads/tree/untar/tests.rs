//! Unpacking small archives: modes, links, missing directories, and the calls on records.

use std::fs::{self, Permissions};
use std::io::{Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::thread;

use tar::EntryType;
use tempfile::TempDir;
use units::Bytes;

use super::*;
use crate::engine::file_io::open_target;
use crate::workloads::tree::UNTAR;

struct Entry {
    name: &'static str,
    kind: EntryType,
    /// The target of a link.
    link: &'static str,
    mode: u32,
    contents: &'static [u8],
}

fn file(name: &'static str, mode: u32, contents: &'static [u8]) -> Entry {
    Entry { name, kind: EntryType::Regular, link: "", mode, contents }
}

fn directory(name: &'static str, mode: u32) -> Entry {
    Entry { name, kind: EntryType::Directory, link: "", mode, contents: b"" }
}

fn link(name: &'static str, kind: EntryType, link: &'static str) -> Entry {
    Entry { name, kind, link, mode: 0o777, contents: b"" }
}

/// A target with an archive of these entries and an empty directory `u`, open to every user.
fn packed(entries: &[Entry]) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let archive = home.path().join("a.tar");
    let mut builder = tar::Builder::new(File::create(&archive).unwrap());
    for Entry { name, kind, link, mode, contents } in entries {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(*mode);
        header.set_uid(u64::from(rustix::process::geteuid().as_raw()));
        header.set_gid(u64::from(rustix::process::getegid().as_raw()));
        header.set_mtime(1_183_852_800);
        header.set_size(contents.len() as u64);
        header.set_cksum();
        builder.append(&header, *contents).unwrap();
    }
    builder.finish().unwrap();
    fs::create_dir(home.path().join("u")).unwrap();
    fs::set_permissions(&archive, Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(home.path(), Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(home.path().join("u"), Permissions::from_mode(0o777)).unwrap();
    home
}

/// Unpacks the archive of such a target into `u`; how many links were left out.
fn unpack(home: &Path, recorder: &mut Recorder<'_>) -> Result<u64, OpError> {
    let target = open_target(home).unwrap();
    let kinds = Kinds { file: Op(0), directory: Op(1), link: Op(2) };
    untar(target.as_fd(), &home.join("a.tar"), "u", recorder, &kinds)
}

/// Does it in a thread that is not root, to whom no mode forbids anything. The kernel has a user
/// for each thread.
fn as_a_user<T: Send>(task: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let user = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let nobody = Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            task()
        });
        user.join().unwrap()
    })
}

#[test]
fn of_a_mode_only_the_permissions_are_taken() {
    // With the set-user-ID bit and the sticky bit, and nothing that a umask takes away.
    let home = packed(&[directory("d/", 0o1700), file("d/f", 0o4700, b"x")]);
    assert_eq!(unpack(home.path(), &mut Recorder::new(&UNTAR)).unwrap(), 0);
    for name in ["u/d", "u/d/f"] {
        let mode = fs::metadata(home.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700, "{name}");
    }
}

#[test]
fn a_directory_that_its_owner_may_not_write_is_filled_all_the_same() {
    let home = packed(&[directory("d/", 0o500), file("d/f", 0o600, b"x")]);
    let unpacked = as_a_user(|| unpack(home.path(), &mut Recorder::new(&UNTAR)));
    assert_eq!(unpacked.unwrap(), 0);
    assert_eq!(fs::read(home.path().join("u/d/f")).unwrap(), b"x");
}

#[test]
fn links_that_the_filesystem_refuses_are_left_out_and_counted() {
    // No filesystem of Linux takes a hard link to a directory: EPERM.
    let home = packed(&[
        directory("d/", 0o755),
        link("first", EntryType::Link, "d"),
        link("second", EntryType::Link, "d"),
        link("third", EntryType::Symlink, "d"),
    ]);
    let mut recorder = Recorder::new(&UNTAR);
    assert_eq!(unpack(home.path(), &mut recorder).unwrap(), 2);
    assert_eq!(recorder.ops_done(), 4);
    let made = home.path().join("u");
    assert_eq!(fs::read_link(made.join("third")).unwrap(), Path::new("d"));
    assert_eq!(fs::read_dir(made).unwrap().count(), 2);
}

#[test]
fn what_has_the_name_of_a_later_member_is_replaced() {
    let home = packed(&[
        file("a", 0o600, b"old"),
        file("kept", 0o600, b"kept"),
        link("b", EntryType::Link, "a"),
        file("a", 0o600, b"new"),
        link("c", EntryType::Symlink, "a"),
        link("c", EntryType::Link, "a"),
        // Its own name, and one that is its own already.
        link("a", EntryType::Link, "./a"),
        link("c", EntryType::Link, "a"),
        file("d", 0o600, b"a file"),
        directory("d/", 0o700),
        file("d/in", 0o600, b"in"),
        link("e", EntryType::Symlink, "kept"),
        file("e", 0o600, b"e"),
    ]);
    assert_eq!(unpack(home.path(), &mut Recorder::new(&UNTAR)).unwrap(), 0);
    let made = home.path().join("u");
    let contents =
        ["a", "b", "c", "d/in", "e", "kept"].map(|name| fs::read(made.join(name)).unwrap());
    assert_eq!(
        contents,
        ["new", "old", "new", "in", "e", "kept"].map(|text| text.as_bytes().to_vec())
    );
    assert!(!made.join("e").is_symlink());
}

#[test]
fn of_a_directory_that_is_named_twice_the_last_member_counts() {
    let home = packed(&[directory("d/", 0o700), file("d/f", 0o600, b""), directory("./d", 0o750)]);
    assert_eq!(unpack(home.path(), &mut Recorder::new(&UNTAR)).unwrap(), 0);
    let mode = fs::metadata(home.path().join("u/d")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o750);
}

#[test]
fn directories_that_the_archive_does_not_name_are_made() {
    let home = packed(&[file("a/b/f", 0o600, b"x"), link("c/l", EntryType::Symlink, "f")]);
    assert_eq!(unpack(home.path(), &mut Recorder::new(&UNTAR)).unwrap(), 0);
    let made = home.path().join("u");
    assert_eq!(fs::read(made.join("a/b/f")).unwrap(), b"x");
    assert_eq!(fs::read_link(made.join("c/l")).unwrap(), Path::new("f"));
    // Each holds what is on the way and nothing else.
    let counts = ["", "a", "a/b", "c"].map(|name| fs::read_dir(made.join(name)).unwrap().count());
    assert_eq!(counts, [2, 1, 1, 1]);
}

/// How many writes this thread has asked the kernel for.
fn writes() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/io").expect("the kernel counts calls");
    text.lines().find_map(|line| line.strip_prefix("syscw:")).unwrap().trim().parse().unwrap()
}

#[test]
fn a_file_is_written_up_to_the_end_of_each_record() {
    // The first follows its header of 512 bytes: 9728 bytes are in the first record, 512 in the
    // second. The second follows another header, 1024 bytes into the second record, of which it
    // takes the rest.
    let home = packed(&[file("f", 0o600, &[7; 10_240]), file("g", 0o600, &[8; 9216])]);
    let mut recorder = Recorder::new(&UNTAR);
    let before = writes();
    let unpacked = unpack(home.path(), &mut recorder);
    let after = writes();
    assert_eq!(unpacked.unwrap(), 0);
    assert_eq!(after - before, 2 + 1);
    let (ops, read, written, _) = recorder.totals();
    assert_eq!((ops, read, written), (2, Bytes(19_456), Bytes(19_456)));
    assert!(fs::read(home.path().join("u/f")).unwrap() == [7_u8; 10_240]);
    assert!(fs::read(home.path().join("u/g")).unwrap() == [8_u8; 9216]);
}

#[test]
fn no_read_of_an_archive_crosses_the_end_of_a_record() {
    let bytes: Vec<u8> = (0..=255).cycle().take(10_340).collect();
    let mut archive = tempfile::tempfile().unwrap();
    archive.write_all(&bytes).unwrap();
    archive.rewind().unwrap();
    let mut records = InRecords::new(archive);
    let (mut lengths, mut found): (Vec<usize>, Vec<u8>) = (Vec::new(), Vec::new());
    let mut piece = [0; 7000];
    while lengths.last() != Some(&0) {
        let got = records.read(&mut piece).unwrap();
        lengths.push(got);
        found.extend_from_slice(&piece[..got]);
    }
    // A record of 10,240 bytes has 3240 left after 7000; then come 100 bytes and the end.
    assert_eq!(lengths, [7000, 3240, 100, 0]);
    assert!(found == bytes);
}

#[test]
fn the_largest_number_names_no_owner() {
    let largest = u64::from(u32::MAX);
    assert_eq!(number(0), Some(0));
    assert_eq!(number(largest - 1), Some(u32::MAX - 1));
    assert_eq!((number(largest), number(largest + 1), number(u64::MAX)), (None, None, None));
}
