//! Which figure belongs to which cell: two parts, of which one has the same workload twice with
//! other parameters, and rows in other units. Figures are invented, expectations written by hand.

use std::collections::BTreeMap;

use trial::WorkloadChoice;
use workload::{Parameters, PhaseStatus};

use crate::needs::needs;
use crate::verdict::Verdict::{Holds, NotRun};
use crate::verdict_tests::{Series, phase, run};
use crate::{Absent, PartRun, Source, Study, load, results};

/// How each invented study begins.
pub(crate) const HEAD: &str = r#"
name = "tiny"
title = "Tiny"
author = "nobody"
date = "2026"
published = "nowhere"
question = "Which?"
summary = "Invented."
machine = "none"
scale = 1.0
"#;

const PARTS: &str = r#"
[[part]]
id = "p"
title = "Part"
profile = "scsi-2004"
contenders = ["a=ext2", "b=ext3"]
workloads = [{ id = "w", run = "null:ops=10" }, { id = "v", run = "null:ops=20" }]

[[part]]
id = "q"
title = "Other part"
profile = "scsi-2004"
contenders = ["a=ext2", "b=ext3"]
workloads = [{ id = "w", run = "null:ops=10" }]
"#;

const PUBLISHED: &str = r#"
[[table]]
id = "t"
part = "p"
title = "Table"
columns = ["a", "b"]
[[table.row]]
id = "first"
label = "First"
unit = "s"
better = "lower"
values = [1, 1]
measure = { workload = "w", phase = "spin", metric = "wall" }
[[table.row]]
id = "second"
label = "Second"
unit = "ms"
better = "lower"
values = [1, 1]
measure = { workload = "v", phase = "spin", metric = "wall" }
[[table]]
id = "u"
part = "q"
title = "Other table"
columns = ["a", "b"]
[[table.row]]
id = "third"
label = "Third"
unit = "s"
better = "lower"
values = [1, 1]
measure = { workload = "w", phase = "spin", metric = "wall" }
"#;

const CLAIMS: &str = r#"
[[claim]]
id = "A1"
text = "First."
test = ["first: a better than b"]
[[claim]]
id = "A2"
text = "Second."
test = ["second: a better than b"]
[[claim]]
id = "A3"
text = "Third."
test = ["third: a better than b"]
"#;

fn study() -> Study {
    let study = format!("{HEAD}{PARTS}");
    let files = [("study.toml", &*study), ("published.toml", PUBLISHED), ("claims.toml", CLAIMS)];
    let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let source = Source { named: "tiny".to_owned(), prefix: String::new(), files: files.into() };
    load(&source).unwrap_or_else(|problems| panic!("{}", problems[0]))
}

fn choice(ops: u64) -> WorkloadChoice {
    let null = workload::find("null").unwrap().describe();
    let given = BTreeMap::from([("ops".to_owned(), ops.to_string())]);
    let parameters = Parameters::resolve(null, &given, 1.0).unwrap();
    WorkloadChoice { name: "null".to_owned(), parameters }
}

/// Trials of `null:ops=OPS` in a part.
fn part(id: &str, ops: u64, series: &[(&str, Series)]) -> PartRun {
    let mut one = run(series);
    one.tag.part = id.to_owned();
    for trial in &mut one.run.trials {
        trial.spec.workloads = vec![choice(ops)];
    }
    one
}

/// Both workloads of the first part.
fn both(first: &[(&str, Series)], second: &[(&str, Series)]) -> PartRun {
    let mut one = part("p", 10, first);
    let more = part("p", 20, second).run.trials;
    let from = u32::try_from(one.run.trials.len()).unwrap();
    one.run.trials.extend(more.into_iter().map(|mut trial| {
        trial.ordinal += from;
        trial
    }));
    one
}

