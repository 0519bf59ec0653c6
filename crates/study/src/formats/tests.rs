//! The page that a study makes, of invented runs.

use super::{believe::believe, drawing, markdown_with_charts, panel, render, words};
use crate::ladder_tests::{at, judged};
use crate::verdict_tests::{about, run, study};
use crate::{Results, Study, results};

fn turned(study: &Study) -> Results {
    results(study, &[at(0.03, [2.0, 1.0, 9.0]), at(1.0, [1.0, 2.0, 9.0])])
}

#[test]
fn a_page_says_first_whether_to_believe_it() {
    let mut study = study("lower", "3, 4, 5", "a better than b");
    study.believe = "Believe it of large directories.".to_owned();
    let results = turned(&study);
    let lines = believe(&results);
    assert!(lines.len() <= 5, "{lines:?}");
    let said = |head: &str| &lines.iter().find(|(known, _)| *known == head).unwrap().1;
    assert_eq!(said("In short"), "Believe it of large directories.");
    assert_eq!(said("By its own figures"), "of 1 claims 1 holds (A1).");
    assert_eq!(said("Run again"), "of 1 claims 1 holds (A1).");
    assert_eq!(said("Size"), "run at 3 %, the published size; A1 changed with size.");
    for format in ["terminal", "html", "markdown"] {
        let page = render(format, &results, 100, false).unwrap();
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{format}: {text}"));
        assert!(place("large directories") < place("It is."), "{format}");
    }
}

/// A question's verdict is of the figures beside it; what does not confirm it stands after it.
#[test]
fn what_other_sizes_and_machines_say_stands_beside_a_verdict() {
    let study = study("lower", "3, 4, 5", "a better than b");
    let two = turned(&study);
    let page = |format: &str, results: &Results| render(format, results, 100, false).unwrap();
    let markdown = page("markdown", &two);
    assert!(markdown.contains("| p | verdict | elsewhere |"), "{markdown}");
    assert!(markdown.contains(" | holds | not at 3 % |\n"), "{markdown}");
    assert!(markdown.contains("**Measured: holds at the published size; not at 3 %.**"));
    let html = page("html", &two);
    assert!(html.contains("<td>holds</td><td>not at 3 %</td>"), "{html}");
    let terminal = page("terminal", &two).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(terminal.contains("; not at 3 %"), "{terminal}");
    assert!(terminal.contains("1 is not confirmed by every size and machine"), "{terminal}");
    // Of one size and one machine there is nothing more to say.
    let one = results(&study, &[at(1.0, [1.0, 2.0, 9.0])]);
    for (format, head) in [("markdown", "elsewhere |"), ("html", ">elsewhere<")] {
        assert!(!page(format, &one).contains(head), "{format}");
    }
}

#[test]
fn the_claims_are_named_that_alone_were_run_at_the_largest_size() {
    let mut study = study("lower", "3, 4, 5", "a better than b");
    let mut other = study.claims[0].clone();
    other.id = "A2".to_owned();
    study.claims.push(other);
    let mut results = turned(&study);
    results.claims[1].sizes.pop();
    let lines = believe(&results);
    let said = &lines.iter().find(|(head, _)| *head == "Size").unwrap().1;
    assert!(said.starts_with("run at 3 %, and for A1 the published size; "), "{said}");
}

#[test]
fn the_reasons_for_a_smaller_size_are_not_given_for_the_published_one() {
    let mut study = study("lower", "3, 4, 5", "a better than b");
    study.scale_reason = "It would take days.".to_owned();
    study.scale = 0.03;
    let said = |sizes: &[f64]| {
        let runs: Vec<_> = sizes.iter().map(|size| at(*size, [2.0, 1.0, 9.0])).collect();
        super::machines::how(&results(&study, &runs)).pop().unwrap()
    };
    assert_eq!(said(&[0.03]), "Not at full size: It would take days.");
    let other = "The study says of the size of a trial run, its default: It would take days.";
    assert_eq!(said(&[1.0, 0.03]), other);
    let full = said(&[1.0]);
    assert!(full.contains("scale 1, ") && !full.contains("days"), "{full}");
}

#[test]
fn runs_made_before_a_change_of_the_study_are_counted() {
    let study = study("lower", "3, 4, 5", "a better than b");
    let of = |assumption: Option<&str>, digest: &str| {
        let mut run = at(1.0, [2.0, 1.0, 9.0]);
        run.tag.assumption = assumption.map(str::to_owned);
        run.tag.digest = digest.to_owned();
        run
    };
    let (own, slow) = (of(None, &study.digest), of(Some("slow-cpu"), &study.assumptions[0].digest));
    let notes = |runs: &[crate::PartRun]| results(&study, runs).notes.join(" ");
    assert!(!notes(&[own.clone(), slow.clone()]).contains("have changed"));
    let old = [own, slow, of(None, "old"), of(Some("slow-cpu"), &study.digest), of(Some("x"), "")];
    assert!(
        notes(&old).contains("Since 3 of the 5 runs were made, the study's files have changed:")
    );
}

