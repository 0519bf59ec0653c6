//! The guest's userland: programs from unpacked packages and the libraries they load. Nothing else
//! is included, since all of it takes guest memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::elf::Elf;
use crate::error::LabError;

/// Directories of programs, in the order the guest looks them up.
pub(crate) const PROGRAM_DIRECTORIES: [&str; 4] = ["usr/sbin", "sbin", "usr/bin", "bin"];
/// Directories of libraries.
pub(crate) const LIBRARY_DIRECTORIES: [&str; 6] =
    ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib64", "lib64", "usr/lib", "lib"];
/// Configuration files without which a tool behaves differently than on Debian.
const CONFIGURATION: [&str; 1] = ["etc/mke2fs.conf"];
/// Where all libraries are put in the guest.
pub(crate) const LIBRARIES: &str = "lib/x86_64-linux-gnu";
/// The largest file of the tools.
pub(crate) const PROGRAM_MAX: u64 = 1 << 30;
const LOADER: &str = "lib64/ld-linux-x86-64.so.2";

/// Files for the guest, by their path there.
#[derive(Debug, Default)]
pub(crate) struct Userland {
    /// Path in the guest to contents.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// Programs that are not in the tree.
    pub(crate) missing: Vec<String>,
}

/// Collects `programs` from the trees at `roots`, earlier ones first.
///
/// # Errors
/// When a file cannot be read, or a library a program needs is in no tree.
pub(crate) fn collect<'a>(
    roots: &[&Path],
    programs: impl IntoIterator<Item = &'a str>,
) -> Result<Userland, LabError> {
    let find_in = |directories: &[&str], name: &str| {
        roots.iter().find_map(|root| find(root, directories, name))
    };
    let lacking = |problem: String| {
        LabError::damaged(roots.first().copied().unwrap_or(Path::new("")), problem)
    };
    let mut userland = Userland::default();
    let mut needed: Vec<Needed> = Vec::new();
    for program in programs {
        match find_in(&PROGRAM_DIRECTORIES, program) {
            None => userland.missing.push(program.to_owned()),
            Some(path) => {
                let contents = files::read_file(&path, PROGRAM_MAX)?;
                needed.extend(libraries(&contents, program, &in_tree(roots, &path)));
                userland.files.insert(format!("sbin/{program}"), contents);
            }
        }
    }
    while let Some(Needed { library, by, places }) = needed.pop() {
        let loader = library.starts_with("ld-linux");
        let place = if loader { LOADER.to_owned() } else { format!("{LIBRARIES}/{library}") };
        if userland.files.contains_key(&place) {
            continue;
        }
        let own: Vec<&str> = places.iter().map(String::as_str).collect();
        let path = find_in(&own, &library)
            .or_else(|| find_in(&LIBRARY_DIRECTORIES, &library))
            .ok_or_else(|| lacking(format!("{by} needs {library}, which is not in it")))?;
        let contents = files::read_file(&path, PROGRAM_MAX)?;
        needed.extend(libraries(&contents, &library, &in_tree(roots, &path)));
        userland.files.insert(place, contents);
    }
    if !userland.files.is_empty() && !userland.files.contains_key(LOADER) {
        let path = find_in(&LIBRARY_DIRECTORIES, "ld-linux-x86-64.so.2")
            .ok_or_else(|| lacking("it has no ld-linux-x86-64.so.2".to_owned()))?;
        let contents = files::read_file(&path, PROGRAM_MAX)?;
        userland.files.insert(LOADER.to_owned(), contents);
    }
    for file in CONFIGURATION {
        let found =
            roots.iter().find_map(|root| files::read_file(&root.join(file), files::TEXT_MAX).ok());
        if let Some(contents) = found {
            userland.files.insert(file.to_owned(), contents);
        }
    }
    Ok(userland)
}

/// A library that a file needs.
struct Needed {
    library: String,
    by: String,
    /// Directories of a tree in which the file wants it to be looked for first (`RUNPATH`).
    places: Vec<String>,
}

