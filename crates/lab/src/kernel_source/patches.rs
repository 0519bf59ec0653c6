//! The user's own patches: read and checked first, and later applied to a copy of the tree.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::building::run;
use crate::error::LabError;

/// A patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Patch {
    /// The file's name, without its directory.
    pub(super) name: String,
    /// The unified diff.
    pub(super) text: Vec<u8>,
}

/// Reads a patch, or all patches of a directory: those listed in its file `series`, or else all, in
/// order of their names.
///
/// # Errors
/// When there is no patch, or one is not a unified diff.
pub(super) fn read(path: &Path) -> Result<Vec<Patch>, LabError> {
    let files = match path.is_dir() {
        true => of_directory(path)?,
        false => vec![path.to_owned()],
    };
    if files.is_empty() {
        let problem = "it has no patches in it (*.patch, *.diff, or those that its `series` lists)";
        return Err(LabError::value(format!("--patch {}", path.display()), problem));
    }
    files.iter().map(|file| read_one(file)).collect()
}

fn of_directory(directory: &Path) -> Result<Vec<PathBuf>, LabError> {
    let series = directory.join("series");
    if series.is_file() {
        let text = files::read_text(&series)?;
        let names = text.lines().filter_map(|line| line.split_whitespace().next());
        let names = names.filter(|name| !name.starts_with('#'));
        return Ok(names.map(|name| directory.join(name)).collect());
    }
    let entries = std::fs::read_dir(directory).map_err(LabError::at("read", directory))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    let is_patch = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = name.trim_end_matches(".gz").trim_end_matches(".xz");
        name.ends_with(".patch") || name.ends_with(".diff")
    };
    files.retain(|path| path.is_file() && is_patch(path));
    files.sort();
    Ok(files)
}

/// The largest patch. That of a whole release of Linux has 60 MB.
const PATCH_MAX: u64 = 256 << 20;

fn read_one(path: &Path) -> Result<Patch, LabError> {
    let file = files::read_file(path, PATCH_MAX)?;
    let unpacked = match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => files::read_at_most(flate2::read::MultiGzDecoder::new(&file[..]), PATCH_MAX),
        Some("xz") => files::read_at_most(crate::modules::xz(&file), PATCH_MAX),
        _ => Ok(file),
    };
    let text = unpacked.map_err(LabError::at("decompress", path))?;
    let begins = |head: &[u8]| text.split(|byte| *byte == b'\n').any(|line| line.starts_with(head));
    if !(begins(b"--- ") && begins(b"+++ ") && begins(b"@@ ")) {
        let problem = "it is not a unified diff, as `git diff` or `diff -u` writes it";
        return Err(LabError::value(format!("--patch {}", path.display()), problem));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Patch { name, text })
}

/// Applies patches in their order; `scratch` is a file that is written and removed.
///
/// # Errors
/// When a patch does not fit: names every hunk that does not.
pub(super) fn apply(
    patches: &[Patch],
    tree: &Path,
    scratch: &Path,
    what: &str,
) -> Result<(), LabError> {
    for patch in patches {
        std::fs::write(scratch, &patch.text).map_err(LabError::at("write", scratch))?;
        let mut command = Command::new("patch");
        command
            .args(["--strip=1", "--forward", "--batch", "--no-backup-if-mismatch", "--input"])
            .arg(scratch)
            .env("LC_ALL", "C")
            .current_dir(tree);
        let mut said = Vec::new();
        let applied = run(&mut command, |line| said.push(line.to_owned()));
        let _ = std::fs::remove_file(scratch);
        if let Err(error) = applied {
            let misfits = misfits(&said);
            let misfits = match misfits.is_empty() {
                true => error.to_string(),
                false => misfits.join("; "),
            };
            let problem = format!(
                "it does not fit {what}: {misfits}. Take the patch for this version, or apply it \
                 by hand to a tree of your own and give that: --kernel-source DIR"
            );
            return Err(LabError::value(format!("--patch {}", patch.name), problem));
        }
    }
    Ok(())
}

