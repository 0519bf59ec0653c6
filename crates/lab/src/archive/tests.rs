//! Archives that others made: refused before anything is written.

use std::io::Write;

use tar::{EntryType, Header};

use super::*;
use crate::cache::DEFAULT_LAB;
use crate::import;
use crate::software::MANIFEST_VERSION;

fn text() -> String {
    format!(
        "version = {MANIFEST_VERSION}\nkernel = \"kernel\"\nmodules = \"modules\"\ntools = \"tools\"\n\
         emulator = \"tools\"\n"
    )
}

/// An entry: its kind, name, target, and contents.
type Entry<'a> = (EntryType, &'a str, &'a str, &'a [u8]);

fn whole(text: &str) -> Vec<Entry<'_>> {
    vec![
        (EntryType::Regular, "digest", "", b"0123"),
        (EntryType::Directory, "lab", "", b""),
        (EntryType::Regular, "lab/manifest.toml", "", text.as_bytes()),
        (EntryType::Regular, "lab/kernel", "", b"k"),
        (EntryType::Directory, "lab/modules", "", b""),
        (EntryType::Directory, "lab/tools", "", b""),
    ]
}

fn write(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (kind, name, target, contents) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_size(contents.len() as u64);
        header.set_mode(0o755);
        if !target.is_empty() {
            header.set_link_name(target).unwrap();
        }
        archive.append_data(&mut header, name, *contents).unwrap();
    }
    archive.into_inner().unwrap()
}

/// What an import says of this archive; nothing may be left of it.
fn refusal(archive: &[u8]) -> String {
    let room = tempfile::tempdir().unwrap();
    let (file, cache) = (room.path().join("lab.tar"), room.path().join("cache"));
    std::fs::write(&file, archive).unwrap();
    let error = import(&cache, DEFAULT_LAB, &file, &mut |_| ()).unwrap_err().to_string();
    let left = std::fs::read_dir(cache.join("software")).into_iter().flatten().count();
    assert_eq!(left, 0, "{error}");
    error
}

/// The whole archive with one entry in the place of the one that has its name, or at its end.
fn with(entry: Entry<'_>) -> String {
    let text = text();
    let mut entries = whole(&text);
    match entries.iter_mut().find(|known| known.1 == entry.1) {
        Some(known) => *known = entry,
        None => entries.push(entry),
    }
    refusal(&write(&entries))
}

#[test]
fn only_files_directories_and_symlinks_are_in_a_lab() {
    assert!(
        refusal(&write(&whole(&text()))).contains("not what was exported"),
        "the digest is not its"
    );
    for name in ["digest", "lab/manifest.toml", "lab/kernel"] {
        let told = with((EntryType::Symlink, name, "/dev/zero", b""));
        assert!(told.contains("not a small file") || told.contains("symlink"), "{told}");
        for kind in [EntryType::Fifo, EntryType::Char, EntryType::Block, EntryType::Link] {
            let told = with((kind, name, "lab", b""));
            assert!(told.contains("neither a file"), "{told}");
        }
    }
    let told = with((EntryType::Symlink, "lab/modules", "/etc", b""));
    assert!(told.contains("lab/modules is a symlink"), "{told}");
    let told = with((EntryType::Directory, "lab/modules", "", b"contents"));
    assert!(told.contains("has contents"), "{told}");
    let large = vec![b' '; TEXT_MAX as usize + 1];
    let told = with((EntryType::Regular, "digest", "", &large));
    assert!(told.contains("not a small file"), "{told}");
}

#[test]
fn names_are_bounded_and_lie_below_directories() {
    let deep = format!("lab/{}x", "d/".repeat(DEPTH_MAX));
    let very_deep = format!("lab/{}x", "d/".repeat(40_000));
    for name in [&deep, &very_deep] {
        let told = with((EntryType::Regular, name, "", b""));
        assert!(told.contains("deeper than 64 levels") && told.len() < 500, "{told}");
    }
    let most = format!("lab/{}x", "d/".repeat(DEPTH_MAX - 2));
    assert!(with((EntryType::Regular, &most, "", b"")).contains("not what was exported"));
    let told = with((EntryType::Regular, "elsewhere", "", b""));
    assert!(told.contains("not in a directory `lab`"), "{told}");
    let below = ("lab/kernel/x", "lab/link/x");
    assert!(with((EntryType::Regular, below.0, "", b"")).contains("below what is no directory"));
    let text = text();
    let mut entries = whole(&text);
    entries.push((EntryType::Symlink, "lab/link", "/tmp", b""));
    entries.push((EntryType::Regular, below.1, "", b""));
    assert!(refusal(&write(&entries)).contains("below what is no directory"));
    entries.pop();
    entries.push((EntryType::Regular, "lab/link", "", b""));
    assert!(refusal(&write(&entries)).contains("twice"));
}

/// Declared sizes: of a file that is not there whole, and of one with holes.
#[test]
fn what_is_written_is_no_larger_than_the_archive() {
    let mut archive = write(&whole(&text()));
    archive.truncate(archive.len() - 1024);
    let mut header = Header::new_gnu();
    header.set_path("lab/large").unwrap();
    header.set_size(200 << 30);
    header.set_mode(0o644);
    header.set_cksum();
    archive.write_all(header.as_bytes()).unwrap();
    assert!(refusal(&archive).contains("cut off"), "{}", refusal(&archive));

    let with_holes = |size| {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("sparse");
        File::create(&path).unwrap().set_len(size).unwrap();
        let mut builder = tar::Builder::new(write(&whole(&text())));
        builder.append_path_with_name(&path, "lab/sparse").unwrap();
        // Without the two blocks that end the archive before it.
        let archive = builder.into_inner().unwrap();
        let (before, own) = archive.split_at(write(&whole(&text())).len());
        let archive = [&before[..before.len() - 1024], own].concat();
        assert!(archive.len() < 1 << 20, "tar writes it with its holes");
        refusal(&archive)
    };
    let told = with_holes(HOLES_MAX + 1);
    assert!(told.contains("holes of more than 256 MiB"), "{told}");
    let told = with_holes(HOLES_MAX / 16);
    assert!(told.contains("not what was exported"), "read like any other: {told}");
}

/// They are kept in memory, and the file may be one hole of terabytes.
#[test]
fn what_lies_between_files_is_bounded() {
    for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader] {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("lab.tar");
        let mut header = Header::new_gnu();
        header.set_path("long").unwrap();
        header.set_entry_type(kind);
        header.set_size(4 << 40);
        header.set_cksum();
        std::fs::write(&path, header.as_bytes()).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(5 << 40).unwrap();
        let cache = room.path().join("cache");
        let told = import(&cache, DEFAULT_LAB, &path, &mut |_| ()).unwrap_err();
        let told = std::error::Error::source(&told).map_or(told.to_string(), |it| it.to_string());
        assert!(told.contains("too long"), "{kind:?}: {told}");
        assert!(!cache.exists());
    }
}

/// An archive that would never be written to its end, or never be there.
#[test]
fn an_archive_that_is_no_file_is_refused_at_once() {
    let room = tempfile::tempdir().unwrap();
    let fifo = room.path().join("fifo");
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, kind, 0o600.into(), 0).unwrap();
    for path in [fifo.as_path(), Path::new("/dev/zero"), room.path()] {
        assert!(import(&room.path().join("cache"), DEFAULT_LAB, path, &mut |_| ()).is_err());
    }
    assert!(!room.path().join("cache").exists());
}
