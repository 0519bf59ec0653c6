//! What the lab itself took of a phase, and what it leaves of a figure.

use report::analyse;
use store::StoredRun;
use workload::NotComparable;

use crate::synthetic::{Synthetic, planted};

fn transport(share: f64) -> NotComparable {
    NotComparable::Transport { share, limit: 0.05, idle_known: true }
}

#[test]
fn counts_are_shown_whatever_the_overhead() {
    let cells = |reason: NotComparable, words: &str| {
        let mut run = Synthetic::small().run();
        for trial in &mut run.trials {
            for phase in &mut trial.phases {
                phase.figures.insert("disk_requests".to_owned(), 12.0);
                phase.figures.insert("own".to_owned(), 3.0);
                phase.not_comparable = Some(reason.clone());
            }
        }
        let analysis = analyse(&run);
        let phase = &analysis.workloads[0].phases[0];
        let mean = |id: &str| phase.table(id).and_then(|table| table.cells[0].mean);
        let note = phase.footnotes[phase.table("wall").unwrap().cells[0].footnotes[0] - 1].clone();
        assert!(note.text.contains(words), "{note:?}");
        let ids = ["wall", "cpu", "figure.own", "device_write_bytes", "figure.disk_requests"];
        ids.map(|id| mean(id).is_some())
    };
    let words = "the simulation's own transport took 100.0 % of its time (limit 5 %)";
    assert_eq!(cells(transport(1.0), words), [false, false, false, true, true]);
    let reached = "caused no device reads";
    assert_eq!(cells(NotComparable::DeviceNotReached, reached), [false; 5]);
}

#[test]
fn what_was_taken_off_a_phase_leaves_no_times_of_single_ops() {
    let tables = |share: f64| {
        let mut run = Synthetic::small().run();
        for phase in run.trials.iter_mut().flat_map(|trial| &mut trial.record.phases) {
            phase.figures.insert(trial::SUBTRACTED_SHARE.to_owned(), share);
            phase.figures.insert("own".to_owned(), 3.0);
        }
        let phase = analyse(&run).workloads[0].phases[0].clone();
        let shown = |table: &report::MetricTable| table.cells[0].mean.is_some();
        let of = |start: &str| {
            let tables = phase.tables.iter().filter(|table| table.metric.id.starts_with(start));
            tables.map(shown).collect::<Vec<_>>()
        };
        let said = phase.footnotes.iter().filter(|note| note.text.contains("single ops")).count();
        let of_phase = ["wall", "ops_rate", "device_writes"].map(|id| of(id)[0]);
        (of_phase, of("latency."), of("figure.own"), said > 0)
    };
    let (of_phase, latencies, own, said) = tables(0.04);
    // There are too few ops for some percentiles.
    assert!(of_phase.iter().all(|shown| *shown) && own == [true] && !said);
    assert!(latencies.contains(&true));
    let (of_phase, latencies, own, said) = tables(0.06);
    assert!(of_phase.iter().all(|shown| *shown), "a rate of the whole phase is right");
    assert!(!latencies.is_empty() && latencies.iter().all(|shown| !shown));
    assert!(own == [false] && said);
}

/// A run in the lab whose transport took this share of each contender's time.
fn with_overhead(factors: [f64; 2], shares: [f64; 2]) -> StoredRun {
    let mut synthetic = Synthetic::small();
    synthetic.contenders =
        vec![planted("ext4", "ext4", factors[0], 0.002), planted("xfs", "xfs", factors[1], 0.002)];
    let mut run = synthetic.run();
    for trial in &mut run.trials {
        let share = shares[usize::from(trial.spec.contender.name == "xfs")];
        let share = share + 0.001 * f64::from(trial.spec.block);
        let phase = &mut trial.record.phases[0];
        phase.figures.insert("transport_tax_fraction".to_owned(), share);
        if share > 0.05 {
            phase.not_comparable = Some(transport(share));
        }
    }
    run
}

/// A known overhead widens the interval, and ranks hold with and without it.
#[test]
fn a_known_overhead_widens_the_interval_and_hides_nothing() {
    let ranks = |factors, shares| {
        let analysis = analyse(&with_overhead(factors, shares));
        let table = analysis.workloads[0].phases[0].table("wall").unwrap().clone();
        let shown: Vec<String> =
            table.cells.iter().map(|cell| cell.rank.unwrap().to_string()).collect();
        (shown, table.cells[1].clone())
    };
    // 20 % slower is slower still when 5.5 % are taken off; 4 % slower may then be faster.
    let (shown, cell) = ranks([1.0, 1.2], [0.01, 0.055]);
    assert_eq!(shown, ["1", "2"]);
    assert_eq!(cell.overhead().map(|share| (share * 1000.0).round()), Some(59.0));
    let (mean, low, high) = (cell.mean.unwrap(), cell.low.unwrap(), cell.high.unwrap());
    let without = cell.figures.iter().map(|it| it.value * (1.0 - it.overhead.unwrap()));
    assert!(without.clone().sum::<f64>() / 5.0 > low, "{without:?} within {low} to {high}");
    assert!(low < mean * 0.95 && high > mean, "{low} {mean} {high}");
    let against = cell.against_best.unwrap();
    assert!(against.low.unwrap() < 1.15 && against.high.unwrap() > 1.19, "{against:?}");
    assert_eq!(ranks([1.0, 1.04], [0.01, 0.06]).0, ["1–2", "1–2"]);
    assert_eq!(ranks([1.0, 1.04], [0.01, 0.01]).0, ["1", "2"]);
    // Whoever is ahead has overhead too.
    assert_eq!(ranks([1.2, 1.0], [0.01, 0.06]).0, ["2", "1"]);
    assert_eq!(ranks([1.0, 1.2], [0.3, 0.3]).0, ["1–2", "1–2"]);
}

#[test]
fn a_known_overhead_is_one_footnote_and_rates_follow_it() {
    let analysis = analyse(&with_overhead([1.0, 1.2], [0.01, 0.055]));
    let phase = &analysis.workloads[0].phases[0];
    let rate = &phase.table("ops_rate").unwrap().cells[1];
    let plain = analyse(&with_overhead([1.0, 1.2], [0.01, 0.01]));
    let plain = &plain.workloads[0].phases[0].table("ops_rate").unwrap().cells[1];
    assert!(rate.high.unwrap() > plain.high.unwrap() * 1.04, "faster without it");
    assert!(rate.low.unwrap() > plain.low.unwrap() * 0.999, "and not slower");
    let note = &phase.footnotes[rate.footnotes[0] - 1].text;
    assert!(note.starts_with("up to 5.9 % of the time is the simulation's own"), "{note}");
    assert_eq!(rate.footnotes.len(), 1);
    // What a single op lost of it is not known.
    let tail = &phase.table("latency.deliver.p99").unwrap().cells[1];
    assert_eq!(tail.mean, None);
    assert_eq!(tail.footnotes.len(), 1, "one kind of reason: {:?}", phase.footnotes);
    let note = &phase.footnotes[tail.footnotes[0] - 1].text;
    assert!(
        note.starts_with("all 5 trials, the first: not comparable: the simulation's"),
        "{note}"
    );
}