/// What GNU patch could not do: file by file, hunk by hunk.
fn misfits(said: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut file = String::new();
    let mut absent = false;
    for line in said {
        if let Some(name) = line.strip_prefix("patching file ") {
            name.trim_matches('\'').clone_into(&mut file);
        } else if line.starts_with("can't find file to patch") {
            absent = true;
        } else if let Some(name) = line.strip_prefix("|+++ ").filter(|_| absent) {
            let name = name.split('\t').next().unwrap_or(name);
            let name = name.split_once('/').map_or(name, |(_, rest)| rest);
            found.push(format!("there is no file {name}"));
            absent = false;
        } else if let Some(rest) = line.strip_prefix("Hunk #") {
            if let Some((hunk, place)) = rest.split_once(" FAILED at ") {
                let place = place.trim_end_matches('.');
                found.push(format!("{file}: hunk {hunk} (line {place})"));
            }
        } else if line.starts_with("Reversed (or previously applied)") {
            found.push(format!("{file} has it already"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "--- a/fs/one.c\n+++ b/fs/one.c\n@@ -1,3 +1,3 @@\n int a;\n-int b;\n\
                         +int c;\n int d;\n";

    fn tree(contents: &str) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir(tree.path().join("fs")).unwrap();
        std::fs::write(tree.path().join("fs/one.c"), contents).unwrap();
        tree
    }

    fn applied(patch: &str, tree: &Path) -> Result<(), String> {
        let patch = Patch { name: "mine.patch".to_owned(), text: patch.as_bytes().to_vec() };
        let scratch = tree.join("applied");
        apply(&[patch], tree, &scratch, "Linux 6.12").map_err(|error| error.to_string())
    }

    #[test]
    fn a_patch_is_applied_or_the_hunk_that_does_not_fit_is_named() {
        let fits = tree("int a;\nint b;\nint d;\n");
        applied(PATCH, fits.path()).unwrap();
        let text = std::fs::read_to_string(fits.path().join("fs/one.c")).unwrap();
        assert_eq!(text, "int a;\nint c;\nint d;\n");
        assert!(applied(PATCH, fits.path()).unwrap_err().contains("fs/one.c has it already"));

        let other = tree("something\nquite\nelse\n");
        let error = applied(PATCH, other.path()).unwrap_err();
        assert!(error.contains("mine.patch") && error.contains("Linux 6.12"), "{error}");
        assert!(error.contains("fs/one.c: hunk 1 (line 1)"), "{error}");

        let elsewhere = PATCH.replace("one.c", "two.c");
        let error = applied(&elsewhere, other.path()).unwrap_err();
        assert!(error.contains("there is no file fs/two.c"), "{error}");
    }

    #[test]
    fn patches_of_a_directory_come_in_order() {
        let room = tempfile::tempdir().unwrap();
        let names = || {
            let patches = read(room.path()).map_err(|error| error.to_string())?;
            Ok::<_, String>(patches.into_iter().map(|patch| patch.name).collect::<Vec<_>>())
        };
        assert!(names().unwrap_err().contains("no patches in it"));
        for name in ["b.patch", "a.diff", "notes.txt", "c.patch"] {
            std::fs::write(room.path().join(name), PATCH).unwrap();
        }
        assert_eq!(names().unwrap(), ["a.diff", "b.patch", "c.patch"]);
        std::fs::write(room.path().join("series"), "# first\nc.patch\nb.patch -p1\n").unwrap();
        assert_eq!(names().unwrap(), ["c.patch", "b.patch"]);
        std::fs::write(room.path().join("series"), "gone.patch\n").unwrap();
        assert!(names().unwrap_err().contains("gone.patch"));
        assert!(read(&room.path().join("notes.txt")).is_ok(), "known by what is in it");
        std::fs::write(room.path().join("notes.txt"), "a text").unwrap();
        let error = read(&room.path().join("notes.txt")).unwrap_err().to_string();
        assert!(error.contains("not a unified diff"), "{error}");
    }
}