/// What the page says under "What differs, and why".
fn differs(study: &Study, runs: &[crate::PartRun]) -> String {
    let page = render("markdown", &results(study, runs), 100, false).unwrap();
    let (_, rest) = page.split_once("## What differs, and why").unwrap();
    rest.split("\n## ").next().unwrap().to_owned()
}

#[test]
fn what_the_page_contradicts_itself_is_told_with_what_was_found_here() {
    // The page's figures are 3, 4 and 5, lower is better: b is not better than a there.
    let study = study("lower", "3, 4, 5", "b better than a");
    let said = differs(&study, &[at(1.0, [1.0, 2.0, 9.0])]);
    let begins = "- **A1** does not hold: the page's own figures say otherwise; here b ÷ a in ";
    assert!(said.contains(begins) && said.contains("claimed is below 1"), "{said}");
}

#[test]
fn the_command_to_repeat_a_study_names_its_machine() {
    let study = study("lower", "3, 4, 5", "a better than b");
    let mut runs = [at(0.03, [2.0, 1.0, 9.0])];
    runs[0].tag.machine = "--lab mine".to_owned();
    let again = super::words::command(&results(&study, &runs));
    assert_eq!(again, "fstrial study run tiny --scale 0.03 --testbed device --lab mine");
}

#[test]
fn a_trial_run_does_not_speak_for_the_published_size() {
    let study = study("lower", "3, 4, 5", "a better than b");
    let results = results(&study, &[at(0.03, [1.0, 2.0, 9.0])]);
    let said = believe(&results).into_iter().find(|(head, _)| *head == "Size").unwrap().1;
    assert!(said.contains("3 %, a trial run") && said.contains("was not reached"), "{said}");
}

#[test]
fn size_1_has_the_name_that_the_study_gives_it() {
    let mut study = study("lower", "3, 4, 5", "a better than b");
    study.full_size = "the size of another distribution".to_owned();
    let results = results(&study, &[at(1.0, [1.0, 2.0, 9.0])]);
    for format in ["terminal", "html", "markdown"] {
        let page = render(format, &results, 100, false).unwrap();
        assert!(page.contains("holds at the size of another distribution"), "{format}");
        assert!(page.contains("run at the size of another distribution."), "{format}");
        assert!(!page.contains("published size"), "{format}");
    }
}

#[test]
fn a_page_begins_with_the_question_the_answer_and_the_picture_that_the_study_names() {
    let mut study = study("lower", "3, 4, 5", "a better than b");
    study.believe = "It depends.".to_owned();
    study.picture = vec!["A1".to_owned(), "r".to_owned()];
    let page = markdown_with_charts(&turned(&study), "tiny");
    let place =
        |text: &str| page.text.find(text).unwrap_or_else(|| panic!("{text}: {}", page.text));
    let order =
        [&*format!("# {}\n", study.question), &format!("“{}”", study.title), "**It depends.**"];
    let rest = ["](tiny-answer.svg)", "## Claims", "## What differs", "# Appendix"];
    let places: Vec<usize> =
        order.into_iter().chain(rest[..2].iter().copied()).map(place).collect();
    assert!(places.is_sorted(), "{places:?}");
    let (main, appendix) = page.text.split_once(rest[3]).unwrap();
    assert!(!main.contains("]()") && appendix.contains("| *Row, s, lower is better* | *3* |"));
    assert!(appendix.contains("| measured | **1** "), "{appendix}");
    let names: Vec<&str> = page.charts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["tiny-answer.svg", "tiny-t.svg", "tiny-a1-by-size.svg"]);
    for (name, chart) in &page.charts {
        assert!(page.text.contains(&format!("]({name})")), "{name}");
        assert!(chart.contains("prefers-color-scheme:dark") && !chart.contains("var("), "{name}");
    }
    let answer = &page.charts[0].1;
    assert!(answer.contains("a ÷ b in Row") && answer.contains("Row, s, lower is better"));
    // Without a choice it is the first table; only what size turns is drawn by size.
    study.picture.clear();
    let page = markdown_with_charts(&results(&study, &[at(1.0, [1.0, 2.0, 9.0])]), "tiny");
    let names: Vec<&str> = page.charts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["tiny-answer.svg", "tiny-t.svg"]);
}