fn same(values: [f64; 2], seeds: u64) -> [(&'static str, Series); 2] {
    let series = |value: f64| (1..=seeds).map(|seed| (seed, value)).collect();
    [("a", series(values[0])), ("b", series(values[1]))]
}

/// The means of the rows `first`, `second` and `third`, or why there is none.
fn means(study: &Study, runs: &[PartRun]) -> Vec<Vec<Result<f64, String>>> {
    let found = results(study, runs);
    let rows = found.tables.into_iter().flat_map(|table| table.rows);
    rows.map(|row| {
        let cells = row.measured.into_iter();
        let digits = |mean: f64| (mean * 1e6).round() / 1e6;
        cells.map(|cell| cell.mean.map(digits).ok_or(cell.missing.unwrap_or_default())).collect()
    })
    .collect()
}

#[test]
fn a_cell_has_the_figures_of_its_part_and_workload_in_the_unit_of_its_row() {
    let runs =
        [both(&same([1.0, 2.0], 3), &same([3.0, 4.0], 3)), part("q", 10, &same([5.0, 6.0], 3))];
    let found = means(&study(), &runs);
    assert_eq!(found[0], [Ok(1.0), Ok(2.0)]);
    assert_eq!(found[1], [Ok(3000.0), Ok(4000.0)], "in milliseconds");
    assert_eq!(found[2], [Ok(5.0), Ok(6.0)]);
    let alone = means(&study(), &[part("p", 20, &same([3.0, 4.0], 3))]);
    assert_eq!(alone[1], [Ok(3000.0), Ok(4000.0)]);
    let missing = |cell: &Result<f64, String>| cell.clone().unwrap_err();
    assert!(missing(&alone[2][0]).contains("\"Other part\" was not run"), "{alone:?}");
}

/// In a sequence a workload that comes twice with the same parameters is told by its place.
#[test]
fn the_same_workload_twice_is_told_by_its_place() {
    let mut study = study();
    let again = study.parts[0].workloads[0].clone();
    study.parts[0].sequence = true;
    let request = &mut study.parts[0].workloads[1];
    (request.request, request.parameters) = (again.request, again.parameters);
    let mut one = part("p", 10, &same([1.0, 2.0], 3));
    for trial in &mut one.run.trials {
        trial.spec.workloads.push(choice(10));
        let second = if trial.spec.contender.name == "a" { 3.0 } else { 4.0 };
        trial.record.phases.push(phase(second));
    }
    let found = means(&study, &[one]);
    assert_eq!(found[0], [Ok(1.0), Ok(2.0)]);
    assert_eq!(found[1], [Ok(3000.0), Ok(4000.0)]);
}

#[test]
fn only_the_contender_that_is_absent_has_no_figure() {
    let mut study = study();
    let absent = Absent { contender: "a".to_owned(), reason: "no kernel has it".to_owned() };
    study.parts[0].absent.push(absent);
    let found = means(&study, &[part("p", 10, &same([1.0, 2.0], 3))]);
    assert_eq!(found[0], [Err("a: no kernel has it".to_owned()), Ok(2.0)]);
}

/// Each cell says why it is empty, not why another is.
#[test]
fn an_empty_cell_has_its_own_reason() {
    let mut one = part("p", 10, &same([1.0, 2.0], 3));
    for trial in &mut one.run.trials {
        let reason = match trial.spec.contender.name.as_str() {
            "a" => "no inodes",
            _ => "no room",
        };
        trial.record.phases[0].status = PhaseStatus::Failed { reason: reason.to_owned() };
    }
    let found = means(&study(), &[one]);
    let reasons: Vec<String> = found[0].iter().map(|cell| cell.clone().unwrap_err()).collect();
    assert!(reasons[0].starts_with("a: ") && reasons[0].contains("no inodes"), "{reasons:?}");
    assert!(reasons[1].starts_with("b: ") && reasons[1].contains("no room"), "{reasons:?}");
}

/// A part may be as large as the published test at a scale other than 1.
#[test]
fn a_size_is_a_share_of_the_published_one() {
    let mut study = study();
    study.parts[0].published_scale = 4.0;
    let found = results(&study, &[part("p", 10, &same([1.0, 2.0], 8))]).claims.remove(0);
    assert_eq!((found.measured.verdict, found.size), (Holds, Some(0.25)));
    assert_eq!(found.sizes[0].size, 0.25);
}

/// Seeds are asked for cell by cell: a contender's in one part or workload say nothing of another.
#[test]
fn every_part_and_workload_needs_its_own_seeds() {
    let far = |seeds: u64| {
        let value = |seed: u64, at: f64| 1.0 + 0.3 * (seed as f64 + at).sin();
        let series = |at: f64| (1..=seeds).map(|seed| (seed, value(seed, at))).collect();
        [("a", series(0.0)), ("b", series(7.0))]
    };
    let runs = [both(&far(3), &far(4)), part("q", 10, &far(5))];
    let found = needs(&study(), &runs, None, None, 0.001);
    let found: Vec<_> = found
        .iter()
        .map(|it| (it.part.as_str(), it.workload.as_str(), it.contender.as_str(), it.seeds))
        .collect();
    assert_eq!(
        found,
        [
            ("p", "w", "a", 6),
            ("p", "w", "b", 6),
            ("p", "v", "a", 8),
            ("p", "v", "b", 8),
            ("q", "w", "a", 10),
            ("q", "w", "b", 10),
        ]
    );
    let nothing = results(&study(), &[]).claims.remove(2).measured.verdict;
    assert_eq!(nothing, NotRun);
}
