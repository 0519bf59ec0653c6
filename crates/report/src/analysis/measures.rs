//! What is read from a phase: metrics, their units, and how to get a trial's figure.

use std::collections::BTreeSet;

use measure::Latencies;
use serde::Serialize;
use stats::Resolution;
use units::{Bytes, Nanos, Rate};
use workload::{OwnFigure, PhaseDescription, PhaseResult};

use super::Reason;

/// Something measured in a phase.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Wall time by the trial's clock.
    Wall,
    /// Ops a second of all kinds.
    OpsRate,
    /// Bytes the workload read a second.
    ReadRate,
    /// Bytes the workload wrote a second.
    WriteRate,
    /// CPU of the process.
    Cpu,
    /// CPU of the whole machine.
    MachineCpu,
    /// Bytes the device wrote.
    DeviceWriteBytes,
    /// Its write requests.
    DeviceWrites,
    /// Bytes the device read.
    DeviceReadBytes,
    /// Its read requests.
    DeviceReads,
    /// Its cache flushes.
    DeviceFlushes,
    /// Latency of a kind of op.
    Latency(String, Quantile),
    /// A workload's own figure.
    Figure(String),
}

/// A point of a latency distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Quantile {
    P50,
    P90,
    P99,
    P999,
    Max,
}

impl Quantile {
    /// All of them, in order.
    pub const ALL: [Quantile; 5] =
        [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P999, Quantile::Max];

    /// As in tables.
    pub fn word(self) -> &'static str {
        match self {
            Quantile::P50 => "p50",
            Quantile::P90 => "p90",
            Quantile::P99 => "p99",
            Quantile::P999 => "p99.9",
            Quantile::Max => "max",
        }
    }

    /// The share of ops that were no slower.
    pub fn share(self) -> f64 {
        match self {
            Quantile::P50 => 0.5,
            Quantile::P90 => 0.9,
            Quantile::P99 => 0.99,
            Quantile::P999 => 0.999,
            Quantile::Max => 1.0,
        }
    }

    /// Its latency in a histogram.
    ///
    /// # Errors
    /// With the number of ops it needs, where there are fewer: p99 of 50 ops would be
    /// nothing but the slowest of them.
    pub fn of(self, latencies: &Latencies) -> Result<Nanos, u64> {
        let least = match self {
            Quantile::P50 | Quantile::Max => 1,
            Quantile::P90 => 10,
            Quantile::P99 => 100,
            Quantile::P999 => 1000,
        };
        if latencies.count() < least { Err(least) } else { Ok(latencies.quantile(self.share())) }
    }
}

/// In what a metric is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Unit {
    Seconds,
    PerSecond,
    BytesPerSecond,
    Bytes,
    Count,
    /// A figure whose name contains its unit.
    Named,
}

/// The group in which a report shows a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Wall time and rates.
    Speed,
    /// CPU time.
    Cpu,
    /// What the device was asked for.
    Device,
    /// Latencies.
    Latency,
    /// A workload's own figures.
    Other,
}

/// A metric as tables show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// What is measured.
    #[serde(skip)]
    pub measure: Measure,
    /// Stable name for machines: `wall`, `latency.deliver.p99`.
    pub id: String,
    /// For people.
    pub label: String,
    /// Its unit.
    pub unit: Unit,
    /// Whether large figures are good; `None` where neither end is, and nothing is ranked.
    pub higher_is_better: Option<bool>,
    /// Where it stands.
    pub group: Group,
}

/// What is measured of a phase, beside the figures a workload adds of its own.
pub fn metrics_of(phase: &PhaseDescription) -> Vec<Metric> {
    use Measure::*;
    let everywhere = [
        Wall,
        OpsRate,
        ReadRate,
        WriteRate,
        Cpu,
        MachineCpu,
        DeviceWriteBytes,
        DeviceWrites,
        DeviceReadBytes,
        DeviceReads,
        DeviceFlushes,
    ];
    let latencies = phase
        .ops
        .iter()
        .flat_map(|op| Quantile::ALL.map(|quantile| Latency(op.name.to_owned(), quantile)));
    everywhere.into_iter().chain(latencies).map(|measure| measure.metric(&[])).collect()
}

