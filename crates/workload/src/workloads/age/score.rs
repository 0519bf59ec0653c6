//! In how many pieces the files of an aged filesystem are stored.

use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{Aging, DIRECTORY, FAN_OUT, FILES_PER_DIRECTORY, PAGE};
use crate::engine::extents::fragments;
use crate::engine::path_buffer::PathBuffer;
use crate::{Context, Failure, Op, OpDescription, PhaseDescription, PhaseResult};

pub(super) static SCORE: PhaseDescription = PhaseDescription {
    name: "score",
    summary: "finds out in how many pieces each file is stored (FIEMAP, or FIBMAP where only that \
              is available); files of which the filesystem does not say it are left out, and a \
              note says how many",
    clock: "open, FIEMAP, close of every file that is left",
    ops: &[OpDescription { name: "map", span: "open, FIEMAP, close of one file" }],
    disk_bound: false,
};

/// What the filesystem said of where its files lie.
#[derive(Debug, Default)]
struct Layout {
    /// Files of which it said where they lie.
    files: u64,
    /// Pieces of these files.
    pieces: u64,
    /// Their blocks that lie behind the block before.
    behind: u64,
    /// Their blocks that could.
    possible: u64,
    /// Files of which it did not say it.
    unsaid: u64,
}

impl Layout {
    /// Adds a file of this size, for which the filesystem named this many pieces, or said that
    /// there is nothing to say of it. Any other error is one.
    fn add(&mut self, size: u64, pieces: Result<u64, Errno>) -> Result<(), Errno> {
        let pieces = match pieces {
            Err(Errno::NOENT) => {
                self.unsaid += 1;
                return Ok(());
            }
            pieces => pieces?,
        };
        let blocks = size.div_ceil(PAGE);
        self.files += 1;
        self.pieces += pieces;
        self.possible += blocks.saturating_sub(1);
        self.behind += blocks.saturating_sub(pieces.max(1));
        Ok(())
    }

    /// Whether it said of no file where that lies.
    fn is_refused(&self) -> bool {
        self.files == 0 && self.unsaid > 0
    }

    fn note(&self, result: &mut PhaseResult) {
        let mut figure = |name: &str, value: f64| {
            result.figures.insert(name.to_owned(), value);
        };
        figure("fragments_per_file", self.pieces as f64 / self.files.max(1) as f64);
        if self.possible > 0 {
            figure("layout_score", self.behind as f64 / self.possible as f64);
        }
        if self.unsaid > 0 {
            result.notes.push(format!(
                "{} of {} files are not counted: asked where they lie, the filesystem answered: \
                 {}",
                self.unsaid,
                self.files + self.unsaid,
                std::io::Error::from(Errno::NOENT)
            ));
        }
    }
}

/// Asks for each file where it lies. A file without an answer is left out, and the result says so:
/// ntfs3 of Linux 6.12 answers with ENOENT for files so small (up to some 500 bytes) that they have
/// no block of their own.
pub(super) fn score(context: &mut Context<'_>, aging: &Aging<'_>) -> Result<(), Failure> {
    let mut path = PathBuffer::new();
    let mut name = |number: u64| {
        let directory = number / FILES_PER_DIRECTORY;
        path.clear().text(DIRECTORY).text("/").number(directory / FAN_OUT, 4);
        path.text("/").number(directory % FAN_OUT, 2).text("/f").number(number, 7);
        path.clone()
    };
    let open = |path: &PathBuffer| {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::openat(aging.target, path.c_str(), flags, Mode::empty())
            .map_err(path.failed("open"))
    };
    if let Some((number, _)) = aging.files.first()
        && let Ok(file) = open(&name(*number))
        && let Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL) = fragments(file.as_fd())
    {
        context.skip(&SCORE, "this filesystem does not report where files lie (FIEMAP, FIBMAP)");
        return Ok(());
    }
    let count = aging.files.len() as u64;
    context.phase_with(
        &SCORE,
        count,
        |recorder| {
            let mut layout = Layout::default();
            let mut last = PathBuffer::new();
            for (number, size) in &aging.files {
                last = name(*number);
                let file = open(&last)?;
                layout.add(*size, fragments(file.as_fd())).map_err(last.failed("map"))?;
                recorder.done(Op(0));
            }
            if layout.is_refused() {
                return Err(last.failed("map")(Errno::NOENT));
            }
            Ok(layout)
        },
        Layout::note,
    )?;
    Ok(())
}

#[cfg(test)]
mod tests;
