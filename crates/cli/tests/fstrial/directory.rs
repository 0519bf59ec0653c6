//! Testbed `dir`, as an ordinary user runs it.

use skippable::{Ending, needs_program};

use store::{NewRun, Store};

use crate::sandbox::Sandbox;

const SMALL: &str = "run maildir-write --dir . --scale 0.002 --mail synthetic:count=50 --quiet";

pub(crate) fn one_document_on_standard_output_and_nothing_left_behind() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&format!("{SMALL} --repeats 2 --json -")).ended_with(0);
    let json: serde_json::Value =
        serde_json::from_str(&ran.stdout).expect("stdout is one document");
    assert!(json["schema_version"].is_number());
    let space = &json["trials"][0]["space"];
    assert_eq!(space["space"], "missing", "others use the same filesystem");
    assert_eq!(space["used"], serde_json::Value::Null);
    assert!(!sandbox.path("fstrial-").exists());
    let left: Vec<_> = std::fs::read_dir(sandbox.directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("fstrial-"))
        .collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

pub(crate) fn read_phases_of_a_directory_are_labelled_warm() {
    let sandbox = Sandbox::new();
    let words = SMALL.replace("maildir-write", "maildir-read");
    let ran = sandbox.run(&format!("{words} --repeats 1")).ended_with(0);
    let unwrapped = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains("--drop-caches"));
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 100), "{}", ran.stdout);
}

pub(crate) fn the_same_seed_does_the_same_work() {
    let digests = |seed: u32| {
        let sandbox = Sandbox::new();
        let ran = sandbox.run(&format!("{SMALL} --repeats 1 --seed {seed} --json -")).ended_with(0);
        let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let phases = json["trials"][0]["phases"].as_array().unwrap().clone();
        assert!(!phases.is_empty());
        phases.iter().map(|phase| phase["digest"].clone()).collect::<Vec<_>>()
    };
    let once = digests(1);
    assert!(once.iter().all(|digest| !digest.is_null()), "{once:?}");
    assert_eq!(once, digests(1));
    assert_ne!(once, digests(2));
}

pub(crate) fn a_dry_run_shows_the_plan_and_runs_nothing() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&format!("{SMALL} --repeats 3 --dry-run")).ended_with(0);
    assert!(ran.stdout.contains("3 trials on testbed dir"), "{}", ran.stdout);
    assert!(ran.stdout.contains("room:") && ran.stdout.contains("time:"), "{}", ran.stdout);
    sandbox.run(&format!("{SMALL} --dry-run --store none.db")).ended_with(0);
    assert!(!sandbox.path("none.db").exists(), "no store is made for it");
    let runs = sandbox.run("list runs").ended_with(0).stdout;
    assert!(runs.starts_with("no runs: "), "nothing was run, nor a store made: {runs}");
}

pub(crate) fn a_stored_run_is_shown_again_and_redacted() {
    let sandbox = Sandbox::new();
    let first = sandbox.run(&format!("{SMALL} --repeats 2")).ended_with(0);
    let again = sandbox.run("report r1").ended_with(0);
    assert_eq!(first.stdout, again.stdout);
    let files = "--html a.html --json a.json --csv a.csv --markdown a.md";
    sandbox.run(&format!("report latest --redact {files}")).ended_with(0);
    let home = sandbox.directory.path().display().to_string();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    for name in ["a.html", "a.json", "a.csv", "a.md"] {
        let text = std::fs::read_to_string(sandbox.path(name)).unwrap();
        assert!(!text.contains(&home), "{name} names the home");
        // A name as short as `vm` occurs in other words.
        assert!(host.len() < 4 || !text.contains(&host), "{name} names the host");
    }
}

