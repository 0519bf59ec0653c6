//! The system calls of deliveries and of unpacking, seen by strace: exactly what the
//! descriptions promise, no more and no less.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use skippable::{Ending, needs_program};
use workload::corpora::{MailTar, TarEntries};

use crate::support::{corpus, program};

/// Traces a program and returns its lines without process ids.
fn strace(directory: &Path, program: &mut Command) -> Vec<String> {
    let log = directory.join("strace");
    let mut traced = Command::new("strace");
    traced.arg("-f").arg("-o").arg(&log).arg("-s").arg("300").arg(program.get_program());
    let status = traced
        .args(program.get_args())
        .stdout(Stdio::null())
        .status()
        .expect("strace is installed");
    assert!(status.success(), "the traced program failed");
    let log = fs::read_to_string(log).unwrap();
    log.lines()
        .filter_map(|line| line.split_once(' ').map(|(_, call)| call.trim_start().to_owned()))
        .collect()
}

fn call(line: &str) -> &str {
    line.split('(').next().unwrap_or("")
}

/// The calls of a phase that contains nothing but what is between the first use of a path
/// below the target and the accounting after it.
fn phase(lines: &[String], name: &str) -> Vec<String> {
    let started = format!("\\\"phase\\\":\\\"{name}\\\"");
    lines
        .iter()
        .skip_while(|line| !(line.contains("started") && line.contains(&started)))
        .skip_while(|line| !(line.contains("\"maildirs/") || line.contains("\"write_src")))
        .take_while(|line| !line.contains("/proc/stat") && !line.contains("finished"))
        // Memory and rusage are ours, not the op's; a debug build asks F_GETFD before close.
        .filter(|line| {
            let ours = ["getrusage", "brk", "mmap", "munmap", "clock_gettime", "fcntl"];
            !ours.contains(&call(line))
        })
        // The flag means nothing where files are large anyway.
        .map(|line| line.replace("|O_LARGEFILE", ""))
        .collect()
}

/// The calls of one delivery.
fn delivery(switches: &str) -> Vec<String> {
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("target");
    fs::create_dir(&target).unwrap();
    let corpus = corpus(home.path());
    let mut command = Command::new(program());
    command.arg("maildir-write").arg(&target).arg(corpus.path());
    command.args(["mails=37", "read_mails=1", "maildirs=1", "ops=1", "write_share=1", "seed=4"]);
    command.args(switches.split_whitespace());
    phase(&strace(home.path(), &mut command), "io")
}

fn names(lines: &[String]) -> Vec<&str> {
    lines.iter().map(|line| call(line)).collect()
}

pub(crate) fn a_delivery_of_each_style_makes_the_calls_it_promises() {
    let seen = |switches: &str| -> String {
        let lines = delivery(&format!("flush=buffered relist=once {switches}"));
        let mut calls = names(&lines);
        // One write for each 4096 bytes; how many there are is for the next test.
        calls.dedup();
        calls.join(" ")
    };
    let memory = |switches: &str| seen(&format!("copy_from=memory {switches}"));
    assert_eq!(memory("delivery=simple"), "openat write close renameat");
    assert_eq!(memory("delivery=classic"), "newfstatat openat write close linkat unlinkat");
    assert_eq!(memory("delivery=rename"), "newfstatat openat write close renameat");
    assert_eq!(
        memory("delivery=rename fsync=file"),
        "newfstatat openat write fsync close renameat"
    );
    assert_eq!(
        memory("delivery=classic fsync=file+dir"),
        "newfstatat openat write fsync close linkat unlinkat openat fsync close"
    );
    // The listing of the source directory comes first, then the copy from a file.
    let copied = seen("copy_from=write_src delivery=simple");
    assert!(copied.starts_with("openat getdents64 close openat read"), "{copied}");
    assert!(copied.ends_with("write read close renameat"), "{copied}");
}

