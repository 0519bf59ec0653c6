//! Programs of the user's own: what they are given, and what is said of them.

use crate::sandbox::{Ran, Sandbox};

fn run(sandbox: &Sandbox, words: &str, program: &[&str]) -> Ran {
    let mut command = sandbox.command(&format!("run --dir . --quiet {words} --"));
    Ran::of(command.args(program).output().unwrap())
}

fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn what_a_command_names_is_carried_in_and_what_cannot_be_is_refused_first() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("conf/deep")).unwrap();
    std::fs::write(sandbox.path("conf/deep/my.conf"), "key\n").unwrap();
    let script = "grep key conf/deep/my.conf && echo done >f";
    let ran = run(&sandbox, "--repeats 1", &["sh", "-c", script, "sh", "conf/deep/my.conf"]);
    let ran = ran.ended_with(0);
    assert!(ran.stderr.contains("conf/deep/my.conf is copied into"), "{}", ran.stderr);
    let ran = run(&sandbox, "--repeats 1", &["dd", "if=./conf/deep/my.conf", "of=f"]);
    ran.ended_with(0);

    // Beside the job's file, not where the command is given.
    let job = "run = ['cp', 'my.conf', 'f']";
    std::fs::write(sandbox.path("conf/deep/job.toml"), job).unwrap();
    let words = "run program:file=conf/deep/job.toml --dir . --repeats 1 --quiet";
    sandbox.run(words).ended_with(0);

    std::fs::write(sandbox.path("outside"), "x").unwrap();
    let job = "run = ['cp', '../../outside', 'f']";
    std::fs::write(sandbox.path("conf/deep/job.toml"), job).unwrap();
    let refused = sandbox.run(words).ended_with(5);
    assert!(refused.stderr.contains("inputs = [\"../../outside\"]"), "{}", refused.stderr);
    std::fs::File::create(sandbox.path("large")).unwrap().set_len(1 << 30).unwrap();
    let refused = run(&sandbox, "--repeats 1", &["cat", "large"]).ended_with(5);
    assert!(refused.stderr.contains("inputs = [\"large\"]"), "{}", refused.stderr);
    let runs = sandbox.run("list runs").ended_with(0).stdout;
    assert_eq!(runs.lines().filter(|line| line.starts_with('r')).count(), 3, "{runs}");
}

pub(crate) fn a_program_that_fails_at_once_stops_the_run_and_resuming_goes_on() {
    let sandbox = Sandbox::new();
    let ran = run(&sandbox, "--repeats 4", &["cat", "no-such-file"]).ended_with(5);
    let said = unwrapped(&ran.stderr);
    assert!(said.contains("no-such-file: No such file or directory"), "{said}");
    assert!(said.contains("the other 3 were not run"), "{said}");
    assert!(said.contains("fstrial run --resume r1"), "{said}");
    sandbox.run("run --resume r1 --quiet").ended_with(1);
    assert!(sandbox.run("list runs").stdout.contains("complete"));
    // What cannot start is refused before anything is made.
    for (script, reason) in
        [("#!/no/such\n", "the interpreter /no/such"), ("#!/bin/sh\r\n", "CR LF")]
    {
        std::fs::write(sandbox.path("job"), script).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(sandbox.path("job"), executable).unwrap();
        let refused = run(&sandbox, "--repeats 2", &["./job"]).ended_with(5);
        assert!(unwrapped(&refused.stderr).contains(reason), "{}", refused.stderr);
    }
    // Its input is empty, so what reads it ends.
    run(&sandbox, "--repeats 1", &["sh", "-c", "cat >f"]).ended_with(0);
    // What has begun its work may fail on one filesystem alone.
    run(&sandbox, "--repeats 2", &["sh", "-c", "echo x >f; exit 3"]).ended_with(1);
}

pub(crate) fn phases_have_their_own_figures_on_the_first_screen() {
    let sandbox = Sandbox::new();
    let job = r#"
        [[phase]]
        name = "load"
        run = ["sh", "-c", "echo data >f; echo rate 10.3k"]
        [[phase]]
        name = "query"
        cold = true
        run = ["sh", "-c", "cat f; echo latency 12 ms; echo hits 7"]
        [[metric]]
        name = "rate"
        unit = "IOPS"
        phase = "load"
        pattern = 'rate (?<value>\S+)'
        [[metric]]
        name = "latency"
        unit = "us"
        better = "lower"
        pattern = 'latency (?<value>[0-9.]+)'
        [[metric]]
        name = "hits"
        pattern = 'hits (?<value>[0-9]+)'
    "#;
    std::fs::write(sandbox.path("job.toml"), job).unwrap();
    std::fs::create_dir(sandbox.path("other")).unwrap();
    let words = "run program:file=job.toml --dir . --dir other --repeats 2 --quiet --json j";
    let ran = sandbox.run(words).ended_with(0);
    assert!(ran.stdout.contains("rate, IOPS") && ran.stdout.contains("10,300"), "{}", ran.stdout);
    assert!(ran.stdout.contains("query (hits)"), "{}", ran.stdout);
    let json = std::fs::read_to_string(sandbox.path("j")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let phases = json["trials"][0]["phases"].as_array().unwrap();
    let names: Vec<_> = phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["load", "load-sync", "query", "query-sync"]);
    assert_eq!(phases[0]["figures"]["own_rate_iops"], 10300.0);
    let latency = phases[2]["figures"]["own_latency_us"].as_f64().unwrap();
    assert!((latency - 12000.0).abs() < 1e-6, "{latency}");
    assert_eq!(phases[2]["figures"]["own_hits"], 7.0);
    assert_eq!(phases[2]["notes"].as_array().unwrap().len(), 0, "{}", phases[2]["notes"]);
}
