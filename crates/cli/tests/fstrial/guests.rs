//! Guests of the lab as a user has them: large disks in small ones, two at once, a plan that
//! does not fit this machine, a lab from elsewhere, a checkpoint that is damaged.

use std::fs::File;
use std::path::Path;

use serde_json::Value;
use skippable::{Ending, needs_root};

use crate::sandbox::Sandbox;

const RUN: &str = "run maildir-write --scale 0.002 --mail synthetic:count=50 --repeats 1 --quiet \
                   --json -";

/// What must not differ: the lab's id, and for each contender phases and nanoseconds.
#[derive(Debug, PartialEq)]
struct Figures {
    lab: String,
    phases: Vec<(String, String, u64)>,
}

impl Figures {
    #[track_caller]
    fn of(sandbox: &Sandbox, words: &str) -> (Figures, Value) {
        let ran = sandbox.run(&format!("{RUN} {words}")).ended_with(0);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut phases = Vec::new();
        for trial in report["trials"].as_array().unwrap() {
            for phase in trial["phases"].as_array().unwrap() {
                let wall = phase["wall_ns"].as_u64().unwrap();
                phases.push((text(&trial["contender"]), text(&phase["phase"]), wall));
            }
        }
        assert!(!phases.is_empty() && phases.iter().all(|phase| phase.2 > 0), "{phases:?}");
        (Figures { lab: text(&report["run"]["lab_id"]), phases }, report)
    }

    fn only(mut self, contender: &str) -> Figures {
        self.phases.retain(|phase| phase.0 == contender);
        self
    }
}

pub(crate) fn disks_of_16_gib_in_guests_of_256_mib_two_at_once_and_one_alone() -> Ending {
    let sandbox = Sandbox::with_lab()?;
    let large = "--size 16G --set ram=256M";
    let (both, report) = Figures::of(&sandbox, &format!("{large} --fs ext4,xfs"));
    assert_eq!(report["environment"]["lab_ram"], "256 MiB");
    let made = &report["trials"][0]["made"];
    // 16 GiB in blocks of 4 KiB.
    assert!(made.to_string().contains("4194304"), "{made}");
    let (alone, _) = Figures::of(&sandbox, &format!("{large} --fs xfs"));
    assert_eq!(alone, both.only("xfs"));
    Ok(())
}

pub(crate) fn request_logs_that_cannot_be_written_are_refused_before_anything_runs() -> Ending {
    needs_root()?;
    let sandbox = Sandbox::with_lab()?;
    std::fs::write(sandbox.path("file"), "").unwrap();
    std::os::unix::fs::symlink(sandbox.directory.path(), sandbox.path("link")).unwrap();
    std::os::unix::fs::lchown(sandbox.path("link"), Some(65534), None).unwrap();
    for (place, why) in [("file", "not a directory"), ("link/logs", "symlink of user 65534")] {
        let ran = sandbox.run(&format!("run null --fs ext4 --repeats 1 --request-log {place}"));
        let ran = ran.ended_with(3);
        let said = ran.stderr.to_lowercase();
        assert!(said.contains(&format!("--request-log {place}")), "{said}");
        assert!(said.contains(why), "{said}");
    }
    assert!(!sandbox.path("logs").exists());
    sandbox.run("report").ended_with(4);
    Ok(())
}

pub(crate) fn a_plan_that_does_not_fit_the_machine_is_refused_before_anything_runs() -> Ending {
    let sandbox = Sandbox::with_lab()?;
    let larger = "its guest needs 4.00 TiB of memory; are free; --set ram=SIZE";
    let most = "its disks will hold; TiB; keeps at most 60 GiB for a guest; --scale";
    for (words, told) in [
        ("null:ops=10 --fs ext4 --size 1G --set ram=4096G", larger),
        ("bigfile:size=4T --fs ext4 --disk seagate-exos-x20-20tb --size 16T", most),
    ] {
        let ran = sandbox.run(&format!("run {words} --repeats 1")).ended_with(3);
        for said in told.split("; ") {
            assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
        }
    }
    let runs = sandbox.run("list runs").ended_with(0).stdout;
    assert!(!runs.contains("ext4") && !runs.contains("null"), "nothing was begun: {runs}");
    Ok(())
}

pub(crate) fn too_little_memory_for_the_guest_is_refused_with_what_is_enough() -> Ending {
    let sandbox = Sandbox::with_lab()?;
    let run = |ram: &str| {
        let words = "run null:ops=10 --fs ext4 --size 256M --repeats 1 --quiet --set";
        sandbox.run(&format!("{words} ram={ram}"))
    };
    let refused = run("64M").ended_with(3).stderr;
    let enough = refused.split_once("--set ram=").expect("it says what to do").1;
    run(enough.split_once(')').expect("in brackets").0).ended_with(0);
    Ok(())
}

