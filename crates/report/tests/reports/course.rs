//! The course of a phase and its stalls.

use measure::{Course, Interval, Latencies, Silence};
use report::{Options, PhaseAnalysis, Stalls, analyse};
use store::StoredRun;
use units::{Bytes, Nanos};
use workload::PhaseResult;

use crate::rendered;
use crate::schema::Schema;
use crate::synthetic::Synthetic;

const MS: fn(u64) -> Nanos = Nanos::from_millis;

/// Ops of 2 ms and of 4 KiB for a minute, on disks of which btrfs's stands for `stands` every five
/// seconds.
fn run(stands: Nanos) -> StoredRun {
    let mut run = Synthetic::small().run();
    for trial in &mut run.trials {
        let stands = if trial.spec.contender.name == "btrfs" { stands } else { Nanos::ZERO };
        trial.record.phases.iter_mut().for_each(|phase| plant(phase, stands));
    }
    run
}

fn plant(phase: &mut PhaseResult, stands: Nanos) {
    let width = MS(160);
    let mut latencies = Latencies::new();
    let mut intervals = vec![Interval::default(); 375];
    let mut silences = Vec::new();
    let (mut now, mut next) = (Nanos::ZERO, MS(5000));
    while now < MS(60_000) {
        let stood = if now >= next { stands } else { Nanos::ZERO };
        let took = MS(2) + stood;
        if now >= next {
            next += MS(5000);
        }
        if took >= Silence::LEAST {
            let bytes = Bytes(4096);
            silences.push(Silence { begins: now, lasts: took, op: "deliver".to_owned(), bytes });
        }
        now += took;
        latencies.record(took);
        if let Some(interval) = intervals.get_mut((now.0 / width.0) as usize) {
            interval.ops += 1;
            interval.bytes.0 += 4096;
            interval.longest = interval.longest.max(took);
        }
    }
    phase.wall = MS(60_000);
    phase.ops = latencies.count();
    (phase.read_bytes, phase.write_bytes) = (Bytes::ZERO, Bytes(4096 * phase.ops));
    phase.latencies.insert("deliver".to_owned(), latencies);
    phase.course = Some(Course { width, intervals, silences, left_out: 0 });
}

fn phase(run: &StoredRun) -> PhaseAnalysis {
    analyse(run).workloads.remove(0).phases.remove(0)
}

fn of_btrfs(run: &StoredRun) -> Stalls {
    phase(run).stalls[0].clone().unwrap()
}

