//! Beginning with an empty cache: the parameter, and what it takes.

use std::os::fd::OwnedFd;

use crate::engine::file_io::open_target;
use crate::{Context, Failure, Kind, Parameter};

pub(crate) const COLD: Parameter = Parameter {
    name: "cold",
    help: "Whether the ops begin with an empty cache, where the testbed can.",
    kind: Kind::Switch,
    default: "off",
    scales: false,
};

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
