//! JSON, CSV and Markdown.

use std::collections::BTreeSet;

use report::{FORMATS, Options, SCHEMA_VERSION};
use serde_json::Value;

use crate::schema::Schema;
use crate::synthetic::{Synthetic, parameters, phase, planted};
use crate::{odd_runs, rendered};

fn json(run: &store::StoredRun) -> Value {
    serde_json::from_str(&rendered("json", run, Options::default())).unwrap()
}

#[test]
fn every_format_has_an_option_or_is_shown_without_one() {
    let names: BTreeSet<&str> = FORMATS.iter().map(|format| format.name()).collect();
    assert_eq!(names.len(), FORMATS.len(), "two formats are called the same");
    for format in FORMATS {
        assert_eq!(format.help().is_none(), format.name() == "terminal");
        for (what, run) in odd_runs() {
            let text = rendered(format.name(), &run, Options::default());
            assert!(text.ends_with('\n'), "{} of {what}", format.name());
        }
    }
}

#[test]
fn json_follows_its_published_schema() {
    let schema = Schema::published();
    let mut runs = odd_runs();
    runs.push(("quickstart", Synthetic::quickstart().run()));
    for (what, run) in runs {
        let errors = schema.errors(&json(&run));
        assert!(errors.is_empty(), "{what}: {errors:#?}");
    }
    let mut wrong = json(&Synthetic::small().run());
    assert_eq!(wrong["schema_version"], SCHEMA_VERSION);
    wrong["schema_version"] = 99.into();
    wrong["trials"][0]["phases"][0]["wall_ns"] = (-1).into();
    wrong["analysis"]["surprise"] = true.into();
    assert_eq!(schema.errors(&wrong).len(), 3, "the schema finds what is wrong");
}

#[test]
fn json_carries_figures_and_their_analysis() {
    let run = Synthetic::small().run();
    let document = json(&run);
    let trial = &document["trials"][3];
    let phase = &run.trials[3].phases[0];
    assert_eq!(trial["phases"][0]["wall_ns"], phase.wall.0);
    assert_eq!(trial["seed"], run.trials[3].spec.seed.0.to_string());
    let deliver = &trial["phases"][0]["latencies"]["deliver"];
    assert_eq!(deliver["p99_ns"], phase.latencies["deliver"].quantile(0.99).0);
    let wall = &document["analysis"]["workloads"][0]["phases"][0]["tables"][0];
    assert_eq!(wall["metric"]["id"], "wall");
    assert_eq!(wall["pairs"].as_array().unwrap().len(), 2, "each with the best");
    assert_eq!(wall["cells"][1]["mark"], "best");
}

#[test]
fn what_is_missing_is_null_and_never_0() {
    let mut run = Synthetic::small().run();
    run.trials[0].phases[0].device = None;
    run.trials[0].phases[0].machine_cpu = None;
    run.trials[1].phases[0].status =
        workload::PhaseStatus::Skipped { reason: "nothing to do".to_owned() };
    run.trials[1].phases[0].wall = units::Nanos::ZERO;
    let document = json(&run);
    assert!(document["trials"][0]["phases"][0]["device"].is_null());
    assert!(document["trials"][0]["phases"][0]["machine_cpu_ns"].is_null());
    assert!(document["trials"][1]["phases"][0]["wall_ns"].is_null());
    let table = rendered("csv", &run, Options::default());
    let skipped: Vec<&str> = table.lines().filter(|line| line.starts_with("r7,1,")).collect();
    assert!(skipped.iter().any(|line| line.contains(",wall,ns,,phase skipped")), "{skipped:?}");
    assert!(
        table
            .lines()
            .any(|line| line.starts_with("r7,0,") && line.contains(",device_reads,count,,done"))
    );
}

/// Splits CSV by RFC 4180.
fn records(text: &str) -> Vec<Vec<String>> {
    let mut records = vec![vec![String::new()]];
    let (mut chars, mut quoted) = (text.chars().peekable(), false);
    while let Some(c) = chars.next() {
        let record = records.last_mut().unwrap();
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                record.last_mut().unwrap().push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(String::new()),
            '\n' if !quoted => records.push(vec![String::new()]),
            c => record.last_mut().unwrap().push(c),
        }
    }
    assert!(!quoted);
    records.pop();
    records
}

