//! Small archives with other software beside them: how much, where, and in which order.

use std::os::unix::fs::MetadataExt;

use tempfile::TempDir;

use super::super::unpack::unpack;
use super::*;

/// A directory with an archive `a.tar` of files of these sizes.
fn archive(sizes: &[(&str, usize)]) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let facts = fs::metadata(home.path()).unwrap();
    let mut builder = tar::Builder::new(File::create(home.path().join("a.tar")).unwrap());
    for (name, size) in sizes {
        let mut header = tar::Header::new_gnu();
        header.set_uid(facts.uid().into());
        header.set_gid(facts.gid().into());
        header.set_mode(0o755);
        header.set_mtime(0);
        if name.ends_with('/') {
            header.set_entry_type(EntryType::Directory);
        }
        header.set_size(*size as u64);
        builder.append_data(&mut header, name, vec![b'a'; *size].as_slice()).unwrap();
    }
    builder.finish().unwrap();
    fs::create_dir(home.path().join("root")).unwrap();
    home
}

/// What lies beside the system when both together may have `total` bytes, and path and size of
/// each file in the order of installation.
fn installed(home: &Path, total: u64) -> Option<(Unpacked, Vec<(String, u64)>)> {
    let (archive, root) = (home.join("a.tar"), home.join("root"));
    let mut beside = Beside::up_to(Bytes(total), &archive, &root, Seed(1)).unwrap()?;
    let mut order = Vec::new();
    let place = root.join(PLACE);
    unpack(&archive, &root, &mut |name, size| {
        let before = beside.installed().entries;
        beside.after(name, size)?;
        for copy in 1..=beside.installed().entries - before {
            let file = format!("{copy}/{}", name.display());
            let size = fs::metadata(place.join(&file)).unwrap().len();
            order.push((file, size));
        }
        Ok(())
    })
    .unwrap();
    Some((beside.installed(), order))
}

#[test]
fn other_software_keeps_pace_with_the_system() {
    let sizes = [("d/", 0), ("c", 2_000_000), ("d/a", 1000), ("d/empty", 0), ("d/b", 3000)];
    let home = archive(&sizes);
    let system = 2_004_000;
    let (all, order) = installed(home.path(), 3 * system).unwrap();
    let expected: Vec<_> = [("c", 2_000_000), ("d/a", 1000), ("d/empty", 0), ("d/b", 3000)]
        .iter()
        .flat_map(|(name, size)| [1, 2].map(|copy| (format!("{copy}/{name}"), *size)))
        .collect();
    assert_eq!(order, expected);
    assert_eq!(all, Unpacked { entries: 8, bytes: 2 * system });
    // No two files are alike, nor two pages of one.
    let read = |name: &str| fs::read(home.path().join("root").join(PLACE).join(name)).unwrap();
    let (one, two) = (read("1/c"), read("2/c"));
    assert_ne!(one[..4096], two[..4096]);
    assert_ne!(one[..4096], one[1 << 20..(1 << 20) + 4096]);
    assert!(one.iter().filter(|byte| **byte == 0).count() < 20_000, "random");
}

#[test]
fn a_share_of_the_files_is_installed_where_there_is_less_room() {
    let home = archive(&[("a", 1000), ("b", 1000), ("c", 1000), ("d", 1000)]);
    let (all, order) = installed(home.path(), 6000).unwrap();
    assert_eq!(order, [("1/b".to_owned(), 1000), ("1/d".to_owned(), 1000)]);
    assert_eq!(all, Unpacked { entries: 2, bytes: 2000 });
}

#[test]
fn a_small_file_after_a_large_one_gets_no_more_copies_than_others() {
    let home = archive(&[("large", 2_000_000), ("small", 1), ("another", 1)]);
    let (all, order) = installed(home.path(), 2_000_002 * 5 / 2).unwrap();
    let names: Vec<&str> = order.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["1/large", "1/small", "2/small", "1/another"]);
    assert_eq!(all.entries, 4);
}

#[test]
fn nothing_lies_beside_a_system_that_is_as_large_as_all() {
    let home = archive(&[("a", 1000), ("b", 1000)]);
    for total in [0, 1999, 2000] {
        assert_eq!(installed(home.path(), total), None, "{total}");
        fs::remove_dir_all(home.path().join("root")).unwrap();
        fs::create_dir(home.path().join("root")).unwrap();
    }
    assert!(installed(home.path(), 2001).unwrap().1.is_empty(), "less than a file");
}

#[test]
fn nothing_lies_beside_a_system_of_empty_files() {
    let home = archive(&[("d/", 0), ("a", 0)]);
    assert_eq!(installed(home.path(), 1_000_000), None);
}

#[test]
fn a_file_that_is_there_is_never_overwritten() {
    let home = archive(&[("a", 1000)]);
    let place = home.path().join("root").join(PLACE).join("1");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("a"), "mine").unwrap();
    let (archive, root) = (home.path().join("a.tar"), home.path().join("root"));
    let mut beside = Beside::up_to(Bytes(2000), &archive, &root, Seed(1)).unwrap().unwrap();
    let error = beside.after(Path::new("a"), 1000).unwrap_err();
    assert_eq!((error.op, error.source.kind()), ("install", io::ErrorKind::AlreadyExists));
    assert_eq!(fs::read(place.join("a")).unwrap(), b"mine");
}
