//! In how many pieces the larger files lie.

#[cfg(test)]
mod tests;

use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use super::DIRECTORY;
use super::worker::{is_regular, lstat, open};
use crate::PhaseResult;
use crate::engine::extents::fragments;
use crate::engine::path_buffer::PathBuffer;
use crate::engine::walk::Walker;

/// Files above this size count for fragmentation.
const FRAGMENTS_ABOVE: i64 = 16 << 10;

/// Adds the mean number of pieces of the larger files below trees of these names.
pub(super) fn note_fragments(target: BorrowedFd<'_>, trees: &[&str], result: &mut PhaseResult) {
    let mut path = PathBuffer::new();
    path.text(DIRECTORY);
    let (mut files, mut pieces, mut refused) = (0u64, 0u64, None::<Errno>);
    let walked = Walker::new().walk(target, &mut path, &mut |step, path| {
        let wanted =
            |tree: &&str| path.as_bytes()[DIRECTORY.len() + 1..].starts_with(tree.as_bytes());
        if !is_regular(step) || refused.is_some() || !trees.iter().any(wanted) {
            return Ok(());
        }
        if lstat(target, path)?.st_size > FRAGMENTS_ABOVE {
            match fragments(open(target, path)?.as_fd()) {
                Ok(found) => {
                    files += 1;
                    pieces += found;
                }
                Err(error) => refused = Some(error),
            }
        }
        Ok(())
    });
    if let Err(error) = walked {
        result.notes.push(format!("fragments were not counted: {error}: {}", error.source));
    } else if let Some(error) = refused {
        result.notes.push(format!("this filesystem does not report where files lie: {error}"));
    } else if files > 0 {
        result.figures.insert("fragments_per_file".to_owned(), pieces as f64 / files as f64);
    }
}
