//! The lab when things go wrong: a cache that is full, a build that is killed while it
//! downloads, plans that do not fit this machine's memory. Afterwards nothing runs, nothing
//! half-written counts, and the next start works.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

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

#[test]
fn a_build_that_is_killed_while_it_downloads_is_done_again_and_its_lab_keeps_to_the_memory() {
    if !is_root() {
        return;
    }
    let sandbox = Sandbox::new();
    let mut build = sandbox.command("lab build").stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(build.stderr.take().unwrap()).lines().map_while(Result::ok);
    let fetching = lines.any(|line| line.contains("fetching") && line.contains("packages for"));
    assert!(fetching, "the build ended before it fetched anything");
    build.kill().unwrap();
    build.wait().unwrap();
    // What it had started holds the other end of nothing of ours: it ends by itself.
    lines.for_each(drop);
    sandbox.run("lab show").ended_with(3);

    sandbox.run("lab build").ended_with(0);
    let lab = sandbox.path(".cache/fstrial/lab");
    assert_eq!(unfinished(&lab.join("software")), [""; 0]);
    assert_eq!(at_work(sandbox.directory.path()), [""; 0]);

    let big = "run bigfile:size=2T:dd_size=0 --profile today --fs ext4 --repeats 1 --size 6T";
    let ran = sandbox.run(big).ended_with(3);
    assert!(ran.stderr.contains("TiB") && ran.stderr.contains("are free"), "{}", ran.stderr);

    // Two at once where there are two cores; each disk is far larger than its guest.
    let two = "run fsync-append:records=20 --fs ext4,xfs --size 16G --set ram=256M --repeats 1";
    sandbox.run(two).ended_with(0);
    assert_eq!(at_work(sandbox.directory.path()), [""; 0]);
}