#[test]
fn what_does_not_fit_before_the_appendix_is_moved_there() {
    let mut study = study("lower", "3, 4, 5", "b better than a");
    study.flaws = vec!["It is wrong. ".repeat(600)];
    let page = markdown_with_charts(&turned(&study), "tiny").text;
    let (main, appendix) = page.split_once("# Appendix").unwrap();
    assert!(main.split_whitespace().count() <= 1500);
    assert!(
        main.contains("## What differs") && appendix.contains("## What the original got wrong")
    );
}

/// Width and height of a chart.
fn extent(chart: &str) -> (f64, f64) {
    let of = |name: &str| {
        let (_, rest) = chart.split_once(&format!(" {name}=\"")).unwrap();
        rest.split('"').next().unwrap().parse::<f64>().unwrap()
    };
    (of("width"), of("height"))
}

#[test]
fn a_chart_is_never_much_taller_than_wide_however_many_rows_a_table_has() {
    let study = study("lower", "3, 4, 5", "a better than b");
    let results = turned(&study);
    let row = &results.tables[0].rows[0];
    for rows in [1, 5, 7, 20, 60] {
        let panels: Vec<_> =
            (0..rows).filter_map(|_| panel::of_row(row, &results.tables[0].columns)).collect();
        let files = drawing::files("many", &panels);
        for file in &files {
            let (width, height) = extent(file);
            assert!(height <= 1.5 * width, "{rows} rows: {width} × {height}");
        }
        let drawn: usize = files.iter().map(|file| file.matches("<g><title>").count()).sum();
        assert_eq!(drawn, rows * 3, "each line once");
    }
}

#[test]
fn a_long_title_is_drawn_in_lines_and_labels_of_an_axis_do_not_touch() {
    let study = study("lower", "3, 4, 5", "a better than b");
    let results = turned(&study);
    let columns = &results.tables[0].columns;
    let drawn = panel::of_row(&results.tables[0].rows[0], columns).unwrap();
    let title = "creating at 100 bytes, beside the same in creating at 10,000 bytes, on each disk";
    let file =
        drawing::files("long", &[panel::Panel { title: title.to_owned(), ..drawn }]).remove(0);
    let titles: Vec<&str> = file
        .split("font-weight=\"600\"")
        .skip(1)
        .map(|it| it.split_once('>').unwrap().1.split('<').next().unwrap())
        .collect();
    assert_eq!(titles.join(" "), title);
    assert!(titles.len() == 2 && titles.iter().all(|line| line.len() < 60), "{titles:?}");
    let mut free = 0.0;
    for label in file.split("text-anchor=\"middle\"").collect::<Vec<_>>().windows(2) {
        let at: f64 =
            label[0].rsplit_once(" x=\"").unwrap().1.split('"').next().unwrap().parse().unwrap();
        let text = label[1].trim_start_matches('>').split('<').next().unwrap();
        let half = 3.6 * text.chars().count() as f64;
        assert!(at - half >= free, "{text}");
        free = at + half;
    }
}

#[test]
fn a_claim_with_many_comparisons_has_their_counts() {
    let claim = "ranking a, b, c\", \"r: a best\", \"r: c worst\", \"r: c better than a";
    let study = study("lower", "3, 4, 5", claim);
    let page = markdown_with_charts(&turned(&study), "tiny").text;
    assert!(page.contains("Of 7 comparisons 6 hold, 1 do not.\n"), "{page}");
    assert!(page.contains("--html FILE.html"));
}

#[test]
fn a_ratio_is_drawn_by_size_with_the_page_s_own() {
    let claim = judged("a better than b", &[at(0.03, [2.0, 1.0, 9.0]), at(1.0, [1.0, 2.0, 9.0])]);
    let panels = panel::of_sizes(&claim);
    let lines: Vec<String> = panels[0].lines.iter().map(|line| line.said(false)).collect();
    assert_eq!(
        lines,
        ["the page: published 1", "3 %: measured 2", "the published size: measured 0.5"]
    );
    let drawn = drawing::files("A1", &panels).remove(0);
    assert_eq!(drawn.matches("<circle").count(), 3, "two sizes and the key");
    assert!(panel::of_sizes(&judged("a better than b", &[at(1.0, [1.0, 2.0, 9.0])])).is_empty());
}

#[test]
fn the_pages_own_figures_are_a_reason_only_for_a_question_that_fails_by_both() {
    let study = study("lower", "1, 3, 2", "ranking a, b, c");
    let because = |[a, b, c]: [f64; 3]| {
        let series =
            [("a", about(a, 0.005, 0)), ("b", about(b, 0.005, 3)), ("c", about(c, 0.005, 5))];
        words::because(&results(&study, &[run(&series)]).claims[0])
    };
    let otherwise = Some("the page's own figures say otherwise".to_owned());
    assert_eq!(because([1.0, 3.0, 2.0]), otherwise);
    assert_eq!(because([2.0, 1.0, 3.0]), None);
}
