//! Tells a filesystem that does not support a feature from one that has no room or is broken.

use rustix::io::Errno;

/// Whether this is the error of a filesystem that does not support the feature (links, owners).
pub(crate) fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lacking_feature_is_not_a_full_or_broken_filesystem() {
        for lacking in [Errno::PERM, Errno::OPNOTSUPP, Errno::NOSYS, Errno::MLINK] {
            assert!(is_unsupported(lacking), "{lacking}");
        }
        for broken in [Errno::NOSPC, Errno::DQUOT, Errno::IO, Errno::ROFS, Errno::NOENT] {
            assert!(!is_unsupported(broken), "{broken}");
        }
    }
}
