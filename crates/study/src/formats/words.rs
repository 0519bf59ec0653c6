//! The wording of figures, cells and verdicts, the same in every format.

use crate::atom::digits;
use crate::limit;
use crate::verdict::{Answer, VERDICTS, Verdict};
use crate::{
    Cell, ClaimResults, Direction, Measured, MeasuredCell, Results, RowResults, Study, Under, atom,
};

/// A published cell: `613`, `> 99999`, `not published`.
pub(super) fn published(cell: &Cell) -> String {
    match cell {
        Cell::Value(value) => grouped(*value),
        Cell::Above(value) => format!("> {}", grouped(*value)),
        Cell::Below(value) => format!("< {}", grouped(*value)),
        Cell::Text(text) => text.clone(),
    }
}

/// A measured mean: `18.2`; nothing where there is none.
pub(super) fn mean(cell: &MeasuredCell) -> Option<String> {
    cell.mean.map(|mean| grouped_text(digits(mean)))
}

/// Half the width of a mean's interval: `±1.5 %`.
pub(super) fn plus_minus(cell: &MeasuredCell) -> Option<String> {
    let (mean, high) = (cell.mean?, cell.high?);
    if mean <= 0.0 {
        return None;
    }
    Some(match (high / mean - 1.0) * 100.0 {
        percent if percent < 0.05 => "±< 0.1 %".to_owned(),
        percent if percent < 9.95 => format!("±{percent:.1} %"),
        percent => format!("±{percent:.0} %"),
    })
}

/// A published figure as it was printed, with separators between thousands.
fn grouped(value: f64) -> String {
    grouped_text(value.to_string())
}

fn grouped_text(text: String) -> String {
    let (whole, rest) = text.split_once('.').map_or((&*text, None), |(a, b)| (a, Some(b)));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("−", whole));
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        // Four digits are legible without a separator.
        if at > 0 && whole.len() > 4 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    let rest = rest.map_or(String::new(), |rest| format!(".{rest}"));
    format!("{sign}{out}{rest}")
}

/// How many times worse than the best of the row each figure is; `None` where neither end of
/// the row is better.
pub(super) fn factors(better: Direction, values: &[Option<f64>]) -> Vec<Option<f64>> {
    let known = values.iter().flatten().copied().filter(|value| *value > 0.0);
    let best = match better {
        Direction::Neither => None,
        Direction::Lower => known.reduce(f64::min),
        Direction::Higher => known.reduce(f64::max),
    };
    values
        .iter()
        .map(|value| {
            let (value, best) = (value.filter(|value| *value > 0.0)?, best?);
            Some(if better == Direction::Lower { value / best } else { best / value })
        })
        .collect()
}

/// Published figures that can be compared: none if one of them is only a bound, since that one
/// may be the best.
pub(super) fn published_values(row: &RowResults) -> Vec<Option<f64>> {
    if row.row.values.iter().any(|cell| matches!(cell, Cell::Above(_) | Cell::Below(_))) {
        return vec![None; row.row.values.len()];
    }
    let value = |cell: &Cell| match cell {
        Cell::Value(value) => Some(*value),
        _ => None,
    };
    row.row.values.iter().map(value).collect()
}

/// `× 1.42`, or `best`.
pub(super) fn factor(factor: Option<f64>) -> String {
    match factor {
        None => String::new(),
        Some(factor) if factor < 1.0005 => "best".to_owned(),
        Some(factor) if factor < 9.995 => format!("× {factor:.2}"),
        Some(factor) => format!("× {factor:.0}"),
    }
}

/// Whether nothing was measured for a row.
pub(super) fn unmeasured(row: &RowResults) -> bool {
    matches!(row.row.measured, Measured::Nothing(_))
        || row.measured.iter().all(|cell| cell.mean.is_none())
}

/// What was published in a row that was not measured, and why it was not measured.
pub(super) fn left_out(columns: &[String], row: &RowResults) -> String {
    let figures = columns.iter().zip(&row.row.values);
    let figures: Vec<String> =
        figures.map(|(column, cell)| format!("{column} {}", published(cell))).collect();
    let why = match &row.row.measured {
        Measured::Nothing(why) => why.clone(),
        Measured::Metric { .. } => {
            row.measured.iter().find_map(|cell| cell.missing.clone()).unwrap_or_default()
        }
    };
    format!("published {}; not measured: {why}", figures.join(", "))
}

/// The title of a part.
pub(super) fn part(results: &Results, id: &str) -> String {
    results.study.part(id).map_or(id.to_owned(), |part| part.title.clone())
}

