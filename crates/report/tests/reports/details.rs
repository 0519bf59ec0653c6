//! Small things of an analysis and an answer that decide what a reader believes.

use measure::Latencies;
use report::{Behind, Decision, MetricTable, Options, Relation, SpaceLeft, Standing, analyse};
use stack::Durability;
use store::StoredRun;
use trial::{Outcome, SpaceUse, Step};
use units::{Bytes, Nanos};
use workload::{NotComparable, PhaseResult};

use crate::rendered;
use crate::synthetic::{Synthetic, fail, planted};
use crate::verdicts::{run_of, twice_as_long};

fn table(run: &StoredRun, id: &str) -> MetricTable {
    analyse(run).workloads[0].phases[0].table(id).unwrap_or_else(|| panic!("no {id}")).clone()
}

fn screen(run: &StoredRun) -> String {
    rendered("terminal", run, Options { width: 400, ..Options::default() })
}

/// Each result of a contender; `""` are all.
fn results<'r>(run: &'r mut StoredRun, of: &'r str) -> impl Iterator<Item = &'r mut PhaseResult> {
    let of =
        move |trial: &&mut store::StoredTrial| of.is_empty() || trial.spec.contender.name == of;
    run.trials.iter_mut().filter(of).flat_map(|trial| &mut trial.record.phases)
}

fn behind(relations: &[Relation]) -> Standing {
    let behind = relations.iter().enumerate().map(|(at, relation)| Behind {
        contender: at + 1,
        ratio: 1.1,
        low: None,
        high: None,
        relation: *relation,
    });
    Standing { leader: Some(0), behind: behind.collect(), ..Standing::default() }
}

#[test]
fn whoever_may_be_first_is_not_left_out_of_the_best() {
    use Relation::{Level, LittleWorse, Open, Worse};
    assert_eq!(behind(&[Level, Open]).decision(), Decision::Open, "one of them is not decided");
    assert_eq!(behind(&[Level, Worse]).decision(), Decision::Level);
    assert_eq!(behind(&[LittleWorse, Worse]).decision(), Decision::First);
    assert_eq!(behind(&[Level, LittleWorse, Open, Worse]).best(), [0, 1, 3]);
    assert_eq!(behind(&[Level, Open]).best(), [] as [usize; 0], "nobody is shown to be behind");
}

#[test]
fn the_least_and_the_most_of_all_trials_are_told() {
    let mut run = run_of(&[("a", &[2000.0, 2010.0, 1990.0]), ("b", &[3000.0, 3020.0, 2980.0])]);
    results(&mut run, "b").for_each(|result| result.ops = 9000);
    let measured = analyse(&run).workloads[0].phases[0].measured.unwrap();
    assert_eq!((measured.ops_least, measured.ops_most), (5000, 9000));
    assert_eq!((measured.seconds_least, measured.seconds_most), (1.99, 3.02));
}

/// Few ops give no percentile and a moment gives no rate, in whichever trial.
#[test]
fn little_of_either_is_little() {
    let long: [(&str, &[f64]); 2] =
        [("a", &[2000.0, 2010.0, 1990.0]), ("b", &[3000.0, 3020.0, 2980.0])];
    let short: [(&str, &[f64]); 2] = [("a", &[2.8, 2.9, 2.7]), ("b", &[3.8, 3.9, 3.7])];
    let is_little = |mut run: StoredRun, of: &str, ops: u64| {
        results(&mut run, of).for_each(|result| result.ops = ops);
        screen(&run).contains("Little was measured")
    };
    assert!(!is_little(run_of(&long), "", 5000));
    assert!(is_little(run_of(&long), "", 200), "few ops");
    assert!(is_little(run_of(&long), "b", 200), "few ops of one");
    assert!(is_little(run_of(&short), "", 50_000), "a moment");
}

#[test]
fn reads_are_not_writes() {
    let mut run = Synthetic::small().run();
    for result in results(&mut run, "") {
        let device = result.device.as_mut().unwrap();
        (device.reads, device.writes) = (7, 1000);
    }
    for (id, count) in [("device_reads", 7.0), ("device_writes", 1000.0)] {
        let cell = table(&run, id).cells.remove(0);
        let figures: Vec<f64> = cell.figures.iter().map(|figure| figure.value).collect();
        assert_eq!(figures, [count; 5], "{id}");
    }
}