#[test]
fn a_disk_that_stands_is_named_with_its_contender() {
    let run = run(MS(700));
    let stalls = phase(&run).stalls;
    let times =
        |at: usize| stalls[at].as_ref().map(|stalls: &Stalls| (stalls.trials, stalls.times));
    assert_eq!([0, 1, 2].map(times), [Some((5, 55)), Some((5, 0)), Some((5, 0))]);
    let words = "btrfs: 55 times in 5 trials nothing finished for 702 ms (13 % of the time, \
                 waiting for deliver)";
    let full = rendered("terminal", &run, Options { full: true, ..Options::default() });
    let unfolded = full.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unfolded.contains(&format!("stalls: {words}")), "{full}");
    assert_eq!(full.matches("stalls:").count(), 1);
    let html = rendered("html", &run, Options::default());
    assert!(html.contains(words));
    assert_eq!(html.matches(r#"<line class="stall k0""#).count(), 11, "of one trial");
    assert!(html.contains("<title>btrfs: nothing finished for 702 ms at 5.00 s</title>"));
}

#[test]
fn without_it_none_is_named() {
    let run = run(Nanos::ZERO);
    assert!(phase(&run).stalls.iter().flatten().all(|stalls| stalls.times == 0));
    let full = rendered("terminal", &run, Options { full: true, ..Options::default() });
    assert!(!full.contains("stalls:"), "{full}");
    let html = rendered("html", &run, Options::default());
    assert!(html.contains("Over time") && !html.contains("nothing finished"));
}

/// Ops that usually take long, that are too few to say what is usual, or that move much.
#[test]
fn what_was_asked_for_is_no_stall() {
    let all = |change: &dyn Fn(&mut PhaseResult)| {
        let mut run = run(MS(700));
        run.trials.iter_mut().flat_map(|trial| &mut trial.record.phases).for_each(change);
        of_btrfs(&run).times
    };
    assert_eq!(all(&|_| ()), 55);
    let every = |took: Nanos, count: u64| {
        move |phase: &mut PhaseResult| {
            let mut latencies = Latencies::new();
            (0..count).for_each(|_| latencies.record(took));
            phase.latencies.insert("deliver".to_owned(), latencies);
        }
    };
    assert_eq!(all(&every(MS(140), 1000)), 55);
    assert_eq!(all(&every(MS(141), 1000)), 0, "nine in ten take a fifth of it");
    assert_eq!(all(&every(MS(2), 99)), 0);
    let moved = |bytes: u64| {
        move |phase: &mut PhaseResult| {
            let silences = &mut phase.course.as_mut().unwrap().silences;
            silences.iter_mut().for_each(|silence| silence.bytes = Bytes(bytes));
            phase.write_bytes = Bytes(60_000);
        }
    };
    assert_eq!((all(&moved(350)), all(&moved(352))), (55, 0));
}

#[test]
fn the_answer_tells_of_stalls_that_make_it_longer() {
    let why = |stands: Nanos| {
        let mut run = run(stands);
        for trial in &mut run.trials {
            let is_slow = trial.spec.contender.name == "btrfs";
            let wall = if is_slow { 60_000 } else { 53_000 };
            trial.record.phases[0].wall = MS(wall + u64::from(trial.spec.block));
        }
        rendered("terminal", &run, Options::default())
    };
    assert!(why(MS(700)).contains("nothing finished"), "{}", why(MS(700)));
    assert!(!why(MS(150)).contains("nothing finished"), "1.7 of 7 seconds are no cause");
}

#[test]
fn csv_has_a_row_for_each_interval() {
    let run = run(MS(700));
    let csv = rendered("course", &run, Options::default());
    let mut lines = csv.lines();
    let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(heads[6..], ["begins_ns", "length_ns", "ops", "bytes", "longest_ns", "stalled_ns"]);
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 15 * 375);
    let stalled: u64 = rows.iter().map(|row| row[11].parse::<u64>().unwrap()).sum();
    assert_eq!(stalled, 55 * 702_000_000);
    let whole = |row: &&Vec<&str>| row[11] == "160000000";
    // An op may have ended at the very moment at which a stall and an interval begin.
    let is_quiet = |row: &Vec<&str>| row[3] == "btrfs" && matches!(row[8], "0" | "1");
    assert!(rows.iter().filter(whole).all(is_quiet));
    assert!(rows.iter().filter(whole).count() >= 55 * 3);
    let lacks = |run: &StoredRun| report::find("course").unwrap().lacks(run);
    assert_eq!((lacks(&run), lacks(&Synthetic::small().run()).is_some()), (None, true));
}

#[test]
fn full_shows_the_course_as_a_line() {
    let mut run = run(MS(700));
    for trial in &mut run.trials {
        let course = trial.record.phases[0].course.as_mut().unwrap();
        course.intervals[0..100].fill(Interval::default());
    }
    let full = rendered("terminal", &run, Options { full: true, ..Options::default() });
    let line = full.lines().find(|line| line.starts_with("ops over time")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().skip(3).collect();
    assert_eq!(cells[0], "····▆▇▇█▇▇▇█▇▇▇█");
    assert!(cells.iter().all(|cell| cell.chars().count() == 16), "{line}");
}

#[test]
fn json_has_it_as_the_schema_says() {
    let json = rendered("json", &run(MS(700)), Options::default());
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(Schema::published().errors(&document), [""; 0]);
    let phase = &document["trials"][0]["phases"][0];
    let intervals = phase["course"]["intervals"].as_array().unwrap();
    let ops: u64 = intervals.iter().map(|interval| interval[0].as_u64().unwrap()).sum();
    assert!(intervals.len() <= 200 && ops.abs_diff(phase["ops"].as_u64().unwrap()) <= 1);
    let stalls = &document["analysis"]["workloads"][0]["phases"][0]["stalls"];
    assert_eq!((&stalls[0]["times"], &stalls[1]["times"]), (&55.into(), &0.into()));
}
