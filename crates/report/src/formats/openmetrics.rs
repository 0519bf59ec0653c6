//! OpenMetrics text (1.0), for Prometheus and its like: a gauge for each metric, labelled by
//! workload, phase, contender and run. `stat` tells the mean from the ends of its interval. What is
//! missing has no line. There are no timestamps: the time of a scrape is the reader's.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use store::StoredRun;

use super::{Format, Options};
use crate::Analysis;
use crate::analysis::{Cell, Metric, Unit};

pub(super) struct OpenMetrics;

/// One metric with the lines of its samples.
struct Family {
    unit: &'static str,
    help: String,
    samples: Vec<String>,
}

impl Format for OpenMetrics {
    fn name(&self) -> &'static str {
        "openmetrics"
    }

    fn help(&self) -> Option<&'static str> {
        Some("Write all figures as OpenMetrics text, for Prometheus")
    }

    fn write(&self, analysis: &Analysis, run: &StoredRun, _: &Options) -> String {
        let mut families: BTreeMap<String, Family> = BTreeMap::new();
        for workload in &analysis.workloads {
            for phase in &workload.phases {
                for table in &phase.tables {
                    let (name, unit) = name(&table.metric);
                    for (contender, cell) in analysis.contenders.iter().zip(&table.cells) {
                        let of = [
                            ("run", &*run.header.id),
                            ("testbed", &*run.header.testbed),
                            ("workload", &*workload.title),
                            ("phase", &*phase.name),
                            ("contender", &*contender.name),
                            ("metric", &*table.metric.id),
                        ];
                        let samples = samples(&name, &of, cell);
                        if samples.is_empty() {
                            continue;
                        }
                        let family = families.entry(name.clone()).or_insert_with(|| {
                            let help = escaped(&table.metric.label);
                            Family { unit, help, samples: Vec::new() }
                        });
                        family.samples.extend(samples);
                    }
                }
            }
        }
        let mut text = String::new();
        for (name, Family { unit, help, samples }) in &families {
            let _ = writeln!(text, "# TYPE {name} gauge");
            if !unit.is_empty() {
                let _ = writeln!(text, "# UNIT {name} {unit}");
            }
            let _ = writeln!(text, "# HELP {name} {help}");
            text.extend(samples.iter().map(String::as_str));
        }
        text + "# EOF\n"
    }
}

/// The metric's name, which ends with its unit, and the unit.
fn name(metric: &Metric) -> (String, &'static str) {
    let unit = match metric.unit {
        Unit::Seconds => "seconds",
        Unit::Bytes => "bytes",
        Unit::PerSecond | Unit::BytesPerSecond | Unit::Count | Unit::Named => "",
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut name = format!("fstrial_{}", metric.id.chars().map(plain).collect::<String>());
    if !unit.is_empty() && !name.ends_with(&format!("_{unit}")) {
        name = format!("{name}_{unit}");
    }
    (name, unit)
}

fn samples(name: &str, of: &[(&str, &str)], cell: &Cell) -> Vec<String> {
    let stats = [("mean", cell.mean), ("low", cell.low), ("high", cell.high)];
    let known = stats.into_iter().filter_map(|(stat, value)| Some((stat, value?)));
    known
        .map(|(stat, value)| {
            let labels = of.iter().copied().chain([("stat", stat)]);
            let labels: Vec<String> =
                labels.map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
            format!("{name}{{{}}} {value}\n", labels.join(","))
        })
        .collect()
}

/// Within a label's quotes or a line of help.
fn escaped(text: &str) -> String {
    ::text::line(text).replace('\\', "\\\\").replace('"', "\\\"")
}