/// A histogram has three digits: its next step is no difference.
#[test]
fn latencies_one_step_apart_are_not_told_apart() {
    let separated = |nanos: u64| {
        let mut run = run_of(&[("a", &[2000.0; 3]), ("b", &[2000.0; 3])]);
        let constant = |nanos| {
            let mut latencies = Latencies::new();
            (0..2000).for_each(|_| latencies.record(Nanos(nanos)));
            latencies
        };
        for (name, nanos) in [("a", 1_000_000), ("b", nanos)] {
            for result in results(&mut run, name) {
                result.latencies.insert("deliver".to_owned(), constant(nanos));
            }
        }
        let table = table(&run, "latency.deliver.p50");
        assert_ne!(table.cells[0].mean, table.cells[1].mean);
        table.pair(0, 1).unwrap().separated
    };
    assert!(!separated(1_000_600));
    assert!(separated(1_100_000));
}

#[test]
fn flushes_and_requests_are_counts_whatever_the_transport_took() {
    let mut run = Synthetic::small().run();
    for result in results(&mut run, "") {
        result.figures.insert("disk_requests".to_owned(), 12.0);
        result.figures.insert(trial::SUBTRACTED_SHARE.to_owned(), 0.5);
        let why = NotComparable::Transport { share: 1.0, limit: 0.05, idle_known: true };
        result.not_comparable = Some(why);
    }
    for id in ["device_flushes", "device_reads", "figure.disk_requests"] {
        assert!(table(&run, id).cells[0].mean.is_some(), "{id}");
    }
    assert_eq!(table(&run, "wall").cells[0].mean, None);
}

/// A trial each whose transport took this share, the first on a kernel without idle time.
fn partly_transport(shares: &[(&str, f64)], first_unknown: bool) -> StoredRun {
    let mut run = run_of(&[("a", &[2000.0, 2010.0, 1990.0]), ("b", &[3000.0, 3020.0, 2980.0])]);
    for trial in &mut run.trials {
        let share = shares.iter().find(|(name, _)| *name == trial.spec.contender.name).unwrap().1;
        let share = share + 0.001 * f64::from(trial.spec.block);
        let idle_known = !first_unknown || trial.spec.block != 0;
        trial.record.phases[0].not_comparable =
            Some(NotComparable::Transport { share, limit: 0.05, idle_known });
    }
    run
}

#[test]
fn the_largest_share_of_transport_is_told_and_what_one_trial_does_not_know() {
    let text = |shares: &[(&str, f64)], unknown| screen(&partly_transport(shares, unknown));
    for shares in [[("a", 0.3), ("b", 0.1)], [("a", 0.1), ("b", 0.3)]] {
        let text = text(&shares, false);
        assert!(text.contains("up to 30 % of the time is the simulation's own"), "{text}");
        assert!(!text.contains("does not record how long the processor was idle"), "{text}");
    }
    let text = text(&[("a", 0.3), ("b", 0.1)], true);
    assert!(text.contains("does not record how long the processor was idle"), "{text}");
    let run = partly_transport(&[("a", 0.3), ("b", 0.1)], true);
    let notes = analyse(&run).workloads[0].phases[0].footnotes.clone();
    let note = notes.iter().find(|note| note.text.starts_with("up to 30.2 %"));
    assert!(note.is_some_and(|note| note.text.contains("does not record")), "{notes:?}");
}

#[test]
fn a_standing_rests_on_the_fewest_repeats() {
    let run = run_of(&[("a", &[2000.0; 5]), ("b", &[3000.0, 3010.0, 2990.0])]);
    assert_eq!(table(&run, "wall").standing.unwrap().repeats, 3);
}

#[test]
fn what_is_not_compared_stands_by_its_figure_too() {
    let run = run_of(&[("b", &[3000.0]), ("a", &[2000.0]), ("c", &[4000.0])]);
    assert_eq!(table(&run, "wall").order(), [1, 0, 2]);
    assert_eq!(table(&run, "ops_rate").order(), [1, 0, 2], "the highest rate first");
    assert!(table(&run, "wall").cells.iter().all(|cell| cell.has_too_few()));
    let two = run_of(&[("a", &[2000.0, 2010.0]), ("b", &[3000.0, 3010.0])]);
    assert!(!table(&two, "wall").cells.iter().any(|cell| cell.has_too_few()));
}

