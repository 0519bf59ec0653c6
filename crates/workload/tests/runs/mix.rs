//! How often bonnie++ 2.00a and ours make each system call on files, by strace.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use skippable::{Ending, needs_program, skip};

use crate::support::{corpus, program, scratch};

/// Calls on the files under test, by name and, where it says what they are for, by size.
fn mix(traced: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    // What one task was in when another's call came between, by task.
    let mut begun = BTreeMap::new();
    for line in traced.lines() {
        let Some((task, call)) = line.split_once(' ') else { continue };
        let mut call = call.trim_start().to_owned();
        if let Some(beginning) = call.strip_suffix("<unfinished ...>") {
            begun.insert(task, beginning.trim_end().to_owned());
            continue;
        }
        if let Some((_, end)) = call.split_once(" resumed>").filter(|_| call.starts_with("<...")) {
            call = begun.remove(task).unwrap_or_default() + end;
        }
        let name = call.split('(').next().unwrap_or("");
        let file = call.split('"').nth(1).and_then(|path| path.rsplit('/').next()).unwrap_or("");
        // Bonnie.PID, and names with a counter of ten digits.
        let ours = file.starts_with("Bonnie")
            || (10..=22).contains(&file.len()) && file.bytes().all(|b| b.is_ascii_alphanumeric());
        let key = match name {
            "read" | "write" if call.ends_with("= 8192") => name,
            "lseek" | "fsync" => name,
            "sync" | "syncfs" => "sync",
            "openat" if ours && call.contains("O_CREAT") => "create",
            "openat" if ours && call.contains("O_DIRECTORY") => continue,
            "openat" if ours && call.contains("O_RDWR") => "open",
            // A line that goes on with an earlier one has no name; seekers remove one file.
            "unlink" | "unlinkat" if (ours || file.is_empty()) && !call.contains("REMOVEDIR") => {
                "unlink"
            }
            "stat" | "newfstatat" if ours => "stat",
            "mkdir" | "mkdirat" if ours => "mkdir",
            "rmdir" | "unlinkat" if ours => "rmdir",
            _ => continue,
        };
        // What was not there was looked for and not touched.
        if !call.contains("= -1 ENOENT") {
            *counts.entry(key.to_owned()).or_default() += 1;
        }
    }
    counts
}

pub(crate) fn bonnie_makes_as_many_calls_as_the_original() -> Ending {
    needs_program("strace", "strace")?;
    needs_program("bonnie++", "bonnie++")?;
    let home = scratch();
    let traced = |name: &str, command: &[&str]| {
        let (target, log) = (home.path().join(name), home.path().join(format!("{name}.log")));
        fs::create_dir(&target).unwrap();
        let calls = "trace=read,write,lseek,fsync,sync,syncfs,openat,unlink,unlinkat,stat,\
                     newfstatat,mkdir,mkdirat,rmdir";
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-s", "40", "-e", calls, "-o"]).arg(&log);
        let target = target.display().to_string();
        strace.args(command.iter().map(|word| word.replace("TARGET", &target)));
        let output = strace.stdout(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if said.contains("PTRACE") || said.contains("not permitted") {
            return Err(said);
        }
        assert!(output.status.success(), "{name}: {said}");
        Ok(mix(&fs::read_to_string(&log).unwrap()))
    };
    let original = "bonnie++ -d TARGET -r 0 -s 1 -n 1 -f -u 0:0 -m x";
    let original: Vec<&str> = original.split(' ').collect();
    let pack = corpus(home.path()).path().display().to_string();
    let run = program().display().to_string();
    let ours = [&run, "bonnie", "TARGET", &pack, "size=1M", "files=1", "fast=on"];
    let (mut theirs, mut ours) = match (traced("theirs", &original), traced("ours", &ours)) {
        (Ok(theirs), Ok(ours)) => (theirs, ours),
        (Err(said), _) | (_, Err(said)) => {
            return skip(format!("strace cannot run here: {said}"));
        }
    };
    for counts in [&mut theirs, &mut ours] {
        // Blocks are 128: written, rewritten, read; 8192 are looked for, and how many of them
        // are rewritten is a matter of chance: one write and one lseek each.
        let rewritten = counts["write"] - 2 * 128;
        assert!((700..940).contains(&rewritten), "{counts:?}");
        for name in ["write", "lseek"] {
            *counts.get_mut(name).unwrap() -= rewritten;
        }
    }
    // What the original does beside its loops and ours has no need of: it makes the large file
    // once before the first phase, closes it with fsync and removes it, opens it for the parent of the
    // seekers, and goes to the beginning of files that it has just opened.
    for (name, more) in [("create", 1), ("fsync", 1), ("unlink", 1), ("open", 1), ("lseek", 3)] {
        *theirs.get_mut(name).unwrap() -= more;
    }
    assert_eq!(ours, theirs);
    Ok(())
}
