//! Two runs of invented figures, held against each other as `self agreement` does.

use report::{agreements, analyse, nearness, two_times};

use crate::synthetic::{PlantedPhase, Synthetic, phase, planted};

fn run(phases: Vec<PlantedPhase>, xfs: f64) -> report::Analysis {
    let contenders = vec![planted("ext4", "ext4", 1.0, 0.002), planted("xfs", "xfs", xfs, 0.002)];
    analyse(&Synthetic { contenders, phases, latencies: 100, ..Synthetic::small() }.run())
}

/// What works for a set time takes as long everywhere: only its ops tell.
#[test]
fn a_phase_that_lasts_a_set_time_is_compared_by_the_time_of_an_op() {
    let timed = |ops| vec![phase("varmail", "run", 6.0, &[("op", ops)])];
    let (real, twin) = (run(timed(1000), 1.0), run(timed(2000), 1.0));
    let times = two_times(&real, &twin);
    assert_eq!(times.len(), 2);
    for one in &times {
        assert!((one.factor() - 0.5).abs() < 0.02, "{one:?}");
        assert!((one.first[0] - 0.006).abs() < 0.001, "seconds an op: {one:?}");
    }
    // Its other phases are as long as they take.
    let created = |wall| vec![phase("varmail", "create", wall, &[("create", 500)])];
    let times = two_times(&run(created(1.0), 1.0), &run(created(3.0), 1.0));
    assert!(times.iter().all(|one| (one.factor() - 3.0).abs() < 0.1), "{times:?}");
}

#[test]
fn a_ratio_of_rates_is_turned_into_one_of_times() {
    let timed = || vec![phase("varmail", "run", 6.0, &[("op", 1000)])];
    // Invented figures keep the ops and stretch the time: an op takes twice as long on xfs.
    let (real, twin) = (run(timed(), 2.0), run(timed(), 2.5));
    let found = agreements(&real, &twin);
    assert_eq!(found.len(), 1);
    let [first, second] = found[0].runs;
    let slower = match found[0].pair.0.as_str() {
        "xfs" => (first.ratio, second.ratio),
        _ => (1.0 / first.ratio, 1.0 / second.ratio),
    };
    assert!((slower.0 - 2.0).abs() < 0.05 && (slower.1 - 2.5).abs() < 0.05, "{slower:?}");
    assert!(first.low.unwrap() < first.ratio && first.ratio < first.high.unwrap());
    let near = nearness(&two_times(&real, &twin), &found);
    assert_eq!((near.times, near.ratios), (2, 1));
    assert!((near.ratio_error.unwrap() - 0.2).abs() < 0.06, "{near:?}");
}
