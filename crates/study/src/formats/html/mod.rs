//! HTML: one self-contained file in the style of the other reports. Published figures are set
//! in italics on a tinted background, measured ones upright.

mod comparison;

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use report::{PhaseAnalysis, WorkloadAnalysis, phases_as_html};
use serde::Serialize;

use super::believe::{READING, believe};
use super::{machines, panel, words};
use crate::verdict::{Judged, Verdict};
use crate::{ClaimResults, Measured, Results, RowResults, Study, TableResults, atom};

/// If the charts of all phases have more bytes than this, they are left out: the reports of
/// the individual runs have them.
const CHARTS_MAX: usize = 1_500_000;

#[derive(Serialize)]
struct Page {
    name: String,
    title: String,
    by: String,
    question: String,
    believe: Vec<(&'static str, String)>,
    chips: Vec<Chip>,
    facts: Vec<(String, Vec<String>)>,
    notes: Vec<String>,
    reading: &'static str,
    claims: Vec<Claim>,
    tables: Vec<Table>,
    charts: Vec<(String, String)>,
    charts_left_out: bool,
    flaws: Vec<String>,
    command: String,
    method: String,
    assumptions: Vec<(String, String, String)>,
    runs: Vec<Vec<String>>,
    environment: Vec<(String, String)>,
    version: String,
    digest: String,
}

/// A verdict and how many claims have it.
#[derive(Serialize)]
struct Chip {
    class: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Claim {
    id: String,
    text: String,
    published: Told,
    measured: Told,
    because: Option<String>,
    answers: Vec<Vec<String>>,
    under: Vec<(String, &'static str, String)>,
    sizes: Vec<(String, &'static str, String)>,
    panels: Vec<Drawing>,
    remark: Option<String>,
    explanation: Vec<Span>,
    revised: Vec<(String, String)>,
}

#[derive(Serialize)]
struct Told {
    class: &'static str,
    verdict: String,
    reason: Option<String>,
}

#[derive(Serialize)]
struct Table {
    id: String,
    title: String,
    columns: Vec<(String, String)>,
    rows: Vec<Row>,
    reasons: Vec<String>,
    notes: Vec<(String, String)>,
}

#[derive(Serialize)]
struct Row {
    label: String,
    detail: String,
    published: Vec<Shown>,
    measured: Vec<Shown>,
    chart: Option<Drawing>,
}

/// A panel as strips.
#[derive(Serialize)]
struct Drawing {
    title: String,
    axis: String,
    /// Class of the colour, label and strip.
    strips: Vec<(String, String, String)>,
}

fn drawing(panel: &panel::Panel) -> Drawing {
    let drawn = comparison::strips(panel);
    let strips = drawn.strips.into_iter().map(|(at, label, strip)| (colour(at), label, strip));
    Drawing { title: panel.title.clone(), axis: drawn.axis, strips: strips.collect() }
}

#[derive(Serialize)]
struct Shown {
    text: String,
    small: String,
    class: &'static str,
    reason: usize,
    odd: bool,
}

pub(super) fn render(results: &Results, _: usize, _: bool) -> String {
    let page = page(results);
    rendered(&page).unwrap_or_else(|error| {
        let words = error.to_string().replace(['<', '>', '&'], " ");
        format!("<!doctype html>\n<title>fstrial</title>\n<p>{words}</p>\n")
    })
}

fn rendered(page: &Page) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_formatter(report::write_escaped);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_template("study.html", include_str!("study.html"))?;
    environment.add_template("study.css", include_str!("study.css"))?;
    environment.add_template("style.css", report::STYLE)?;
    let mut text = environment.get_template("study.html")?.render(Serde(page))?;
    text.push('\n');
    Ok(text)
}

fn page(results: &Results) -> Page {
    let study = &results.study;
    let by = [study.author.as_str(), &study.date, &study.published];
    let by: Vec<&str> = by.into_iter().filter(|it| !it.is_empty()).collect();
    let charts = charts(results);
    let fits = charts.iter().map(|(_, text)| text.len()).sum::<usize>() <= CHARTS_MAX;
    let environment = results.runs.first().map(|run| run.environment.0.clone()).unwrap_or_default();
    Page {
        name: study.name.clone(),
        title: study.title.clone(),
        by: by.join(" · "),
        question: study.question.clone(),
        believe: believe(results),
        chips: chips(results),
        facts: vec![
            ("Done then".to_owned(), vec![study.summary.clone()]),
            ("On".to_owned(), vec![study.machine.clone()]),
            ("Done now".to_owned(), machines::how(results)),
        ],
        notes: results.notes.clone(),
        reading: READING,
        claims: results.claims.iter().map(|it| claim(study, it)).collect(),
        tables: results.tables.iter().map(table).collect(),
        charts_left_out: !fits,
        charts: if fits { charts } else { Vec::new() },
        flaws: study.flaws.clone(),
        command: words::command(results),
        method: words::method(results),
        assumptions: study
            .assumptions
            .iter()
            .map(|it| {
                let changes: Vec<String> =
                    it.changes.iter().map(|(key, value)| format!("{key} = {value}")).collect();
                (format!("another {}", it.about()), it.text.clone(), changes.join(", "))
            })
            .collect(),
        runs: results
            .runs
            .iter()
            .map(|run| {
                vec![
                    run.id.clone(),
                    words::part(results, &run.part),
                    machines::machine(results, run.assumption.as_deref()),
                    run.scale.to_string(),
                    run.seed.to_string(),
                    format!("{} of {}", run.done, run.trials),
                    run.environment.0.get("lab_id").cloned().unwrap_or_default(),
                ]
            })
            .collect(),
        environment: environment
            .into_iter()
            .map(|(key, value)| (key.replace('_', " "), value))
            .collect(),
        version: results.version.clone(),
        digest: study.digest.clone(),
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "fails",
        Verdict::Partly | Verdict::Undecided => "open",
        Verdict::NotRun | Verdict::NotTestable => "none",
    }
}

fn chips(results: &Results) -> Vec<Chip> {
    let chip = |(verdict, text)| Chip { class: class(verdict), text };
    words::counts(results).into_iter().map(chip).collect()
}

fn claim(study: &Study, claim: &ClaimResults) -> Claim {
    let told = |judged: &Judged, verdict: String| Told {
        class: class(judged.verdict),
        verdict,
        reason: judged.reason.clone(),
    };
    Claim {
        id: claim.claim.id.clone(),
        text: claim.claim.text.clone(),
        published: told(&claim.published, words::published_verdict(claim)),
        measured: told(&claim.measured, words::verdict(study, claim)),
        because: words::because(claim),
        answers: claim
            .measured
            .answers
            .iter()
            .map(|answer| {
                let mut cells = vec![
                    words::asked(claim, answer),
                    answer.wanted.clone(),
                    words::found(answer),
                    answer.n.map_or(String::new(), |n| n.to_string()),
                    words::p(answer.p),
                    answer.verdict.to_string(),
                ];
                cells.extend(words::elsewhere(claim, answer));
                cells
            })
            .collect(),
        under: claim
            .under
            .iter()
            .map(|under| {
                let class = under.verdict.map_or("none", class);
                (format!("another {}", under.about), class, words::under_verdict(under))
            })
            .collect(),
        sizes: (claim.sizes.len() > 1)
            .then(|| claim.sizes.iter())
            .into_iter()
            .flatten()
            .map(|it| {
                (atom::size_in_words(study, it.size), class(it.verdict), it.verdict.to_string())
            })
            .collect(),
        panels: panel::of_sizes(claim).iter().map(drawing).collect(),
        remark: claim.claim.remark.clone(),
        explanation: claim.claim.explanation.as_deref().map_or_else(Vec::new, spans),
        revised: claim
            .claim
            .revised
            .iter()
            .map(|it| (it.date.clone(), it.reason.clone()))
            .collect(),
    }
}

fn mark(mark: Option<report::Mark>) -> &'static str {
    match mark {
        Some(report::Mark::Best) => "best",
        Some(report::Mark::Worst) => "worst",
        None => "",
    }
}

/// A table as factors of the best of each row, with the figures beneath them; rows that were
/// not measured become notes.
fn table(table: &TableResults) -> Table {
    let mut reasons: Vec<String> = Vec::new();
    let (measured, missing): (Vec<_>, Vec<_>) =
        table.rows.iter().partition(|row| !words::unmeasured(row));
    let rows = measured.into_iter().map(|row| self::row(table, row, &mut reasons)).collect();
    let left_out = missing
        .into_iter()
        .map(|row| (row.row.label.clone(), words::left_out(&table.columns, row)));
    let notes =
        table.rows.iter().filter_map(|row| Some((row.row.label.clone(), row.row.note.clone()?)));
    Table {
        id: table.id.clone(),
        title: table.title.clone(),
        columns: table.columns.iter().enumerate().map(|(at, c)| (colour(at), c.clone())).collect(),
        notes: left_out.chain(notes).collect(),
        rows,
        reasons,
    }
}

fn row(table: &TableResults, row: &RowResults, reasons: &mut Vec<String>) -> Row {
    let then = words::factors(row.row.better, &words::published_values(row));
    let means: Vec<Option<f64>> = row.measured.iter().map(|cell| cell.mean).collect();
    let now = words::factors(row.row.better, &means);
    // A factor with the figure beneath it; without a factor the figure alone.
    let shown = |factor: Option<f64>, figure: String, rest: String| match factor {
        Some(factor) => {
            (words::factor(Some(factor)), format!("{figure} {rest}").trim_end().to_owned())
        }
        None => (figure, rest),
    };
    let published = row.row.values.iter().zip(&row.published_marks).enumerate();
    let published = published.map(|(at, (cell, of))| {
        let odd = !matches!(cell, crate::Cell::Value(_));
        let (text, small) = shown(then[at], words::published(cell), String::new());
        Shown { odd, text, small, class: mark(*of), reason: 0 }
    });
    let measured = row.measured.iter().enumerate().map(|(at, cell)| {
        let reason = cell.missing.as_ref().map_or(0, |why| {
            let at = reasons.iter().position(|known| known == why).unwrap_or_else(|| {
                reasons.push(why.clone());
                reasons.len() - 1
            });
            at + 1
        });
        let figure = words::mean(cell).unwrap_or_else(|| "–".to_owned());
        let (text, small) = shown(now[at], figure, words::plus_minus(cell).unwrap_or_default());
        Shown { odd: cell.mean.is_none(), text, small, class: mark(cell.mark), reason }
    });
    let (published, measured) = (published.collect(), measured.collect());
    let (label, detail) = match words::row_head(row).split_once(", ") {
        Some((label, detail)) if row.row.label == label => (label.to_owned(), detail.to_owned()),
        _ => (words::row_head(row), String::new()),
    };
    let chart = panel::of_row(row, &table.columns).as_ref().map(drawing);
    Row { label, detail, published, measured, chart }
}

/// The class of a column's colour.
fn colour(at: usize) -> String {
    format!("k{}", at % 10)
}

/// The charts of every phase that a row of the tables is measured in, part by part.
fn charts(results: &Results) -> Vec<(String, String)> {
    results
        .details
        .iter()
        .map(|detail| {
            let wanted = |workload: &WorkloadAnalysis, phase: &PhaseAnalysis| {
                detail.workloads.iter().any(|(id, name)| {
                    *name == workload.name && rests(results, &detail.part, id, &phase.name)
                })
            };
            let prefix = format!("{}-", detail.part);
            let text = phases_as_html(&detail.analysis, &detail.run, &prefix, &wanted);
            (detail.title.clone(), text)
        })
        .collect()
}

/// Whether a row is measured in this phase.
fn rests(results: &Results, part: &str, workload: &str, phase: &str) -> bool {
    let rows = results.tables.iter().filter(|table| table.part == part).flat_map(|t| &t.rows);
    rows.into_iter().any(|row| match &row.row.measured {
        Measured::Metric { workload: known, phases, .. } => {
            known == workload && phases.iter().any(|known| known == phase)
        }
        Measured::Nothing(_) => false,
    })
}

/// A piece of prose.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Span {
    /// Whether it was between backticks: what is typed.
    code: bool,
    text: String,
}

/// Prose whose code stands between backticks.
fn spans(text: &str) -> Vec<Span> {
    let pieces = text.split('`').enumerate();
    pieces.map(|(nth, text)| Span { code: nth % 2 == 1, text: text.to_owned() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stands_between_backticks() {
        let told: Vec<_> =
            spans("with `a=b` it is").into_iter().map(|span| (span.code, span.text)).collect();
        let told: Vec<_> = told.iter().map(|(code, text)| (*code, text.as_str())).collect();
        assert_eq!(told, [(false, "with "), (true, "a=b"), (false, " it is")]);
    }
}
