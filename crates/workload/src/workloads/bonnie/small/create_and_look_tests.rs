//! Small files as they are created and looked at, without a whole run.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;

use super::*;
use crate::Seed;
use crate::engine::file_io::open_target;
use crate::workloads::bonnie::description::{CREATE_SEQUENTIAL, STAT_SEQUENTIAL};

/// Three files of ten bytes in one directory.
fn small(links: Links, chunk: usize) -> Small {
    let manner = Manner::V103a;
    Small { manner, files: 3, min: 10, max: 10, directories: 1, chunk, links, fsync: false }
}

#[test]
fn files_after_the_first_are_links_to_it_where_asked_for() {
    // Of each file whether it is a symbolic link, and its names; and what is written, since only
    // files without links have contents.
    let kinds = [
        (Links::None, [(false, 1); 3], 30),
        (Links::Hard, [(false, 3); 3], 0),
        (Links::Symbolic, [(false, 1), (true, 1), (true, 1)], 0),
    ];
    for (links, expected, written) in kinds {
        let home = tempfile::tempdir().unwrap();
        let target = open_target(home.path()).unwrap();
        let small = small(links, 8192);
        let files = small.draw(Seed(1), false);
        let mut recorder = Recorder::new(&CREATE_SEQUENTIAL);
        small.create(target.as_fd(), &files, &[b'x'; 10], &mut recorder).unwrap();
        assert_eq!((recorder.ops, recorder.write_bytes), (3, written), "{links:?}");
        let paths: Vec<_> = files
            .iter()
            .map(|file| home.path().join(std::str::from_utf8(file.name()).unwrap()))
            .collect();
        let mut found = Vec::new();
        for path in &paths {
            let metadata = fs::symlink_metadata(path).unwrap();
            found.push((metadata.is_symlink(), metadata.nlink()));
            let first = fs::metadata(&paths[0]).unwrap();
            let same = fs::metadata(path).unwrap().ino() == first.ino();
            assert_eq!(same, links != Links::None || *path == paths[0], "{links:?}");
        }
        assert_eq!(found, expected, "{links:?}");
    }
}

#[test]
fn a_file_without_contents_is_not_opened() {
    let home = tempfile::tempdir().unwrap();
    // A socket has no size, and to open it fails.
    let _socket = UnixListener::bind(home.path().join("socket")).unwrap();
    fs::write(home.path().join("file"), "12345").unwrap();
    let target = open_target(home.path()).unwrap();
    let mut recorder = Recorder::new(&STAT_SEQUENTIAL);
    let small = small(Links::None, 8192);
    small.stat_listed(target.as_fd(), &mut [0; 8192], &mut recorder).unwrap();
    assert_eq!((recorder.ops, recorder.read_bytes), (2, 5));
}

/// The flags of the descriptor by which this process reads the file at `path`, by the kernel's
/// account.
fn flags_of_reader(path: &Path) -> Option<OFlags> {
    let process = Path::new("/proc/self");
    fs::read_dir(process.join("fd")).unwrap().find_map(|entry| {
        let number = entry.unwrap().file_name();
        // Other tests open and close files meanwhile.
        let link = fs::read_link(process.join("fd").join(&number)).ok()?;
        if link != path {
            return None;
        }
        let text = fs::read_to_string(process.join("fdinfo").join(&number)).ok()?;
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let flags = OFlags::from_bits_retain(u32::from_str_radix(flags.trim(), 8).ok()?);
        (flags & OFlags::ACCMODE == OFlags::RDONLY).then_some(flags)
    })
}

#[test]
fn a_file_that_is_read_is_not_inherited_by_programs() {
    let home = tempfile::tempdir().unwrap();
    // By the name that the kernel has for it.
    let path = home.path().canonicalize().unwrap().join("long");
    let long = fs::File::create(&path).unwrap();
    // Byte by byte this would take minutes: it is read until it is cut off.
    long.set_len(1 << 30).unwrap();
    let target = open_target(home.path()).unwrap();
    let small = small(Links::None, 1);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut recorder = Recorder::new(&STAT_SEQUENTIAL);
            small
                .stat_listed(target.as_fd(), &mut [0], &mut recorder)
                .map_err(|error| error.source.kind())
        });
        let mut flags = None;
        while flags.is_none() && !reader.is_finished() {
            flags = flags_of_reader(&path);
        }
        // Before anything is asserted, so that the reader ends in any case.
        long.set_len(0).unwrap();
        assert_eq!(reader.join().unwrap(), Err(ErrorKind::UnexpectedEof));
        let flags = flags.unwrap();
        assert!(flags.contains(OFlags::CLOEXEC), "{flags:?}");
    });
}
