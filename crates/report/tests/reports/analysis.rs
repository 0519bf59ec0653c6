use report::{Mark, Reason, Relation, analyse};
use stack::Durability;
use store::StoredRun;
use trial::{Outcome, Step};
use units::Nanos;
use workload::{Cache, NotComparable, PhaseResult, PhaseStatus};

use crate::synthetic::{Synthetic, fail, parameters, phase, planted};

fn wall_verdict(run: &StoredRun) -> String {
    analyse(run).workloads[0].phases[0].verdict.clone()
}

#[test]
fn planted_differences_are_found_and_said() {
    let analysis = analyse(&Synthetic::small().run());
    let phase = &analysis.workloads[0].phases[0];
    let wall = phase.table("wall").unwrap();
    // Sorted by name: btrfs, ext4, xfs.
    let ranks: Vec<String> = wall.cells.iter().map(|cell| cell.rank.unwrap().to_string()).collect();
    assert_eq!(ranks, ["3", "1", "2"]);
    let marks: Vec<Option<Mark>> = wall.cells.iter().map(|cell| cell.mark).collect();
    assert_eq!(marks, [Some(Mark::Worst), Some(Mark::Best), None]);
    let against = wall.cells[2].against_best.unwrap();
    assert!(against.separated && against.low.unwrap() > 1.1 && against.high.unwrap() < 1.3);
    let verdict = &analysis.workloads[0].verdict[0];
    assert!(verdict.starts_with("On maildir-write (io): ext4, 1."), "{verdict}");
    assert!(verdict.contains(" s; xfs 1.") && verdict.contains(" times as long, btrfs 1."));
    // Rates are ranked the other way round and say the same.
    let ops = phase.table("ops_rate").unwrap();
    assert_eq!(ops.cells[1].mark, Some(Mark::Best));
    assert!(ops.cells[2].against_best.unwrap().ratio > 1.1);
    assert!(analysis.warnings.is_empty(), "{:?}", analysis.warnings);
}

/// A wall time and nothing else, for many runs.
fn bare() -> Synthetic {
    Synthetic { phases: vec![phase("maildir-write", "io", 1.4, &[])], ..Synthetic::small() }
}

/// One filesystem under three names: told apart in at most 5 % of runs, and then only as the
/// tables say.
#[test]
fn a_contender_against_itself_is_not_told_apart() {
    let mut told_apart = 0;
    for seed in 0..200 {
        let contenders =
            ["one", "two", "three"].map(|name| planted(name, "ext4", 1.0, 0.05)).to_vec();
        let run = Synthetic { contenders, seed, ..bare() }.run();
        let analysis = analyse(&run);
        let wall = analysis.workloads[0].phases[0].table("wall").unwrap();
        let marked = wall.cells.iter().any(|cell| cell.mark.is_some());
        let separated = wall.pairs.iter().any(|pair| pair.separated);
        let behind = &wall.standing.as_ref().unwrap().behind;
        assert!(!marked || separated);
        // The leader is one of the two best, and not shown to be ahead of all.
        assert!(separated || behind.iter().all(|one| !one.relation.is_worse()), "{behind:?}");
        told_apart += usize::from(separated);
    }
    // Three standard errors above 5 % of 200.
    assert!(told_apart <= 19, "{told_apart} of 200");
}

#[test]
fn quiet_equals_are_called_equal_and_noisy_ones_are_not() {
    let pair = |spread, seed| {
        let contenders = ["a", "b"].map(|name| planted(name, "ext4", 1.0, spread)).to_vec();
        let run = Synthetic { contenders, repeats: 6, seed, ..bare() }.run();
        let table = analyse(&run).workloads[0].phases[0].table("wall").unwrap().clone();
        (table.standing.unwrap().behind[0].relation, wall_verdict(&run))
    };
    for seed in 1..=40 {
        // A difference that is shown and known to be small says both.
        let (quiet, said) = pair(0.004, seed);
        assert!(quiet.is_near(), "{said}");
        assert_eq!(quiet == Relation::Level, said.ends_with(" level within 5 %"), "{said}");
        let (noisy, said) = pair(0.2, seed);
        assert!(!noisy.is_near(), "{said}");
        assert_eq!(noisy == Relation::Open, said.ends_with(", not shown with 6 repeats"), "{said}");
    }
}