#[test]
fn csv_is_one_regular_table_of_raw_figures() {
    for (what, run) in odd_runs() {
        let records = records(&rendered("csv", &run, Options::default()));
        assert_eq!(
            records[0].join(","),
            "run,trial,block,contender,workload,phase,metric,unit,value,status"
        );
        for record in &records[1..] {
            assert_eq!(record.len(), 10, "{what}: {record:?}");
            // As names are shown everywhere: without what steers a terminal.
            let name = |trial: &store::StoredTrial| text::line(&trial.spec.contender.name);
            assert!(run.trials.iter().any(|trial| name(trial) == record[3]), "{record:?}");
            let value = &record[8];
            assert!(value.is_empty() || value.parse::<f64>().unwrap().is_finite(), "{record:?}");
        }
        // A trial that never ran has a row too.
        for trial in &run.trials {
            let ordinal = trial.ordinal.to_string();
            assert!(records[1..].iter().any(|record| record[1] == ordinal), "{what}: {ordinal}");
        }
    }
}

#[test]
fn each_bonnie_of_a_trial_has_its_line_in_its_versions_form() {
    let mut run = Synthetic {
        contenders: vec![planted("a,\"b\"", "ext4", 1.0, 0.02)],
        phases: vec![phase("bonnie", "seeks", 2.0, &[("seek", 100)])],
        repeats: 1,
        ..Synthetic::small()
    }
    .run();
    let trial = &mut run.trials[0];
    let of = |given: &str| {
        let given = given.split(':').filter_map(|one| one.split_once('='));
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let bonnie = workload::find("bonnie").unwrap();
        let parameters = workload::Parameters::resolve(bonnie.describe(), &given, 1.0).unwrap();
        trial::WorkloadChoice { name: "bonnie".to_owned(), parameters }
    };
    trial.spec.workloads = vec![of("size=1G:seeks=9"), of("size=2G:manner=1.03a")];
    let mut second = trial.record.phases[0].clone();
    second.wall = units::Nanos(second.wall.0 * 4);
    second.ops = 100;
    trial.record.phases[0].ops = 100;
    trial.record.phases.push(second);
    let text = rendered("bonnie-csv", &run, Options::default());
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [50, 27], "{text}");
    assert_eq!((lines[0][0], lines[0][2], lines[0][5], lines[0][7]), ("1.98", "a;b", "1G", "9"));
    assert_eq!(lines[1][..2], ["a;b", "2G"]);
    let seeks = |value: &str| value.parse::<f64>().unwrap();
    let ratio = seeks(lines[0][19]) / seeks(lines[1][12]);
    assert!((ratio - 4.0).abs() < 0.1, "each its own phase: {text}");

    let format = report::find("bonnie-csv").unwrap();
    assert_eq!(format.lacks(&run), None);
    assert!(format.lacks(&Synthetic::small().run()).unwrap().contains("bonnie"));
}

#[test]
fn markdown_tables_are_regular_whatever_the_names() {
    for (what, run) in odd_runs() {
        let text = rendered("markdown", &run, Options::default());
        let mut columns = None;
        for line in text.lines() {
            if !line.starts_with('|') {
                columns = None;
                continue;
            }
            let bars = line.replace("\\\\", "").replace("\\|", "").matches('|').count();
            assert_eq!(*columns.get_or_insert(bars), bars, "{what}: {line}");
        }
        assert!(!text.contains("<script"), "{what}");
    }
    let text = rendered("markdown", &Synthetic::small().run(), Options::default());
    assert!(text.contains("| | btrfs | ext4 | xfs |\n|---|---:|---:|---:|\n| served by |"));
    assert!(text.contains("| rank | 3 | 1 | 2 |"), "{text}");
}

#[test]
fn json_grows_with_the_contenders_and_not_with_their_pairs() {
    let run = |count: usize| {
        let contenders = (0..count).map(|at| planted(&format!("fs{at}"), "ext4", 1.1, 0.03));
        Synthetic { contenders: contenders.collect(), ..Synthetic::small() }.run()
    };
    let size = |count, all_pairs| {
        rendered("json", &run(count), Options { all_pairs, ..Options::default() }).len()
    };
    let (forty, eighty) = (size(40, false), size(80, false));
    assert!(eighty as f64 <= 2.05 * forty as f64, "{eighty} bytes for 80, {forty} for 40");
    assert!(size(40, true) > 2 * forty, "all pairs on request");
}

/// The text between the quotes of an attribute.
fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let begin = element.split_once(&format!(" {name}=\"")).unwrap().1;
    begin.split('"').next().unwrap()
}

#[test]
fn junit_counts_its_cases_and_tells_failures_from_what_was_left_out() {
    let mut runs = odd_runs();
    runs.push(("quickstart", Synthetic::quickstart().run()));
    for (what, run) in runs {
        let text = rendered("junit", &run, Options::default());
        let suites: Vec<&str> = text.split("<testsuite ").skip(1).collect();
        for suite in suites {
            let suite = format!("<testsuite {suite}");
            for (name, element) in
                [("tests", "<testcase "), ("failures", "<failure "), ("skipped", "<skipped ")]
            {
                let counted: usize = attribute(&suite, name).parse().unwrap();
                assert_eq!(suite.matches(element).count(), counted, "{what}: {name}\n{suite}");
            }
        }
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{what}");
    }
    let mut run = Synthetic::small().run();
    let name = run.trials[0].spec.contender.name.clone();
    crate::synthetic::fail(&mut run, &name, trial::Step::Mkfs, "mkfs: <no> \"room\"");
    let text = rendered("junit", &run, Options::default());
    assert!(text.contains("<failure ") && text.contains("&lt;no&gt; &quot;room&quot;"), "{text}");
    assert!(text.contains(" time=\""), "{text}");
}

