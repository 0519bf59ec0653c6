//! For a terminal: what was asked, each table with published and measured figures side by side,
//! the claims. The text fits the terminal's width.

use report::Mark;

use super::{machines, words};
use crate::describe::folded;
use crate::verdict::Verdict;
use crate::{ClaimResults, Results, RowResults, Study, TableResults, atom};

pub(super) fn render(results: &Results, width: usize, color: bool) -> String {
    let paint = Paint(color);
    let study = &results.study;
    let mut text = format!("{}\n", paint.bold(&study.question));
    let by = [study.author.as_str(), &study.date, &study.published];
    let by: Vec<&str> = by.into_iter().filter(|it| !it.is_empty()).collect();
    text += &folded("", &format!("{}: “{}”", by.join(", "), study.title), width);
    text += &format!("\n{}\n", paint.bold("Should you believe it?"));
    for (head, said) in super::believe::believe(results) {
        text += &folded("  - ", &format!("{head}: {said}"), width);
    }
    text += "\n";
    text += &folded("then      ", &study.summary, width);
    text += &folded("on        ", &study.machine, width);
    for (at, said) in machines::how(results).iter().enumerate() {
        text += &folded(if at == 0 { "now       " } else { "          " }, said, width);
    }
    text += &folded("found     ", &words::summary(results), width);
    for note in &results.notes {
        text += &folded("note      ", note, width);
    }
    for table in &results.tables {
        text += &self::table(table, width, &paint);
    }
    text += &format!("\n{}\n", paint.bold("Claims"));
    for claim in &results.claims {
        text += &self::claim(study, claim, width, &paint);
    }
    if !study.flaws.is_empty() {
        text += &format!("\n{}\n", paint.bold("What the original got wrong"));
        for flaw in &study.flaws {
            text += &folded("  - ", flaw, width);
        }
    }
    text += "\n";
    text += &folded("", &words::method(results), width);
    let marks = "▲ better than some other and none better than it, ▼ the reverse; for measured figures only where \
         differences are significant.";
    text += &folded("", marks, width);
    text += &format!("again: {}\n", words::command(results));
    text
}

fn table(table: &TableResults, width: usize, paint: &Paint) -> String {
    let mut text = format!("\n{}\n", paint.bold(&table.title));
    let widest =
        table.columns.iter().map(|name| name.chars().count()).max().unwrap_or(0).clamp(8, 20);
    for row in &table.rows {
        text += &self::row(table, row, widest, width, paint);
    }
    text
}

fn row(
    table: &TableResults,
    row: &RowResults,
    widest: usize,
    width: usize,
    paint: &Paint,
) -> String {
    let mut text = format!("\n  {}\n", text::line(&words::row_head(row)));
    let head = format!(
        "  {:widest$} {:>14} {:>7}  {:>14} {:>10} {:>7}",
        "", "published", "", "measured", "", ""
    );
    text += &format!("{}\n", paint.dim(head.trim_end()));
    let old = words::factors(row.row.better, &words::published_values(row));
    let new: Vec<Option<f64>> = row.measured.iter().map(|cell| cell.mean).collect();
    let new = words::factors(row.row.better, &new);
    for (at, column) in table.columns.iter().map(|name| text::line(name)).enumerate() {
        let (Some(published), Some(cell)) = (row.row.values.get(at), row.measured.get(at)) else {
            continue;
        };
        let shown = words::published(published);
        let fits = shown.chars().count() <= 14;
        let left = format!(
            "  {column:widest$} {} {:>7}",
            paint.dim(&format!("{:>14}", if fits { &shown } else { "see below" })),
            words::factor(old[at])
        );
        let right = match (words::mean(cell), &cell.missing) {
            (Some(mean), _) => format!(
                "{:>14} {:>10} {:>7} {}",
                mean,
                words::plus_minus(cell).unwrap_or_default(),
                words::factor(new[at]),
                paint.mark(cell.mark)
            ),
            (None, Some(_)) => format!("{:>14}", "–"),
            (None, None) => String::new(),
        };
        text += &format!("{}\n", format!("{left}  {right}").trim_end());
        if !fits {
            text += &folded(&format!("    {column} published: "), &shown, width);
        }
        if let Some(why) = &cell.missing {
            text += &folded("    – ", why, width);
        }
    }
    if let Some(note) = &row.row.note {
        text += &folded("    note: ", note, width);
    }
    text
}

fn claim(study: &Study, claim: &ClaimResults, width: usize, paint: &Paint) -> String {
    let mut text = String::from("\n");
    text += &folded(&format!("{:4} ", claim.claim.id), &claim.claim.text, width);
    let heads = [
        ("page", words::published_verdict(claim), &claim.published),
        ("measured", words::verdict(study, claim), &claim.measured),
    ];
    for (head, said, judged) in heads {
        text += &format!("       {head:9} {}\n", paint.verdict(judged.verdict, &said));
        if let Some(reason) = &judged.reason {
            text += &folded("                 ", reason, width);
        }
    }
    if let Some(why) = words::because(claim) {
        text += &folded("       because   ", &why, width);
    }
    for answer in &claim.measured.answers {
        let p = answer.p.map_or(String::new(), |p| match p {
            p if p < 0.0005 => ", p < 0.001".to_owned(),
            p => format!(", p {p:.3}"),
        });
        let n = answer.n.map_or(String::new(), |n| format!(", {n} seeds"));
        let is = if answer.found.is_some() { " is" } else { ":" };
        let mut line = format!(
            "{}{is} {}; {} claimed: {}{n}{p}",
            words::asked(claim, answer),
            words::found(answer),
            answer.wanted,
            answer.verdict
        );
        if let Some(elsewhere) = words::elsewhere(claim, answer).filter(|it| !it.is_empty()) {
            line += &format!("; {elsewhere}");
        }
        text += &folded("         · ", &line, width);
    }
    if claim.sizes.len() > 1 {
        let sizes = claim
            .sizes
            .iter()
            .map(|it| format!("{} at {}", it.verdict, atom::size_in_words(study, it.size)));
        let sizes = sizes.collect::<Vec<_>>().join("; ");
        text += &folded("       by size   ", &sizes, width);
    }
    for under in &claim.under {
        text += &folded("         ", &words::under(under), width);
    }
    if let Some(remark) = &claim.claim.remark {
        text += &folded("       remark    ", remark, width);
    }
    if let Some(explanation) = &claim.claim.explanation {
        text += &folded("       why       ", explanation, width);
    }
    for revision in &claim.claim.revised {
        let said = format!("{}: {}", revision.date, revision.reason);
        text += &folded("       revised   ", &said, width);
    }
    text
}

/// Colours, if they are switched on.
struct Paint(bool);

impl Paint {
    fn with(&self, code: &str, text: &str) -> String {
        let text = text::line(text);
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text }
    }

    fn bold(&self, text: &str) -> String {
        self.with("1", text)
    }

    fn dim(&self, text: &str) -> String {
        self.with("2", text)
    }

    fn mark(&self, mark: Option<Mark>) -> String {
        match mark {
            Some(Mark::Best) => self.with("32", "▲"),
            Some(Mark::Worst) => self.with("31", "▼"),
            None => String::new(),
        }
    }

    fn verdict(&self, verdict: Verdict, said: &str) -> String {
        let code = match verdict {
            Verdict::Holds => "32",
            Verdict::DoesNotHold => "31",
            Verdict::Partly | Verdict::Undecided => "33",
            Verdict::NotRun | Verdict::NotTestable => "2",
        };
        self.with(code, said)
    }
}
