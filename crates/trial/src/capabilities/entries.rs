//! Names and what they may name.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, RenameFlags};

use super::finding::{Finding, words};

pub(super) fn hard_link(directory: &Path) -> Finding {
    let (first, second) = (directory.join("first"), directory.join("second"));
    if let Err(error) = fs::write(&first, "linked") {
        return Finding::untried(words(&error));
    }
    match fs::hard_link(&first, &second).and_then(|()| fs::metadata(&second)) {
        Ok(found) => Finding::if_so(found.nlink() == 2, "it does not count two names"),
        Err(error) => Finding::no(words(&error)),
    }
}

pub(super) fn symlink(directory: &Path) -> Finding {
    let link = directory.join("link");
    match std::os::unix::fs::symlink("to/somewhere", &link).and_then(|()| fs::read_link(&link)) {
        Ok(target) => Finding::if_so(target == Path::new("to/somewhere"), "it reads differently"),
        Err(error) => Finding::no(words(&error)),
    }
}

pub(super) fn named_pipe(directory: &Path) -> Finding {
    let path = directory.join("pipe");
    let made = rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR, 0);
    Finding::of(made.map_err(io::Error::from))
}

pub(super) fn case(directory: &Path) -> Finding {
    let (small, large) = (directory.join("name"), directory.join("NAME"));
    let written = fs::write(&small, "small").and_then(|()| fs::write(&large, "large"));
    match written.and_then(|()| fs::read(&small)) {
        Ok(found) => Finding::if_so(found == b"small", "both are one file"),
        Err(error) => Finding::untried(words(&error)),
    }
}

pub(super) fn any_bytes(directory: &Path) -> Finding {
    let name = std::ffi::OsStr::from_bytes(b"\xff\xfe\x80");
    if let Err(error) = File::create(directory.join(name)) {
        return Finding::no(words(&error));
    }
    let listed = fs::read_dir(directory)
        .map(|entries| entries.flatten().any(|entry| entry.file_name() == name));
    match listed {
        Ok(there) => Finding::if_so(there, "it is listed differently"),
        Err(error) => Finding::no(words(&error)),
    }
}

pub(super) fn longest_name(directory: &Path) -> Finding {
    let longest = |letter: &str| {
        let takes = |count: usize| {
            let path = directory.join(letter.repeat(count));
            let made = File::create(&path).is_ok();
            if made {
                let _ = fs::remove_file(&path);
            }
            made
        };
        // No kernel interface takes longer ones than 4096.
        let (mut most, mut beyond) = (0, 4096);
        while most + 1 < beyond {
            let middle = usize::midpoint(most, beyond);
            if takes(middle) { most = middle } else { beyond = middle }
        }
        most
    };
    match (longest("n"), longest("€")) {
        (0, _) => Finding::untried("no file could be made"),
        (bytes, wide) if wide == bytes / "€".len() => Finding::yes(format!("{bytes} bytes")),
        (letters, wide) if wide == letters => Finding::yes(format!("{letters} letters")),
        (bytes, wide) => Finding::yes(format!("{bytes} bytes, {wide} of €")),
    }
}

pub(super) fn exchange(directory: &Path) -> Finding {
    let (first, second) = (directory.join("first"), directory.join("second"));
    if let Err(error) = fs::write(&first, "1").and_then(|()| fs::write(&second, "2")) {
        return Finding::untried(words(&error));
    }
    let exchanged = rustix::fs::renameat_with(CWD, &first, CWD, &second, RenameFlags::EXCHANGE);
    match exchanged.map_err(io::Error::from).and_then(|()| fs::read(&first)) {
        Ok(found) => Finding::if_so(found == b"2", "they did not change"),
        Err(error) => Finding::no(words(&error)),
    }
}

pub(super) fn unnamed(directory: &Path) -> Finding {
    let flags = OFlags::TMPFILE | OFlags::RDWR;
    let opened = rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR);
    Finding::of(opened.map_err(io::Error::from))
}
