//! Reading all trees back.

#[cfg(test)]
mod tests;

use std::os::fd::BorrowedFd;

use super::DIRECTORY;
use super::plan::Plan;
use super::worker::{READ_BLOCK, is_regular, open};
use crate::Failure;
use crate::engine::file_io::read;
use crate::engine::path_buffer::PathBuffer;
use crate::engine::walk::Walker;

/// Counts files and reads them back: nothing but `a` in them.
pub(super) fn verify(
    target: BorrowedFd<'_>,
    plan: &Plan,
    trees: u64,
    copied: bool,
) -> Result<(), Failure> {
    let mut path = PathBuffer::new();
    path.text(DIRECTORY);
    let mut buffer = [0u8; READ_BLOCK];
    let (mut files, mut bytes, mut foreign) = (0, 0, None);
    let walked = Walker::new().walk(target, &mut path, &mut |step, path| {
        let is_copy = path.as_bytes()[DIRECTORY.len()..].starts_with(b"/testdir2");
        if !is_regular(step) || (is_copy && !copied) {
            return Ok(());
        }
        let file = open(target, path)?;
        files += 1;
        loop {
            let got = read(&file, &mut buffer).map_err(path.failed("read"))?;
            if got == 0 {
                return Ok(());
            }
            bytes += got as u64;
            if buffer[..got].iter().any(|byte| *byte != b'a') {
                foreign.get_or_insert(path.to_string());
            }
        }
    });
    walked.map_err(|error| Failure::Verify(format!("{error}: {}", error.source)))?;
    if let Some(path) = foreign {
        return Err(Failure::Verify(format!("{path} has other contents than written")));
    }
    if (files, bytes) != (trees * plan.files, trees * plan.bytes) {
        return Err(Failure::Verify(format!(
            "{files} files of {bytes} bytes instead of {} of {}",
            trees * plan.files,
            trees * plan.bytes
        )));
    }
    Ok(())
}
