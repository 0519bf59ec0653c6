//! Reading the file back.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::os::fd::BorrowedFd;

use rustix::fs::{Mode, OFlags};

use super::draws::Terms;
use super::worker::FILL;
use super::{BLOCK, OWN};
use crate::engine::contents::{Contents, Filling};
use crate::{Context, Failure};

/// Every block is what it was before, or what a write stores there.
pub(super) fn verify(
    context: &Context<'_>,
    target: BorrowedFd<'_>,
    path: &'static str,
    terms: Terms,
) -> Result<(), Failure> {
    use std::io::Read;
    let wrong = |what: String| Failure::Verify(format!("{path}: {what}"));
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(target, path, flags, Mode::empty())
        .map_err(|error| wrong(error.to_string()))?;
    let mut file = File::from(opened);
    let io = terms.io as usize;
    let mut contents = Contents::new(context.seed(), OWN, BLOCK, Filling::of(context.parameters()));
    let (mut expected, mut found) = (vec![0; io], vec![0; io]);
    let mut at = 0;
    while at < terms.size {
        let length = io.min((terms.size - at) as usize);
        file.read_exact(&mut found[..length]).map_err(|error| wrong(error.to_string()))?;
        let written = length == io
            && found[..8] == at.to_le_bytes()
            && found[8..].iter().all(|byte| *byte == FILL);
        if path == OWN {
            contents.copy(at, &mut expected[..length]);
        }
        if !written && found[..length] != expected[..length] {
            return Err(wrong(format!("other contents than written at byte {at}")));
        }
        at += length as u64;
    }
    match file.read(&mut found) {
        Ok(0) => Ok(()),
        Ok(_) => Err(wrong(format!("is longer than {} bytes", terms.size))),
        Err(error) => Err(wrong(error.to_string())),
    }
}
