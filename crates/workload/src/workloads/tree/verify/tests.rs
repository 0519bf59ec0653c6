//! Which trees and archives hold the same as the archive they came from, and which do not.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;

use tar::EntryType;
use tempfile::TempDir;

use super::*;
use crate::engine::file_io::open_target;

/// Name, kind, target of a link, contents.
type Entry = (&'static str, EntryType, &'static str, &'static str);

/// A directory, a file in it, a second name of that, and a symbolic link.
const ENTRIES: [Entry; 4] = [
    ("d/", EntryType::Directory, "", ""),
    ("d/f", EntryType::Regular, "", "abc"),
    ("g", EntryType::Link, "d/f", ""),
    ("s", EntryType::Symlink, "g", ""),
];

fn pack(archive: &Path, entries: &[Entry]) {
    let mut builder = tar::Builder::new(File::create(archive).unwrap());
    for (name, kind, link, contents) in entries {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(contents.len() as u64);
        header.set_cksum();
        builder.append(&header, contents.as_bytes()).unwrap();
    }
    builder.finish().unwrap();
}

/// A target with an archive of the entries, and the tree `t` that holds the same.
fn target() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    pack(&home.path().join("a.tar"), &ENTRIES);
    let tree = home.path().join("t");
    fs::create_dir_all(tree.join("d")).unwrap();
    fs::write(tree.join("d/f"), "abc").unwrap();
    fs::hard_link(tree.join("d/f"), tree.join("g")).unwrap();
    symlink("g", tree.join("s")).unwrap();
    home
}

/// Compares the tree of such a target with its archive.
fn verified(home: &Path) -> Result<(), String> {
    let target = open_target(home).unwrap();
    verify(target.as_fd(), &home.join("a.tar"), &["t"], &[], false)
        .map_err(|failure| failure.to_string())
}

/// Why a tree is refused that was changed.
fn refusal(change: impl FnOnce(&Path)) -> String {
    let home = target();
    change(&home.path().join("t"));
    verified(home.path()).unwrap_err()
}

#[test]
fn a_tree_with_the_same_files_and_links_is_accepted() {
    assert_eq!(verified(target().path()), Ok(()));
}

#[test]
fn a_file_that_is_missing_or_has_other_contents_is_named() {
    let missing = refusal(|tree| fs::remove_file(tree.join("g")).unwrap());
    assert_eq!(missing, "verification: t: g is missing or has other contents");
    let other = refusal(|tree| {
        // A file of its own, since the other name is to keep what it has.
        fs::remove_file(tree.join("g")).unwrap();
        fs::write(tree.join("g"), "abd").unwrap();
    });
    assert_eq!(other, "verification: t: g is missing or has other contents");
}

#[test]
fn a_symbolic_link_is_compared_by_where_it_points_to() {
    let elsewhere = refusal(|tree| {
        fs::remove_file(tree.join("s")).unwrap();
        // What is read through it would be the same.
        symlink("d/f", tree.join("s")).unwrap();
    });
    assert_eq!(elsewhere, "verification: t: s is missing or has other contents");
}

#[test]
fn a_file_too_many_is_refused() {
    let more = refusal(|tree| fs::write(tree.join("d/more"), "").unwrap());
    assert_eq!(more, "verification: t: 4 files instead of 3");
}

#[test]
fn an_archive_is_compared_in_the_same_way() {
    let home = tempfile::tempdir().unwrap();
    let target = open_target(home.path()).unwrap();
    let [source, other] = ["a.tar", "b.tar"].map(|name| home.path().join(name));
    let compared = |entries: &[Entry]| {
        pack(&other, entries);
        verify(target.as_fd(), &source, &[], &[other.as_path()], false)
            .map_err(|failure| failure.to_string())
    };
    pack(&source, &ENTRIES);
    assert_eq!(compared(&ENTRIES), Ok(()));
    let shown = other.display();
    let missing = format!("verification: {shown}: s is missing or has other contents");
    assert_eq!(compared(&ENTRIES[..3]), Err(missing));
    // Without the file before it.
    let unknown = format!("verification: {shown}: member g: a hard link names no earlier file");
    assert_eq!(compared(&ENTRIES[2..]), Err(unknown));
}