pub(crate) fn a_lab_from_elsewhere_gives_the_same_figures_and_so_does_one_whose_checkpoint_is_damaged()
-> Ending {
    let here = Sandbox::with_lab()?;
    let there = Sandbox::new();
    let words = "--fs ext4 --size 512M";
    let (expected, _) = Figures::of(&here, words);
    let file = here.path("lab.tar");
    here.run(&format!("lab export {}", file.display())).ended_with(0);
    there.run(&format!("lab import {}", file.display())).ended_with(0);
    assert_eq!(Figures::of(&there, words).0, expected);

    let checkpoints = there.path(".cache/fstrial/lab/checkpoints");
    let devices = |directory: &Path| directory.join("devices");
    let mut damaged = 0;
    for entry in std::fs::read_dir(checkpoints).unwrap().flatten().filter(|it| it.path().is_dir()) {
        let file = File::options().write(true).open(devices(&entry.path())).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(length / 2).unwrap();
        damaged += 1;
    }
    assert_eq!(damaged, 1);
    assert_eq!(Figures::of(&there, words).0, expected);
    Ok(())
}

/// Its figures repeat, what it did wrong is on the first screen, and nothing of it stays.
pub(crate) fn a_program_of_ones_own_repeats_in_the_lab_and_what_went_wrong_is_said() -> Ending {
    let sandbox = Sandbox::with_lab()?;
    std::fs::create_dir(sandbox.path("jobs")).unwrap();
    let job = |name: &str, script: &str, rest: &str| {
        let text = format!("run = [\"sh\", \"-c\", '''{script}''']\n{rest}");
        std::fs::write(sandbox.path(&format!("jobs/{name}.toml")), text).unwrap();
        format!("--workload program:file=jobs/../jobs/{name}.toml")
    };
    let metric =
        |name: &str| format!("[[metric]]\nname = '{name}'\npattern = '{name} (?<value>[0-9]+)'\n");
    let rest = format!("summary = \"my store\"\n{}{}", metric("rate"), metric("speed"));
    let write = "for i in 1 2 3 4 5; do echo $i > {target}/f$i; done; echo rate 7";
    let good = job("good", write, &rest);
    let same = sandbox.run(&format!("lab verify {good} --fs ext4 --times 2")).ended_with(0).stdout;
    assert!(same.contains("2 of 2 identical, 2 phases"), "{same}");

    let run = |words: &str, code| {
        let words = words.replace("--workload ", "");
        let ran =
            sandbox.run(&format!("run {words} --fs ext4 --repeats 1 --quiet")).ended_with(code);
        // Lines are broken where they are full.
        ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = run(&good, 0);
    assert!(said.contains("For my store on server-ssd"), "{said}");
    assert!(said.contains("speed is missing: nothing it printed"), "{said}");
    let lost = job("lost", "no-such-program", "");
    let said = run(&lost, 1);
    assert!(said.contains("named under `packages` or `files` of a job's file"), "{said}");
    let daemon = job("daemon", "(while :; do :; done) & echo x > {target}/f", "");
    let said = run(&daemon, 0);
    assert!(said.contains("went on after it had ended, and was killed"), "{said}");
    let deaf = job("deaf", "trap '' TERM; kill -STOP $$", "timeout = \"1s\"");
    let said = run(&deaf, 1);
    assert!(said.contains("was not done after 1.00 s, ignored SIGTERM"), "{said}");
    Ok(())
}

pub(crate) fn loop_files_and_a_guest_are_measured_in_turn_and_held_against_each_other() -> Ending {
    needs_root()?;
    let sandbox = Sandbox::with_lab()?;
    let words = "self agreement --here --profile server-ssd --workloads fsync-append \
                 --fs ext4,ext2,reiser4 --scale 0.005 --repeats 2 --loop-dir files";
    let ran = sandbox.run(words);
    // What this machine has to do besides decides whether it puts a pair in the other order.
    let discordant = ran.stdout.contains("**discordant**");
    let ran = ran.ended_with(i32::from(discordant));
    for told in ["2 times: median error ", "| fsync-append | append | ext4 |", "| device (r1) |"] {
        assert!(ran.stdout.contains(told), "{told}: {}", ran.stdout);
    }
    assert!(ran.stderr.contains("left out: reiser4"), "{}", ran.stderr);
    assert!(!ran.stdout.contains("reiser4"), "{}", ran.stdout);
    // Each repeat of the one is followed by that of the other.
    let repeats =
        ran.stderr.lines().filter_map(|line| line.split_once(", repeat ")?.1.chars().next());
    assert_eq!(repeats.collect::<String>(), "11112222", "{}", ran.stderr);
    let stored = sandbox.run("self agreement r1 r2").ended_with(0);
    assert_eq!(stored.stdout, ran.stdout, "the same of the stored runs");
    let none = sandbox.run("self agreement --here --profile server-ssd --fs reiser4").ended_with(3);
    assert!(none.stderr.contains("no filesystem is left"), "{}", none.stderr);
    assert!(!sandbox.run("list runs").stdout.contains("r3 "), "nothing was begun");
    sandbox.run("self agreement --repeats 3 r1 r2").ended_with(2);
    Ok(())
}
