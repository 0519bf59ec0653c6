//! What one process does to its trees in each phase.

#[cfg(test)]
mod tests;

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::DIRECTORY;
use super::plan::{Plan, Step};
use crate::engine::file_io::{read, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::engine::thread_group::ThreadGroup;
use crate::engine::walk::{self, Walker};
use crate::{Op, OpError, Recorder};

/// Writes of the generator.
const WRITE: usize = 4095;
pub(super) const READ_BLOCK: usize = 4096;

/// One process.
pub(super) struct Worker<'a> {
    pub(super) target: BorrowedFd<'a>,
    pub(super) plan: &'a Plan,
    pub(super) absolute: &'a [u8],
    /// Its trees: `i-j` of each repetition.
    pub(super) trees: Vec<String>,
}

fn first(tree: &str) -> String {
    format!("{DIRECTORY}/testdir1-{tree}")
}

fn second(tree: &str) -> String {
    format!("{DIRECTORY}/testdir2-{tree}")
}

pub(super) type Work<'w> =
    &'w (dyn Fn(&Worker<'_>, &ThreadGroup, &mut Recorder<'_>) -> Result<(), OpError> + Sync);

pub(super) fn create(
    worker: &Worker<'_>,
    group: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let data = [b'a'; WRITE];
    let mut path = PathBuffer::new();
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    recorder.restart();
    for tree in &worker.trees {
        let root = first(tree);
        for step in &worker.plan.steps {
            if group.is_stopped() {
                return Ok(());
            }
            match *step {
                Step::Directory(directory) => {
                    path.clear().text(&root);
                    path.text(&worker.plan.directories[directory as usize]);
                    rustix::fs::mkdirat(worker.target, path.c_str(), Mode::from_raw_mode(0o755))
                        .map_err(path.failed("mkdir"))?;
                    recorder.done(Op(1));
                }
                Step::File { directory, number, bytes } => {
                    path.clear().text(&root).text(&worker.plan.directories[directory as usize]);
                    path.text("/").number(u64::from(number), 1);
                    let mode = Mode::from_raw_mode(0o777);
                    let file = rustix::fs::openat(worker.target, path.c_str(), flags, mode)
                        .map_err(path.failed("create"))?;
                    let mut left = bytes as usize;
                    while left > 0 {
                        let piece = &data[..left.min(WRITE)];
                        write_all(&file, piece).map_err(path.failed("write"))?;
                        left -= piece.len();
                    }
                    drop(file);
                    recorder.wrote(u64::from(bytes));
                    recorder.digest(u64::from(number) << 32 | u64::from(bytes));
                    recorder.done(Op(0));
                }
            }
        }
    }
    Ok(())
}

