//! Where outside programs are looked for.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A list of directories, searched in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPath(Vec<PathBuf>);

impl ToolPath {
    /// Exactly these directories.
    pub fn of(directories: impl IntoIterator<Item = PathBuf>) -> ToolPath {
        ToolPath(directories.into_iter().collect())
    }

    /// `PATH`, then the system directories that an ordinary user's `PATH` does not contain.
    /// Relative entries of `PATH` are left out: programs that protect a device must not come from
    /// the working directory.
    pub fn from_environment() -> ToolPath {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let system = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
        ToolPath(
            std::env::split_paths(&path)
                .filter(|entry| entry.is_absolute())
                .chain(system)
                .collect(),
        )
    }

    /// The program's path, if one of the directories has it and it can be executed.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        self.0.iter().map(|directory| directory.join(program)).find(|path| is_program(path))
    }
}

impl Default for ToolPath {
    fn default() -> ToolPath {
        ToolPath::from_environment()
    }
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_programs_and_not_other_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("blkid");
        let tools = ToolPath::of([directory.path().to_owned()]);
        assert_eq!(tools.find("blkid"), None);
        std::fs::write(&path, "").unwrap();
        assert_eq!(tools.find("blkid"), None, "not executable");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(tools.find("blkid"), Some(path));
    }
}
