//! The real programs that people ask about: SQLite's shell, git, rsync.

use units::Bytes;

use super::{OptionalPart, PartDescription, Workshop};
use crate::apt::Archives;
use crate::error::LabError;

pub(super) struct Programs;

static DESCRIPTION: PartDescription = PartDescription {
    name: "programs",
    summary: "sqlite3, git and rsync; unpacked in seconds, 25 MB in the guest",
    packages: &["sqlite3", "git", "rsync", "dash"],
    programs: &["sqlite3", "git", "rsync", "dash"],
    memory: Bytes::ZERO,
    archives: Archives::OWN,
};

impl OptionalPart for Programs {
    fn describe(&self) -> &'static PartDescription {
        &DESCRIPTION
    }

    fn build(&self, workshop: &mut Workshop<'_>) -> Result<(), LabError> {
        workshop.tools(DESCRIPTION.packages, &[])?;
        // git starts the other end of a clone through a shell, which it looks for here.
        let bin = workshop.directory().join("files/bin");
        std::fs::create_dir_all(&bin).map_err(LabError::at("create", &bin))?;
        let link = bin.join("sh");
        std::os::unix::fs::symlink("/sbin/dash", &link).map_err(LabError::at("link", &link))
    }
}
