//! The size that a reader finds of a mail.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

use super::*;
use crate::Seed;
use crate::engine::file_io::open_target;

fn put(home: &Path, path: &PathBuffer, size: usize) {
    let file = home.join(path.to_string());
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, vec![b'm'; size]).unwrap();
}

#[test]
fn a_mail_is_read_to_its_end_wherever_it_lies() {
    let home = tempfile::tempdir().unwrap();
    let target = open_target(home.path()).unwrap();
    let mut reader = Reader::new(target.as_fd());
    let mut path = PathBuffer::new();

    let pool = Sources::read(1);
    pool.entry(0, &mut path);
    // Two whole buffers of 4096 bytes, and 1808 more.
    put(home.path(), &path, 10_000);
    assert_eq!(reader.entry(pool, 0).unwrap(), 10_000);

    let tree = Tree { maildirs: 1, per_base: 1 };
    let (names, found) = (Names::new(Seed(1), 0), Inventory::default());
    let stored = Stored { tree, names, found: &found, deliveries: &[(0, 0)] };
    stored.path(0, false, &mut path);
    put(home.path(), &path, 5_000);
    assert_eq!(reader.stored(stored, 0, false).unwrap(), 5_000);

    fs::create_dir(home.path().join("maildirs/000/00/cur")).unwrap();
    reader.mark(stored, 0).unwrap();
    assert_eq!(reader.stored(stored, 0, true).unwrap(), 5_000);
    assert!(reader.stored(stored, 0, false).is_err(), "it is no longer in new");
}