/// `holds with another processor`
pub(super) fn under(under: &Under) -> String {
    format!("{} with another {}", under_verdict(under), under.about)
}

/// `holds (1 seed)`
pub(super) fn under_verdict(under: &Under) -> String {
    let seeds = under
        .few_seeds
        .map_or(String::new(), |seeds| format!(" ({})", report::counted(seeds, "seed")));
    under.verdict.map_or("not tried".to_owned(), |verdict| format!("{verdict}{seeds}"))
}

/// `I/O, s, lower is better`.
pub(super) fn row_head(row: &RowResults) -> String {
    let better = match row.row.better {
        Direction::Lower => ", lower is better",
        Direction::Higher => ", higher is better",
        Direction::Neither => "",
    };
    match row.row.unit.word() {
        "" => format!("{}{better}", row.row.label),
        unit => format!("{}, {unit}{better}", row.row.label),
    }
}

/// The same with its name in a sentence, for where its table's title is not: `the write script on
/// one disk, s, lower is better`.
pub(super) fn row_called(row: &RowResults) -> String {
    row_head(row).replacen(&row.row.label, &row.row.called, 1)
}

/// The verdict by the page's own figures, in words.
pub(super) fn published_verdict(claim: &ClaimResults) -> String {
    match claim.published.verdict {
        Verdict::NotRun => "not published".to_owned(),
        _ => claim.published.to_string(),
    }
}

/// The verdict on what was measured, in words, with the size it was measured at and what does not
/// confirm it: `holds at 10 %; not at 3 %`.
pub(super) fn verdict(study: &Study, claim: &ClaimResults) -> String {
    let size = match (claim.measured.verdict, claim.size) {
        (Verdict::NotRun | Verdict::NotTestable, _) | (_, None) => {
            return claim.measured.to_string();
        }
        (_, Some(size)) => atom::size_in_words(study, size),
    };
    let limits = limit::of_claim(&claim.measured);
    let limits = limits.map_or(String::new(), |limits| format!("; {limits}"));
    format!("{} at {size}{limits}", claim.measured)
}