impl Measure {
    /// Everything measured in any of these, in the order of tables.
    pub(super) fn of_all(results: &[&PhaseResult]) -> Vec<Measure> {
        let mut measures = vec![Measure::Wall];
        let any = |test: &dyn Fn(&PhaseResult) -> bool| results.iter().any(|result| test(result));
        // A phase that is a single program or call counts no ops.
        if any(&|result| result.ops > 0) {
            measures.push(Measure::OpsRate);
        }
        if any(&|result| result.read_bytes > Bytes::ZERO) {
            measures.push(Measure::ReadRate);
        }
        if any(&|result| result.write_bytes > Bytes::ZERO) {
            measures.push(Measure::WriteRate);
        }
        measures.push(Measure::Cpu);
        if any(&|result| result.machine_cpu.is_some()) {
            measures.push(Measure::MachineCpu);
        }
        if any(&|result| result.device.is_some()) {
            measures.extend([
                Measure::DeviceWriteBytes,
                Measure::DeviceWrites,
                Measure::DeviceReadBytes,
                Measure::DeviceReads,
            ]);
        }
        if any(&|result| result.device.is_some_and(|used| used.flushes.is_some())) {
            measures.push(Measure::DeviceFlushes);
        }
        let kinds: BTreeSet<&String> =
            results.iter().flat_map(|result| result.latencies.keys()).collect();
        for kind in kinds {
            measures.extend(Quantile::ALL.map(|q| Measure::Latency(kind.clone(), q)));
        }
        let own: BTreeSet<&String> =
            results.iter().flat_map(|result| result.figures.keys()).collect();
        measures.extend(own.into_iter().map(|name| Measure::Figure(name.clone())));
        measures
    }

    /// Whether it is a figure of the lab's transport, which only its developers need.
    pub(crate) fn is_of_transport(&self) -> bool {
        matches!(self, Measure::Figure(name) if name.starts_with("transport_"))
    }

    /// Whether it is such a figure in nanoseconds, which its shares of the time say better; only the
    /// machine formats show it.
    pub(crate) fn is_transports_time(&self) -> bool {
        self.is_of_transport() && matches!(self, Measure::Figure(name) if name.ends_with("_ns"))
    }

    /// Whether it is a disk count or a figure of the lab's own overhead: that overhead does not
    /// make these wrong.
    pub(super) fn is_count(&self) -> bool {
        match self {
            Measure::DeviceWriteBytes
            | Measure::DeviceWrites
            | Measure::DeviceReadBytes
            | Measure::DeviceReads
            | Measure::DeviceFlushes => true,
            Measure::Figure(name) => name == "disk_requests" || self.is_of_transport(),
            _ => false,
        }
    }

