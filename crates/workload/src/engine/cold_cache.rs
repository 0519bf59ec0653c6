//! Beginning with an empty cache: the parameter, and how it is done.

use std::os::fd::OwnedFd;

use crate::engine::file_io::open_target;
use crate::typed::SwitchParameter;
use crate::{Context, Failure};

pub(crate) const COLD: SwitchParameter = SwitchParameter::new(
    "cold",
    "Whether the ops begin with an empty cache, where the testbed can.",
    "off",
);

/// Closes `opened`, which must be the only open descriptor of the target, empties the target's
/// cache and opens the target again.
///
/// # Errors
/// When the target cannot be opened again.
pub(crate) fn reopen_cold(context: &mut Context<'_>, opened: OwnedFd) -> Result<OwnedFd, Failure> {
    drop(opened);
    context.make_cold();
    open_target(context.target())
}