pub(crate) fn own_mail_leaves_no_readable_word_on_the_target_or_in_a_report() {
    let sandbox = Sandbox::new();
    let secret = "Xylophonequartett";
    let mail = sandbox.path("Mail/new");
    std::fs::create_dir_all(&mail).unwrap();
    std::fs::create_dir_all(sandbox.path("Mail/cur")).unwrap();
    for number in 0..20 {
        let text = format!("From: {secret}@example.org\nSubject: {secret}\n\n{secret} {number}\n");
        std::fs::write(mail.join(format!("1.{number}.host")), text).unwrap();
    }
    let words = "run maildir-write --dir . --scale 0.002 --mail own:Mail --repeats 1 --quiet";
    let ran = sandbox.run(&format!("{words} --json -")).ended_with(0);
    assert!(!ran.stdout.contains(secret));
    let found = std::process::Command::new("grep")
        .args(["-rl", secret, ".", "--exclude-dir=Mail"])
        .current_dir(sandbox.directory.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "the mail is somewhere in clear");
}

pub(crate) fn a_workload_that_fails_does_not_stop_a_sequence_and_marks_what_follows() {
    let sandbox = Sandbox::new();
    let job = "[[phase]]\nname = \"run\"\nrun = [\"sh\", \"-c\", \"exit 3\"]\n";
    std::fs::write(sandbox.path("bad.toml"), job).unwrap();
    let words = "run null:ops=100 program:file=bad.toml null:ops=1000 --sequence --dir .";
    let ran = sandbox.run(&format!("{words} --repeats 1 --quiet --json -")).ended_with(1);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let trial = &json["trials"][0];
    assert!(trial["outcome"].to_string().contains("exit code 3"), "{}", trial["outcome"]);
    let phases: Vec<_> = trial["phases"].as_array().unwrap().iter().collect();
    assert_eq!(phases.len(), 4, "{phases:?}");
    assert!(phases[0]["not_comparable"].is_null(), "{}", phases[0]);
    assert!(phases[2].to_string().contains("skipped"), "{}", phases[2]);
    let marked = phases[3]["not_comparable"].as_str().unwrap_or_default();
    assert!(marked.contains("follows the workload program, which failed"), "{}", phases[3]);
}

pub(crate) fn resuming_without_a_name_takes_the_newest_that_is_open_and_says_when_none_is() {
    let sandbox = Sandbox::new();
    let refused = sandbox.run("run --resume").ended_with(3);
    assert!(refused.stderr.contains("no run to resume"), "{}", refused.stderr);
    sandbox.run(&format!("{SMALL} --repeats 1")).ended_with(0);
    let again = sandbox.run("run --resume").ended_with(0);
    assert!(again.stderr.contains("anything left to do"), "{}", again.stderr);
    // One that was interrupted before its first trial ended, and a newer one.
    let mut store = Store::open(&sandbox.path(".local/share/fstrial/results.db")).unwrap();
    let (run, request) = (store.run("r1").unwrap(), store.request("r1").unwrap());
    let trials: Vec<_> = run.trials.iter().map(|trial| trial.spec.clone()).collect();
    let header = &run.header;
    let interrupted = NewRun {
        fstrial_version: &header.fstrial_version,
        testbed: &header.testbed,
        lab_id: None,
        environment: &header.environment,
        seed: header.seed,
        contenders: &header.contenders,
        repeats: header.repeats,
        scale: header.scale,
        request: &request,
        trials: &trials,
    };
    store.create_run(&interrupted).unwrap();
    drop(store);
    sandbox.run(&format!("{SMALL} --repeats 1")).ended_with(0);
    assert!(sandbox.run("list runs").ended_with(0).stdout.contains("open"));
    sandbox.run("run --resume").ended_with(0);
    let runs = sandbox.run("list runs").ended_with(0).stdout;
    assert!(!runs.contains("open"), "{runs}");
}

