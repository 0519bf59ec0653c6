//! Links in the place of files, and whether the filesystem takes them.

#[cfg(test)]
mod tests;

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::{Links, Small};
use crate::engine::unsupported::is_unsupported;

impl Small {
    /// Whether the filesystem supports the requested links; if not, why. A lack of room for one is
    /// left to the phase to report.
    pub(in crate::workloads::bonnie) fn probe_links(
        &self,
        target: BorrowedFd<'_>,
    ) -> Result<(), String> {
        let (from, to) = (c"Bonnie-probe", c"Bonnie-probe-link");
        let tried = match self.links {
            Links::None => return Ok(()),
            Links::Symbolic => rustix::fs::symlinkat(from, target, to),
            Links::Hard => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let made = rustix::fs::openat(target, from, flags, Mode::from_raw_mode(0o600));
                made.and_then(|_| {
                    let linked = rustix::fs::linkat(target, from, target, to, AtFlags::empty());
                    let _ = rustix::fs::unlinkat(target, from, AtFlags::empty());
                    linked
                })
            }
        };
        if tried.is_ok() {
            let _ = rustix::fs::unlinkat(target, to, AtFlags::empty());
        }
        self.refusal(tried)
    }

    /// What a filesystem says that takes no such links; any other error is the phase's to report.
    fn refusal(&self, tried: Result<(), Errno>) -> Result<(), String> {
        let kind = if self.links == Links::Hard { "hard" } else { "symbolic" };
        match tried {
            Err(error) if is_unsupported(error) => {
                Err(format!("this filesystem takes no {kind} links: {error}"))
            }
            _ => Ok(()),
        }
    }
}
