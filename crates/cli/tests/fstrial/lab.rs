//! Building the lab when things go wrong: a cache that is full, a build that is killed, a
//! package that is not the listed one. Afterwards nothing runs, nothing half-written counts,
//! and the next build is whole.

use std::path::Path;
use std::process::{Child, Stdio};

use rustix::mount::{MountFlags, UnmountFlags};
use skippable::{Ending, needs_program, needs_root};

use crate::archive::{self, Archive, KERNEL, KERNEL_FILE, RELEASE, Served};
use crate::sandbox::{Ran, Sandbox, eventually};

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

pub(crate) fn a_cache_that_is_full_leaves_no_lab_and_says_what_to_do() -> Ending {
    needs_root()?;
    skippable::own_mounts();
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
    Ok(())
}

/// What the lab is built with.
fn needs_apt() -> Ending {
    needs_program("apt-get", "apt")?;
    needs_program("dpkg-deb", "dpkg")
}

fn run(sandbox: &Sandbox, words: &str) -> Ran {
    Ran::of(archive::command(sandbox, words).output().unwrap())
}

fn start(sandbox: &Sandbox) -> Child {
    let mut command = archive::command(sandbox, "lab build");
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// There is no lab, and nothing is at work that would make one.
#[track_caller]
fn assert_there_is_none(sandbox: &Sandbox) {
    eventually("what the build had started has ended", || {
        at_work(sandbox.directory.path()).is_empty()
    });
    let ran = run(sandbox, "lab show").ended_with(3);
    assert!(ran.stderr.contains("fstrial lab build"), "{}", ran.stderr);
}

/// The next build is whole, and nothing is left of those before.
#[track_caller]
fn assert_the_next_is_whole(sandbox: &Sandbox) {
    run(sandbox, "lab build").ended_with(0);
    let shown = run(sandbox, "lab show").ended_with(0).stdout;
    let kernel = shown.lines().find_map(|line| line.strip_prefix("kernel ")).unwrap().trim();
    assert_eq!(std::fs::read_to_string(kernel).unwrap(), KERNEL);
    assert!(shown.contains(&format!("linux-image-{RELEASE} 1.0")), "{shown}");
    let software = sandbox.path(".cache/fstrial/lab/software");
    assert_eq!(unfinished(&software), [""; 0]);
    assert_eq!(std::fs::read_dir(software).unwrap().count(), 1);
}

pub(crate) fn a_build_that_is_killed_while_it_downloads_leaves_no_lab() -> Ending {
    needs_apt()?;
    let sandbox = Sandbox::new();
    let archive = Archive::of(&sandbox);
    archive.serve(KERNEL_FILE, Served::Stalled);
    let mut child = start(&sandbox);
    archive.wait_until_stalled();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_there_is_none(&sandbox);
    archive.serve(KERNEL_FILE, Served::Whole);
    assert_the_next_is_whole(&sandbox);
    Ok(())
}

pub(crate) fn a_build_that_is_killed_while_it_unpacks_leaves_no_lab() -> Ending {
    needs_apt()?;
    let sandbox = Sandbox::new();
    let _archive = Archive::of(&sandbox);
    let called = sandbox.path("called");
    assert!(std::process::Command::new("mkfifo").arg(&called).status().unwrap().success());
    // The package is unpacked, and its program does not come back.
    let script = format!(
        "/usr/bin/dpkg-deb \"$@\" || exit\n\
         if [ \"$1\" = --extract ]; then echo called > {}; exec sleep 600; fi",
        called.display()
    );
    archive::program(&sandbox, "dpkg-deb", &script);
    let mut child = start(&sandbox);
    // A fifo's end opens when the other does.
    assert_eq!(std::fs::read_to_string(&called).unwrap(), "called\n");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_there_is_none(&sandbox);
    std::fs::remove_file(sandbox.path("bin/dpkg-deb")).unwrap();
    assert_the_next_is_whole(&sandbox);
    Ok(())
}

pub(crate) fn a_package_that_does_not_come_whole_or_is_another_is_refused() -> Ending {
    needs_apt()?;
    let sandbox = Sandbox::new();
    let archive = Archive::of(&sandbox);
    for (how, said) in
        [(Served::Cut, KERNEL_FILE), (Served::Changed, "does not match the lists of its archive")]
    {
        archive.serve(KERNEL_FILE, how);
        let ran = run(&sandbox, "lab build").ended_with(3);
        assert!(ran.stderr.contains(said), "{how:?}: {}", ran.stderr);
        let software = sandbox.path(".cache/fstrial/lab/software");
        assert_eq!(std::fs::read_dir(software).unwrap().count(), 0, "{how:?}");
        assert_there_is_none(&sandbox);
    }
    archive.serve(KERNEL_FILE, Served::Whole);
    assert_the_next_is_whole(&sandbox);
    Ok(())
}

pub(crate) fn a_package_of_another_version_than_the_lists_say_is_refused() -> Ending {
    needs_apt()?;
    let sandbox = Sandbox::new();
    let archive = Archive::of(&sandbox);
    archive.mislabel_kernel(&sandbox);
    let ran = run(&sandbox, "lab build").ended_with(3);
    let said = format!("linux-image-{RELEASE} 1.1, the package lists say");
    assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    assert_there_is_none(&sandbox);
    Ok(())
}

/// The head of a kernel for x86-64, and no kernel behind it.
fn head_of_a_kernel() -> String {
    let mut head = vec![0; 0x400];
    head[0x202..0x206].copy_from_slice(b"HdrS");
    head[0x236] = 1;
    String::from_utf8(head).unwrap()
}

pub(crate) fn what_is_no_kernel_for_the_lab_leaves_the_lab_as_it_was() -> Ending {
    needs_apt()?;
    let sandbox = Sandbox::new();
    let _archive = Archive::of(&sandbox);
    run(&sandbox, "lab build").ended_with(0);
    let shown = run(&sandbox, "lab show").ended_with(0).stdout;
    let head = head_of_a_kernel();
    std::fs::write(sandbox.path("text"), "no kernel\n").unwrap();
    std::fs::write(sandbox.path("arm"), format!("{}ARM\x64", "\0".repeat(56))).unwrap();
    std::fs::write(sandbox.path("image"), &head).unwrap();
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    let modules = "lib/modules/6.12.1/kernel/fs/ext4/ext4.ko";
    let packages: [(&str, &[(&str, &str)]); 3] = [
        ("tool.deb", &[("usr/bin/tool", "a tool")]),
        ("bare.deb", &[("boot/vmlinuz-6.12.1", &head)]),
        ("apart.deb", &[("boot/vmlinuz-6.12.1", &head), (modules, "a module")]),
    ];
    for (file, contents) in packages {
        archive::package(&sandbox, file, "linux-image-own", "1", contents);
    }
    // Its version is all that is asked of it before a guest is started.
    archive::program(&sandbox, "qemu-system-x86_64", "echo QEMU emulator version 0");
    for (given, says) in [
        ("--kernel gone", "gone"),
        ("--kernel text", "not a kernel for x86-64"),
        ("--kernel arm", "not a kernel for x86-64"),
        ("--kernel image", "--modules"),
        ("--kernel image --modules empty", "not a directory of kernel modules"),
        ("--kernel tool.deb", "no kernel in it"),
        ("--kernel bare.deb", "no modules in it"),
        ("--kernel apart.deb", "no ublk_drv or nbd"),
    ] {
        let ran = run(&sandbox, &format!("lab build {given}")).ended_with(3);
        assert!(ran.stderr.contains(says), "`{says}` is not in:\n{}", ran.stderr);
    }
    assert_eq!(run(&sandbox, "lab show").ended_with(0).stdout, shown);
    assert_eq!(unfinished(&sandbox.path(".cache/fstrial/lab/software")), [""; 0]);
    Ok(())
}

pub(crate) fn sources_of_a_kernel_that_are_none_are_told_before_anything_is_made() {
    let sandbox = Sandbox::new();
    for (name, text) in [("text", "a text\n"), ("settings", "CONFIG_EXT4_FS=m\nEXT4\n")] {
        std::fs::write(sandbox.path(name), text).unwrap();
    }
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    for (given, code, says) in [
        ("--kernel-source six", 2, "neither an existing directory nor a version"),
        ("--kernel-source empty", 3, "not a Linux source tree: it has no Makefile"),
        ("--kernel-source 6.12 --patch gone", 3, "gone"),
        ("--kernel-source 6.12 --patch text", 3, "not a unified diff"),
        ("--kernel-source 6.12 --patch empty", 3, "no patches in it"),
        ("--kernel-source 6.12 --config gone", 3, "gone"),
        ("--kernel-source 6.12 --config settings", 3, "settings, line 2: `EXT4` is no setting"),
        ("--patch text", 2, "--kernel-source"),
        ("--kernel-source 6.12 --kernel text", 2, "cannot be used with"),
    ] {
        let ran = sandbox.run(&format!("lab build {given}")).ended_with(code);
        assert!(ran.stderr.contains(says), "`{says}` is not in:\n{}", ran.stderr);
    }
    let cache = sandbox.path(".cache/fstrial/lab");
    assert!(!cache.exists(), "something was made in {}", cache.display());
}
