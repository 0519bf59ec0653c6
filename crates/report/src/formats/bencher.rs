//! Bencher's metric format (BMF), for continuous benchmarking: for each phase of a contender the
//! latency, which is its wall time in nanoseconds, and the throughput in ops a second, with the
//! ends of their intervals. What is missing is left out.

use std::collections::BTreeMap;

use serde::Serialize;
use store::StoredRun;

use super::{Format, Options};
use crate::Analysis;

pub(super) struct Bencher;

/// Measures as Bencher calls them, the tables they come from, and what one of its units is in ours.
const MEASURES: [(&str, &str, f64); 2] =
    [("latency", "wall", 1e9), ("throughput", "ops_rate", 1.0)];

#[derive(Serialize)]
struct Value {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

impl Format for Bencher {
    fn name(&self) -> &'static str {
        "bencher"
    }

    fn help(&self) -> Option<&'static str> {
        Some("Write wall times and rates in Bencher's metric format")
    }

    fn write(&self, analysis: &Analysis, _: &StoredRun, _: &Options) -> String {
        let mut document: BTreeMap<String, BTreeMap<&str, Value>> = BTreeMap::new();
        for workload in &analysis.workloads {
            for phase in &workload.phases {
                for (measure, table, unit) in MEASURES {
                    let Some(table) = phase.table(table) else { continue };
                    for (contender, cell) in analysis.contenders.iter().zip(&table.cells) {
                        let Some(mean) = cell.mean else { continue };
                        let name = format!("{}/{}/{}", workload.title, phase.name, contender.name);
                        let value = Value {
                            value: mean * unit,
                            lower_value: cell.low.map(|low| low * unit),
                            upper_value: cell.high.map(|high| high * unit),
                        };
                        document.entry(name).or_default().insert(measure, value);
                    }
                }
            }
        }
        super::json_text(&document)
    }
}
