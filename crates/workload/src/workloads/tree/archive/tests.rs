//! Archives as GNU tar writes them: long names, and where an archive ends.

use std::fs;
use std::os::fd::AsFd;

use tar::EntryType;

use super::*;
use crate::engine::file_io::open_target;

const FACTS: Facts =
    Facts { kind: EntryType::Regular, bytes: 0, mode: 0o644, owner: (0, 0), mtime: 0 };

/// The bytes of an archive with the entries that `fill` adds.
fn written(fill: impl FnOnce(&mut Archive)) -> Vec<u8> {
    let home = tempfile::tempdir().unwrap();
    let target = open_target(home.path()).unwrap();
    let mut archive = Archive::create(target.as_fd(), "a.tar").unwrap();
    fill(&mut archive);
    let length = archive.finish().unwrap();
    let bytes = fs::read(home.path().join("a.tar")).unwrap();
    assert_eq!(bytes.len() as u64, length);
    bytes
}

/// The header in this block of 512 bytes.
fn header(bytes: &[u8], block: usize) -> &tar::Header {
    tar::Header::from_byte_slice(&bytes[block * 512..][..512])
}

#[test]
fn a_path_and_a_target_of_99_bytes_fit_into_the_header() {
    let longest = [b'p'; 99];
    let bytes = written(|archive| archive.entry(&longest, &longest, FACTS).unwrap());
    let first = header(&bytes, 0);
    assert_eq!(first.entry_type(), EntryType::Regular);
    assert!(first.path_bytes()[..] == longest);
    assert!(first.link_name_bytes().unwrap()[..] == longest);
    assert!(bytes[512..].iter().all(|byte| *byte == 0), "there is no other");
}

#[test]
fn a_path_or_target_of_100_bytes_comes_before_its_entry_with_a_nul() {
    let long = [b'p'; 100];
    for (path, link, kind) in [
        (&long[..], &b"l"[..], EntryType::GNULongName),
        (&b"f"[..], &long[..], EntryType::GNULongLink),
    ] {
        let bytes = written(|archive| archive.entry(path, link, FACTS).unwrap());
        let before = header(&bytes, 0);
        assert_eq!(before.entry_type(), kind);
        assert!(before.path_bytes()[..] == b"././@LongLink"[..]);
        // The hundred and the NUL.
        assert_eq!(before.entry_size().unwrap(), 101, "{kind:?}");
        assert!(bytes[512..612] == long);
        assert!(bytes[612..1024].iter().all(|byte| *byte == 0));
        let entry = header(&bytes, 2);
        assert_eq!(entry.entry_type(), EntryType::Regular);
        // It holds as much as has room before a NUL.
        assert!(entry.path_bytes()[..] == path[..path.len().min(99)]);
        assert!(entry.link_name_bytes().unwrap()[..] == link[..link.len().min(99)]);
    }
}

#[test]
fn two_empty_blocks_end_an_archive_also_where_they_begin_another_record() {
    // A record has 20 blocks. Behind 18 headers there is room for both, behind 19 for one.
    for (entries, records) in [(1, 1), (18, 1), (19, 2), (20, 2)] {
        let bytes = written(|archive| {
            for _ in 0..entries {
                archive.entry(b"f", b"", FACTS).unwrap();
            }
        });
        assert_eq!(bytes.len(), records * 10_240, "{entries}");
        assert!(bytes[entries * 512..].iter().all(|byte| *byte == 0), "{entries}");
    }
}
