//! Runs spread over a cluster: real Slurm, a controller and several nodes on this machine.

#[path = "../fstrial/sandbox.rs"]
#[expect(dead_code, reason = "shared with the tests that need no cluster")]
mod sandbox;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use skippable::{Ending, needs_program, needs_root, skip};

use crate::sandbox::{Ran, Sandbox, eventually};

const RUN: &str =
    "run null:ops=20 --fs ext4,xfs --size 512M --repeats 5 --profile server-ssd --quiet";

fn main() -> ExitCode {
    skippable::run(&[
        ("a_run_survives_a_lost_node_and_a_killed_submitter", a_run_survives),
        ("what_cannot_be_spread_is_refused_before_anything_is_begun", what_cannot_be_spread),
        ("a_job_that_somebody_cancelled_is_gone_on_with", a_cancelled_job),
    ])
}

/// Slurm on this machine for as long as this lives.
struct Cluster {
    directory: tempfile::TempDir,
}

impl Cluster {
    fn start(nodes: u32) -> Result<Cluster, skippable::Skipped> {
        needs_root()?;
        needs_program("munged", "munge")?;
        needs_program("slurmctld", "slurm-wlm")?;
        needs_program("slurmd", "slurm-wlm")?;
        let cluster = Cluster { directory: tempfile::tempdir().unwrap() };
        cluster.act(&["start", &nodes.to_string()]);
        Ok(cluster)
    }

    fn act(&self, words: &[&str]) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../slurm/tests/one-machine");
        // Daemons keep what they inherit.
        let status = Command::new(script)
            .arg(self.directory.path())
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "one-machine {words:?}");
    }

    fn command(&self, sandbox: &Sandbox, words: &str) -> Command {
        let mut command = sandbox.command(words);
        command.env("SLURM_CONF", self.directory.path().join("slurm.conf"));
        command
    }

    fn run(&self, sandbox: &Sandbox, words: &str) -> Ran {
        Ran::of(self.command(sandbox, words).output().unwrap())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.act(&["stop"]);
    }
}

/// What has to be equal wherever a run's trials ran: each trial with its phases' nanoseconds.
#[track_caller]
fn figures(ran: &Ran) -> Vec<(String, u64, Value)> {
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let trials = report["trials"].as_array().unwrap().iter();
    let figures: Vec<_> = trials
        .map(|trial| {
            let contender = trial["contender"].as_str().unwrap().to_owned();
            (contender, trial["block"].as_u64().unwrap(), trial["phases"].clone())
        })
        .collect();
    assert!(
        figures.iter().all(|(_, _, phases)| phases.as_array().is_some_and(|it| !it.is_empty()))
    );
    figures
}

fn results(spool: &Path) -> usize {
    let entries = std::fs::read_dir(spool.join("results")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".events")).count()
}

fn spool(sandbox: &Sandbox) -> PathBuf {
    sandbox.path("s.db.slurm/r1")
}

fn lab() -> Result<Sandbox, skippable::Skipped> {
    if std::env::var_os("FSTRIAL_TEST_SLURM").is_none() {
        return skip("takes minutes: set FSTRIAL_TEST_SLURM=1");
    }
    Sandbox::with_lab()
}

fn a_run_survives() -> Ending {
    let sandbox = lab()?;
    let cluster = Cluster::start(3)?;
    let here = figures(&sandbox.run(&format!("{RUN} --store here.db --json -")).ended_with(0));
    assert_eq!(here.len(), 10);

    let words = format!("{RUN} --store s.db --on slurm");
    let mut submitter = cluster
        .command(&sandbox, &words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually_long("a first result", || results(&spool(&sandbox)) >= 1);
    cluster.act(&["kill-node", "2"]);
    submitter.kill().unwrap();
    submitter.wait().unwrap();

    let ran = cluster.run(&sandbox, "run --resume r1 --store s.db --quiet --json -").ended_with(0);
    assert_eq!(figures(&ran), here);
    assert!(!sandbox.path("s.db.slurm").exists(), "what was merged is removed");
    // All that the nodes had is in the store: nothing is left to do.
    sandbox.run("run --resume r1 --store s.db --quiet --json -").ended_with(0);
    Ok(())
}

fn a_cancelled_job() -> Ending {
    let sandbox = lab()?;
    let cluster = Cluster::start(1)?;
    let words = format!("{RUN} --store s.db --on slurm --at-once 1");
    let submitter =
        cluster.command(&sandbox, &words).stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
    let submitter = submitter.unwrap();
    eventually_long("a first result", || results(&spool(&sandbox)) >= 1);
    let name = {
        let order = std::fs::read(spool(&sandbox).join("order.json")).unwrap();
        let order: Value = serde_json::from_slice(&order).unwrap();
        format!("{}-0", order["token"].as_str().unwrap())
    };
    let conf = cluster.directory.path().join("slurm.conf");
    let cancel = Command::new("scancel").args(["--name", &name]).env("SLURM_CONF", conf).status();
    assert!(cancel.unwrap().success());
    let ran = Ran::of(submitter.wait_with_output().unwrap()).ended_with(130);
    assert!(ran.stderr.contains("go on with: fstrial run --resume r1"), "{}", ran.stderr);
    let ran = cluster.run(&sandbox, "run --resume r1 --store s.db --quiet --json -").ended_with(0);
    assert_eq!(figures(&ran).len(), 10);
    Ok(())
}

fn what_cannot_be_spread() -> Ending {
    let sandbox = Sandbox::new();
    let refused = |words: &str, code: i32, said: &str| {
        let ran = sandbox.run(&format!("run null --store s.db {words}")).ended_with(code);
        assert!(ran.stderr.contains(said), "{words}: {}", ran.stderr);
        assert!(!sandbox.path("s.db.slurm").exists());
    };
    refused("--on slurm --dir .", 2, "--testbed lab");
    refused("--on slurm --sbatch=--array=3", 2, "fstrial sets --array itself");
    refused("--on slurm --at-once 0", 2, "give 1 or more");
    refused("--partition long", 2, "--on");
    Ok(())
}

/// As [`eventually`], for what begins with packing a lab and booting guests: ten times as long.
#[track_caller]
fn eventually_long(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..10 {
        let start = Instant::now();
        eventually(what, || holds() || start.elapsed() > Duration::from_secs(50));
        if holds() {
            return;
        }
    }
    panic!("not within ten minutes: {what}");
}
