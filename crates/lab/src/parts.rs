//! Where a lab's software lies.

use std::path::PathBuf;

use crate::machine::Emulator;
use crate::optional::{self, PartDescription};

/// The paths of a lab's software.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// The kernel, a bzImage.
    pub kernel: PathBuf,
    /// Its modules, `lib/modules/RELEASE`.
    pub modules: PathBuf,
    /// A tree with the tools of filesystems and layouts.
    pub tools: PathBuf,
    /// The emulator.
    pub emulator: Emulator,
    /// The optional parts it has: a directory each, named as the part.
    pub optional: Vec<PathBuf>,
}

impl Parts {
    /// The archive of the system it can boot, if that part was built.
    pub fn system(&self) -> Option<PathBuf> {
        let archive = self.optional.iter().map(|part| part.join(optional::SYSTEM));
        archive.into_iter().find(|path| path.is_file())
    }

    /// The optional parts that are known.
    pub(crate) fn descriptions(&self) -> impl Iterator<Item = &'static PartDescription> {
        let known = |path: &PathBuf| optional::part(path.file_name()?.to_str()?).ok();
        self.optional.iter().filter_map(known).map(|part| part.describe())
    }
}