#[test]
fn a_contender_promises_what_its_worst_trial_does() {
    let mut run = Synthetic::small().run();
    let first = run.trials.iter_mut().find(|trial| trial.spec.contender.name == "xfs").unwrap();
    first.record.made.as_mut().unwrap().durability = Durability::NoBarriers;
    let analysis = analyse(&run);
    let xfs = analysis.contenders.iter().find(|contender| contender.name == "xfs").unwrap();
    assert_eq!(xfs.durability, Some(Durability::NoBarriers));
}

#[test]
fn a_failed_trial_says_nothing_of_room() {
    let mut run = Synthetic::small().run();
    let first = run.trials.iter_mut().find(|trial| trial.spec.contender.name == "xfs").unwrap();
    let (new, used) = (Bytes::from_mib(3), Bytes::from_gib(9));
    first.record.space = Some(SpaceUse::Known { new, used, left: None });
    first.record.outcome = Some(Outcome::Failed { step: Step::Work, reason: "full".to_owned() });
    let analysis = analyse(&run);
    let xfs = analysis.contenders.iter().find(|contender| contender.name == "xfs").unwrap();
    let of = |space: &SpaceLeft| (space.trials, space.used_bytes);
    assert_eq!(of(&xfs.space[0]), (4, Some(Bytes::from_mib(27).0 as f64)));
}

#[test]
fn who_has_nothing_done_is_not_partly_done() {
    let mut run = Synthetic::small().run();
    fail(&mut run, "xfs", Step::Mkfs, "no room");
    let first = run.trials.iter_mut().find(|trial| trial.spec.contender.name == "ext4").unwrap();
    first.outcome = Some(Outcome::TimedOut { step: Step::Work, after: Nanos::from_secs(1) });
    let warnings = analyse(&run).warnings;
    let partly = warnings.iter().find(|warning| warning.starts_with("Not every trial was done"));
    assert!(partly.unwrap().contains(": ext4 (4 of 5). "), "{warnings:?}");
}

#[test]
fn three_repeats_are_not_few() {
    let few = |repeats| {
        let run = Synthetic { repeats, ..Synthetic::small() }.run();
        screen(&run).contains("only large differences can be told from chance")
    };
    assert!(few(2) && !few(3));
}

/// What wrote nothing either has not shown that its set fits into memory.
#[test]
fn nothing_read_is_said_of_what_wrote() {
    let said = |written: Bytes| {
        let mut run = Synthetic::small().run();
        for result in results(&mut run, "") {
            let device = result.device.as_mut().unwrap();
            (device.read_bytes, device.write_bytes) = (Bytes::ZERO, written);
        }
        screen(&run).contains("was read from the disk: the working set fits into memory")
    };
    assert!(said(Bytes::from_mib(5)) && !said(Bytes::ZERO));
}

#[test]
fn nothing_is_known_of_a_disk_that_nobody_counted() {
    let contenders = vec![planted("slow", "tmpfs", 3.0, 0.01), planted("fast", "tmpfs", 1.0, 0.01)];
    let run = Synthetic { contenders, ..Synthetic::small() }.run();
    let text = screen(&run);
    assert!(!text.contains("not decided by the disk"), "{text}");
}

/// What the lab left open is no question for a user's disk yet.
#[test]
fn only_what_the_lab_decided_is_sent_to_a_real_disk() {
    let next = |of_b: &[f64]| {
        let mut run = run_of(&[("a", &[2000.0, 2400.0, 2200.0]), ("b", of_b)]);
        run.header.lab_id = Some("lab".to_owned());
        let text = screen(&run);
        (text.contains("--testbed device"), text.contains("--repeats"))
    };
    assert_eq!(next(&[9000.0, 9100.0, 9200.0]), (true, false));
    assert_eq!(next(&[2450.0, 2050.0, 2300.0]), (false, true));
}