fn libraries(contents: &[u8], by: &str, directory: &str) -> Vec<Needed> {
    let Some(elf) = Elf::parse(contents) else { return Vec::new() };
    let places = elf.library_paths().into_iter().map(|place| {
        let place = place.replace("${ORIGIN}", directory).replace("$ORIGIN", directory);
        place.trim_start_matches('/').to_owned()
    });
    let places: Vec<String> = places.filter(|place| !place.is_empty()).collect();
    let needed = |library| Needed { library, by: by.to_owned(), places: places.clone() };
    elf.libraries().into_iter().map(needed).collect()
}

/// The directory of a file, in the tree that has it.
fn in_tree(roots: &[&Path], path: &Path) -> String {
    let directory = path.parent().unwrap_or(Path::new(""));
    let below = roots.iter().find_map(|root| directory.strip_prefix(root).ok());
    below.unwrap_or(directory).display().to_string()
}

/// Finds a file of this name in one of the tree's directories; symlinks are followed inside the
/// tree.
pub(crate) fn find(root: &Path, directories: &[&str], name: &str) -> Option<PathBuf> {
    directories.iter().find_map(|directory| resolve(root, &root.join(directory).join(name), 0))
}

/// Follows links the way the guest would, with `root` as its root.
fn resolve(root: &Path, path: &Path, depth: u32) -> Option<PathBuf> {
    if depth > 8 {
        return None;
    }
    match std::fs::read_link(path) {
        Err(_) => path.is_file().then(|| path.to_owned()),
        Ok(target) => {
            let next = match target.strip_prefix("/") {
                Ok(absolute) => root.join(absolute),
                Err(_) => path.parent()?.join(target),
            };
            resolve(root, &next, depth + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_comes_with_all_it_loads() {
        let userland = collect(&[Path::new("/")], ["mke2fs", "no-such-program"]).unwrap();
        assert_eq!(userland.missing, ["no-such-program"]);
        assert!(userland.files.contains_key("sbin/mke2fs"));
        assert!(userland.files.contains_key(LOADER));
        assert!(userland.files.keys().any(|path| path.contains("libext2fs.so")));
        assert!(userland.files.keys().any(|path| path.contains("libc.so")));
    }

    #[test]
    fn a_library_is_found_where_the_one_that_needs_it_says() {
        let root = tempfile::tempdir().unwrap();
        let place = |path: &str| root.path().join(path);
        for directory in ["usr/bin", "usr/lib/x86_64-linux-gnu/inner", "lib64"] {
            std::fs::create_dir_all(place(directory)).unwrap();
        }
        let compile = |arguments: &[&str]| {
            let mut compiler = std::process::Command::new("cc");
            compiler.current_dir(root.path()).args(["-nostdlib", "-x", "c", "-"]).args(arguments);
            let mut child = compiler.stdin(std::process::Stdio::piped()).spawn().unwrap();
            std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"void _start(void) {}")
                .unwrap();
            assert!(child.wait().unwrap().success());
        };
        let library = "usr/lib/x86_64-linux-gnu/inner/libinner.so";
        compile(&["-shared", "-Wl,-soname,libinner.so", "-o", library]);
        let end =
            ["-Wl,--no-as-needed", "-L", "usr/lib/x86_64-linux-gnu/inner", "-x", "none", "-linner"];
        for runpath in ["/usr/lib/x86_64-linux-gnu/inner", "$ORIGIN/../lib/x86_64-linux-gnu/inner"]
        {
            let rpath = format!("-Wl,-rpath,{runpath}");
            compile(&[&[rpath.as_str(), "-o", "usr/bin/outer"], &end[..]].concat());
            std::fs::write(place("lib64/ld-linux-x86-64.so.2"), "loader").unwrap();
            let userland = collect(&[root.path()], ["outer"]).unwrap();
            assert!(userland.files.contains_key("lib/x86_64-linux-gnu/libinner.so"), "{runpath}");
        }
    }

    #[test]
    fn links_do_not_leave_the_tree() {
        let root = tempfile::tempdir().unwrap();
        let sbin = root.path().join("sbin");
        std::fs::create_dir_all(&sbin).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", sbin.join("out")).unwrap();
        std::os::unix::fs::symlink("round", sbin.join("round")).unwrap();
        assert_eq!(find(root.path(), &["sbin"], "out"), None);
        assert_eq!(find(root.path(), &["sbin"], "round"), None);
    }
}
