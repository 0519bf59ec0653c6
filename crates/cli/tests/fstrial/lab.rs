//! The lab when things go wrong: a cache that is full. Afterwards nothing runs and nothing
//! half-written counts.

use std::path::Path;

use rustix::mount::{MountFlags, UnmountFlags};

use crate::sandbox::{Sandbox, is_root};

/// A small filesystem in memory for as long as this lives.
struct Small<'a>(&'a Path);

impl Small<'_> {
    fn mount(at: &Path) -> Small<'_> {
        std::fs::create_dir_all(at).unwrap();
        let options = c"size=24M";
        rustix::mount::mount("tmpfs", at, "tmpfs", MountFlags::empty(), Some(options)).unwrap();
        Small(at)
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.0, UnmountFlags::DETACH);
    }
}

/// Processes that work below a directory or were started with its name.
fn at_work(directory: &Path) -> Vec<String> {
    let name = directory.as_os_str().as_encoded_bytes();
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let found = processes.filter(|process| {
        let there = std::fs::read_link(process.join("cwd"));
        let words = std::fs::read(process.join("cmdline")).unwrap_or_default();
        there.is_ok_and(|cwd| cwd.starts_with(directory))
            || words.windows(name.len()).any(|part| part == name)
    });
    found.map(|process| process.display().to_string()).collect()
}

fn unfinished(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("unfinished")).collect()
}

#[test]
fn a_cache_that_is_full_leaves_no_lab_and_says_what_to_do() {
    if !is_root() {
        return;
    }
    let sandbox = Sandbox::new();
    let cache = sandbox.path(".cache");
    let _small = Small::mount(&cache);
    let ran = sandbox.run("lab build").ended_with(3);
    assert!(ran.stderr.contains("XDG_CACHE_HOME"), "{}", ran.stderr);
    let lab = cache.join("fstrial/lab");
    assert_eq!(unfinished(&lab.join("software")), [""; 0]);
    let ran = sandbox.run("lab show").ended_with(3);
    assert!(ran.stderr.contains("fstrial lab build"), "{}", ran.stderr);
    assert_eq!(at_work(sandbox.directory.path()), [""; 0]);
}
