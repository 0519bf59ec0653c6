//! Every command that the README and the how-tos show is run, at a small size.
//!
//! A fenced block of kind `console` holds commands after `$ `, one of kind `toml FILE` or
//! `text FILE` a file that the page's commands use. Blocks of other kinds are for the reader: they name devices
//! or runs that a test does not have.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use skippable::{Ending, needs_root};

use crate::sandbox::{Ran, Sandbox};

/// The README and the how-tos.
fn pages() -> Vec<Page> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths: Vec<_> = std::fs::read_dir(root.join("docs/howto"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    paths.push(root.join("README.md"));
    paths.sort();
    let read = |path: PathBuf| Page { text: std::fs::read_to_string(&path).unwrap(), path };
    paths.into_iter().map(read).collect()
}

struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    /// Whether it adds a part to the lab, which costs every machine its checkpoint.
    fn changes_the_lab(&self) -> bool {
        commands(&self.text).iter().any(|command| command.contains("lab build --with"))
    }

    /// Runs its commands in their order, in a directory of its own with this cache; how many
    /// there were.
    fn run(&self, cache: &Path) -> usize {
        // What a page builds on: a run in the store, a file of contenders.
        let sandbox = Sandbox::new();
        // With a cache of its own: in the common one it would wait for the other pages' trials,
        // since a directory is measured alone on the machine.
        sandbox.run("run null:ops=1000 --dir . --repeats 2 --quiet").ended_with(0);
        std::fs::remove_dir_all(sandbox.path(".cache")).unwrap();
        std::os::unix::fs::symlink(cache, sandbox.path(".cache")).unwrap();
        for (path, content) in files(&self.text) {
            let path = sandbox.path(&path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let commands = commands(&self.text);
        for command in &commands {
            let words = command.strip_prefix("fstrial ").unwrap_or_else(|| {
                panic!("{}: not a command of fstrial: {command}", self.path.display())
            });
            eprintln!("{}: {command}", self.path.display());
            for words in of_two(&small(words)) {
                sandbox.run(&words).ended_with(0);
            }
        }
        commands.len()
    }
}

fn commands(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(kind) => inside = !inside && kind == "console",
            None if inside => {
                commands.extend(line.strip_prefix("$ ").map(str::to_owned));
            }
            None => {}
        }
    }
    commands
}

/// Files the page tells its reader to write: path and text.
fn files(page: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(kind) => {
                let path = kind.strip_prefix("toml ").or_else(|| kind.strip_prefix("text "));
                let path = path.filter(|_| !inside);
                inside = path.is_some();
                files.extend(path.map(|path| (path.to_owned(), String::new())));
            }
            None if inside => {
                let (_, text) = files.last_mut().expect("a block has begun");
                text.extend([line, "\n"]);
            }
            None => {}
        }
    }
    files
}

/// A run of more than two contenders: as it is, to be refused if any of them is not one, but not
/// carried out; then with the first two alone.
fn of_two(words: &str) -> Vec<String> {
    let all: Vec<&str> = words.split_whitespace().collect();
    let list = all.iter().position(|word| *word == "--fs").and_then(|at| all.get(at + 1));
    let many = |list: &&&str| !list.contains('\\') && list.split(',').count() > 2;
    let Some(list) = list.filter(many).filter(|_| !all.contains(&"--dry-run")) else {
        return vec![words.to_owned()];
    };
    let two = list.split(',').take(2).collect::<Vec<_>>().join(",");
    vec![format!("{words} --dry-run"), words.replace(list, &two)]
}

/// The same command at a size for tests.
fn small(command: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in command.split_whitespace() {
        let smaller = match words.last().map(String::as_str) {
            Some("--scale") => "0.002".to_owned(),
            Some("--repeats" | "--comparisons" | "--batches") => "1".to_owned(),
            Some("--times") => "2".to_owned(),
            Some("--states") => "8".to_owned(),
            Some("--seeds") => "4".to_owned(),
            // Three pairs can tell no more than this.
            Some("--pairs") => "3".to_owned(),
            Some("--margin") => "90%".to_owned(),
            Some("--mail") if word == "spamassassin" => "synthetic:count=50".to_owned(),
            // What takes an emulator longest: a request after the other, a call for each byte.
            _ if word.starts_with("ffsb:profile=") => format!("{word}:time=50ms"),
            _ if word == "bonnie" => "bonnie:fast=on".to_owned(),
            // Numbers that stand in a workload's parameters are not scaled.
            _ => word.replace("=10000:", "=200:"),
        };
        words.push(smaller);
    }
    let studies = words.starts_with(&["study".to_owned(), "run".to_owned()]);
    if studies && !words.iter().any(|word| word == "--seeds" || word == "--dry-run") {
        words.extend(["--seeds".to_owned(), "1".to_owned()]);
    }
    if words.iter().any(|word| word == "device") && !words.iter().any(|word| word == "--size") {
        words.extend(["--size".to_owned(), "320M".to_owned()]);
    }
    words.join(" ")
}

