//! Surroundings in which something is missing: one message, with the way out.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use skippable::{Ending, needs_root};

use crate::sandbox::{Ran, Sandbox};

fn refused(mut command: Command, code: i32, words: &[&str]) {
    let ran = Ran::of(command.output().unwrap()).ended_with(code);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    for word in words {
        assert!(ran.stderr.contains(word), "`{word}`: {}", ran.stderr);
    }
}

pub(crate) fn what_is_missing_is_said_once() -> Ending {
    needs_root()?;
    let sandbox = Sandbox::new();
    let program = env!("CARGO_BIN_EXE_fstrial");
    let words = "run null:ops=1000 --dir . --repeats 1 --quiet";

    let mut few = Command::new("sh");
    few.arg("-c").arg(format!("ulimit -n 12; exec {program} {words}"));
    few.current_dir(sandbox.directory.path()).env("HOME", sandbox.directory.path());
    refused(few, 3, &["no more than 12 files", "ulimit -n"]);
    let mut soft = Command::new("sh");
    soft.arg("-c").arg(format!("ulimit -S -n 12; exec {program} {words}"));
    soft.current_dir(sandbox.directory.path()).env("HOME", sandbox.directory.path());
    refused(soft, 0, &[]);

    let root = sandbox.path("root");
    for directory in ["tmp", "dev", "proc"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    std::fs::copy(program, root.join("fstrial")).unwrap();
    let inside = |mount: &str| {
        let mut command = Command::new("unshare");
        let script = format!("{mount} exec chroot . /fstrial run null --dir /tmp");
        command.args(["--mount", "sh", "-c", &script]).current_dir(&root);
        command
    };
    refused(inside(""), 3, &["/proc is not there", "mount -t proc"]);
    refused(inside("mount -t proc proc proc;"), 3, &["/dev/null is not there"]);

    let odd = sandbox.directory.path().join(OsStr::from_bytes(b"odd-\xff"));
    std::fs::create_dir(&odd).unwrap();
    let mut named = sandbox.command("run null:ops=1000 --repeats 1 --quiet --dir");
    named.arg(&odd);
    refused(named, 2, &["odd-", "not UTF-8", "mount --bind"]);
    let mut inside = sandbox.command(words);
    inside.current_dir(&odd);
    refused(inside, 2, &["odd-", "not UTF-8"]);

    let home = sandbox.path("no-home");
    let mut homeless = sandbox.command("list runs");
    homeless.env("HOME", &home);
    refused(homeless, 0, &[]);
    assert!(!home.exists(), "a home is not made");
    Ok(())
}
