//! Markdown with GitHub's tables: the page of a study in the documentation. The answer comes first,
//! then a picture that shows it, then the claims, in at most [`WORDS_MAX`] words; everything else
//! is in an appendix.

mod appendix;

use ::text::markdown as plain;

use super::believe::{self, READING};
use super::{drawing, panel, words};
use crate::verdict::Verdict;
use crate::{ClaimResults, Results};

/// A page, and the charts that lie beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Markdown {
    /// The page.
    pub text: String,
    /// Name and contents of each chart.
    pub charts: Vec<(String, String)>,
}

/// Most words before the appendix; sections that exceed this are moved there.
const WORDS_MAX: usize = 1500;

pub(super) fn render(results: &Results, _: usize, _: bool) -> String {
    page(results, None).text
}

/// The page, with charts whose names begin with `stem`; without a stem there are no charts.
pub(super) fn page(results: &Results, stem: Option<&str>) -> Markdown {
    let mut charts = Charts { stem, drawn: Vec::new() };
    let mut main =
        head(results, &charts.link("answer", &results.study.question, &picture(results)));
    let mut rest = String::new();
    for section in [differs(results), flaws(results)] {
        let room = WORDS_MAX.saturating_sub(words_of(&main));
        let place = if words_of(&section) <= room { &mut main } else { &mut rest };
        *place += &section;
    }
    let appendix = appendix::of(results, &rest, &mut charts);
    Markdown { text: main + &appendix, charts: charts.drawn }
}

/// The charts of a page.
struct Charts<'s> {
    stem: Option<&'s str>,
    drawn: Vec<(String, String)>,
}

impl Charts<'_> {
    /// Links to the files that show panels.
    fn link(&mut self, name: &str, title: &str, panels: &[panel::Panel]) -> String {
        let Some(stem) = self.stem else { return String::new() };
        let mut links = String::new();
        for (nth, drawn) in drawing::files(title, panels).into_iter().enumerate() {
            let part = if nth == 0 { String::new() } else { format!("-{}", nth + 1) };
            let file = format!("{stem}-{name}{part}.svg");
            links += &format!("![{}]({file})\n\n", plain(title));
            self.drawn.push((file, drawn));
        }
        links
    }
}

fn words_of(text: &str) -> usize {
    text.split_whitespace().count()
}

/// What the study names as its picture; else its first table.
fn picture(results: &Results) -> Vec<panel::Panel> {
    let named = &results.study.picture;
    if named.is_empty() {
        return results.tables.first().map_or_else(Vec::new, appendix::panels);
    }
    let mut panels = Vec::new();
    for name in named {
        for table in &results.tables {
            let row = table.rows.iter().find(|row| row.row.id == *name);
            let drawn = row.and_then(|row| panel::of_row(row, &table.columns));
            panels.extend(drawn.map(|drawn| match row {
                Some(row) => panel::Panel { title: words::row_called(row), ..drawn },
                None => drawn,
            }));
        }
        let claim = results.claims.iter().find(|claim| claim.claim.id == *name);
        panels.extend(claim.map_or_else(Vec::new, panel::of_sizes));
    }
    panels
}

fn head(results: &Results, picture: &str) -> String {
    let study = &results.study;
    let mut text = format!("# {}\n\n", plain(&study.question));
    let by = [study.author.as_str(), &study.date, &study.published];
    let by: Vec<String> = by.into_iter().filter(|it| !it.is_empty()).map(plain).collect();
    text += &format!("> {}: “{}”\n\n", by.join(", "), plain(&study.title));
    if !study.believe.is_empty() {
        text += &format!("**{}**\n\n", plain(&study.believe));
    }
    text += picture;
    text += "## Claims\n\n| | claim | by the page's own figures | measured |\n|---|---|---|---|\n";
    for claim in &results.claims {
        text += &format!(
            "| {} | {} | {} | **{}** |\n",
            plain(&claim.claim.id),
            plain(&claim.claim.text),
            words::published_verdict(claim),
            plain(&words::verdict(study, claim))
        );
    }
    text += "\n";
    for (head, said) in believe::facts(results) {
        text += &format!("- **{head}:** {}\n", plain(&said));
    }
    format!("{text}\n{READING}\n\n")
}

fn differs(results: &Results) -> String {
    let lines: String = results.claims.iter().filter_map(why).collect();
    match lines.as_str() {
        "" => String::new(),
        lines => format!("## What differs, and why\n\n{lines}\n"),
    }
}

/// One line for a claim that does not hold or is not decided.
fn why(claim: &ClaimResults) -> Option<String> {
    let because = words::because(claim);
    if claim.measured.verdict == Verdict::Holds && because.is_none() {
        return None;
    }
    let found = claim.measured.decisive();
    let reason = match (because, found) {
        // That the page contradicts itself explains nothing of this run, so its finding follows.
        (Some(because), Some(found)) if claim.claim.because.is_none() => {
            format!("{because}; here {found}")
        }
        (because, found) => because.or(found)?,
    };
    let id = plain(&claim.claim.id);
    Some(format!("- **{id}** {}: {}\n", plain(&claim.measured.to_string()), plain(&reason)))
}

fn flaws(results: &Results) -> String {
    if results.study.flaws.is_empty() {
        return String::new();
    }
    let flaws = results.study.flaws.iter().map(|flaw| format!("- {}\n", plain(flaw)));
    format!("## What the original got wrong\n\n{}\n", flaws.collect::<String>())
}