pub(crate) fn flags_and_paths_are_those_of_the_description() {
    let lines = delivery("copy_from=memory delivery=classic relist=once");
    let has = |call: &str, parts: &[&str]| {
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with(call) && parts.iter().all(|part| line.contains(part))),
            "{call} {parts:?} in {lines:#?}"
        );
    };
    has("newfstatat(", &["\"maildirs/000/00/tmp/", "ENOENT"]);
    has("openat(", &["\"maildirs/000/00/tmp/", "O_WRONLY|O_CREAT|O_EXCL"]);
    has("linkat(", &["/tmp/", "\"maildirs/000/00/new/"]);
    let simple = delivery("copy_from=memory delivery=simple relist=once");
    assert!(simple[0].contains("O_WRONLY|O_CREAT|O_TRUNC"), "{simple:?}");
}

pub(crate) fn flushing_per_line_writes_each_line_and_buffering_writes_4096_bytes() {
    let home = tempfile::tempdir().unwrap();
    let corpus = corpus(home.path());
    for copy_from in ["memory", "write_src"] {
        let sizes = |flush: &str| -> Vec<usize> {
            delivery(&format!("flush={flush} copy_from={copy_from} relist=once"))
                .iter()
                .filter(|line| call(line) == "write")
                .map(|line| line.rsplit("= ").next().unwrap().parse().unwrap())
                .collect()
        };
        let (lines, buffers) = (sizes("per-line"), sizes("buffered"));
        let total: usize = lines.iter().sum();
        // The mail that seed 4 draws, found by its size.
        let mail = (0..corpus.len()).map(|at| corpus.mail(at)).find(|mail| mail.len() == total);
        let expected: Vec<usize> =
            mail.unwrap().split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len).collect();
        assert!(expected.len() > 20, "the test needs a mail of many lines");
        assert_eq!(lines, expected, "{copy_from}");
        let expected: Vec<usize> = mail.unwrap().chunks(4096).map(<[u8]>::len).collect();
        assert_eq!(buffers, expected, "{copy_from}");
    }
}

struct Numbered(u64);

impl TarEntries for Numbered {
    fn count(&self) -> u64 {
        self.0
    }
    fn path(&self, number: u64, path: &mut String) {
        path.push_str(&format!("write_src/{number}"));
    }
    fn mtime(&self, number: u64) -> u64 {
        1_000_000_000 + number
    }
}

pub(crate) fn unpacking_makes_the_calls_of_gnu_tar() {
    let home = tempfile::tempdir().unwrap();
    let corpus = corpus(home.path());
    let (ours, theirs) = (home.path().join("ours"), home.path().join("theirs"));
    for directory in [&ours, &theirs] {
        fs::create_dir(directory).unwrap();
    }
    let mut command = Command::new(program());
    command.arg("unpack").arg(&ours).arg(corpus.path()).arg("mails=80");
    let ours = phase(&strace(home.path(), &mut command), "unpack");

    let archive = home.path().join("mails.tar");
    let mut file = fs::File::create(&archive).unwrap();
    std::io::copy(&mut MailTar::new(&corpus, Numbered(80)), &mut file).unwrap();
    fs::create_dir(theirs.join("write_src")).unwrap();
    let mut command = Command::new("tar");
    command.arg("xf").arg(&archive).arg("-C").arg(&theirs);
    let theirs: Vec<String> = strace(home.path(), &mut command)
        .into_iter()
        .skip_while(|line| !line.contains("\"write_src/"))
        .collect();

    // Sizes of writes, and how often each other call on files was made with which flags.
    let facts = |lines: &[String]| -> (Vec<String>, BTreeMap<String, usize>) {
        let mut counts = BTreeMap::new();
        let mut writes = Vec::new();
        for line in lines {
            match call(line) {
                "write" => writes.push(line.rsplit("= ").next().unwrap().to_owned()),
                "openat" if line.contains("write_src/") => {
                    let flags = line.split(", ").skip(2).collect::<Vec<_>>().join(", ");
                    *counts
                        .entry(flags.split(" = ").next().unwrap().trim().to_owned())
                        .or_default() += 1;
                }
                name @ ("utimensat" | "fchown" | "fchmod") => {
                    *counts.entry(name.to_owned()).or_default() += 1;
                }
                _ => {}
            }
        }
        (writes, counts)
    };
    let (ours, theirs) = (facts(&ours), facts(&theirs));
    assert!(theirs.0.len() > 80 && theirs.1["utimensat"] == 80, "{theirs:?}");
    assert_eq!(ours, theirs);
}

