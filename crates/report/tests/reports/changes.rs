//! Two runs of the same work, with planted differences.

use report::{AtLimit, ChangeVerdict, Changes, Effect, Gate, What, changes};
use store::StoredRun;
use trial::{Outcome, Step};
use units::Nanos;
use workload::PhaseStatus;

use crate::synthetic::{Synthetic, phase};

/// A run and another of the same seeds, to be changed.
fn two() -> (StoredRun, StoredRun) {
    let before = Synthetic::small().run();
    let mut after = before.clone();
    after.header.id = "r2".to_owned();
    (before, after)
}

fn of<'c>(found: &'c Changes, contender: &str) -> &'c report::PhaseChange {
    found.phases.iter().find(|phase| phase.contender == contender).unwrap()
}

#[test]
fn the_same_figures_are_the_same() {
    let (before, after) = two();
    let found = changes(&before, &after);
    assert_eq!(found.phases.len(), 3, "a phase for each contender");
    for phase in &found.phases {
        assert_eq!(phase.time.verdict, ChangeVerdict::Same);
        assert!(!phase.counts.is_empty());
        assert!(phase.counts.iter().all(|count| count.change.verdict == ChangeVerdict::Same));
    }
    assert_eq!(found.gate(0.0), Gate::Passed);
    assert!(found.differences.is_empty());
    let text = found.to_text(false);
    assert!(text.contains("3 phases: 3 the same to the last digit"), "{text}");
}

