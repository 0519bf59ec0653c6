//! Documents into pipes, standard output and process substitutions.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::sandbox::{Ran, Sandbox, eventually};

const SMALL: &str = "run null:ops=1000 --dir . --repeats 1 --quiet";

fn fifo(sandbox: &Sandbox, name: &str) -> std::path::PathBuf {
    let path = sandbox.path(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

pub(crate) fn a_pipe_gets_the_whole_document_once() {
    let sandbox = Sandbox::new();
    let path = fifo(&sandbox, "p");
    let reader = std::thread::spawn(move || std::fs::read_to_string(path).unwrap());
    let ran = sandbox.run(&format!("{SMALL} --json p")).ended_with(0);
    let json: serde_json::Value = serde_json::from_str(&reader.join().unwrap()).unwrap();
    assert!(json["schema_version"].is_number());
    assert!(ran.stdout.contains("one contender"), "{}", ran.stdout);
}

pub(crate) fn a_pipe_that_nobody_reads_is_waited_for_and_a_signal_ends_that() {
    let sandbox = Sandbox::new();
    fifo(&sandbox, "p");
    let mut waiting = sandbox
        .command(&format!("{SMALL} --json p"))
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Said before it waits.
    let mut said = [0; 8];
    waiting.stderr.as_mut().unwrap().read_exact(&mut said).unwrap();
    let pid = rustix::process::Pid::from_child(&waiting);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(!waiting.wait().unwrap().success());
}

pub(crate) fn a_reader_that_does_not_read_on_does_not_hold_the_program() {
    let sandbox = Sandbox::new();
    let path = fifo(&sandbox, "p");
    // More than a pipe takes.
    let (opened, ready) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || opened.send(std::fs::File::open(path).unwrap()));
    let words = "run null:ops=1000 --dir . --repeats 200 --quiet --json p";
    let mut writing =
        sandbox.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let held = ready.recv().unwrap();
    reader.join().unwrap().unwrap();
    let pid = rustix::process::Pid::from_child(&writing);
    // Full: it writes, and waits for the reader.
    eventually("the pipe is full", || {
        rustix::io::ioctl_fionread(&held).is_ok_and(|bytes| bytes >= 65536)
            || writing.try_wait().unwrap().is_some()
    });
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(writing.wait().unwrap().code(), Some(130));
    let runs = sandbox.run("list runs").ended_with(0).stdout;
    assert!(runs.contains("complete"), "{runs}");
}

pub(crate) fn standard_output_by_its_name_carries_the_document_alone() {
    let sandbox = Sandbox::new();
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let ran = sandbox.run(&format!("{SMALL} --json {name}")).ended_with(0);
        let json: Result<serde_json::Value, _> = serde_json::from_str(&ran.stdout);
        assert!(json.is_ok(), "{name}: {}", ran.stdout);
    }
    // Into a file, behind what is there already.
    let path = sandbox.path("out");
    let file = std::fs::File::create(&path).unwrap();
    std::io::Write::write_all(&mut &file, b"before\n").unwrap();
    let words = format!("{SMALL} --json /dev/stdout");
    assert!(sandbox.command(&words).stdout(file).status().unwrap().success());
    let text = std::fs::read_to_string(&path).unwrap();
    let json = text.strip_prefix("before\n").expect("nothing is written over");
    assert!(serde_json::from_str::<serde_json::Value>(json).is_ok(), "{text}");
    // The results themselves, under whatever name.
    sandbox.run(&format!("{SMALL} --store s.db")).ended_with(0);
    let over = sandbox.run("report latest --store s.db --json ./s.db").ended_with(2);
    assert!(over.stderr.contains("it would be replaced"), "{}", over.stderr);
    sandbox.run("report latest --store s.db").ended_with(0);
    let both = sandbox.run(&format!("{SMALL} --json - --csv /dev/stdout")).ended_with(2);
    assert!(both.stderr.contains("takes one document"), "{}", both.stderr);
}

pub(crate) fn a_comparison_goes_to_a_pipe_of_the_shell() {
    let sandbox = Sandbox::new();
    sandbox.run(SMALL).ended_with(0);
    sandbox.run(SMALL).ended_with(0);
    let program = env!("CARGO_BIN_EXE_fstrial");
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(format!("{program} compare r1 r2 --json >(cat >json); wait"));
    shell.current_dir(sandbox.directory.path()).env("HOME", sandbox.directory.path());
    for variable in ["XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
        shell.env_remove(variable);
    }
    let ran = Ran::of(shell.output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    eventually("the document is there", || {
        let text = std::fs::read_to_string(sandbox.path("json")).unwrap_or_default();
        serde_json::from_str::<serde_json::Value>(&text).is_ok()
    });
}
