//! Judges claims by the page's own figures.

use crate::atom::{Atom, CellName, Question, digits};
use crate::verdict::{Answer, Judged, Verdict};
use crate::{Cell, Statement, Study, atom};

/// The verdict on statements by the published figures as they stand: no spread is assumed, and
/// a figure that is only a bound (`>99999`) decides what the bound decides.
pub(crate) fn judge(study: &Study, statements: &[Statement]) -> Judged {
    let atoms: Vec<Atom> =
        statements.iter().flat_map(|statement| atom::atoms(study, statement)).collect();
    let questions = atom::questions(&atoms);
    Judged::of(atoms.iter().zip(questions).map(|(atom, at)| answer(study, atom, at)).collect())
}

fn answer(study: &Study, atom: &Atom, question: usize) -> Answer {
    let mut answer = atom.unanswered(question);
    match bounds(study, &atom.question) {
        Err(reason) => {
            answer.verdict = Verdict::NotRun;
            answer.reason = Some(reason);
        }
        Ok((low, high)) => {
            answer.found = Some(match (low == high, high.is_infinite()) {
                (true, _) => atom.shown(low),
                (false, true) => format!("above {}", atom.shown(low)),
                _ => format!("below {}", atom.shown(high)),
            });
            answer.value = (low == high).then(|| [atom.plain(low); 3]);
            // Floating-point arithmetic rounds: figures that are equal up to rounding are equal.
            let slack = if atom.closed { 1e-9 } else { -1e-9 };
            let region = atom.region;
            answer.verdict = if low >= region.low - slack && high <= region.high + slack {
                Verdict::Holds
            } else if high < region.low - slack || low > region.high + slack {
                Verdict::DoesNotHold
            } else {
                answer.reason = Some("the published bound does not decide it".to_owned());
                Verdict::Undecided
            };
        }
    }
    answer
}

/// The least and the greatest answer that the published figures allow.
fn bounds(study: &Study, question: &Question) -> Result<(f64, f64), String> {
    let log = |cell: &CellName| {
        let (low, high) = figure(study, cell)?;
        if high <= 0.0 {
            return Err(format!("a ratio with {} is not defined", digits(high)));
        }
        Ok((low.max(0.0).ln(), high.ln()))
    };
    match question {
        Question::Ratio(a, b) => {
            let (a, b) = (log(a)?, log(b)?);
            Ok((a.0 - b.1, a.1 - b.0))
        }
        Question::Beside([a, b, c, d]) => {
            let (a, b, c, d) = (log(a)?, log(b)?, log(c)?, log(d)?);
            Ok((a.0 - b.1 - c.1 + d.0, a.1 - b.0 - c.0 + d.1))
        }
        Question::Difference(a, b) => {
            let (a, b) = (figure(study, a)?, figure(study, b)?);
            Ok((a.0 - b.1, a.1 - b.0))
        }
        Question::Value(a) => log(a),
        Question::Spread(a, b) => {
            let ratio = spread(study, a)?.ln() - spread(study, b)?.ln();
            Ok((ratio, ratio))
        }
    }
}

fn figure(study: &Study, cell: &CellName) -> Result<(f64, f64), String> {
    let missing = || format!("{} in {} was not published", cell.column, study.called(&cell.row));
    let (table, row) = study.row(&cell.row).ok_or_else(missing)?;
    let at = table.columns.iter().position(|column| *column == cell.column).ok_or_else(missing)?;
    match row.values.get(at).ok_or_else(missing)? {
        Cell::Value(value) => Ok((*value, *value)),
        Cell::Above(value) => Ok((*value, f64::INFINITY)),
        Cell::Below(value) => Ok((f64::NEG_INFINITY, *value)),
        Cell::Text(text) => Err(format!("{} in {}: {text}", cell.column, study.called(&cell.row))),
    }
}

/// Standard deviation relative to the figure.
fn spread(study: &Study, cell: &CellName) -> Result<f64, String> {
    let missing =
        || format!("no spread of {} in {} was published", cell.column, study.called(&cell.row));
    let (value, _) = figure(study, cell)?;
    let (table, row) = study.row(&cell.row).ok_or_else(missing)?;
    let at = table.columns.iter().position(|column| *column == cell.column).ok_or_else(missing)?;
    let of_runs = row.runs.get(at).filter(|runs| runs.len() > 1).map(|runs| {
        let n = runs.len() as f64;
        let mean = runs.iter().sum::<f64>() / n;
        (runs.iter().map(|run| (run - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
    });
    let published = row.spread.get(at).copied().flatten();
    let deviation = of_runs.or(published).ok_or_else(missing)?;
    if deviation > 0.0 && value > 0.0 { Ok(deviation / value) } else { Err(missing()) }
}
