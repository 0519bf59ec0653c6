//! Whether a model's files are as its flowops must have left them.

use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::super::model::{Does, Model};
use super::files::Files;
use crate::Failure;
use crate::engine::path_buffer::PathBuffer;

/// Every file is there as the flowops must have left it, with the size that they gave it. Where some
/// write at a place and others append, the size may be smaller.
pub(super) fn verify(target: BorrowedFd<'_>, model: &Model, sets: &[Files]) -> Result<(), Failure> {
    let does = |all: &[Does]| model.flowops().any(|flowop| all.contains(&flowop.does));
    let is_mixed = does(&[Does::Append, Does::AppendRandom])
        && does(&[Does::Write, Does::WriteWhole, Does::AioWrite]);
    let mut path = PathBuffer::new();
    for files in sets {
        for (place, is_there) in files.present().into_iter().enumerate() {
            files.path(place, &mut path);
            let found = match rustix::fs::statat(target, path.c_str(), AtFlags::empty()) {
                Ok(stat) => Some(stat.st_size as u64),
                Err(Errno::NOENT) => None,
                Err(error) => return Err(Failure::Verify(format!("{path}: {error}"))),
            };
            let expected = is_there.then(|| files.size(place).load(Ordering::Relaxed));
            let fits = match (found, expected) {
                (Some(found), Some(expected)) if is_mixed => found <= expected,
                (found, expected) => found == expected,
            };
            if !fits {
                let what = format!("{path}: {found:?} bytes, not {expected:?}");
                return Err(Failure::Verify(what));
            }
        }
    }
    Ok(())
}