pub(crate) fn every_command_shown_works() -> Ending {
    needs_root()?;
    // Mails and trees are fetched once, for all pages, and the parts of a lab that pages add are
    // built once. All other pages use the tests' own lab, whose machines have been started before.
    let (own, common) = (Sandbox::with_lab_of_its_own()?, Sandbox::with_lab()?);
    let (change, others): (Vec<_>, Vec<_>) = pages().into_iter().partition(Page::changes_the_lab);
    let mut run: usize = change.iter().map(|page| page.run(&own.path(".cache"))).sum();
    let cache = common.path(".cache");
    // Two at a time: while one page's guest starts, which takes a core, another's can work.
    let waiting = Mutex::new(others.iter());
    run += std::thread::scope(|scope| {
        let worker = || {
            let next = || waiting.lock().unwrap().next();
            std::iter::from_fn(next).map(|page| page.run(&cache)).sum::<usize>()
        };
        let workers = [scope.spawn(worker), scope.spawn(worker)];
        workers.map(|worker| worker.join().unwrap()).iter().sum::<usize>()
    });
    assert!(run >= 8, "only {run} commands were found");
    Ok(())
}

/// As bash does it when the key is pressed.
pub(crate) fn a_shell_completes_options_and_names() {
    let sandbox = Sandbox::new();
    sandbox.run("run null --dir . --repeats 1 -q").ended_with(0);
    let script = "source <(\"$0\" completions bash)
        fstrial() { \"$0\" \"$@\"; }
        COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
        _clap_complete_fstrial fstrial \"${COMP_WORDS[COMP_CWORD]}\"
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let completed = |words: &[&str]| {
        let program = env!("CARGO_BIN_EXE_fstrial");
        let mut bash = Command::new("bash");
        bash.args(["-c", script, program, "fstrial"]).args(words);
        bash.env("HOME", sandbox.directory.path()).env_remove("XDG_DATA_HOME");
        Ran::of(bash.output().unwrap())
            .ended_with(0)
            .stdout
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(completed(&["run", "--repe"]), ["--repeats"]);
    assert_eq!(completed(&["run", "maildir-write@"]), ["maildir-write@dovecot"]);
    assert_eq!(completed(&["run", "--fs", "ext4,x"]), ["ext4,xfs"]);
    assert_eq!(completed(&["run", "--profile", "laptop-n"]), ["laptop-nvme"]);
    assert_eq!(completed(&["self", "disk", "check", "samsung-870"]), ["samsung-870-evo"]);
    assert_eq!(completed(&["study", "run", "video"]), ["video-2011"]);
    let runs = completed(&["report", ""]);
    assert_eq!(runs[..2], ["latest", "r1"], "{runs:?}");
    for shell in ["zsh", "fish"] {
        let script = sandbox.run(&format!("completions {shell}")).ended_with(0).stdout;
        assert!(script.contains("FSTRIAL_COMPLETE"), "{shell}");
    }
}

pub(crate) fn man_pages_come_from_the_help() {
    let sandbox = Sandbox::new();
    sandbox.run("man pages").ended_with(0);
    let page = std::fs::read_to_string(sandbox.path("pages/fstrial-run.1")).unwrap();
    assert!(page.contains("random blocks"), "{page}");
    let page = std::fs::read_to_string(sandbox.path("pages/fstrial-study-run.1")).unwrap();
    assert!(page.contains("interrupted study"), "{page}");
    let top = std::fs::read_to_string(sandbox.path("pages/fstrial.1")).unwrap();
    assert!(top.contains("refused before anything was begun"), "exit codes are documented");
}

pub(crate) fn workloads_are_listed_a_line_each_and_one_whole() {
    let sandbox = Sandbox::new();
    let all = sandbox.run("list workloads").ended_with(0).stdout;
    assert!(all.contains("maildir-write@dovecot") && !all.contains("relist="), "{all}");
    for words in ["list workload maildir-write", "list workloads Maildir-Write@dovecot"] {
        let one = sandbox.run(words).ended_with(0).stdout;
        for part in ["relist=", "@dovecot", "delivery=rename", "unpack"] {
            assert!(one.contains(part), "{words}: no {part} in\n{one}");
        }
    }
}

pub(crate) fn a_dry_run_shows_the_parameters_of_every_workload() {
    let sandbox = Sandbox::new();
    let words = "run null:ops=1000 fsync-append:records=7 --dir . --repeats 2 --dry-run";
    let plan = sandbox.run(words).ended_with(0).stdout;
    assert_eq!(plan.matches("  null: ops=1000").count(), 1, "{plan}");
    assert_eq!(plan.matches("records=7").count(), 1, "{plan}");
}

pub(crate) fn a_list_of_runs_says_what_was_compared() {
    let sandbox = Sandbox::new();
    sandbox.run("run null:ops=1000 --dir . --repeats 1 --scale 100% --quiet").ended_with(0);
    let runs = sandbox.run("list runs").ended_with(0).stdout;
    assert!(runs.contains("by null on directories"), "{runs}");
    assert!(runs.contains("1 repeat, scale 1, seed 1"), "{runs}");
    sandbox.run("run --like r1 --dir . --scale 50% --quiet").ended_with(0);
    let runs = sandbox.run("list runs").ended_with(0).stdout;
    assert!(runs.contains("1 repeat, scale 0.5, seed 1"), "asked again: {runs}");
    let ran = sandbox.run("run --like r1 --testbed device").ended_with(2);
    assert!(ran.stderr.contains("name filesystems with --fs"), "{}", ran.stderr);
    sandbox.run("run --like r9 --dir .").ended_with(4);
}

pub(crate) fn a_reader_that_has_seen_enough_is_no_error() {
    for words in ["list workloads", "list filesystems", "doctor", "self disk show ideal"] {
        let sandbox = Sandbox::new();
        let mut child = sandbox
            .command(words)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ran = crate::sandbox::Ran::of(child.wait_with_output().unwrap()).ended_with(0);
        assert!(!ran.stderr.contains("panicked"), "{words}: {}", ran.stderr);
    }
}