#[test]
fn one_repeat_decides_nothing_and_says_so() {
    let analysis = analyse(&Synthetic { repeats: 1, ..Synthetic::small() }.run());
    assert!(analysis.warnings[0].starts_with("This plan cannot decide anything"));
    let phase = &analysis.workloads[0].phases[0];
    assert!(phase.verdict.starts_with("not decided by one repeat"));
    for cell in &phase.table("wall").unwrap().cells {
        assert!(cell.mean.is_some());
        assert_eq!((cell.low, cell.mark, cell.rank), (None, None, None));
        assert!(cell.against_best.is_none() && !cell.leads && cell.has_too_few());
    }
}

#[test]
fn every_kind_of_missing_figure_has_its_reason() {
    let contenders: Vec<_> =
        ["done", "refused", "failed", "late", "dead", "phase", "skipped", "apart", "open"]
            .map(|name| planted(name, "ext4", 1.0, 0.02))
            .to_vec();
    let mut run = Synthetic { contenders, repeats: 2, ..Synthetic::small() }.run();
    for trial in &mut run.trials {
        let name = trial.spec.contender.name.clone();
        let phase = &mut trial.phases[0];
        match name.as_str() {
            "refused" => trial.outcome = Some(Outcome::Refused { reason: "too small".into() }),
            "failed" => {
                let reason = "bad superblock".to_owned();
                trial.outcome = Some(Outcome::Failed { step: Step::Check, reason });
            }
            "late" => {
                let after = Nanos::from_secs(60);
                trial.outcome = Some(Outcome::TimedOut { step: Step::Work, after });
            }
            "dead" => {
                let (reason, kernel_log) = ("signal 9".to_owned(), String::new());
                trial.outcome = Some(Outcome::GuestDied { reason, kernel_log });
            }
            "phase" => phase.status = PhaseStatus::Failed { reason: "create x: ENOSPC".into() },
            "skipped" => phase.status = PhaseStatus::Skipped { reason: "no mail".into() },
            "apart" => {
                let why = "no device reads".to_owned();
                phase.not_comparable = Some(NotComparable::Other { why });
            }
            "open" => trial.outcome = None,
            _ => {}
        }
    }
    let analysis = analyse(&run);
    let phase = &analysis.workloads[0].phases[0];
    let wall = phase.table("wall").unwrap();
    let reason = |name: &str| {
        let at = analysis.contenders.iter().position(|c| c.name == name).unwrap();
        assert_eq!(wall.cells[at].mean, None, "{name}");
        let notes: Vec<&str> = wall.cells[at]
            .footnotes
            .iter()
            .map(|number| phase.footnotes[number - 1].text.as_str())
            .collect();
        notes.join(" / ")
    };
    assert_eq!(reason("refused"), "trial refused: too small");
    assert_eq!(reason("failed"), "trial failed at check: bad superblock");
    assert_eq!(reason("late"), "trial timed out at work after 60.0 s");
    assert_eq!(reason("dead"), "trial died: signal 9");
    assert_eq!(reason("phase"), "phase failed: create x: ENOSPC");
    assert_eq!(reason("skipped"), "not run: no mail");
    assert_eq!(reason("apart"), "not comparable: no device reads");
    assert_eq!(reason("open"), "not run yet");
    assert!(phase.verdict.starts_with("only done has a figure; "), "{}", phase.verdict);
    assert!(analysis.warnings[0].contains("not complete: 2 of 18 trials not run yet"));
    assert!(
        analysis.warnings.iter().any(|w| w == "refused could not be measured: refused: too small.")
    );
}

