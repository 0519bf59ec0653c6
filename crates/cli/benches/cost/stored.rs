//! Stores of thousands of invented trials.

use std::collections::BTreeMap;
use std::path::Path;

use measure::{CpuTime, DeviceUse, Latencies};
use stack::Contender;
use store::{Environment, NewRun, Store};
use trial::{Outcome, TrialRecord, TrialSpec, WorkloadChoice};
use units::{Bytes, Nanos};
use workload::{Cache, Draw, Parameters, PhaseResult, PhaseStatus, Seed, WORKLOADS};

/// Ops of each kind whose latencies a trial recorded.
const OPS: u64 = 500;

/// Writes a run of so many contenders, workloads and repeats: two phases of two ops a trial.
///
/// # Panics
/// When the store cannot be written.
pub(crate) fn write(path: &Path, contenders: usize, workloads: usize, repeats: u32) {
    let mut draw = Seed(7).stream("cost");
    let mut specs = Vec::new();
    for block in 0..repeats {
        for at in 0..contenders {
            for described in WORKLOADS.iter().take(workloads).map(|known| known.describe()) {
                let given = BTreeMap::new();
                let parameters = Parameters::resolve(described, &given, 1.0).expect("defaults");
                let name = described.name.to_owned();
                specs.push(TrialSpec {
                    contender: contender(at),
                    workloads: vec![WorkloadChoice { name, parameters }],
                    seed: Seed(u64::from(block)),
                    block,
                    size: Some(Bytes::from_gib(2)),
                    verify: false,
                    timeout: Nanos::from_secs(3600),
                });
            }
        }
    }
    let mut store = Store::open(path).expect("a store");
    let names: Vec<String> = (0..contenders).map(|at| contender(at).name).collect();
    let run = NewRun {
        fstrial_version: "0.1.0",
        testbed: "device",
        lab_id: None,
        environment: &Environment::default(),
        seed: 7,
        contenders: &names,
        repeats,
        scale: 1.0,
        request: "{}",
        trials: &specs,
    };
    let id = store.create_run(&run).expect("a run");
    for (ordinal, spec) in specs.iter().enumerate() {
        let slower = 1.0 + (ordinal / workloads % contenders) as f64 / 20.0;
        let phases = ["setup", "io"].map(|name| phase(spec, name, slower, &mut draw));
        let record = TrialRecord {
            phases: phases.into(),
            host: Some(std::time::Duration::from_secs(3)),
            ..TrialRecord::ended(Outcome::Done)
        };
        store.finish_trial(&id, ordinal as u32, &record).expect("a trial");
    }
}

fn contender(at: usize) -> Contender {
    Contender { name: format!("ext4-{at:02}"), ..Contender::plain("ext4") }
}

fn phase(spec: &TrialSpec, name: &str, slower: f64, draw: &mut Draw) -> PhaseResult {
    let wall = slower * (1.0 + 0.05 * draw.unit());
    let mut latencies = BTreeMap::new();
    for op in ["deliver", "read"] {
        let mut taken = Latencies::new();
        for _ in 0..OPS {
            let slow = if draw.chance(1.0 / 80.0) { 12.0 } else { 1.0 };
            taken.record(Nanos((400_000.0 * wall * slow * (0.5 + draw.unit())) as u64));
        }
        latencies.insert(op.to_owned(), taken);
    }
    let written = Bytes::from_mib(16);
    PhaseResult {
        workload: spec.workloads[0].name.clone(),
        phase: name.to_owned(),
        status: PhaseStatus::Completed,
        wall: Nanos::from_secs_f64(wall),
        cpu: CpuTime {
            user: Nanos::from_secs_f64(wall * 0.06),
            sys: Nanos::from_secs_f64(wall * 0.3),
        },
        machine_cpu: Some(Nanos::from_secs_f64(wall * 0.48)),
        ops: 2 * OPS,
        read_bytes: Bytes::from_mib(4),
        write_bytes: written,
        device: Some(DeviceUse {
            reads: 12,
            read_bytes: Bytes::from_mib(4),
            writes: (3000.0 * slower) as u64,
            write_bytes: written,
            discards: 0,
            flushes: Some(17),
            busy: Nanos::from_secs_f64(wall * 0.5),
        }),
        cache: Cache::Cold { how: "remount".to_owned() },
        latencies,
        course: None,
        figures: BTreeMap::new(),
        digest: u64::from(spec.block),
        not_comparable: None,
        notes: Vec::new(),
    }
}
