//! JSON: raw figures of every trial and the analysis, with a schema version. The schema is
//! `schema/report.schema.json` beside this crate's sources.
//!
//! Numbers are finite or `null`. Seeds and digests have 64 bits and are texts, since many
//! readers keep only 53 bits of a number.

use std::borrow::Cow;
use std::collections::BTreeMap;

use measure::{Course, DeviceUse, Latencies};
use serde::Serialize;
use store::{Environment, RunState, StoredRun, StoredTrial};
use trial::{Made, Outcome, SpaceUse, WorkloadChoice};
use units::Nanos;
use workload::{Cache, NotComparable, PhaseResult, PhaseStatus};

use super::{Format, Options};
use crate::analysis::{not_comparable, written};
use crate::answer::{Answer, answer};
use crate::{Analysis, Quantile};

/// Version of the JSON report; raised on any change that an existing reader could misread.
/// 2: pairs are those with the best of a table, all on request.
pub const SCHEMA_VERSION: u32 = 2;

/// As many intervals of a course as are a line on a screen: each takes a hundred bytes here. The format
/// `course` has all.
const INTERVALS_MAX: usize = 200;

pub(super) struct Json;

impl Format for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn help(&self) -> Option<&'static str> {
        Some("Write everything as JSON")
    }

    fn has_all_pairs(&self) -> bool {
        true
    }

    fn write(&self, analysis: &Analysis, run: &StoredRun, options: &Options) -> String {
        let answer = answer(analysis, run);
        let analysis = match options.all_pairs {
            true => Cow::Borrowed(analysis),
            false => Cow::Owned(with_the_best(analysis)),
        };
        let document = Document {
            schema_version: SCHEMA_VERSION,
            generator: Generator { name: "fstrial", version: env!("CARGO_PKG_VERSION") },
            run: Run {
                id: &run.header.id,
                created: &run.header.created,
                fstrial_version: &run.header.fstrial_version,
                testbed: &run.header.testbed,
                lab_id: run.header.lab_id.as_deref(),
                seed: run.header.seed.to_string(),
                repeats: run.header.repeats,
                scale: finite(run.header.scale),
                state: run.header.state,
            },
            environment: &run.header.environment,
            answer,
            trials: run.trials.iter().map(trial).collect(),
            analysis: &analysis,
        };
        super::json_text(&document)
    }
}

/// The analysis with only those pairs that include the best of their table.
fn with_the_best(analysis: &Analysis) -> Analysis {
    let mut analysis = analysis.clone();
    let phases = analysis.workloads.iter_mut().flat_map(|workload| &mut workload.phases);
    for table in phases.flat_map(|phase| &mut phase.tables) {
        // For counts, where neither low nor high is better, the lowest counts as best.
        let ranked = table.cells.iter().position(|cell| cell.leads);
        let best = ranked.or_else(|| table.order().first().copied());
        table.pairs.retain(|pair| best == Some(pair.a) || best == Some(pair.b));
    }
    analysis
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[derive(Serialize)]
struct Document<'r> {
    schema_version: u32,
    generator: Generator,
    run: Run<'r>,
    environment: &'r Environment,
    answer: Answer,
    trials: Vec<Trial<'r>>,
    analysis: &'r Analysis,
}

#[derive(Serialize)]
struct Generator {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Run<'r> {
    id: &'r str,
    created: &'r str,
    fstrial_version: &'r str,
    testbed: &'r str,
    lab_id: Option<&'r str>,
    seed: String,
    repeats: u32,
    scale: Option<f64>,
    state: RunState,
}

#[derive(Serialize)]
struct Trial<'r> {
    trial: u32,
    block: u32,
    contender: &'r str,
    written: String,
    seed: String,
    workloads: &'r [WorkloadChoice],
    outcome: Option<&'r Outcome>,
    made: Option<&'r Made>,
    space: Option<&'r SpaceUse>,
    phases: Vec<Phase<'r>>,
    notes: &'r [String],
}

