//! Tells a filesystem that does not support a feature from one that has no room or is broken.

use rustix::io::Errno;

/// Whether this is the error of a filesystem that does not support the feature (links, owners).
pub(crate) fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK)
}
