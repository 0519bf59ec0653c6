//! Runs made of invented figures: planted differences, seeded noise, planted failures.

use std::collections::BTreeMap;

use measure::{CpuTime, DeviceUse, Latencies};
use stack::{Contender, Durability};
use store::{Environment, RunHeader, RunState, StoredRun, StoredTrial};
use trial::{Left, Made, Outcome, SpaceUse, Step, TrialRecord, TrialSpec, WorkloadChoice};
use units::{Bytes, Nanos};
use workload::{Cache, Draw, Parameters, PhaseResult, PhaseStatus, Seed};

/// A contender with what is planted on it.
#[derive(Clone)]
pub(crate) struct Planted {
    pub(crate) contender: Contender,
    /// How many times as long everything takes.
    pub(crate) factor: f64,
    /// Relative spread of its trials.
    pub(crate) spread: f64,
    pub(crate) durability: Durability,
    pub(crate) served_by: String,
    pub(crate) features: Vec<String>,
}

/// A phase: workload, name, typical wall time, ops of each kind.
#[derive(Clone)]
pub(crate) struct PlantedPhase {
    pub(crate) workload: &'static str,
    pub(crate) name: &'static str,
    pub(crate) wall: f64,
    pub(crate) ops: Vec<(&'static str, u64)>,
    pub(crate) cold: bool,
}

/// Builds a run; change its fields, or the run's, to plant more.
pub(crate) struct Synthetic {
    pub(crate) contenders: Vec<Planted>,
    pub(crate) phases: Vec<PlantedPhase>,
    pub(crate) repeats: u32,
    pub(crate) seed: u64,
    /// Ops whose latencies are recorded, at most, for each kind.
    pub(crate) latencies: u64,
}

pub(crate) fn planted(name: &str, filesystem: &str, factor: f64, spread: f64) -> Planted {
    let served_by = match filesystem {
        "ext2" | "ext3" => format!("ext4.ko, feature set of {filesystem}"),
        other => format!("{other}.ko"),
    };
    Planted {
        contender: Contender { name: name.to_owned(), ..Contender::plain(filesystem) },
        factor,
        spread,
        durability: Durability::Full,
        served_by,
        features: ["has_journal", "extent", "64bit", "dir_index"].map(str::to_owned).to_vec(),
    }
}

pub(crate) fn phase(
    workload: &'static str,
    name: &'static str,
    wall: f64,
    ops: &[(&'static str, u64)],
) -> PlantedPhase {
    PlantedPhase { workload, name, wall, ops: ops.to_vec(), cold: name == "io" }
}

impl Synthetic {
    /// Three contenders a fifth and a half apart, five repeats of one small workload.
    pub(crate) fn small() -> Synthetic {
        Synthetic {
            contenders: vec![
                planted("ext4", "ext4", 1.0, 0.02),
                planted("xfs", "xfs", 1.2, 0.02),
                planted("btrfs", "btrfs", 1.5, 0.03),
            ],
            phases: vec![phase("maildir-write", "io", 1.4, &[("deliver", 2400), ("read", 600)])],
            repeats: 5,
            seed: 1,
            latencies: 1500,
        }
    }

    /// What `quickstart` would show: five filesystems, two workloads.
    pub(crate) fn quickstart() -> Synthetic {
        Synthetic {
            contenders: vec![
                planted("ext2", "ext2", 1.0, 0.02),
                planted("ext3", "ext3", 1.36, 0.03),
                planted("ext4", "ext4", 1.34, 0.02),
                planted("xfs", "xfs", 1.62, 0.015),
                planted("btrfs", "btrfs", 2.7, 0.05),
            ],
            phases: vec![
                phase("maildir-write", "unpack", 2.1, &[("extract", 6046)]),
                phase("maildir-write", "setup", 0.42, &[("mkdir", 3030)]),
                phase("maildir-write", "io", 1.42, &[("deliver", 8000), ("read", 2000)]),
                phase("maildir-read", "io", 6.3, &[("read", 10_000)]),
            ],
            repeats: 5,
            seed: 7,
            latencies: 4000,
        }
    }

    pub(crate) fn run(&self) -> StoredRun {
        let mut workloads: Vec<&'static str> = Vec::new();
        for phase in &self.phases {
            if !workloads.contains(&phase.workload) {
                workloads.push(phase.workload);
            }
        }
        let mut trials = Vec::new();
        for block in 0..self.repeats {
            let mut order: Vec<(usize, &'static str)> = (0..self.contenders.len())
                .flat_map(|at| workloads.iter().map(move |workload| (at, *workload)))
                .collect();
            Seed(self.seed).stream(&format!("order {block}")).shuffle(&mut order);
            for (at, workload) in order {
                let ordinal = trials.len() as u32;
                trials.push(self.trial(ordinal, block, &self.contenders[at], workload));
            }
        }
        StoredRun {
            header: RunHeader {
                id: "r7".to_owned(),
                created: "2026-11-20T14:03:11+01:00".to_owned(),
                fstrial_version: "0.1.0".to_owned(),
                testbed: "device".to_owned(),
                lab_id: None,
                environment: environment(),
                seed: self.seed,
                repeats: self.repeats,
                until: None,
                contenders: Vec::new(),
                workloads: Vec::new(),
                scale: 1.0,
                state: RunState::Complete,
            },
            trials,
        }
    }

    fn trial(&self, ordinal: u32, block: u32, planted: &Planted, workload: &str) -> StoredTrial {
        let seed = Seed(self.seed).derive(&format!("block {block}"));
        let mut draw = seed.stream(&format!("{} {workload}", planted.contender.name));
        let phases = self
            .phases
            .iter()
            .filter(|phase| phase.workload == workload)
            .map(|phase| self.phase(phase, planted, block, &mut draw))
            .collect();
        StoredTrial {
            ordinal,
            spec: TrialSpec {
                contender: planted.contender.clone(),
                workloads: vec![WorkloadChoice {
                    name: workload.to_owned(),
                    parameters: parameters(&[("ops", "10000"), ("fsync", "none")]),
                }],
                seed,
                block,
                size: Some(Bytes::from_gib(2)),
                verify: false,
                timeout: Nanos::from_secs(3600),
            },
            record: TrialRecord {
                made: Some(made(planted, seed)),
                space: Some(SpaceUse::Known {
                    new: Bytes::from_mib(3),
                    used: Bytes::from_mib(27),
                    left: Some(Left { bytes: Bytes::from_mib(20), files: 1200, directories: 3 }),
                }),
                phases,
                ..TrialRecord::ended(Outcome::Done)
            },
        }
    }

    fn phase(
        &self,
        phase: &PlantedPhase,
        planted: &Planted,
        block: u32,
        draw: &mut Draw,
    ) -> PhaseResult {
        // A block is slow or fast for all; a trial has noise of its own.
        let shared = normal(&mut Seed(self.seed).stream(&format!("{} {block}", phase.name)));
        let log = 0.05 * shared + planted.spread * normal(draw);
        let wall = phase.wall * planted.factor * log.exp();
        let ops: u64 = phase.ops.iter().map(|(_, count)| count).sum();
        let latencies: BTreeMap<String, Latencies> = phase
            .ops
            .iter()
            .map(|(op, count)| {
                let mut latencies = Latencies::new();
                let typical = wall / ops as f64 * 0.6e9;
                for _ in 0..(*count).min(self.latencies) {
                    // Most ops are quick; one of eighty waits for the device.
                    let slow = if draw.chance(1.0 / 80.0) { 12.0 } else { 1.0 };
                    let ns = typical * slow * (0.35 * normal(draw)).exp();
                    latencies.record(Nanos(ns as u64));
                }
                ((*op).to_owned(), latencies)
            })
            .collect();
        let written = Bytes(ops * 5_300);
        PhaseResult {
            workload: phase.workload.to_owned(),
            phase: phase.name.to_owned(),
            status: PhaseStatus::Completed,
            wall: Nanos::from_secs_f64(wall),
            cpu: CpuTime {
                user: Nanos::from_secs_f64(wall * 0.06),
                sys: Nanos::from_secs_f64(wall * 0.31),
            },
            machine_cpu: Some(Nanos::from_millis((wall * 480.0) as u64)),
            ops,
            read_bytes: if phase.cold { written } else { Bytes::ZERO },
            write_bytes: if phase.workload == "maildir-read" { Bytes::ZERO } else { written },
            device: (planted.contender.filesystem != "tmpfs").then(|| DeviceUse {
                reads: if phase.cold { ops / 3 } else { 12 },
                read_bytes: if phase.cold { Bytes(written.0 / 2) } else { Bytes::from_kib(48) },
                writes: (ops as f64 * 0.7 * planted.factor) as u64,
                write_bytes: Bytes((written.0 as f64 * 1.15 * planted.factor) as u64),
                discards: 0,
                flushes: Some(17),
                busy: Nanos::from_secs_f64(wall * 0.5),
            }),
            cache: if phase.cold {
                Cache::Cold { how: "remount".to_owned() }
            } else {
                Cache::Warm { why: "follows another phase".to_owned() }
            },
            latencies,
            course: None,
            figures: BTreeMap::new(),
            digest: Seed(self.seed).derive(&format!("{} {block}", phase.name)).0,
            not_comparable: None,
            notes: Vec::new(),
        }
    }
}

pub(crate) fn parameters(values: &[(&str, &str)]) -> Parameters {
    let map: BTreeMap<&str, &str> = values.iter().copied().collect();
    serde_json::from_value(serde_json::to_value(map).unwrap()).unwrap()
}

/// Fails every trial of a contender at a step.
pub(crate) fn fail(run: &mut StoredRun, contender: &str, step: Step, reason: &str) {
    for trial in &mut run.trials {
        if trial.spec.contender.name == contender {
            trial.outcome = Some(Outcome::Failed { step, reason: reason.to_owned() });
            trial.phases.clear();
            trial.made = None;
        }
    }
}

fn made(planted: &Planted, seed: Seed) -> Made {
    let filesystem = &planted.contender.filesystem;
    Made {
        kernel: "6.18.5-amd64".to_owned(),
        served_by: planted.served_by.clone(),
        features: planted.features.clone(),
        mount_options: "rw,noatime".to_owned(),
        device: "loop file, direct I/O, fully allocated".to_owned(),
        size: Some(Bytes::from_gib(2)),
        free: Some(Bytes::from_mib(1900)),
        raw: Some(Bytes::from_gib(2)),
        durability: planted.durability,
        record: vec![
            (
                format!("mkfs.{filesystem} -U {} /dev/loop7", seed.uuid("filesystem")),
                "Creating filesystem with 524288 4k blocks\n".to_owned(),
            ),
            (
                format!("mount -t {filesystem} -o noatime /dev/loop7 /run/fstrial/r7/mnt"),
                String::new(),
            ),
        ],
        tools: vec![("e2fsprogs".to_owned(), "1.47.2".to_owned())],
    }
}

fn environment() -> Environment {
    let facts = [
        ("kernel", "6.18.5-amd64"),
        ("distribution", "Debian GNU/Linux 12 (bookworm)"),
        ("processor", "AMD EPYC 7B13"),
        ("processors", "2"),
        ("memory", "8146456 kB"),
        ("load_at_start", "0.08"),
        ("hostname", "annas-laptop"),
        ("device_serial", "S3Z9NB0K123456"),
        ("target_path", "/home/anna/bench"),
        (
            "command_line",
            "fstrial run maildir-write maildir-read --testbed device --fs \
             ext2,ext3,ext4,xfs,btrfs --repeats 5 --seed 7 --html /home/anna/report.html",
        ),
    ];
    Environment(facts.map(|(key, value)| (key.to_owned(), value.to_owned())).into())
}

/// Standard normal (Box and Muller, 1958).
pub(crate) fn normal(draw: &mut Draw) -> f64 {
    let (radius, angle) = (1.0 - draw.unit(), draw.unit());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}