/// What PostMark does to files, as a list: call, name and size, in order.
fn postmark_calls(lines: &[String]) -> Vec<String> {
    let mut calls = Vec::new();
    let mut open = false;
    for line in lines {
        let result = line.rsplit("= ").next().unwrap_or("");
        let path = line.split('"').nth(1).unwrap_or("");
        let is_file = path.chars().all(|c| c.is_ascii_digit() || c == 's' || c == '/')
            && path.chars().any(|c| c.is_ascii_digit());
        match call(line) {
            "openat" if is_file => {
                open = true;
                let flags = line.split(", ").nth(2).unwrap().replace("|O_LARGEFILE", "");
                calls.push(format!("open {path} {}", flags.split(')').next().unwrap()));
            }
            "unlink" | "unlinkat" if is_file && !line.contains("AT_REMOVEDIR") => {
                calls.push(format!("unlink {path}"))
            }
            "fstat" | "newfstatat" if open => calls.push("fstat".to_owned()),
            // The progress dots of the original go to its standard output.
            "lseek" | "read" | "write" if open && !line.contains("(1, ") => {
                calls.push(format!("{} {result}", call(line)));
            }
            "close" if open => {
                open = false;
                calls.push("close".to_owned());
            }
            _ => {}
        }
    }
    calls
}

pub(crate) fn postmark_makes_the_calls_of_the_original() -> Ending {
    needs_program("postmark", "postmark")?;
    for (buffered, subdirectories) in [("true", 3), ("false", 3), ("true", 1)] {
        let home = tempfile::tempdir().unwrap();
        let (ours, theirs) = (home.path().join("ours"), home.path().join("theirs"));
        fs::create_dir(&ours).unwrap();
        fs::create_dir(&theirs).unwrap();
        let script = home.path().join("script");
        let settings = format!(
            "set number 60\nset transactions 150\nset subdirectories {subdirectories}\n\
             set seed 7\nset buffering {buffered}\nrun\nquit\n"
        );
        fs::write(&script, settings).unwrap();
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!(
            "cd {} && exec postmark {}",
            theirs.display(),
            script.display()
        ));
        let theirs = postmark_calls(&strace(home.path(), &mut command));

        let mut command = Command::new(program());
        command.arg("postmark").arg(&ours).arg(corpus(home.path()).path());
        command.args(["number=60", "transactions=150", "pm_seed=7"]);
        command.arg(format!("subdirectories={subdirectories}"));
        command.arg(if buffered == "true" { "buffered=on" } else { "buffered=off" });
        let ours = postmark_calls(&strace(home.path(), &mut command));
        assert!(theirs.len() > 1000, "{} calls of the original were seen", theirs.len());
        let differ = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs);
        assert_eq!(
            differ,
            None,
            "call {differ:?}: {:?}",
            differ.map(|at| (&ours[at], &theirs[at]))
        );
        assert_eq!(ours.len(), theirs.len());
    }
    Ok(())
}

/// How often a record of fsync-append is made durable, and how: a commit that reaches no disk
/// would be a figure of nothing.
pub(crate) fn each_record_is_made_durable_once_and_as_it_was_asked_for() {
    const RECORDS: usize = 20;
    let calls = |sync: &str| {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("target");
        fs::create_dir(&target).unwrap();
        let corpus = corpus(home.path());
        let mut command = Command::new(program());
        command.arg("fsync-append").arg(&target).arg(corpus.path());
        command.args(["record=500", "segment=100000", "writers=1", "room=none", "seed=1"]);
        command.args([format!("records={RECORDS}"), format!("sync={sync}")]);
        let lines = strace(home.path(), &mut command);
        let count = |name: &str| lines.iter().filter(|line| call(line) == name).count();
        let flagged = lines.iter().any(|line| line.contains("O_DSYNC"));
        (count("fsync"), count("fdatasync"), flagged)
    };
    // The new segment's name is made durable once, unless nothing is to be.
    assert_eq!(calls("none"), (0, 0, false));
    assert_eq!(calls("fsync"), (RECORDS + 1, 0, false));
    assert_eq!(calls("fdatasync"), (1, RECORDS, false));
    assert_eq!(calls("dsync"), (1, 0, true));
}
