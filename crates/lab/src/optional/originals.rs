//! The programs that `original-…` workloads run, and the load that dbench replays.

use std::path::Path;

use units::Bytes;

use super::{OptionalPart, PartDescription, Workshop};
use crate::apt::Archives;
use crate::error::LabError;

pub(super) struct Originals;

static DESCRIPTION: PartDescription = PartDescription {
    name: "originals",
    summary: "bonnie++, postmark, fs_mark and dbench; unpacked in seconds, 32 MB in the guest",
    packages: &["bonnie++", "postmark", "fsmark", "dbench"],
    programs: &["bonnie++", "postmark", "fs_mark", "dbench"],
    memory: Bytes::ZERO,
    archives: Archives::OWN,
};

/// Where dbench looks for its load.
const LOAD: &str = "usr/share/dbench/client.txt";

impl OptionalPart for Originals {
    fn describe(&self) -> &'static PartDescription {
        &DESCRIPTION
    }

    fn build(&self, workshop: &mut Workshop<'_>) -> Result<(), LabError> {
        workshop.tools(DESCRIPTION.packages, &[])?;
        let from = workshop.scratch().join("tools").join(LOAD);
        let to = workshop.directory().join("files").join(LOAD);
        let directory = to.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory).map_err(LabError::at("create", directory))?;
        std::fs::copy(&from, &to).map_err(LabError::at("copy", &from))?;
        Ok(())
    }
}
