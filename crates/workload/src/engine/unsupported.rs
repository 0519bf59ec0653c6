//! A filesystem that lacks a feature, told from one that has no room or is broken.

use rustix::io::Errno;

/// Whether a filesystem answers so when it has no such feature (links, owners).
pub(crate) fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK)
}