#[test]
fn a_cause_is_told_where_it_is_one() {
    let nothing = "not explained by flushes, bytes, requests or processor time";
    let flushes = twice_as_long(&|name, result| {
        let flushes = if name == "slow" { 1000 } else { 5 };
        result.device.as_mut().unwrap().flushes = Some(flushes);
    });
    assert_eq!(flushes.as_deref(), Some("slow flushes 200 times as often as fast"), "hardly any");
    // Ten times as much, and yet a tenth of the difference.
    let little = twice_as_long(&|name, result| {
        let ms = if name == "slow" { 330 } else { 30 };
        result.cpu.user = Nanos::from_millis(ms);
        result.machine_cpu = Some(Nanos::from_millis(ms + 30));
    });
    assert_eq!(little.as_deref(), Some(nothing));
    let shared = twice_as_long(&|_, result| result.machine_cpu = Some(Nanos::from_millis(530)));
    assert_eq!(shared.as_deref(), Some("not explained by flushes, bytes or requests"));
}

/// Who is ahead by chance is not shown to be faster with as much of it.
#[test]
fn chance_hides_no_cause() {
    let mut run = run_of(&[
        ("a", &[2000.0, 2010.0, 1990.0]),
        ("b", &[4000.0, 4200.0, 4100.0]),
        ("c", &[4150.0, 4050.0, 4250.0]),
    ]);
    for (name, flushes) in [("a", 1000), ("b", 3000), ("c", 3000)] {
        for result in results(&mut run, name) {
            let device = result.device.as_mut().unwrap();
            (device.flushes, device.writes) = (Some(flushes), 5000);
            (device.write_bytes, device.read_bytes) = (Bytes::from_mib(40), Bytes::ZERO);
        }
    }
    let text = screen(&run);
    let why = text.lines().find(|line| line.starts_with("Why ")).unwrap();
    assert!(why.contains("b flushes 3.0 times") && why.contains("c 3.0 times"), "{why}");
}

#[test]
fn a_missing_figure_has_its_own_reason() {
    let mut run = Synthetic::small().run();
    results(&mut run, "xfs")
        .for_each(|result| result.not_comparable = Some(NotComparable::DeviceNotReached));
    let unpack = || NotComparable::AfterPhase { phase: "unpack".to_owned() };
    results(&mut run, "btrfs").for_each(|result| result.not_comparable = Some(unpack()));
    let json: serde_json::Value =
        serde_json::from_str(&rendered("json", &run, Options::default())).unwrap();
    let rows = json["answer"]["workloads"][0]["rows"].as_array().unwrap();
    for (name, why) in [("xfs", "caused no device reads"), ("btrfs", "follows the phase unpack")] {
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        assert!(row["missing"].as_str().unwrap().contains(why), "{row}");
    }
}

/// A phase that nobody asked for is no row of the first table.
#[test]
fn a_phase_that_was_left_out_is_not_in_the_first_table() {
    let mut run = Synthetic::small().run();
    for trial in &mut run.trials {
        let mut skipped = trial.record.phases[0].clone();
        skipped.phase = "unpack".to_owned();
        let reason = "not asked for".to_owned();
        skipped.status = workload::PhaseStatus::Skipped { reason };
        trial.record.phases.insert(0, skipped);
    }
    let page = rendered("html", &run, Options::default());
    let first =
        &page[page.find("<ul class=\"verdicts\">").unwrap()..page.find("id=\"asked\"").unwrap()];
    assert!(first.contains(">io<") && !first.contains("unpack"), "{first}");
    assert!(page.contains("not asked for"), "it is said below");
    let markdown = rendered("markdown", &run, Options::default());
    assert!(!markdown.contains("On maildir-write (unpack)"), "{markdown}");
}

/// A kernel that does not record idle time is named as the reason, also why there is no p99.
#[test]
fn a_kernel_without_idle_time_is_named_where_transport_takes_part_of_a_time() {
    let shown = |idle_known: bool| {
        let mut run = Synthetic::small().run();
        for trial in &mut run.trials {
            let why = workload::NotComparable::Transport { share: 0.3, limit: 0.05, idle_known };
            trial.record.phases[0].not_comparable = Some(why);
        }
        screen(&run)
    };
    let text = shown(false);
    let reason = "this kernel does not record how long the processor was idle";
    assert!(text.contains(reason) && text.contains("up to 30 % of the time"), "{text}");
    assert!(text.contains("their latencies are left out"), "{text}");
    assert!(!shown(true).contains(reason));
}