#[test]
fn some_failed_trials_leave_a_figure_with_a_footnote() {
    let mut run = Synthetic::small().run();
    let mut first = true;
    for trial in run.trials.iter_mut().filter(|trial| trial.spec.contender.name == "xfs") {
        if std::mem::take(&mut first) {
            trial.outcome = Some(Outcome::Refused { reason: "busy".into() });
            trial.phases.clear();
        }
    }
    let analysis = analyse(&run);
    let phase = &analysis.workloads[0].phases[0];
    let cell = &phase.table("wall").unwrap().cells[2];
    assert_eq!((cell.figures.len(), cell.footnotes.as_slice()), (4, &[1][..]));
    assert_eq!(phase.footnotes[0].text, "1 of 5 trials: trial refused: busy");
    let refused = Outcome::Refused { reason: "busy".into() };
    assert_eq!(phase.footnotes[0].reason, Reason::Trial { end: refused });
    assert!(!phase.footnotes[0].all_trials);
    assert!(analysis.warnings.iter().any(|w| w.contains("xfs (4 of 5)")));
}

#[test]
fn unequal_durability_caches_kernels_and_work_are_said() {
    let mut synthetic = Synthetic::small();
    synthetic.contenders[0].durability = Durability::NoBarriers;
    let mut run = synthetic.run();
    for trial in run.trials.iter_mut().filter(|trial| trial.spec.contender.name == "xfs") {
        trial.phases[0].cache = Cache::Warm { why: "no root".to_owned() };
        trial.phases[0].digest = 1;
        if let Some(made) = &mut trial.made {
            made.kernel = "6.1.0".to_owned();
        }
    }
    let analysis = analyse(&run);
    let said = |words: &str| analysis.warnings.iter().any(|warning| warning.contains(words));
    assert!(said("Unequal durability: ext4 (no barriers: synced data may be lost)"));
    assert!(said("began with different caches: cold (remount) for btrfs and ext4; warm (no root)"));
    assert!(said("different kernels: 6.1.0 and 6.18.5-amd64"));
    assert!(said("the contenders did not do the same ops"));
}

#[test]
fn where_no_disk_has_a_volatile_cache_barriers_make_nothing_more_durable() {
    let mut synthetic = Synthetic::small();
    synthetic.contenders[0].durability = Durability::NoBarriers;
    let unequal = |layout: &str, facts: &[(&str, &str)]| {
        let mut run = synthetic.run();
        for trial in &mut run.trials {
            trial.spec.contender.layout = stack::LayoutChoice::parse(layout).unwrap();
        }
        for (key, value) in facts {
            run.header.environment.0.insert((*key).to_owned(), (*value).to_owned());
        }
        analyse(&run).warnings.iter().any(|warning| warning.contains("Unequal durability"))
    };
    let (on, off) = (("lab_disk_write_cache", "on"), ("lab_disk_write_cache", "off"));
    let (lab, journal_off) = (("lab_disk", "drive"), ("lab_journal_disk_write_cache", "off"));
    assert!(unequal("single", &[]), "nothing is known of a real disk");
    assert!(unequal("single", &[lab, on]));
    assert!(!unequal("single", &[lab, off]));
    assert!(!unequal("hw-raid5x3+battery=off", &[lab, on]), "the controller keeps them off");
    assert!(unequal("hw-raid5x3+journal", &[lab, on]), "the journal's disk is not behind it");
    assert!(!unequal("hw-raid5x3+journal", &[lab, on, journal_off]));
}