pub(super) fn open(target: BorrowedFd<'_>, path: &PathBuffer) -> Result<OwnedFd, OpError> {
    rustix::fs::openat(target, path.c_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(path.failed("open"))
}

pub(super) fn lstat(
    target: BorrowedFd<'_>,
    path: &PathBuffer,
) -> Result<rustix::fs::Stat, OpError> {
    rustix::fs::statat(target, path.c_str(), AtFlags::SYMLINK_NOFOLLOW).map_err(path.failed("stat"))
}

pub(super) fn is_regular(step: walk::Step) -> bool {
    step == walk::Step::File(FileType::RegularFile)
}

/// Walks a tree until another process has failed.
fn each(
    target: BorrowedFd<'_>,
    root: &str,
    group: &ThreadGroup,
    mut visit: impl FnMut(walk::Step, &PathBuffer) -> Result<(), OpError>,
) -> Result<(), OpError> {
    let mut path = PathBuffer::new();
    path.text(root);
    Walker::new().walk(target, &mut path, &mut |step, path| {
        if group.is_stopped() { Ok(()) } else { visit(step, path) }
    })
}

pub(super) fn copy(
    worker: &Worker<'_>,
    group: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let mut buffer = [1u8; READ_BLOCK];
    let mut to = PathBuffer::new();
    recorder.restart();
    for tree in &worker.trees {
        let (from, copied) = (first(tree), second(tree));
        let mut sum = 0u64;
        each(worker.target, &from, group, |step, path| {
            to.clear().text(&copied).bytes(&path.as_bytes()[from.len()..]);
            match step {
                walk::Step::Left => return Ok(()),
                walk::Step::Directory => {
                    rustix::fs::mkdirat(worker.target, to.c_str(), Mode::from_raw_mode(0o755))
                        .map_err(to.failed("mkdir"))?;
                    recorder.done(Op(1));
                    return Ok(());
                }
                walk::Step::File(_) => {}
            }
            let stat = lstat(worker.target, path)?;
            let source = open(worker.target, path)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
            let made = rustix::fs::openat(worker.target, to.c_str(), flags, mode)
                .map_err(to.failed("create"))?;
            loop {
                let got = read(&source, &mut buffer).map_err(path.failed("read"))?;
                if got == 0 {
                    break;
                }
                write_all(&made, &buffer[..got]).map_err(to.failed("write"))?;
                recorder.read(got as u64);
                recorder.wrote(got as u64);
                sum += got as u64;
            }
            drop((source, made));
            recorder.done(Op(0));
            Ok(())
        })?;
        recorder.digest(sum);
    }
    Ok(())
}

pub(super) fn symlinks(
    worker: &Worker<'_>,
    group: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let (mut link, mut to) = (PathBuffer::new(), PathBuffer::new());
    let mut buffer = Vec::with_capacity(4096);
    recorder.restart();
    for tree in &worker.trees {
        let mut links = 0;
        each(worker.target, &first(tree), group, |step, path| {
            if !is_regular(step) {
                return Ok(());
            }
            to.clear().bytes(worker.absolute).text("/").bytes(path.as_bytes());
            link.clear().bytes(path.as_bytes()).text(".lnk");
            rustix::fs::symlinkat(to.c_str(), worker.target, link.c_str())
                .map_err(link.failed("symlink"))?;
            lstat(worker.target, &link)?;
            buffer.clear();
            let read = rustix::fs::readlinkat_raw(
                worker.target,
                link.c_str(),
                rustix::buffer::spare_capacity(&mut buffer),
            );
            read.map_err(link.failed("read the link"))?;
            links += 1;
            recorder.done(Op(0));
            Ok(())
        })?;
        recorder.digest(links);
    }
    Ok(())
}

pub(super) fn read_all(
    worker: &Worker<'_>,
    group: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let mut buffer = [1u8; READ_BLOCK];
    recorder.restart();
    for _ in &worker.trees {
        let mut sum = 0;
        each(worker.target, DIRECTORY, group, |step, path| {
            if !is_regular(step) {
                return Ok(());
            }
            let file = open(worker.target, path)?;
            loop {
                let got = read(&file, &mut buffer).map_err(path.failed("read"))?;
                if got == 0 {
                    break;
                }
                recorder.read(got as u64);
                sum += got as u64;
            }
            drop(file);
            recorder.done(Op(0));
            Ok(())
        })?;
        recorder.digest(sum);
    }
    Ok(())
}

pub(super) fn stats(
    worker: &Worker<'_>,
    group: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    recorder.restart();
    for _ in &worker.trees {
        let mut files = 0;
        each(worker.target, DIRECTORY, group, |step, path| {
            if step == walk::Step::Left {
                return Ok(());
            }
            let stat = lstat(worker.target, path)?;
            files += u64::from(FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
            recorder.done(Op(0));
            Ok(())
        })?;
        recorder.digest(files);
    }
    Ok(())
}

pub(super) fn rename(
    worker: &Worker<'_>,
    group: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let mut to = PathBuffer::new();
    recorder.restart();
    for tree in &worker.trees {
        let mut files = 0;
        each(worker.target, &first(tree), group, |step, path| {
            if !is_regular(step) {
                return Ok(());
            }
            to.clear().bytes(path.as_bytes()).text(".r");
            rustix::fs::renameat(worker.target, path.c_str(), worker.target, to.c_str())
                .map_err(path.failed("rename"))?;
            files += 1;
            recorder.done(Op(0));
            Ok(())
        })?;
        recorder.digest(files);
    }
    Ok(())
}

pub(super) fn delete(
    worker: &Worker<'_>,
    _: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    recorder.restart();
    for tree in &worker.trees {
        for root in [first(tree), second(tree)] {
            let mut entries = 0;
            walk::remove(worker.target, &root, || {
                entries += 1;
                recorder.done(Op(0));
            })?;
            recorder.digest(entries);
        }
    }
    Ok(())
}
