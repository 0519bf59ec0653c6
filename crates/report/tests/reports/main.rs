//! Reports of runs made of invented figures.

#[path = "../synthetic/mod.rs"]
mod synthetic;

mod agreement;
mod analysis;
mod answer;
mod changes;
mod course;
mod crosscheck;
mod details;
mod gates;
mod html;
mod machine_formats;
mod overhead;
mod redaction;
mod schema;
mod snapshots;
mod terminal;
mod verdicts;

use report::{Options, analyse};
use store::StoredRun;
use synthetic::{Synthetic, fail, planted};
use trial::Step;

/// A run through a format.
fn rendered(format: &str, run: &StoredRun, options: Options) -> String {
    report::find(format).unwrap().render(&analyse(run), run, &options)
}

/// A run whose names are long or steer what shows them.
fn hostile_names(small: Synthetic) -> StoredRun {
    let hostile = "<script>alert(1)</script>|\"&'\u{1b}[31m,\u{202e}日本語 éà \r\n=1+1";
    let mut names = Synthetic {
        contenders: vec![
            planted(hostile, "ext4", 1.0, 0.02),
            planted(&"a-very-long-name:".repeat(12), "xfs", 2.0, 0.02),
        ],
        ..small
    }
    .run();
    for trial in &mut names.trials {
        trial.notes.push(hostile.to_owned());
        trial.spec.workloads[0].name = hostile.to_owned();
        for phase in &mut trial.phases {
            phase.workload = hostile.to_owned();
            phase.phase = hostile.to_owned();
            phase.notes.push(hostile.to_owned());
        }
        if let Some(made) = &mut trial.made {
            made.record.push((hostile.to_owned(), hostile.to_owned()));
            made.features.push(hostile.to_owned());
        }
    }
    names
}

/// Runs that have little or nothing to show, or odd things: every format takes them all.
fn odd_runs() -> Vec<(&'static str, StoredRun)> {
    let small = || Synthetic { latencies: 120, ..Synthetic::small() };
    let no_contender = Synthetic { contenders: Vec::new(), ..small() }.run();
    let single = Synthetic { contenders: vec![planted("xfs", "xfs", 1.0, 0.02)], ..small() }.run();
    let once = Synthetic { repeats: 1, ..small() }.run();
    let twice = Synthetic { repeats: 2, ..small() }.run();
    let mut failed = small().run();
    for name in ["ext4", "xfs", "btrfs"] {
        fail(&mut failed, name, Step::Mkfs, "no room");
    }
    let mut open = small().run();
    open.header.state = store::RunState::Open;
    for trial in &mut open.trials[4..] {
        trial.outcome = None;
        trial.phases.clear();
    }
    let names = hostile_names(small());
    let mut sizes = small().run();
    for (index, trial) in sizes.trials.iter_mut().enumerate() {
        let phase = &mut trial.record.phases[0];
        let tiny = trial.spec.contender.name == "ext4";
        phase.wall = units::Nanos(if tiny { 1 } else { u64::MAX >> (index % 3) });
        phase.ops = if tiny { 0 } else { u64::MAX };
        phase.write_bytes = units::Bytes(if tiny { 1 } else { u64::MAX });
        for (name, value) in [
            ("nan_s", f64::NAN),
            ("endless_s", f64::INFINITY),
            ("huge_s", 1e300),
            ("tiny_s", 5e-324),
            ("negative_s", -3.5),
        ] {
            phase.figures.insert(name.to_owned(), value);
        }
    }
    sizes.header.scale = f64::INFINITY;
    let mut nothing = small().run();
    for phase in nothing.trials.iter_mut().flat_map(|trial| &mut trial.phases) {
        phase.wall = units::Nanos::ZERO;
        phase.ops = 0;
        phase.latencies.values_mut().for_each(|kind| *kind = measure::Latencies::new());
    }
    vec![
        ("no contender", no_contender),
        ("single contender", single),
        ("one repeat", once),
        ("two repeats", twice),
        ("all failed", failed),
        ("not finished", open),
        ("hostile names", names),
        ("huge and tiny figures", sizes),
        ("no time passed", nothing),
    ]
}