#[test]
fn disks_behind_a_controller_have_no_cache_of_their_own_to_tell_of() {
    let mut run = Synthetic::small().run();
    let facts = [("lab_profile", "old"), ("lab_disk", "drive"), ("lab_disk_write_cache", "on")];
    for (key, value) in facts {
        run.header.environment.0.insert(key.to_owned(), value.to_owned());
    }
    let said = |run: &StoredRun, words: &str| {
        analyse(run).warnings.iter().any(|warning| warning.contains(words))
    };
    assert!(said(&run, "machine old, disk drive with its write cache on."));
    let of_one = run.trials[0].spec.contender.name.clone();
    for trial in run.trials.iter_mut().filter(|trial| trial.spec.contender.name != of_one) {
        trial.spec.contender.layout = stack::LayoutChoice::parse("hw-raid5x3").unwrap();
    }
    assert!(said(&run, "disk drive with its write cache on."), "one is on the disk itself");
    for trial in &mut run.trials {
        trial.spec.contender.layout = stack::LayoutChoice::parse("hw-raid5x3").unwrap();
    }
    assert!(said(&run, "machine old, disks drive behind a RAID controller."));
}

#[test]
fn caches_emptied_by_different_means_are_no_difference() {
    let mut run = Synthetic::small().run();
    for trial in run.trials.iter_mut().filter(|trial| trial.spec.contender.name == "xfs") {
        trial.phases[0].cache = Cache::Cold { how: "zinject -a".to_owned() };
    }
    let analysis = analyse(&run);
    let phase = &analysis.workloads[0].phases[0];
    let words: Vec<&str> = phase.cache.iter().map(|state| state.words.as_str()).collect();
    assert_eq!(words, ["cold (remount)", "cold (zinject -a)"], "both are told");
    assert!(analysis.warnings.is_empty(), "{:?}", analysis.warnings);
}

#[test]
fn one_workload_with_two_settings_makes_two_sections() {
    let mut run = Synthetic::small().run();
    let mut other = Synthetic { seed: 2, ..Synthetic::small() }.run();
    for trial in &mut other.trials {
        trial.spec.workloads[0].parameters = parameters(&[("ops", "10000"), ("fsync", "file")]);
    }
    run.trials.extend(other.trials);
    let titles: Vec<String> =
        analyse(&run).workloads.iter().map(|workload| workload.title.clone()).collect();
    assert_eq!(titles, ["maildir-write (fsync=none)", "maildir-write (fsync=file)"]);
}

#[test]
fn workloads_stand_in_the_order_asked_for() {
    let mut run = Synthetic::quickstart().run();
    let names = |run: &StoredRun| {
        let workloads = analyse(run).workloads;
        workloads.iter().map(|workload| workload.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&run), ["maildir-write", "maildir-read"], "the catalogue's, if not known");
    run.header.workloads = ["maildir-read", "maildir-write"].map(str::to_owned).to_vec();
    assert_eq!(names(&run), ["maildir-read", "maildir-write"]);
}

/// The same workload twice in one trial: the second finds what the first left.
#[test]
fn a_sequence_attributes_its_phases_in_order() {
    let mut run = Synthetic::small().run();
    for trial in &mut run.trials {
        let again = trial.spec.workloads[0].clone();
        trial.spec.workloads.push(again);
        let mut phase = trial.phases[0].clone();
        phase.wall = Nanos(phase.wall.0 * 2);
        trial.phases.push(phase);
    }
    let analysis = analyse(&run);
    let mean = |at: usize| analysis.workloads[at].phases[0].table("wall").unwrap().cells[0].mean;
    assert!((mean(1).unwrap() / mean(0).unwrap() - 2.0).abs() < 1e-6);
    assert_eq!(analysis.workloads[1].title, "maildir-write, after maildir-write");
}

fn after_bonnie() -> NotComparable {
    NotComparable::AfterWorkload { workload: "bonnie".to_owned() }
}