/// Why a claim does not hold as claimed: the page's own figures contradict it, or the reason
/// that the study's author found.
pub(super) fn because(claim: &ClaimResults) -> Option<String> {
    if !matches!(claim.measured.verdict, Verdict::DoesNotHold | Verdict::Partly) {
        return None;
    }
    // Of a question that fails here: what fails elsewhere on the page is no reason for it.
    let questions = claim.measured.questions.iter().zip(&claim.published.questions);
    let fails = |verdict: Verdict| matches!(verdict, Verdict::DoesNotHold | Verdict::Partly);
    let by_page = questions.clone().any(|(here, page)| fails(here.verdict) && fails(page.verdict));
    let by_page = by_page.then(|| "the page's own figures say otherwise".to_owned());
    let found = claim.claim.because.as_ref().map(|it| format!("{}: {}", it.cause, it.evidence));
    let said: Vec<String> = by_page.into_iter().chain(found).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// p after correction: `< 0.001`, `0.012`; empty where there is none.
pub(super) fn p(p: Option<f64>) -> String {
    p.map_or(String::new(), |p| match p {
        p if p < 0.0005 => "< 0.001".to_owned(),
        p => format!("{p:.3}"),
    })
}

/// What an answer answers, after the number of its question where there are several:
/// `2: ext2 ÷ xfs in reading`.
pub(super) fn asked(claim: &ClaimResults, answer: &Answer) -> String {
    match claim.measured.answers.iter().any(|it| it.question > 0) {
        true => format!("{}: {}", answer.question + 1, answer.asked),
        false => answer.asked.clone(),
    }
}

/// Which sizes and machines do not confirm the verdict on an answer's question: empty where all do,
/// or where there is none to confirm; `None` where nothing else was tried.
pub(super) fn elsewhere(claim: &ClaimResults, answer: &Answer) -> Option<String> {
    let others = claim.sizes.len() > 1 || !claim.under.is_empty();
    let question = claim.measured.questions.get(answer.question).filter(|_| others)?;
    let limits = limit::of_questions(question.verdict, std::slice::from_ref(question));
    Some(limits.unwrap_or_default())
}

/// What was found for a question, or why nothing was found, and what would decide it.
pub(super) fn found(answer: &Answer) -> String {
    let parts = [&answer.found, &answer.reason, &answer.takes];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("; ")
}

/// Every verdict that occurs, with the number of claims that have it in words.
pub(super) fn counts(results: &Results) -> Vec<(Verdict, String)> {
    VERDICTS
        .iter()
        .filter_map(|kind| {
            let of = |claim: &&ClaimResults| claim.measured.verdict == *kind;
            let count = results.claims.iter().filter(of).count();
            let said = match (kind, count) {
                (_, 0) => return None,
                (Verdict::Holds, 1) => "holds",
                (Verdict::Holds, _) => "hold",
                (Verdict::DoesNotHold, 1) => "does not hold",
                (Verdict::DoesNotHold, _) => "do not hold",
                (Verdict::Partly, 1) => "holds in part",
                (Verdict::Partly, _) => "hold in part",
                (Verdict::Undecided, _) => "undecided",
                (Verdict::NotRun, _) => "not run",
                (Verdict::NotTestable, _) => "not testable",
            };
            Some((*kind, format!("{count} {said}")))
        })
        .collect()
}

/// `Of 9 claims 6 hold, 2 do not hold, 1 undecided; 3 are not confirmed by every size and machine.`
pub(super) fn summary(results: &Results) -> String {
    let counts: Vec<String> = counts(results).into_iter().map(|(_, said)| said).collect();
    let limited = results.claims.iter().filter(|it| limit::of_claim(&it.measured).is_some());
    let limited = match limited.count() {
        0 => String::new(),
        1 => "; 1 is not confirmed by every size and machine".to_owned(),
        some => format!("; {some} are not confirmed by every size and machine"),
    };
    format!("Of {} claims {}{limited}.", results.claims.len(), counts.join(", "))
}

/// How verdicts are reached.
pub(super) fn method(results: &Results) -> String {
    let mut under = results.claims.iter().flat_map(|claim| &claim.under);
    let few = match under.any(|under| under.few_seeds.is_some()) {
        true => format!(
            " Where an assumption was tried with fewer seeds, they are assumed to vary {} times as \
             much as those on the study's own machine.",
            crate::measured::BORROWED_SPREAD
        ),
        false => String::new(),
    };
    format!(
        "Verdicts: every claim is split into questions about ratios or differences of figures, \
         paired by seed; each question has a region in which the claim is true. A question holds \
         if its interval lies inside the region, does not hold if it lies outside, and is \
         undecided otherwise. The probability that any question of a claim is decided wrongly is \
         at most {:.0} % (Holm's correction), however often results were looked at and seeds \
         added: each look has its own share of it. Until 2026-11-25 all questions of a study were \
         one family. Fewer than {} seeds decide nothing. A verdict is that of the study's own \
         machine at the largest size that was run, and the figures beside it are those that \
         decided it. A smaller size or, in the lab, another machine never changes a verdict: where \
         it says the opposite, or does not decide the question, that is said after the verdict \
         (until 2026-11-28 such a verdict read \"depends\" or \"undecided\").{few}",
        results.alpha * 100.0,
        crate::SEEDS_MIN
    )
}

/// The testbed of a study where its command names none.
const DEFAULT_TESTBED: &str = "lab";

/// The command that runs the study again.
pub(super) fn command(results: &Results) -> String {
    let mut command = format!("fstrial study run {}", results.named);
    let first = results.runs.first();
    let mut sizes: Vec<f64> = Vec::new();
    // Runs without a requested size are of the study's own size, which `--scale` has to name as
    // soon as it names any other.
    for size in results.runs.iter().map(|run| run.size.unwrap_or(results.study.scale)) {
        if !sizes.contains(&size) {
            sizes.push(size);
        }
    }
    if results.runs.iter().any(|run| run.size.is_some()) {
        let sizes: Vec<String> = sizes.iter().map(f64::to_string).collect();
        command += &format!(" --scale {}", sizes.join(","));
    }
    let parts = results.study.parts.iter().map(|part| &*part.id);
    let run: Vec<&str> =
        parts.filter(|id| results.runs.iter().any(|run| run.part == *id)).collect();
    if !run.is_empty() && run.len() < results.study.parts.len() {
        command += &format!(" --only {}", run.join(","));
    }
    let tried = results.runs.iter().any(|run| run.assumption.is_some());
    if results.simulated && !results.study.assumptions.is_empty() && !tried {
        command += " --no-assumptions";
    }
    if let Some(run) = first
        && run.seed != 1
        && run.assumption.is_none()
    {
        command += &format!(" --seed {}", run.seed);
    }
    if results.testbed != DEFAULT_TESTBED && !results.testbed.is_empty() {
        command += &format!(" --testbed {}", results.testbed);
    }
    if !results.machine.is_empty() {
        command += &format!(" {}", results.machine);
    }
    command
}
