//! Making the maildirs.

use std::os::fd::BorrowedFd;

use rustix::fs::Mode;
use rustix::io::Errno;

use super::names::Tree;
use crate::engine::path_buffer::PathBuffer;
use crate::{Op, OpError, Recorder};

/// `mkdir` calls of a whole setup.
pub(crate) fn steps(tree: Tree) -> u64 {
    1 + u64::from(tree.bases()) + 4 * u64::from(tree.maildirs)
}

/// Makes what is missing: first the base directories, then each maildir with its three
/// parts. Returns whether any maildir was there before.
pub(crate) fn make(
    tree: Tree,
    target: BorrowedFd<'_>,
    recorder: &mut Recorder<'_>,
    op: Op,
) -> Result<bool, OpError> {
    let mut path = PathBuffer::new();
    let mut found = false;
    let mut mkdir = |path: &PathBuffer| {
        match rustix::fs::mkdirat(target, path.c_str(), Mode::from_raw_mode(0o777)) {
            Ok(()) => {}
            Err(Errno::EXIST) => found = true,
            Err(error) => return Err(path.failed("mkdir")(error)),
        }
        recorder.done(op);
        Ok(())
    };
    path.text("maildirs");
    mkdir(&path)?;
    for base in 0..tree.bases() {
        path.clear().text("maildirs/").number(u64::from(base), 3);
        mkdir(&path)?;
    }
    for maildir in 0..tree.maildirs {
        tree.maildir(maildir, &mut path);
        mkdir(&path)?;
        let len = path.len();
        for part in ["/tmp", "/new", "/cur"] {
            path.truncate(len);
            path.text(part);
            mkdir(&path)?;
        }
    }
    Ok(found)
}