/// What was complete before a failure stays; where contents were not what was written, all
/// of that workload is in doubt; and damage that a check finds puts everything in doubt.
#[test]
fn a_failure_takes_nothing_from_what_was_complete_before_it() {
    let means = |step: Step, change: &dyn Fn(&mut Vec<PhaseResult>)| -> Vec<bool> {
        let mut run = Synthetic::small().run();
        for trial in &mut run.trials {
            for name in ["bonnie", "mongo"] {
                let mut choice = trial.spec.workloads[0].clone();
                choice.name = name.to_owned();
                trial.spec.workloads.push(choice);
            }
            let first = trial.phases[0].clone();
            for (workload, name) in
                [("bonnie", "rewrite"), ("bonnie", "seeks"), ("mongo", "create")]
            {
                let mut phase = first.clone();
                (phase.workload, phase.phase) = (workload.to_owned(), name.to_owned());
                trial.phases.push(phase);
            }
            change(&mut trial.phases);
            let reason = "said elsewhere".to_owned();
            trial.outcome = Some(Outcome::Failed { step, reason });
        }
        let analysis = analyse(&run);
        let phases = analysis.workloads.iter().flat_map(|workload| &workload.phases);
        phases.map(|phase| phase.table("wall").unwrap().cells[0].mean.is_some()).collect()
    };
    let seeks_failed = |phases: &mut Vec<PhaseResult>| {
        phases[2].status = PhaseStatus::Failed { reason: "create x: ENOSPC".to_owned() };
        phases[3].not_comparable = Some(after_bonnie());
    };
    let contents_differ = |phases: &mut Vec<PhaseResult>| {
        phases[3].not_comparable = Some(after_bonnie());
    };
    let died_at_once = |phases: &mut Vec<PhaseResult>| phases.clear();
    assert_eq!(means(Step::Work, &seeks_failed), [true, true, false, false]);
    assert_eq!(means(Step::Work, &contents_differ), [true, false, false, false]);
    assert_eq!(means(Step::Check, &seeks_failed), [false; 4]);
    let nothing = means(Step::Work, &died_at_once);
    assert!(!nothing.is_empty() && nothing.iter().all(|there| !there), "{nothing:?}");
}

#[test]
fn a_percentile_takes_ops_enough() {
    let few = phase("maildir-write", "io", 1.4, &[("deliver", 50)]);
    let analysis = analyse(&Synthetic { phases: vec![few], ..Synthetic::small() }.run());
    let phase = &analysis.workloads[0].phases[0];
    let cell = |id: &str| &phase.table(id).unwrap().cells[0];
    assert!(cell("latency.deliver.p90").mean.is_some());
    assert_eq!(cell("latency.deliver.p99").mean, None);
    let note = &phase.footnotes[cell("latency.deliver.p99").footnotes[0] - 1];
    assert_eq!(note.text, "p99 needs at least 100 ops of kind deliver");
}

/// The lab's overhead makes times wrong, and no count.
/// Less traffic may be better or merely later.
#[test]
fn device_traffic_is_compared_and_not_ranked() {
    let analysis = analyse(&Synthetic::small().run());
    let table = analysis.workloads[0].phases[0].table("device_write_bytes").unwrap();
    assert!(table.pairs.iter().all(|pair| pair.separated) && table.pairs.len() == 3);
    assert!(table.cells.iter().all(|cell| cell.mean.is_some() && cell.rank.is_none()));
    assert!(table.cells.iter().all(|cell| cell.mark.is_none()));
}

#[test]
fn a_workload_of_another_version_is_shown_without_its_description() {
    let known = Synthetic::small();
    let strange = phase("from-the-future", "leap", 1.0, &[("jump", 200)]);
    let mut run = Synthetic { phases: vec![strange], ..known }.run();
    fail(&mut run, "xfs", Step::Work, "lost");
    let analysis = analyse(&run);
    assert_eq!(analysis.workloads[0].title, "from-the-future");
    assert_eq!(analysis.workloads[0].phases[0].clock, "");
    assert!(analysis.workloads[0].verdict[0].contains("; xfs has no figure"));
}
