//! fio for the workload `original-fio`. It is a separate part because Debian links it with the
//! libraries of storage clusters, which would take memory in every guest.

use units::Bytes;

use super::{OptionalPart, PartDescription, Workshop};
use crate::apt::Archives;
use crate::error::LabError;

pub(super) struct Fio;

static DESCRIPTION: PartDescription = PartDescription {
    name: "fio",
    summary: "fio with all that Debian links into it; unpacked in seconds, 80 MB in the guest",
    packages: &["fio"],
    programs: &["fio"],
    memory: Bytes::ZERO,
    archives: Archives::OWN,
};

impl OptionalPart for Fio {
    fn describe(&self) -> &'static PartDescription {
        &DESCRIPTION
    }

    fn build(&self, workshop: &mut Workshop<'_>) -> Result<(), LabError> {
        workshop.tools(DESCRIPTION.packages, &[])
    }
}