    /// A trial's figure in the metric's unit.
    ///
    /// # Errors
    /// With the reason why there is none.
    pub(super) fn figure(&self, result: &PhaseResult) -> Result<f64, Reason> {
        let device = || result.device.ok_or(Reason::NoRequestCounts);
        let rate = |rate: Rate| rate.per_second().ok_or(Reason::NoTimePassed);
        let value = match self {
            Measure::Wall => result.wall.as_secs_f64(),
            Measure::OpsRate => rate(Rate::Count(result.ops, result.wall))?,
            Measure::ReadRate => rate(Rate::Bytes(result.read_bytes, result.wall))?,
            Measure::WriteRate => rate(Rate::Bytes(result.write_bytes, result.wall))?,
            Measure::Cpu => result.cpu.total().as_secs_f64(),
            Measure::MachineCpu => result.machine_cpu.ok_or(Reason::NoMachineCpu)?.as_secs_f64(),
            Measure::DeviceWriteBytes => device()?.write_bytes.0 as f64,
            Measure::DeviceWrites => device()?.writes as f64,
            Measure::DeviceReadBytes => device()?.read_bytes.0 as f64,
            Measure::DeviceReads => device()?.reads as f64,
            Measure::DeviceFlushes => device()?.flushes.ok_or(Reason::NoFlushCounts)? as f64,
            Measure::Latency(op, quantile) => {
                let latencies =
                    result.latencies.get(op).ok_or_else(|| Reason::NoOp { op: op.clone() })?;
                let too_few = |least| Reason::TooFewOps {
                    percentile: quantile.word(),
                    least,
                    op: op.clone(),
                };
                quantile.of(latencies).map_err(too_few)?.as_secs_f64()
            }
            Measure::Figure(name) => {
                let missing = || Reason::NoFigure { name: name.clone() };
                *result.figures.get(name).ok_or_else(missing)?
            }
        };
        if value.is_finite() { Ok(value) } else { Err(Reason::NotFinite) }
    }

    /// How finely it is measured.
    pub(super) fn resolution(&self) -> Resolution {
        match self {
            // A tick of /proc/stat.
            Measure::MachineCpu => Resolution::Step(0.01),
            Measure::Cpu => Resolution::Step(1e-6),
            Measure::DeviceWrites | Measure::DeviceReads | Measure::DeviceFlushes => {
                Resolution::Step(1.0)
            }
            Measure::DeviceWriteBytes | Measure::DeviceReadBytes => Resolution::Step(512.0),
            // Three significant digits of a histogram.
            Measure::Latency(..) => Resolution::Relative(0.001),
            _ => Resolution::Fine,
        }
    }

    /// How tables show it, where a workload has these figures of its own.
    pub(super) fn metric(&self, own: &[OwnFigure]) -> Metric {
        use {Group::*, Unit::*};
        let of = |id: &str, label: &str, unit, higher_is_better, group| Metric {
            measure: self.clone(),
            id: id.to_owned(),
            label: label.to_owned(),
            unit,
            higher_is_better,
            group,
        };
        match self {
            Measure::Wall => of("wall", "wall time", Seconds, Some(false), Speed),
            Measure::OpsRate => of("ops_rate", "ops", PerSecond, Some(true), Speed),
            Measure::ReadRate => of("read_rate", "read", BytesPerSecond, Some(true), Speed),
            Measure::WriteRate => of("write_rate", "write", BytesPerSecond, Some(true), Speed),
            Measure::Cpu => of("cpu", "CPU, process", Seconds, Some(false), Cpu),
            Measure::MachineCpu => of("machine_cpu", "CPU, machine", Seconds, Some(false), Cpu),
            // Less traffic may be better or merely later; nothing is ranked by it.
            Measure::DeviceWriteBytes => {
                of("device_write_bytes", "device written", Bytes, None, Device)
            }
            Measure::DeviceWrites => of("device_writes", "device writes", Count, None, Device),
            Measure::DeviceReadBytes => of("device_read_bytes", "device read", Bytes, None, Device),
            Measure::DeviceReads => of("device_reads", "device reads", Count, None, Device),
            Measure::DeviceFlushes => of("device_flushes", "device flushes", Count, None, Device),
            Measure::Latency(op, quantile) => {
                let word = quantile.word();
                let id = format!("latency.{op}.{word}");
                of(&id, &format!("{op} {word}"), Seconds, Some(false), Latency)
            }
            Measure::Figure(name) => {
                let id = format!("figure.{name}");
                match own.iter().find(|own| own.name == *name) {
                    Some(own) => of(&id, &own.label, Named, Some(own.higher_is_better), Other),
                    None => of(&id, &name.replace('_', " "), Named, None, Other),
                }
            }
        }
    }
}
