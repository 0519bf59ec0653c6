//! `kill -9` at every stage: the next start cleans up what is its own, touches nothing
//! else, and `--resume` completes the run.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use skippable::{Attached, Ending, needs_loop_devices, needs_root, skip};

use crate::sandbox::{Sandbox, eventually, images};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const RUN: &str = "run maildir-write --testbed device --fs ext4 --repeats 3 --scale 0.002 \
                   --mail synthetic:count=50 --size 64M --quiet";

/// A program in fstrial's tool path that reports on a fifo that it was called and then
/// hangs, so that the moment of the kill is certain.
struct Trap {
    tools: PathBuf,
    fifo: PathBuf,
}

impl Trap {
    /// Replaces `program`; every other tool of the machine is linked beside it.
    fn on(sandbox: &Sandbox, program: &str) -> Trap {
        let fifo = sandbox.path("called");
        let hang = format!("echo called > {}\nexec sleep 600\n", fifo.display());
        Trap::running(sandbox, program, &hang)
    }

    /// Replaces `program`, which only hangs when one of its arguments is like `pattern`.
    fn on_argument(sandbox: &Sandbox, program: &str, pattern: &str) -> Trap {
        let original = format!("/usr/sbin/{program}");
        let fifo = sandbox.path("called");
        let script = format!(
            "case \"$*\" in {pattern}) echo called > {}; exec sleep 600;; esac\n\
             exec {original} \"$@\"\n",
            fifo.display()
        );
        Trap::running(sandbox, program, &script)
    }

    fn running(sandbox: &Sandbox, program: &str, script: &str) -> Trap {
        let tools = sandbox.path("tools");
        fs::create_dir(&tools).unwrap();
        for directory in ["/usr/sbin", "/sbin", "/usr/bin", "/bin"] {
            let ext = ["mke2fs", "e2fsck", "dumpe2fs", "tune2fs", "blkid", "wipefs"];
            for name in ext.into_iter().chain(["zfs-fuse", "zpool", "zfs"]) {
                let original = Path::new(directory).join(name);
                let link = tools.join(name);
                if original.exists() && !link.exists() && name != program {
                    std::os::unix::fs::symlink(original, link).unwrap();
                }
            }
        }
        let fifo = sandbox.path("called");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        fs::write(tools.join(program), format!("#!/bin/sh\n{script}")).unwrap();
        fs::set_permissions(tools.join(program), fs::Permissions::from_mode(0o755)).unwrap();
        Trap { tools, fifo }
    }

    /// Returns when the program has been called.
    #[track_caller]
    fn wait(&self, sandbox: &Sandbox, child: &mut Child) {
        // Read and write: such an open of a fifo never blocks and never sees an end.
        let fifo = OpenOptions::new().read(true).write(true).open(&self.fifo).unwrap();
        let tenth = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        loop {
            let mut waited = [PollFd::new(&fifo, PollFlags::IN)];
            if poll(&mut waited, Some(&tenth)).unwrap() == 1 {
                return;
            }
            if let Some(status) = child.try_wait().unwrap() {
                let said = fs::read_to_string(sandbox.path("stderr")).unwrap_or_default();
                panic!("fstrial ended before it called the program: {status}\n{said}");
            }
        }
    }
}

fn start(sandbox: &Sandbox, trap: Option<&Trap>) -> Child {
    start_with(sandbox, RUN, trap)
}