#[derive(Serialize)]
struct Phase<'r> {
    workload: &'r str,
    phase: &'r str,
    #[serde(flatten)]
    status: &'r PhaseStatus,
    /// In words.
    not_comparable: Option<String>,
    /// The same as data.
    not_comparable_why: Option<&'r NotComparable>,
    wall_ns: Option<u64>,
    cpu_user_ns: Option<u64>,
    cpu_system_ns: Option<u64>,
    machine_cpu_ns: Option<u64>,
    ops: Option<u64>,
    read_bytes: Option<u64>,
    write_bytes: Option<u64>,
    device: Option<Device>,
    cache: &'r Cache,
    latencies: BTreeMap<&'r str, Latency>,
    course: Option<Course>,
    figures: BTreeMap<&'r str, Option<f64>>,
    digest: String,
    notes: &'r [String],
}

#[derive(Serialize)]
struct Device {
    reads: u64,
    read_bytes: u64,
    writes: u64,
    write_bytes: u64,
    discards: u64,
    flushes: Option<u64>,
    busy_ns: u64,
}

#[derive(Serialize)]
struct Latency {
    count: u64,
    min_ns: Option<u64>,
    mean_ns: Option<f64>,
    sdev_ns: Option<f64>,
    p50_ns: Option<u64>,
    p90_ns: Option<u64>,
    p99_ns: Option<u64>,
    p999_ns: Option<u64>,
    max_ns: Option<u64>,
}

fn trial(trial: &StoredTrial) -> Trial<'_> {
    Trial {
        trial: trial.ordinal,
        block: trial.spec.block,
        contender: &trial.spec.contender.name,
        written: written(&trial.spec.contender),
        seed: trial.spec.seed.0.to_string(),
        workloads: &trial.spec.workloads,
        outcome: trial.outcome.as_ref(),
        made: trial.made.as_ref(),
        space: trial.space.as_ref(),
        phases: trial.phases.iter().map(phase).collect(),
        notes: &trial.notes,
    }
}

fn phase(phase: &PhaseResult) -> Phase<'_> {
    // A phase that never began has measured nothing; its zeroes are not figures.
    let began = !matches!(phase.status, PhaseStatus::Skipped { .. });
    let measured = |value: u64| began.then_some(value);
    Phase {
        workload: &phase.workload,
        phase: &phase.phase,
        status: &phase.status,
        not_comparable: phase.not_comparable.as_ref().map(not_comparable),
        not_comparable_why: phase.not_comparable.as_ref(),
        wall_ns: measured(phase.wall.0),
        cpu_user_ns: measured(phase.cpu.user.0),
        cpu_system_ns: measured(phase.cpu.sys.0),
        machine_cpu_ns: phase.machine_cpu.and_then(|time| measured(time.0)),
        ops: measured(phase.ops),
        read_bytes: measured(phase.read_bytes.0),
        write_bytes: measured(phase.write_bytes.0),
        device: phase.device.map(device),
        cache: &phase.cache,
        latencies: phase.latencies.iter().map(|(op, seen)| (op.as_str(), latency(seen))).collect(),
        course: phase.course.as_ref().map(|course| course.in_at_most(INTERVALS_MAX)),
        figures: phase.figures.iter().map(|(name, v)| (name.as_str(), finite(*v))).collect(),
        digest: format!("{:016x}", phase.digest),
        notes: &phase.notes,
    }
}

fn device(used: DeviceUse) -> Device {
    Device {
        reads: used.reads,
        read_bytes: used.read_bytes.0,
        writes: used.writes,
        write_bytes: used.write_bytes.0,
        discards: used.discards,
        flushes: used.flushes,
        busy_ns: used.busy.0,
    }
}

fn latency(latencies: &Latencies) -> Latency {
    let shown = latencies.percentiles();
    let at =
        |quantile: Quantile| shown.and_then(|_| quantile.of(latencies).ok()).map(|Nanos(ns)| ns);
    Latency {
        count: latencies.count(),
        min_ns: shown.map(|shown| shown.min.0),
        mean_ns: shown.and_then(|shown| finite(shown.mean_ns)),
        sdev_ns: shown.and_then(|shown| finite(shown.sdev_ns)),
        p50_ns: at(Quantile::P50),
        p90_ns: at(Quantile::P90),
        p99_ns: at(Quantile::P99),
        p999_ns: at(Quantile::P999),
        max_ns: at(Quantile::Max),
    }
}
