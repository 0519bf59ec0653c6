//! Small trees, packed and unpacked: kinds, owners, modes, times, links and contents.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use rustix::process::{getegid, geteuid};
use tempfile::TempDir;

use super::*;

/// When everything was changed: a day in 2007.
const CHANGED: u64 = 1_183_852_800;

/// Another user than this one, where this one may give files away.
fn owner() -> (u32, u32) {
    if geteuid().is_root() { (1234, 2345) } else { (geteuid().as_raw(), getegid().as_raw()) }
}

/// One entry: its name, what it is, its mode, the target of a link, and its contents.
type Entry = (&'static str, EntryType, u32, &'static str, &'static str);

/// A directory with an archive `a.tar` of these entries and an empty directory `root`.
fn packed(entries: &[Entry]) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("root")).unwrap();
    let mut builder = tar::Builder::new(File::create(home.path().join("a.tar")).unwrap());
    for (name, kind, mode, link, contents) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(*mode);
        header.set_uid(u64::from(owner().0));
        header.set_gid(u64::from(owner().1));
        header.set_mtime(CHANGED);
        header.set_size(contents.len() as u64);
        if link.is_empty() {
            builder.append_data(&mut header, name, contents.as_bytes()).unwrap();
        } else {
            builder.append_link(&mut header, name, link).unwrap();
        }
    }
    builder.finish().unwrap();
    home
}

fn unpacked(home: &Path) -> Result<Unpacked, OpError> {
    unpack(&home.join("a.tar"), &home.join("root"), &mut |_, _| Ok(()))
}

#[test]
fn owners_modes_links_and_times_are_as_packed() {
    let home = packed(&[
        ("d", EntryType::Directory, 0o1750, "", ""),
        // Some archives have the kind of the file in its mode too.
        ("d/f", EntryType::Regular, 0o100_640, "", "hello"),
        ("d/s", EntryType::Regular, 0o4711, "", "run"),
        ("d/l", EntryType::Symlink, 0o777, "f", ""),
        ("d/h", EntryType::Link, 0o640, "d/f", ""),
    ]);
    // Five entries; five bytes and three.
    assert_eq!(unpacked(home.path()).unwrap(), Unpacked { entries: 5, bytes: 8 });
    let root = home.path().join("root");
    for (name, mode) in
        [("d", 0o1750), ("d/f", 0o640), ("d/s", 0o4711), ("d/l", 0o777), ("d/h", 0o640)]
    {
        let facts = fs::symlink_metadata(root.join(name)).unwrap();
        assert_eq!(facts.mode() & 0o7777, mode, "{name}");
        assert_eq!((facts.uid(), facts.gid()), owner(), "{name}");
        assert_eq!((facts.mtime(), facts.mtime_nsec()), (1_183_852_800, 0), "{name}");
    }
    assert!(root.join("d").is_dir());
    assert_eq!(fs::read(root.join("d/f")).unwrap(), b"hello");
    assert_eq!(fs::read(root.join("d/s")).unwrap(), b"run");
    assert_eq!(fs::read_link(root.join("d/l")).unwrap(), Path::new("f"));
    let number = |name: &str| fs::metadata(root.join(name)).unwrap().ino();
    assert_eq!(number("d/h"), number("d/f"), "two names of one file");
}

#[test]
fn a_directory_that_is_there_is_taken_over() {
    let home = packed(&[
        ("d", EntryType::Directory, 0o750, "", ""),
        ("d/f", EntryType::Regular, 0o600, "", "new"),
    ]);
    let place = home.path().join("root/d");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("kept"), "old").unwrap();
    assert_eq!(unpacked(home.path()).unwrap(), Unpacked { entries: 2, bytes: 3 });
    assert_eq!(fs::read(place.join("kept")).unwrap(), b"old");
    assert_eq!(fs::metadata(&place).unwrap().mode() & 0o7777, 0o750);
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error() {
    let home = packed(&[("missing/d", EntryType::Directory, 0o755, "", "")]);
    let error = unpacked(home.path()).unwrap_err();
    assert_eq!((error.op, error.path.as_path()), ("mkdir", Path::new("missing/d")));
    assert_eq!(error.source.kind(), io::ErrorKind::NotFound);
}

/// What a packed entry says of itself.
type Found = (String, EntryType, u32, String, String);

/// The entries of an archive, whose times are all as made here.
fn listed(archive: &[u8]) -> Vec<Found> {
    let mut archive = tar::Archive::new(archive);
    let mut found = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let link = entry.link_name().unwrap().unwrap_or_default().display().to_string();
        let header = entry.header();
        let (kind, mode) = (header.entry_type(), header.mode().unwrap());
        assert_eq!(header.mtime().unwrap(), 1_183_852_800, "{name}");
        assert_eq!(header.uid().unwrap(), u64::from(geteuid().as_raw()), "{name}");
        let mut contents = String::new();
        entry.read_to_string(&mut contents).unwrap();
        found.push((name, kind, mode, link, contents));
    }
    found
}

#[test]
fn a_tree_is_packed_directory_by_directory_with_each_file_once() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path();
    for name in ["d", "e"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    for (name, contents, mode) in [("a", "hello", 0o640), ("d/f", "x", 0o600), ("e/g", "", 0o4711)]
    {
        fs::write(root.join(name), contents).unwrap();
        fs::set_permissions(root.join(name), Permissions::from_mode(mode)).unwrap();
    }
    fs::hard_link(root.join("a"), root.join("b")).unwrap();
    symlink("a", root.join("l")).unwrap();
    // A pipe is left out.
    let pipe = root.join("p");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    for (name, mode) in [("d", 0o1750), ("e", 0o711)] {
        fs::set_permissions(root.join(name), Permissions::from_mode(mode)).unwrap();
    }
    // Directories last: what is made in them changes them.
    for name in ["a", "d/f", "e/g", "l", "d", "e"] {
        stamp(&root.join(name), CHANGED).unwrap();
    }
    let mut archive = Vec::new();
    pack(root, &mut archive).unwrap();
    let expected: [Entry; 7] = [
        ("a", EntryType::Regular, 0o640, "", "hello"),
        ("b", EntryType::Link, 0o640, "a", ""),
        ("d", EntryType::Directory, 0o1750, "", ""),
        ("e", EntryType::Directory, 0o711, "", ""),
        ("l", EntryType::Symlink, 0o777, "a", ""),
        ("d/f", EntryType::Regular, 0o600, "", "x"),
        ("e/g", EntryType::Regular, 0o4711, "", ""),
    ];
    let expected = expected.map(|(name, kind, mode, link, contents)| {
        (name.to_owned(), kind, mode, link.to_owned(), contents.to_owned())
    });
    assert_eq!(listed(&archive), expected);
}