fn start_with(sandbox: &Sandbox, words: &str, trap: Option<&Trap>) -> Child {
    let mut command = sandbox.command(words);
    if let Some(trap) = trap {
        command.env("FSTRIAL_TOOL_PATH", &trap.tools);
    }
    let stderr = File::create(sandbox.path("stderr")).unwrap();
    command.stdout(Stdio::null()).stderr(stderr).spawn().unwrap()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

/// What a killed run must not leave: processes, loop devices, mounts.
fn assert_nothing_is_left(sandbox: &Sandbox) {
    let home = sandbox.directory.path().display().to_string();
    let mentions = |text: &str| text.contains(&home);
    eventually("loop devices are detached", || {
        let loops = Command::new("losetup").arg("-a").output().unwrap();
        !mentions(&String::from_utf8_lossy(&loops.stdout))
    });
    assert!(!mentions(&fs::read_to_string("/proc/mounts").unwrap()), "a mount is left");
}

/// After the kill: the next start sweeps, the run is completed, its trials are whole.
fn assert_the_run_can_be_completed(sandbox: &Sandbox) {
    let bystander = sandbox.path(".cache/fstrial/loop/keep.img");
    fs::write(&bystander, "not ours").unwrap();
    let resumed = sandbox.run("run --resume --quiet --json -").ended_with(0);
    let json: serde_json::Value = serde_json::from_str(&resumed.stdout).unwrap();
    let trials = json["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 3);
    for trial in trials {
        assert_eq!(trial["outcome"]["outcome"], "done", "{}", trial["outcome"]);
    }
    assert_eq!(images(&sandbox.path(".cache/fstrial/loop")), std::slice::from_ref(&bystander));
    assert_eq!(fs::read_to_string(&bystander).unwrap(), "not ours");
    assert_nothing_is_left(sandbox);
}

fn killed_in(program: &str) -> Ending {
    needs_root()?;
    let sandbox = Sandbox::new();
    let trap = Trap::on(&sandbox, program);
    let mut child = start(&sandbox, Some(&trap));
    trap.wait(&sandbox, &mut child);
    kill(child);
    assert_nothing_is_left(&sandbox);
    assert_the_run_can_be_completed(&sandbox);
    Ok(())
}

pub(crate) fn killed_while_the_device_is_examined() -> Ending {
    killed_in("wipefs")
}

pub(crate) fn killed_in_mkfs() -> Ending {
    killed_in("mke2fs")
}

pub(crate) fn killed_when_just_mounted() -> Ending {
    // dumpe2fs runs on the mounted filesystem, before the first workload.
    killed_in("dumpe2fs")
}

pub(crate) fn killed_in_the_check_after_unmounting() -> Ending {
    killed_in("e2fsck")
}

pub(crate) fn killed_at_work() -> Ending {
    needs_root()?;
    let sandbox = Sandbox::new();
    let child = start(&sandbox, None);
    let place = Path::new("/var/lib/fstrial/mount-point");
    let at_work = |pid: u32| {
        let threads = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok();
        threads.is_some_and(|children| {
            children.split_whitespace().any(|child| {
                // The trial's own namespace, seen through its root.
                Path::new(&format!("/proc/{child}/root{}", place.display()))
                    .join("write_src")
                    .exists()
            })
        })
    };
    let pid = child.id();
    let lanes = || -> Vec<u32> {
        fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect()
    };
    eventually("the trial is at work", || {
        at_work(pid)
            || lanes().iter().any(|lane| {
                fs::read_to_string(format!("/proc/{pid}/task/{lane}/children"))
                    .unwrap_or_default()
                    .split_whitespace()
                    .any(|child| {
                        let inside = format!("/proc/{child}/root{}", place.display());
                        fs::read_dir(inside).is_ok_and(|mut files| {
                            files
                                .any(|file| file.is_ok_and(|file| file.file_name() != "lost+found"))
                        })
                    })
            })
    });
    kill(child);
    assert_nothing_is_left(&sandbox);
    assert_the_run_can_be_completed(&sandbox);
    Ok(())
}

/// The daemon holds the device and the mount, and is no child of the killed process.
pub(crate) fn killed_while_a_daemon_serves_the_filesystem() -> Ending {
    needs_root()?;
    if !Path::new("/usr/sbin/zfs-fuse").exists() && Path::new("/usr/sbin/zpool").exists() {
        return skip("OpenZFS is installed, and zfs-fuse cannot be beside it");
    }
    let sandbox = Sandbox::new();
    let home = sandbox.directory.path().display().to_string();
    let daemons = || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let read = |process: &fs::DirEntry, file| fs::read_to_string(process.path().join(file));
        processes
            .filter(|one| read(one, "comm").is_ok_and(|name| name.trim() == "zfs-fuse"))
            // Those of other tests have another home.
            .filter(|one| read(one, "environ").is_ok_and(|variables| variables.contains(&home)))
            .count()
    };
    // When what is in use is counted: after the workload, mounted.
    let trap = Trap::on_argument(&sandbox, "zfs", "*counted*");
    // Nothing that waits for the disk: there zfs-fuse takes half a second for each file.
    let words = RUN.replace("maildir-write", "unpack").replace("64M", "128M");
    let words = words.replace("--fs ext4", "--fs zfs-fuse");
    let mut child = start_with(&sandbox, &words, Some(&trap));
    trap.wait(&sandbox, &mut child);
    assert_eq!(daemons(), 1, "it serves the mounted filesystem");
    kill(child);
    eventually("the daemon is gone", || daemons() == 0);
    assert_nothing_is_left(&sandbox);
    assert_the_run_can_be_completed(&sandbox);
    assert_eq!(daemons(), 0);
    Ok(())
}

pub(crate) fn killed_while_the_report_is_written() -> Ending {
    needs_root()?;
    let sandbox = Sandbox::new();
    let fifo = sandbox.path("out");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // The report blocks on a pipe that is full and that nobody empties.
    let mut child = sandbox
        .command(&format!("{RUN} --json -"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = [0u8; 1];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    kill(child);
    assert_nothing_is_left(&sandbox);
    assert_the_run_can_be_completed(&sandbox);
    Ok(())
}

pub(crate) fn ctrl_c_stops_cleanly_and_says_how_to_go_on() -> Ending {
    needs_root()?;
    let sandbox = Sandbox::new();
    let trap = Trap::on(&sandbox, "e2fsck");
    let mut child = sandbox
        .command(RUN)
        .env("FSTRIAL_TOOL_PATH", &trap.tools)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    trap.wait(&sandbox, &mut child);
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    let ended = crate::sandbox::Ran::of(child.wait_with_output().unwrap()).ended_with(130);
    assert!(ended.stderr.contains("fstrial run --resume r1"), "{}", ended.stderr);
    assert_eq!(images(&sandbox.path(".cache/fstrial/loop")), [] as [PathBuf; 0]);
    assert_nothing_is_left(&sandbox);
    assert_the_run_can_be_completed(&sandbox);
    Ok(())
}

/// On a device that takes seconds to read: a loop device over another, whose holes are not known.
pub(crate) fn ctrl_c_ends_the_reading_of_a_device() -> Ending {
    needs_loop_devices()?;
    let sandbox = Sandbox::new();
    let image = sandbox.path("image");
    File::create(&image).unwrap().set_len(40 << 30).unwrap();
    let below = Attached::over(&image);
    let device = Attached::over(below.node());
    for dry in ["", "--dry-run"] {
        let words = format!(
            "run bigfile:size=4M --testbed device --fs ext4 --repeats 1 {dry} --device {}",
            device.node().display()
        );
        let mut child = start_with(&sandbox, &words, None);
        let said = || fs::read_to_string(sandbox.path("stderr")).unwrap();
        eventually("it is told that the device is read", || {
            said().contains("to see whether it is empty") || child.try_wait().unwrap().is_some()
        });
        let signal = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(signal.unwrap().success(), "{}", said());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{}", said());
        assert!(said().contains("stopped before any trial began"), "{}", said());
    }
    let resumed = sandbox.run("run --resume").ended_with(3);
    assert!(resumed.stderr.contains("there is no run"), "{}", resumed.stderr);
    assert_eq!(fs::metadata(&image).unwrap().blocks(), 0, "nothing was written");
    Ok(())
}

/// Sends signals that are all there before it does anything about the first.
fn signal_at_once(child: &Child, signals: &[&str]) {
    for signal in ["-STOP"].iter().chain(signals).chain(&["-CONT"]) {
        let status = Command::new("kill").args([signal, &child.id().to_string()[..]]).status();
        assert!(status.unwrap().success());
    }
}

pub(crate) fn a_second_signal_is_told_what_is_waited_for() -> Ending {
    needs_root()?;
    let sandbox = Sandbox::new();
    let trap = Trap::on(&sandbox, "e2fsck");
    let mut child = start(&sandbox, Some(&trap));
    trap.wait(&sandbox, &mut child);
    signal_at_once(&child, &["-INT", "-TERM"]);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let said = fs::read_to_string(sandbox.path("stderr")).unwrap();
    assert!(said.contains("still ") && said.contains("another signal leaves"), "{said}");
    assert!(said.contains("fstrial run --resume r1"), "{said}");
    assert_nothing_is_left(&sandbox);
    Ok(())
}

/// Who waits no longer ends at once, and the next start removes what was left.
pub(crate) fn a_third_signal_leaves_the_rest_to_the_next_start() {
    let sandbox = Sandbox::new();
    let directory = sandbox.path("here");
    fs::create_dir(&directory).unwrap();
    let left = || {
        let entries = fs::read_dir(&directory).unwrap().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("fstrial-")).count()
    };
    let words = "run scale --dir here --repeats 1 --scale 0.05 -q";
    let mut child = start_with(&sandbox, words, None);
    eventually("it works", || left() == 1);
    signal_at_once(&child, &["-INT", "-TERM", "-HUP"]);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let said = fs::read_to_string(sandbox.path("stderr")).unwrap();
    assert!(said.contains("left to the next start"), "{said}");
    assert!(said.contains("fstrial run --resume r1"), "{said}");
    sandbox.run("clean").ended_with(0);
    assert_eq!(left(), 0, "the next start removes it");
}

pub(crate) fn a_trial_whose_process_was_killed_runs_again_on_resume() -> Ending {
    needs_root()?;
    let sandbox = Sandbox::new();
    let trap = Trap::on(&sandbox, "e2fsck");
    let words = RUN.replace("--repeats 3", "--repeats 1");
    let mut child = start_with(&sandbox, &words, Some(&trap));
    trap.wait(&sandbox, &mut child);
    eventually("the trial's process is there", || {
        // Of its lane's thread, not of the first.
        let all = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap().flatten();
        let children = all.map(|task| fs::read_to_string(task.path().join("children")));
        let text: String = children.flatten().collect();
        let ids: Vec<&str> = text.split_whitespace().collect();
        !ids.is_empty() && Command::new("kill").arg("-KILL").args(ids).status().unwrap().success()
    });
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let said = fs::read_to_string(sandbox.path("stderr")).unwrap();
    assert!(said.contains("fstrial run --resume r1"), "{said}");
    let resumed = sandbox.run("run --resume --json -").ended_with(0);
    assert!(resumed.stderr.contains("1 trial again"), "{}", resumed.stderr);
    let json: serde_json::Value = serde_json::from_str(&resumed.stdout).unwrap();
    assert_eq!(json["trials"][0]["outcome"]["outcome"], "done", "{}", resumed.stdout);
    assert!(resumed.stdout.contains("run again: something outside of it had ended it once"));
    Ok(())
}

pub(crate) fn two_at_once_take_turns_and_say_so() -> Ending {
    needs_root()?;
    let sandbox = Sandbox::new();
    let trap = Trap::on(&sandbox, "e2fsck");
    let mut first = start(&sandbox, Some(&trap));
    trap.wait(&sandbox, &mut first);
    let other = "run null --dir . --repeats 1 --store other.db";
    let mut second =
        sandbox.command(other).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut stderr = std::io::BufReader::new(second.stderr.take().unwrap());
    while !said.contains("take turns") {
        let read = std::io::BufRead::read_line(&mut stderr, &mut said).unwrap();
        assert!(read > 0, "it ended without waiting: {said}");
    }
    assert!(!said.contains("done"), "no trial has run yet: {said}");
    kill(first);
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(second.wait().unwrap().code(), Some(0), "{said}");
    Ok(())
}
