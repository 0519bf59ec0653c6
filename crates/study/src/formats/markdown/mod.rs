//! Markdown with GitHub's tables: the page of a study in the documentation. What is needed to
//! judge it comes first, in at most [`WORDS_MAX`] words; everything else is in an appendix.

mod appendix;

use ::text::markdown as plain;

use super::believe::{READING, believe};
use super::{drawing, panel, words};
use crate::{ClaimResults, Direction, Results, RowResults, Study, TableResults};

/// A page, and the charts that lie beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Markdown {
    /// The page.
    pub text: String,
    /// Name and contents of each chart.
    pub charts: Vec<(String, String)>,
}

/// Most words before the appendix; tables that exceed this are moved there.
const WORDS_MAX: usize = 2500;

pub(super) fn render(results: &Results, _: usize, _: bool) -> String {
    page(results, None).text
}

/// The page, with charts whose names begin with `stem`; without a stem there are no charts.
pub(super) fn page(results: &Results, stem: Option<&str>) -> Markdown {
    let mut charts = Vec::new();
    let mut chart = |name: &str, title: &str, panels: &[panel::Panel]| -> String {
        let drawn = stem.and_then(|stem| Some((stem, drawing::file(title, panels)?)));
        drawn.map_or(String::new(), |(stem, drawn)| {
            let name = format!("{stem}-{name}.svg");
            let link = format!("![{}]({name})\n\n", plain(title));
            charts.push((name, drawn));
            link
        })
    };
    let tables: Vec<(String, String)> = results
        .tables
        .iter()
        .map(|table| {
            let rows = table.rows.iter().filter_map(|row| panel::of_row(row, &table.columns));
            let panels: Vec<_> = rows.collect();
            (factors(table), chart(&table.id, &table.title, &panels))
        })
        .collect();
    let by_size: String = results
        .claims
        .iter()
        .map(|claim| {
            let title = format!("{} by size", claim.claim.id);
            let name = format!("{}-by-size", claim.claim.id.to_lowercase());
            chart(&name, &title, &panel::of_sizes(claim))
        })
        .collect();
    let by_size = match by_size.as_str() {
        "" => String::new(),
        drawn => format!("## Claims by size\n\n{drawn}"),
    };
    let frame = (head(results), by_size + &differs(results) + &flaws(results));
    let titles = results.tables.iter().map(|table| 2 * words_of(&table.title) + 10).sum();
    let moved = moved(&frame, titles, &tables);
    let (mut main, mut rest) = (frame.0, String::new());
    main += "## Published and measured\n\nEach figure as a factor of the best of its row (with a \
             unit: as it is): *published*, then measured. ▲ shown to be better than some other, \
             and none is shown to be better than it; ▼ the reverse.\n\n";
    for (at, (table, (figures, chart))) in results.tables.iter().zip(&tables).enumerate() {
        let head = format!("### {}\n\n", plain(&table.title));
        match moved.contains(&at) {
            true => {
                main += &format!("{head}{chart}The figures are in the appendix.\n\n");
                rest += &format!("{head}{figures}");
            }
            false => main += &format!("{head}{figures}{chart}"),
        }
    }
    main += &frame.1;
    Markdown { text: main + &appendix::of(results, &rest), charts }
}

fn words_of(text: &str) -> usize {
    text.split_whitespace().count()
}

/// The tables to move to the appendix, the largest first.
fn moved(
    (head, tail): &(String, String),
    titles: usize,
    tables: &[(String, String)],
) -> Vec<usize> {
    let sizes: Vec<usize> = tables.iter().map(|(figures, _)| words_of(figures)).collect();
    let mut total = words_of(head) + words_of(tail) + titles + sizes.iter().sum::<usize>() + 30;
    let mut order: Vec<usize> = (0..tables.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(sizes[*at]));
    let mut moved = Vec::new();
    for at in order {
        if total <= WORDS_MAX {
            break;
        }
        total -= sizes[at];
        moved.push(at);
    }
    moved
}