#[test]
fn what_takes_longer_is_slower_and_nothing_else() {
    let (before, mut after) = two();
    for trial in after.trials.iter_mut().filter(|it| it.spec.contender.name == "xfs") {
        for phase in &mut trial.record.phases {
            phase.wall = Nanos((phase.wall.0 as f64 * 1.2) as u64);
            phase.device.as_mut().unwrap().write_bytes.0 *= 2;
        }
    }
    let found = changes(&before, &after);
    let xfs = of(&found, "xfs");
    assert_eq!(xfs.time.verdict, ChangeVerdict::More);
    assert!((xfs.time.ratio.unwrap() - 1.2).abs() < 1e-6);
    let written = xfs.counts.iter().find(|count| count.name == "written").unwrap();
    assert_eq!(written.change.verdict, ChangeVerdict::More);
    assert_eq!(of(&found, "ext4").time.verdict, ChangeVerdict::Same);
    let standing = |limit| xfs.at_limit(limit);
    assert_eq!(standing(0.1), AtLimit::Beyond, "by time");
    assert_eq!(standing(0.3), AtLimit::Beyond, "by what is written");
    assert_eq!(standing(1.5), AtLimit::Within);
    assert_eq!((found.gate(0.1), found.gate(1.5)), (Gate::Slower, Gate::Passed));
    let text = found.to_text(false);
    assert!(
        text.contains("slower, 1.20× as long") || text.contains("slower, 1.2× as long"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");

    let back = changes(&after, &before);
    assert_eq!(of(&back, "xfs").time.verdict, ChangeVerdict::Less);
    assert_eq!(back.gate(0.0), Gate::Passed, "faster is no fault");
}

/// The short text leaves out what is the same in time and in all counts, and nothing else.
#[test]
fn a_change_of_the_time_or_of_a_count_is_shown() {
    let (before, after) = two();
    let short = |change: fn(&mut workload::PhaseResult)| {
        let mut after = after.clone();
        for trial in after.trials.iter_mut().filter(|it| it.spec.contender.name == "xfs") {
            trial.record.phases.iter_mut().for_each(change);
        }
        changes(&before, &after).to_text(false)
    };
    let time = short(|phase| phase.wall = Nanos(phase.wall.0 * 2));
    let count = short(|phase| phase.device.as_mut().unwrap().write_bytes.0 *= 2);
    for text in [time, count] {
        assert!(text.contains("xfs") && !text.contains("ext4"), "{text}");
    }
}

/// Fewer questions: the same figures can show more.
#[test]
fn phases_that_are_named_are_the_only_questions() {
    const NAMES: [&str; 6] = ["io", "again1", "again2", "again3", "again4", "again5"];
    const LONGER: [f64; 5] = [0.05, 0.075, 0.1, 0.125, 0.15];
    const AS_LONG: [f64; 5] = [-0.1, 0.05, 0.1, -0.05, 0.0];
    let before = Synthetic {
        phases: NAMES.map(|name| phase("maildir-write", name, 1.4, &[("deliver", 24)])).to_vec(),
        ..Synthetic::small()
    }
    .run();
    let mut after = before.clone();
    for trial in &mut after.trials {
        for phase in &mut trial.record.phases {
            let of_seeds = if phase.phase == "io" { LONGER } else { AS_LONG };
            let factor = of_seeds[trial.spec.block as usize % 5].exp();
            phase.wall = Nanos((phase.wall.0 as f64 * factor) as u64);
        }
    }
    let all = changes(&before, &after);
    let one = all.clone().only(&["io".to_owned()]).unwrap();
    assert_eq!((all.phases.len(), one.phases.len()), (18, 3));
    assert!(one.phases.iter().all(|phase| phase.phase == "io"));
    let time = |found: &Changes| of(found, "xfs").time.clone();
    assert_eq!(time(&all).verdict, ChangeVerdict::Undecided, "of 18 questions: {:?}", time(&all));
    assert_eq!(time(&one).verdict, ChangeVerdict::More, "of 3: {:?}", time(&one));
    assert_eq!(time(&all).p, time(&one).p, "what was measured stays");
    let text = one.to_text(false);
    assert!(text.contains(", only io, 3 phases: "), "{text}");
    assert!(one.to_json().contains("\"only\"") && !all.to_json().contains("\"only\""));

    let message = all.clone().only(&["agian1".to_owned()]).unwrap_err();
    assert!(message.contains("did you mean `again1`?"), "{message}");
    let message = all.only(&["io".to_owned(), "no such".to_owned()]).unwrap_err();
    assert!(message.contains("`no such`") && message.contains("again5, io"), "{message}");
}

/// Figures of other seeds are not pairs: the spread of the trials counts.
#[test]
fn other_seeds_are_compared_by_their_spread() {
    let before = Synthetic::small().run();
    let mut after = Synthetic { seed: 9, ..Synthetic::small() }.run();
    for trial in &mut after.trials {
        trial.spec.seed = workload::Seed(trial.spec.seed.0 ^ 0xff00);
    }
    let found = changes(&before, &after);
    assert_eq!(found.phases.len(), 3);
    for phase in &found.phases {
        assert!(
            matches!(phase.time.verdict, ChangeVerdict::Undecided | ChangeVerdict::Equal),
            "{phase:?}"
        );
    }
    assert!(found.differences.iter().any(|it| it.what == What::Seed));
}

#[test]
fn what_is_missing_is_said_and_not_passed() {
    let (before, mut after) = two();
    for trial in &mut after.trials {
        match trial.spec.contender.name.as_str() {
            "btrfs" => {
                let reason = "no room".to_owned();
                trial.record.outcome = Some(Outcome::Failed { step: Step::Mount, reason });
                trial.record.phases.clear();
            }
            "ext4" => "ext4-patched".clone_into(&mut trial.spec.contender.name),
            _ => {}
        }
    }
    let found = changes(&before, &after);
    assert_eq!(of(&found, "btrfs").time.verdict, ChangeVerdict::Missing);
    assert_eq!(of(&found, "btrfs").at_limit(0.5), AtLimit::Open, "no figure is not a good one");
    assert_eq!(found.gate(0.5), Gate::Open);
    let alone = found.alone.join("; ");
    assert!(alone.contains("ext4 is in r7 alone"), "{alone}");
    assert!(alone.contains("ext4-patched is in r2 alone"), "{alone}");
    assert!(found.to_text(false).contains("no room"), "{}", found.to_text(false));
    let json: serde_json::Value = serde_json::from_str(&found.to_json()).unwrap();
    assert!(json["phases"][0]["time"]["before"].is_number(), "{json}");
}

#[test]
fn a_phase_that_nobody_asked_for_is_not_missing() {
    let (mut before, mut after) = two();
    let skipped = || PhaseStatus::Skipped { reason: "not asked for".to_owned() };
    for run in [&mut before, &mut after] {
        for trial in &mut run.trials {
            let left_out = trial.phases[0].clone();
            trial.record.phases.push(left_out);
            let last = trial.record.phases.last_mut().unwrap();
            "sync".clone_into(&mut last.phase);
            last.status = skipped();
        }
    }
    assert_eq!(changes(&before, &after).phases.len(), 3);
    // Asked for once, it is.
    for trial in &mut before.trials {
        trial.record.phases.last_mut().unwrap().status = PhaseStatus::Completed;
    }
    let found = changes(&before, &after);
    let open = found.phases.iter().filter(|phase| phase.at_limit(0.0) == AtLimit::Open);
    assert_eq!((found.phases.len(), open.count()), (6, 3));
}

#[test]
fn one_repeat_decides_nothing() {
    let (mut before, mut after) = two();
    for run in [&mut before, &mut after] {
        run.trials.retain(|trial| trial.spec.block == 0);
    }
    for phase in after.trials.iter_mut().flat_map(|trial| &mut trial.record.phases) {
        phase.wall = Nanos(phase.wall.0 * 2);
    }
    let found = changes(&before, &after);
    assert_eq!(of(&found, "ext4").time.verdict, ChangeVerdict::Undecided);
    assert!(found.to_text(false).contains("3 undecided"), "{}", found.to_text(false));
    assert_eq!(found.gate(0.05), Gate::Open, "neither slower nor not slower");
}

/// Whatever a run consists of, it can be held against any other.
#[test]
fn odd_runs_are_compared_too() {
    let (usual, _) = two();
    for (what, odd) in crate::odd_runs() {
        for (before, after) in [(&usual, &odd), (&odd, &usual), (&odd, &odd)] {
            let found = changes(before, after);
            serde_json::from_str::<serde_json::Value>(&found.to_json()).unwrap();
            for full in [true, false] {
                let text = found.to_text(full);
                assert!(!text.contains('\u{1b}'), "{what}: {text}");
            }
        }
    }
}

/// The differences of two runs, after one was changed.
fn after(change: impl FnOnce(&mut StoredRun, &mut StoredRun)) -> Vec<(What, Effect)> {
    let (mut before, mut after) = two();
    change(&mut before, &mut after);
    let found = changes(&before, &after).differences;
    found.into_iter().map(|it| (it.what, it.effect)).collect()
}

fn set(run: &mut StoredRun, facts: &[(&str, &str)]) {
    let facts = facts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    run.header.environment.0.extend(facts);
}

/// What of the laboratory differs is none of the filesystem's, and is never compared.
#[test]
fn runs_that_are_not_alike_are_refused() {
    let lab = |run: &mut StoredRun, front_end: &str, profile: &str| {
        "lab".clone_into(&mut run.header.testbed);
        run.header.lab_id = Some("lab-1".to_owned());
        let disk = ("lab_disk_depth", "32");
        set(run, &[("lab_front_end", front_end), ("lab_profile", profile), disk]);
    };
    let refused = |what: What| vec![(what, Effect::Refuses)];
    let found = after(|before, after| {
        lab(before, "ublk", "today-ssd");
        // The name of the profile follows from the front end.
        lab(after, "nbd", "today-ssd with front_end=nbd");
    });
    assert_eq!(found, refused(What::FrontEnd));
    let found = after(|before, after| {
        lab(before, "nbd", "today-ssd with disk.depth=32 front_end=nbd");
        // This kernel has no other.
        lab(after, "nbd", "today-ssd with disk.depth=32");
    });
    assert_eq!(found, []);
    let found = after(|before, after| {
        lab(before, "ublk", "today-ssd");
        lab(after, "ublk", "server-ssd");
    });
    assert_eq!(found, refused(What::Profile));
    let found = after(|before, after| {
        lab(before, "ublk", "mine");
        lab(after, "ublk", "mine");
        set(after, &[("lab_disk_depth", "1")]);
    });
    assert_eq!(found, refused(What::Profile), "another machine under the same name");
    let host = after(|before, after| {
        lab(before, "ublk", "today-ssd");
        lab(after, "ublk", "today-ssd");
        set(after, &[("processors", "64"), ("hostname", "b")]);
    });
    assert!(!host.is_empty(), "another host is told of");
    assert!(host.iter().all(|(_, effect)| *effect == Effect::Noted), "{host:?}");
    let found = after(|_, after| set(after, &[("processors", "64")]));
    assert_eq!(found, refused(What::Processors), "of a real machine they count");
    let found = after(|_, after| after.header.scale = 0.1);
    assert_eq!(found, refused(What::Scale));
    let found = after(|_, after| {
        after.trials.truncate(8);
        after.header.state = store::RunState::Open;
    });
    assert_eq!(found[0], (What::Unfinished, Effect::Refuses));
    let found = after(|_, after| set(after, &[("source_tree", "linux-6.1: 10 files, 1 MiB")]));
    assert_eq!(found, refused(What::Input));
    let found = after(|_, after| {
        for trial in after.trials.iter_mut().filter(|it| it.spec.contender.name == "xfs") {
            trial.spec.size = Some(units::Bytes::from_gib(9));
        }
    });
    assert_eq!(found, refused(What::Size { contender: "xfs".to_owned() }));
}

/// What may be the question, or the answer to it, is said first, however many things changed.
#[test]
fn what_may_have_changed_the_figures_is_marked_and_never_left_out() {
    let (before, mut after) = two();
    for trial in after.trials.iter_mut().filter(|it| it.spec.contender.name == "ext4") {
        let made = trial.record.made.as_mut().unwrap();
        made.mount_options = "rw,noatime,stripe=32".to_owned();
        made.kernel = "7.3.4".to_owned();
    }
    set(&mut after, &[("own_program", "fio 1a2b"), ("kernel", "7.3.4")]);
    for nth in 0..20 {
        set(&mut after, &[(&format!("fact_{nth}"), "other")]);
    }
    let found = changes(&before, &after);
    assert!(found.refusals().is_empty());
    let text = found.to_text(false);
    for line in [
        "changed: mount options of ext4, which nobody asked for: none → stripe=32",
        "changed: kernel: 6.18.5-amd64 → 6.18.5-amd64, 7.3.4",
        "changed: program: none → fio 1a2b",
        "changed: 20 things that should not matter: --full",
    ] {
        assert!(text.contains(line), "{line} is not in: {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&found.to_json()).unwrap();
    let mounted = json["differences"].as_array().unwrap().iter();
    let mut mounted = mounted.filter(|it| it["what"] == "mount_options");
    let mounted = mounted.next().unwrap();
    assert_eq!((&mounted["effect"], &mounted["asked"]), (&"marks".into(), &false.into()));
    // Another option of the contender is what was asked for.
    for trial in after.trials.iter_mut().filter(|it| it.spec.contender.name == "ext4") {
        trial.spec.contender.mount = vec!["stripe=32".to_owned()];
    }
    let text = changes(&before, &after).to_text(false);
    assert!(text.contains("changed: mount options of ext4: none → stripe=32"), "{text}");
}

#[test]
fn other_work_under_the_same_seed_is_said() {
    let found = after(|_, after| after.trials[0].record.phases[0].digest ^= 1);
    let what = What::Work { workload: "maildir-write".to_owned(), phase: "io".to_owned() };
    assert_eq!(found, [(what, Effect::Marks)]);
}