#[test]
fn openmetrics_has_a_type_before_each_family_and_no_sample_twice() {
    let mut runs = odd_runs();
    runs.push(("quickstart", Synthetic::quickstart().run()));
    for (what, run) in runs {
        let text = rendered("openmetrics", &run, Options::default());
        assert!(text.ends_with("# EOF\n"), "{what}");
        let (mut family, mut families, mut seen) = ("", BTreeSet::new(), BTreeSet::new());
        for line in text.lines().filter(|line| *line != "# EOF") {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                family = rest.strip_suffix(" gauge").unwrap();
                assert!(families.insert(family), "{what}: {family} twice");
            } else if !line.starts_with("# ") {
                let (sample, value) = line.rsplit_once(' ').unwrap();
                assert!(sample.starts_with(&format!("{family}{{")), "{what}: {line}");
                assert!(value.parse::<f64>().unwrap().is_finite(), "{what}: {line}");
                assert!(seen.insert(sample), "{what}: {sample} twice");
            }
        }
    }
}

#[test]
fn bencher_and_hyperfine_get_the_figures_of_the_tables() {
    let run = Synthetic::quickstart().run();
    let of = |format: &str| -> Value {
        serde_json::from_str(&rendered(format, &run, Options::default())).unwrap()
    };
    let analysis = report::analyse(&run);
    let (workload, contender) = (&analysis.workloads[0], &analysis.contenders[0]);
    let phase = workload.phases.iter().find(|phase| phase.has_figures()).unwrap();
    let cell = &phase.table("wall").unwrap().cells[0];
    let name = format!("{}/{}/{}", workload.title, phase.name, contender.name);
    let latency = of("bencher")[&name]["latency"]["value"].as_f64().unwrap();
    assert_eq!(latency, cell.mean.unwrap() * 1e9);
    let results = of("hyperfine")["results"].as_array().unwrap().clone();
    let command = format!("{} {} on {}", workload.title, phase.name, contender.name);
    let entry = results.iter().find(|entry| entry["command"] == command.as_str()).unwrap();
    let times: Vec<f64> = cell.figures.iter().map(|figure| figure.value).collect();
    let found: Vec<f64> =
        entry["times"].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect();
    assert_eq!(found, times);
    assert_eq!(entry["exit_codes"].as_array().unwrap().len(), times.len());
    for entry in &results {
        let at = |name: &str| entry[name].as_f64().unwrap();
        assert!(at("min") <= at("median") && at("median") <= at("max"), "{entry}");
        assert!(at("min") <= at("mean") && at("mean") <= at("max"), "{entry}");
    }
}

/// Two workloads that begin alike and are as long, as two files of models may be.
#[test]
fn workloads_that_look_alike_have_names_of_their_own_in_every_format() {
    let phases = vec![phase("filebench", "run", 1.0, &[("read", 4000)])];
    let mut run = Synthetic { phases, ..Synthetic::small() }.run();
    let other = Synthetic { seed: 2, ..Synthetic::small() };
    let other =
        Synthetic { phases: vec![phase("filebench", "run", 2.0, &[("read", 4000)])], ..other };
    let first = run.trials.len() as u32;
    for trial in &mut run.trials {
        trial.spec.workloads[0].parameters = parameters(&[("file", "# my model\nrun 60\n")]);
    }
    let mut others = other.run().trials;
    for trial in &mut others {
        trial.ordinal += first;
        trial.spec.workloads[0].parameters = parameters(&[("file", "# my model\nrun 61\n")]);
    }
    run.trials.extend(others);
    let bencher: Value =
        serde_json::from_str(&rendered("bencher", &run, Options::default())).unwrap();
    assert_eq!(bencher.as_object().unwrap().len(), 6, "{bencher}");
    let metrics = rendered("openmetrics", &run, Options::default());
    let series: Vec<&str> = metrics
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.rsplit_once(' ').map(|(series, _)| series))
        .collect();
    assert_eq!(series.iter().collect::<BTreeSet<_>>().len(), series.len());
    let csv = rendered("csv", &run, Options::default());
    let second = csv.lines().filter(|line| line.contains(") #2\"")).count();
    assert_eq!(2 * second, csv.lines().count() - 1, "{csv}");
}