fn head(results: &Results) -> String {
    let study = &results.study;
    let mut text = format!("# {}: {}\n\n", plain(&study.name), plain(&study.title));
    let by = [study.author.as_str(), &study.date, &study.published];
    let by: Vec<String> = by.into_iter().filter(|it| !it.is_empty()).map(plain).collect();
    text += &format!("{}\n\n", by.join(", "));
    text += &format!("**Asked:** {}\n\n", plain(&study.question));
    text += "## Should you believe it?\n\n";
    for (head, said) in believe(results) {
        text += &format!("- **{head}:** {}\n", plain(&said));
    }
    text +=
        "\n## Claims\n\n| | claim | by the page's own figures | measured |\n|---|---|---|---|\n";
    for claim in &results.claims {
        text += &format!(
            "| {} | {} | {} | **{}** |\n",
            plain(&claim.claim.id),
            plain(&claim.claim.text),
            words::published_verdict(claim),
            plain(&words::verdict(study, claim))
        );
    }
    format!("{text}\n{READING}\n\n")
}

/// A table as factors; rows that were not measured are notes.
fn factors(table: &TableResults) -> String {
    let columns: Vec<String> = table.columns.iter().map(|column| plain(column)).collect();
    let mut text =
        format!("| | {} |\n|---|{}\n", columns.join(" | "), "--:|".repeat(columns.len()));
    let mut shown = 0;
    // A row without a better end has no factors; its figures are in the appendix.
    let of = |row: &&RowResults| row.row.better != Direction::Neither && !words::unmeasured(row);
    for row in table.rows.iter().filter(of) {
        shown += 1;
        let old = words::factors(row.row.better, &words::published_values(row));
        let means: Vec<Option<f64>> = row.measured.iter().map(|cell| cell.mean).collect();
        let new = words::factors(row.row.better, &means);
        let cells = row.measured.iter().enumerate().map(|(at, cell)| {
            let then = match (old[at], row.row.values.get(at)) {
                (Some(factor), _) => words::factor_short(factor),
                (None, Some(cell)) => words::with_unit(words::published(cell), row),
                (None, None) => String::new(),
            };
            let now = match (new[at], words::mean(cell)) {
                (Some(factor), _) => words::factor_short(factor),
                (None, Some(mean)) => words::with_unit(mean, row),
                (None, None) => "–".to_owned(),
            };
            format!("*{}* {now}{}", plain(&then), words::mark(cell.mark))
        });
        let cells: Vec<String> = cells.collect();
        text += &format!("| {} | {} |\n", plain(&row.row.label), cells.join(" | "));
    }
    match shown {
        0 if table.rows.iter().all(words::unmeasured) => {
            "Nothing of it was measured; the appendix says why.\n\n".to_owned()
        }
        0 => "No row measured here has a better end; the appendix has the figures.\n\n".to_owned(),
        _ => text + "\n",
    }
}

fn differs(results: &Results) -> String {
    let lines: String =
        results.claims.iter().filter_map(|claim| why(&results.study, claim)).collect();
    match lines.as_str() {
        "" => String::new(),
        lines => format!("## What differs, and why\n\n{lines}\n"),
    }
}

/// One line for a claim that does not hold or is not decided.
fn why(study: &Study, claim: &ClaimResults) -> Option<String> {
    use crate::verdict::Verdict;
    if claim.measured.verdict == Verdict::Holds {
        return None;
    }
    let because = words::because(claim);
    let found = claim.measured.reason.clone();
    let reason = match (because, found) {
        // That the page contradicts itself explains nothing of this run, so its finding follows.
        (Some(because), Some(found)) if claim.claim.because.is_none() => {
            format!("{because}; here {found}")
        }
        (because, found) => because.or(found)?,
    };
    let id = plain(&claim.claim.id);
    Some(format!("- **{id}** {}: {}\n", plain(&words::verdict(study, claim)), plain(&reason)))
}

fn flaws(results: &Results) -> String {
    if results.study.flaws.is_empty() {
        return String::new();
    }
    let flaws = results.study.flaws.iter().map(|flaw| format!("- {}\n", plain(flaw)));
    format!("## What the original got wrong\n\n{}\n", flaws.collect::<String>())
}
