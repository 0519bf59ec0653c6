//! OpenZFS: two modules, compiled once for the lab's kernel, and its tools. Debian has it as
//! source, in contrib, since its licence and the kernel's do not go together in a binary.

use super::{OptionalPart, PartDescription, Workshop};
use crate::apt::Archives;
use crate::error::LabError;

/// See the module's own words.
pub(super) struct Zfs;

static DESCRIPTION: PartDescription = PartDescription {
    name: "zfs",
    summary: "OpenZFS; compiled for the lab's kernel in about five minutes",
    packages: &["zfsutils-linux"],
    programs: &["zpool", "zfs"],
    archives: Archives { components: &["contrib"], backports: &["zfs-linux"] },
};

impl OptionalPart for Zfs {
    fn describe(&self) -> &'static PartDescription {
        &DESCRIPTION
    }

    fn build(&self, workshop: &mut Workshop<'_>) -> Result<(), LabError> {
        workshop.tools(DESCRIPTION.packages)
    }
}