pub(crate) fn a_program_that_became_slower_fails_a_script() {
    let sandbox = Sandbox::new();
    let program = sandbox.path("job");
    let run = |body: &str| {
        std::fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, executable).unwrap();
        sandbox.run("run --dir . --repeats 10 --quiet -- ./job").ended_with(0);
    };
    // On a busy machine four repeats of a program that does nothing vary too much for a gate.
    run("true");
    run("sleep 0.3");
    let ran = sandbox.run("compare r1 --fail-over 5%").ended_with(9);
    assert!(ran.stdout.starts_with("r2 against r1"), "{}", ran.stdout);
    assert!(ran.stdout.contains("slower, "), "{}", ran.stdout);
    assert!(ran.stdout.contains("changed: program: job "), "{}", ran.stdout);
    assert!(ran.stderr.contains("beyond 5 %: program"), "{}", ran.stderr);
    // Faster is no fault. The program's phase alone is meant: what others left to be written to
    // the same filesystem may make `sync` take longer.
    let ran = sandbox.run("compare r2 r1 --fail-over 5% --phase run").ended_with(0);
    assert!(ran.stdout.contains("1 phase: 1 faster"), "{}", ran.stdout);
    let ran = sandbox.run("compare r2 r1 --phase rnu").ended_with(2);
    assert!(ran.stderr.contains("there is: run, sync"), "{}", ran.stderr);
    let json = sandbox.run("compare r1 r2 --json -").ended_with(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["phases"][0]["time"]["verdict"], "more", "{json}");

    // One repeat shows neither that it is slower nor that it is not.
    sandbox.run("run --like r2 --repeats 1 --quiet").ended_with(0);
    let ran = sandbox.run("compare r2 r3 --fail-over 5% --phase run").ended_with(11);
    assert!(ran.stderr.contains("neither slower nor within 5 % is shown"), "{}", ran.stderr);
    sandbox.run("compare r2 r3 --fail-over 5% --anyway").ended_with(2);
    sandbox.run("run --like r2 --scale 0.5 --repeats 1 --quiet").ended_with(0);
    let ran = sandbox.run("compare r2 r4").ended_with(10);
    assert!(ran.stderr.contains("scale: 1 → 0.5 ("), "{}", ran.stderr);
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    let ran = sandbox.run("compare r2 r4 --anyway").ended_with(0);
    assert!(ran.stdout.contains("\nnot alike: scale: 1 → 0.5\n"), "{}", ran.stdout);

    sandbox.run("compare r1 r1").ended_with(2);
    sandbox.run("compare r1 r9").ended_with(4);
    sandbox.run("run null --dir . --repeats 1 --quiet").ended_with(0);
    let ran = sandbox.run("compare r1 r5").ended_with(2);
    assert!(ran.stderr.contains("no phase of a contender in common"), "{}", ran.stderr);
}

/// Its own programs make tables of what we write in its form.
pub(crate) fn bonnies_own_programs_read_our_lines() -> Ending {
    needs_program("bon_csv2txt", "bonnie++")?;
    use std::process::{Command, Stdio};

    let sandbox = Sandbox::new();
    let ran = sandbox
        .run("run bonnie:size=16M:files=1 --dir . --scale 1 --repeats 2 --quiet --bonnie-csv -")
        .ended_with(0);
    assert_eq!(ran.stdout.lines().count(), 2, "{}", ran.stdout);
    let mut reader = Command::new("bon_csv2txt");
    let mut reader = reader.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = reader.stdin.take().unwrap();
    std::io::Write::write_all(&mut lines, ran.stdout.as_bytes()).unwrap();
    drop(lines);
    let table = reader.wait_with_output().unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    // Once with the figures of the large file, once with those of the small ones.
    let rows = table.lines().filter(|line| line.split_whitespace().nth(1) == Some("16M::8192:5"));
    assert_eq!(rows.count(), 2, "{table}");
    assert!(table.contains("Sequential Create"), "{table}");
    Ok(())
}

pub(crate) fn a_document_that_has_nothing_to_show_is_not_written() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("run null --dir . --repeats 1 --bonnie-csv b.csv").ended_with(6);
    assert!(ran.stderr.contains("no figures of bonnie"), "{}", ran.stderr);
    assert!(ran.stdout.contains("no work at all"), "the answer is shown: {}", ran.stdout);
    assert!(!sandbox.path("b.csv").exists());
    sandbox.run("report latest --bonnie-csv - --json j.json").ended_with(6);
    assert!(sandbox.path("j.json").exists(), "the others are written");
}
