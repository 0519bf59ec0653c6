//! The modules of interpreters.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Held, Pack, from_root, place};
use crate::elf::Elf;
use crate::error::LabError;

/// Interpreters that need modules of their own, by the beginning of their name, and where those are
/// beside the directory of the interpreter.
const MODULES: [(&str, &[&str]); 2] = [
    ("python3", &["lib/{name}"]),
    (
        "perl",
        &[
            "lib/x86_64-linux-gnu/perl-base",
            "lib/x86_64-linux-gnu/perl",
            "share/perl",
            "share/perl5",
        ],
    ),
];

impl Pack<'_> {
    /// Adds the modules of an interpreter, without which it does not start.
    pub(super) fn modules(&mut self, program: &Path) -> Result<(), LabError> {
        let Ok(real) = program.canonicalize() else { return Ok(()) };
        let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((_, directories)) = MODULES.iter().find(|(begins, _)| name.starts_with(begins))
        else {
            return Ok(());
        };
        let above = real.parent().and_then(Path::parent).unwrap_or(Path::new("/usr"));
        for directory in *directories {
            let directory = above.join(directory.replace("{name}", &name));
            if directory.is_dir() && !self.files.keys().any(|it| it.starts_with(place(&directory)))
            {
                self.module_tree(&directory)?;
            }
        }
        Ok(())
    }

    /// Adds a directory of modules. Those that load a library which this machine does not have could
    /// not be used here either.
    fn module_tree(&mut self, directory: &Path) -> Result<(), LabError> {
        self.tree(directory, from_root(directory))?;
        let libraries: BTreeSet<(PathBuf, String)> = self
            .files
            .iter()
            .filter(|(path, _)| path.starts_with(place(directory)))
            .filter_map(|(path, held)| match held {
                Held::File { contents, .. } => Some((path, Elf::parse(contents)?)),
                Held::Link(_) => None,
            })
            .flat_map(|(path, elf)| {
                let path = Path::new("/").join(path);
                elf.libraries().into_iter().map(move |name| (path.clone(), name))
            })
            .collect();
        for (by, name) in libraries {
            let _ = self.library(&name, &[], &by);
        }
        Ok(())
    }
}
