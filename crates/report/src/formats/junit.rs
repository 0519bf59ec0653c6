//! JUnit's XML, for CI systems: a suite for each workload, a test case for each phase of a
//! contender with its mean wall time. What failed is a failure, what was left out is skipped, both
//! with the reason; a slower contender is no failure.

use std::fmt::Write as _;

use store::{StoredRun, StoredTrial};
use trial::Outcome;

use super::{Format, Options};
use crate::Analysis;
use crate::analysis::{PhaseAnalysis, WorkloadAnalysis};

pub(super) struct JUnit;

/// What became of a test case.
enum Case {
    Passed(f64),
    Skipped(String),
    Failed(String),
}

impl Format for JUnit {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn help(&self) -> Option<&'static str> {
        Some("Write phases as JUnit's test cases, for CI systems")
    }

    fn write(&self, analysis: &Analysis, run: &StoredRun, _: &Options) -> String {
        let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n".to_owned();
        for workload in &analysis.workloads {
            text += &suite(analysis, workload, run);
        }
        text + "</testsuites>\n"
    }
}

fn suite(analysis: &Analysis, workload: &WorkloadAnalysis, run: &StoredRun) -> String {
    let (mut cases, mut count, mut failed, mut skipped, mut time) = (String::new(), 0, 0, 0, 0.0);
    for (number, contender) in analysis.contenders.iter().enumerate() {
        let class = text::html(&format!("{}.{}", workload.title, contender.name));
        for phase in &workload.phases {
            count += 1;
            let _ = write!(cases, "  <testcase classname=\"{class}\"");
            let _ = write!(cases, " name=\"{}\"", text::html(&phase.name));
            let element = match case(phase, number, &contender.name, run) {
                Case::Passed(seconds) => {
                    time += seconds;
                    let _ = writeln!(cases, " time=\"{seconds}\"/>");
                    continue;
                }
                Case::Skipped(why) => {
                    skipped += 1;
                    format!("<skipped message=\"{}\"/>", text::html(&why))
                }
                Case::Failed(why) => {
                    failed += 1;
                    format!("<failure message=\"{}\"/>", text::html(&why))
                }
            };
            let _ = writeln!(cases, ">{element}</testcase>");
        }
    }
    format!(
        "<testsuite name=\"{}\" tests=\"{count}\" failures=\"{failed}\" errors=\"0\" \
         skipped=\"{skipped}\" time=\"{time}\" timestamp=\"{}\">\n{cases}</testsuite>\n",
        text::html(&workload.title),
        // Without its offset, which the schema does not know.
        text::html(run.header.created.get(..19).unwrap_or(&run.header.created)),
    )
}

fn case(phase: &PhaseAnalysis, number: usize, contender: &str, run: &StoredRun) -> Case {
    let notes = phase.footnotes.iter().filter(|note| note.contenders.contains(&number));
    let notes = notes.map(|note| note.text.as_str()).collect::<Vec<_>>().join("; ");
    let trials = run.trials.iter().filter(|trial| trial.spec.contender.name == contender);
    if let Some(why) = trials.clone().find_map(broke) {
        return Case::Failed(if notes.is_empty() { why } else { notes });
    }
    let mean = phase.table("wall").and_then(|wall| wall.cells.get(number)).and_then(|it| it.mean);
    match mean {
        Some(mean) => Case::Passed(mean),
        None if notes.is_empty() => Case::Skipped("it has no figure".to_owned()),
        None => Case::Skipped(notes),
    }
}

/// How a trial ended, where that is a fault and no refusal.
fn broke(trial: &StoredTrial) -> Option<String> {
    match trial.outcome.as_ref()? {
        Outcome::Done | Outcome::Refused { .. } => None,
        ended => Some(format!("trial {}: {}", trial.ordinal, ended.word())),
    }
}
