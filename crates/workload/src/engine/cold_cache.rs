//! Beginning with an empty cache: the parameter, and what it takes.

use std::os::fd::OwnedFd;

use crate::engine::file_io::open_target;
use crate::typed::SwitchParameter;
use crate::{Context, Failure};

pub(crate) const COLD: SwitchParameter = SwitchParameter::new(
    "cold",
    "Whether the ops begin with an empty cache, where the testbed can.",
    "off",
);

/// Empties the target's cache, for which `opened` is closed, and opens the target anew. It
/// must be the only descriptor of the target that is left.
///
/// # Errors
/// When the target cannot be opened again.
pub(crate) fn reopen_cold(context: &mut Context<'_>, opened: OwnedFd) -> Result<OwnedFd, Failure> {
    drop(opened);
    context.make_cold();
    open_target(context.target())
}
