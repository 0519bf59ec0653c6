//! What an archive holds, read before any clock starts; refuses one that would write outside
//! its directory.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use crate::Failure;

/// Totals of an archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Census {
    /// Files, links and directories named.
    pub(super) entries: u64,
    /// Files and links.
    pub(super) files: u64,
    /// Contents of files.
    pub(super) bytes: u64,
}

/// Counts what an archive holds.
///
/// # Errors
/// When it cannot be read as a plain tar, or holds a path that leads out of it.
pub(super) fn census(path: &Path) -> Result<Census, Failure> {
    let problem =
        |why: String| Failure::Input(format!("{} cannot be unpacked here: {why}", path.display()));
    let file = File::open(path).map_err(|error| problem(error.to_string()))?;
    let mut archive = tar::Archive::new(file);
    let mut census = Census::default();
    let mut symlinks: HashSet<Vec<u8>> = HashSet::new();
    let entries = archive.entries().map_err(|error| problem(error.to_string()))?;
    for entry in entries {
        let entry = entry.map_err(|error| problem(format!("{error}; is it a plain .tar?")))?;
        let kind = entry.header().entry_type();
        if is_remark(kind) {
            continue;
        }
        let name = entry.path_bytes();
        let shown = String::from_utf8_lossy(&name).into_owned();
        let inside = |name: &[u8]| {
            !name.starts_with(b"/")
                && !name.contains(&0)
                && name.split(|byte| *byte == b'/').all(|part| part != b"..")
        };
        if !inside(&name) || name.len() > 3000 {
            return Err(problem(format!("{shown} leads out of the directory")));
        }
        for (at, _) in name.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            if symlinks.contains(&name[..at]) {
                return Err(problem(format!("{shown} lies behind a symbolic link")));
            }
        }
        census.entries += 1;
        match kind {
            tar::EntryType::Directory => continue,
            tar::EntryType::Regular | tar::EntryType::Continuous => census.bytes += entry.size(),
            tar::EntryType::Symlink => {
                symlinks.insert(name.into_owned());
            }
            tar::EntryType::Link => {
                let to = entry.link_name_bytes().unwrap_or_default();
                if !inside(&to) {
                    return Err(problem(format!("{shown} links to outside")));
                }
            }
            other => return Err(problem(format!("{shown} is of a kind not known ({other:?})"))),
        }
        census.files += 1;
    }
    if census.files == 0 {
        return Err(problem("it holds no file".to_owned()));
    }
    Ok(census)
}

/// Whether an entry says something of others, or of the archive, and is no file.
pub(super) fn is_remark(kind: tar::EntryType) -> bool {
    matches!(kind, tar::EntryType::XGlobalHeader | tar::EntryType::XHeader)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(entries: &[(&str, tar::EntryType, &str)]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut builder = tar::Builder::new(file.reopen().unwrap());
        for (name, kind, link) in entries {
            let mut header = tar::Header::new_gnu();
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(0);
            header.set_cksum();
            builder.append(&header, &[][..]).unwrap();
        }
        builder.finish().unwrap();
        file
    }

    #[test]
    fn an_archive_that_writes_outside_is_refused() {
        use tar::EntryType::{Directory, Link, Regular, Symlink};
        let refused = |entries: &[(&str, tar::EntryType, &str)]| {
            census(archive(entries).path()).unwrap_err().to_string()
        };
        assert!(refused(&[("a/../../x", Regular, "")]).contains("leads out"));
        assert!(refused(&[("/etc/x", Regular, "")]).contains("leads out"));
        assert!(refused(&[("a", Symlink, "/"), ("a/x", Regular, "")]).contains("behind"));
        assert!(refused(&[("a", Link, "../x")]).contains("links to outside"));
        assert!(refused(&[("a/", Directory, "")]).contains("no file"));
        let fine = archive(&[("a/", Directory, ""), ("a/x", Regular, ""), ("l", Symlink, "a")]);
        assert_eq!(census(fine.path()).unwrap(), Census { entries: 3, files: 2, bytes: 0 });
    }
}
