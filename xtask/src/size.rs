//! Files that are too long to be read at one go. Functions are clippy's: `clippy.toml`.

use crate::sources::Crate;

/// Lines a file may have.
const FILE_LINES_MAX: usize = 400;

/// What is longer, in words.
pub(crate) fn check(crates: &[Crate]) -> Vec<String> {
    let files = crates.iter().flat_map(|one| &one.files);
    files.filter_map(|file| too_long(&file.shown(), &file.text)).collect()
}

fn too_long(shown: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > FILE_LINES_MAX)
        .then(|| format!("{shown}: {lines} lines, {FILE_LINES_MAX} at most: split it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_have_400_lines() {
        assert_eq!(too_long("x.rs", &"a\n".repeat(400)), None);
        let found = too_long("x.rs", &"a\n".repeat(401)).unwrap();
        assert_eq!(found, "x.rs: 401 lines, 400 at most: split it");
    }
}
