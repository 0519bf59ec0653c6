//! The contents of a chart, for HTML and for SVG: lines with a published and a measured figure
//! each, on one logarithmic axis. A row of a table has a line for each contender; its axis shows
//! how many times worse each is than the best of the row, since factors can be compared where
//! seconds cannot. A claim's ratio has a line for the page and one for each size.

use super::words;
use crate::atom::digits;
use crate::verdict::{Answer, QuestionVerdict};
use crate::{ClaimResults, Direction, RowResults, atom};

/// One axis with the lines above it.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) lines: Vec<Line>,
    pub(super) axis: Axis,
    /// Whether figures are factors of the best of a row.
    pub(super) factors: bool,
    /// The range of figures for which a claim is true; an end is missing where it has none.
    pub(super) claimed: Option<[Option<f64>; 2]>,
}

/// A contender, or a size.
pub(super) struct Line {
    /// Its column in the table.
    pub(super) at: usize,
    pub(super) label: String,
    /// What was published.
    pub(super) then: Option<f64>,
    /// What was measured.
    pub(super) now: Option<f64>,
    /// Its interval.
    pub(super) interval: Option<(f64, f64)>,
}

impl Line {
    fn figures(&self) -> impl Iterator<Item = f64> {
        let interval = self.interval.into_iter().flat_map(|(low, high)| [low, high]);
        self.then.into_iter().chain(self.now).chain(interval)
    }

    /// `ext2: measured × 1.42, published best`
    pub(super) fn said(&self, factors: bool) -> String {
        let shown = |figure| match factors {
            true => words::factor(Some(figure)),
            false => digits(figure),
        };
        let now = self.now.map(|figure| format!("measured {}", shown(figure)));
        let then = self.then.map(|figure| format!("published {}", shown(figure)));
        let said: Vec<String> = now.into_iter().chain(then).collect();
        format!("{}: {}", self.label, said.join(", "))
    }
}

/// A row of a table; nothing where fewer than two contenders have a measured figure.
pub(super) fn of_row(row: &RowResults, columns: &[String]) -> Option<Panel> {
    let then = words::factors(row.row.better, &words::published_values(row));
    let means: Vec<Option<f64>> = row.measured.iter().map(|cell| cell.mean).collect();
    let now = words::factors(row.row.better, &means);
    if now.iter().flatten().count() < 2 {
        return None;
    }
    let best = means
        .iter()
        .zip(&now)
        .find_map(|(mean, factor)| (*factor == Some(1.0)).then_some(*mean))??;
    let interval = |at: usize| {
        let (low, high) = (row.measured[at].low?, row.measured[at].high?);
        match row.row.better {
            Direction::Higher if low > 0.0 => Some((best / high, best / low)),
            Direction::Lower => Some((low / best, high / best)),
            _ => None,
        }
    };
    let lines = (0..columns.len()).filter(|at| then[*at].is_some() || now[*at].is_some());
    let lines: Vec<Line> = lines
        .map(|at| Line {
            at,
            label: columns[at].clone(),
            then: then[at],
            now: now[at],
            interval: now[at].and_then(|_| interval(at)),
        })
        .collect();
    let most = lines.iter().flat_map(Line::figures).fold(1.25f64, f64::max).min(1e6);
    let axis = Axis { low: 1.0 / 1.06, high: most * 1.06 };
    Some(Panel { title: words::row_head(row), lines, axis, factors: true, claimed: None })
}

/// The comparisons of a claim by size, each with the page's own figure; none where only one
/// size was run.
pub(super) fn of_sizes(claim: &ClaimResults) -> Vec<Panel> {
    by_size(claim, &|_| true)
}

/// Those whose verdict size turns.
pub(super) fn of_turns(claim: &ClaimResults) -> Vec<Panel> {
    by_size(claim, &|answer| {
        let question = claim.measured.questions.get(answer.question);
        question.is_some_and(QuestionVerdict::turns_with_size)
    })
}

fn by_size(claim: &ClaimResults, of: &dyn Fn(&Answer) -> bool) -> Vec<Panel> {
    if claim.sizes.len() < 2 {
        return Vec::new();
    }
    let answers = claim.measured.answers.iter().enumerate().filter(|(_, answer)| of(answer));
    answers.filter_map(|(nth, answer)| of_answer(claim, nth, answer)).collect()
}

fn of_answer(claim: &ClaimResults, nth: usize, answer: &Answer) -> Option<Panel> {
    let page = claim.published.answers.get(nth).and_then(|answer| answer.value);
    let page = Line {
        at: 0,
        label: "the page".to_owned(),
        then: page.map(|[value, ..]| value),
        now: None,
        interval: None,
    };
    let sizes = claim.sizes.iter().filter_map(|size| {
        let [value, low, high] = size.values.get(nth).copied().flatten()?;
        Some(Line {
            at: 0,
            label: atom::percent(size.size),
            then: None,
            now: Some(value),
            interval: (low.is_finite() && high.is_finite()).then_some((low, high)),
        })
    });
    let lines: Vec<Line> = page.then.is_some().then_some(page).into_iter().chain(sizes).collect();
    // The axis always includes 1: the question is on which side of it a ratio lies.
    let figures = || lines.iter().flat_map(Line::figures).chain([1.0]);
    let (low, high) = (figures().fold(1.0, f64::min), figures().fold(1.0, f64::max));
    let drawn = low > 0.0 && lines.iter().filter(|line| line.now.is_some()).count() > 1;
    let axis = Axis { low: low / 1.1, high: high * 1.1 };
    let (title, claimed) = (answer.asked.clone(), Some(answer.claimed));
    drawn.then_some(Panel { title, lines, axis, factors: false, claimed })
}

/// Factors on a logarithmic axis.
pub(super) struct Axis {
    low: f64,
    high: f64,
}

/// More labels than this do not fit beside each other.
const TICKS_MAX: usize = 6;

impl Axis {
    /// The place of a figure, from 0 to 1.
    pub(super) fn share(&self, figure: f64) -> f64 {
        let low = self.low.ln();
        ((figure.max(self.low).ln() - low) / (self.high.ln() - low)).clamp(0.0, 1.0)
    }

    /// Round figures with room for their labels: even steps on a short axis, else 1, 2 and 5 of
    /// each decade, else decades.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let within = |ticks: Vec<f64>| -> Vec<f64> {
            ticks.into_iter().filter(|tick| self.low <= *tick && *tick <= self.high).collect()
        };
        let steps = |step: f64| {
            let most = (self.high / step).min(100.0) as u32;
            within((1..=most).map(|nth| f64::from(nth) * step).collect())
        };
        let decades = |mantissas: &[f64], every: usize| {
            let decades = (-9..=9).step_by(every).map(|power| 10f64.powi(power));
            within(decades.flat_map(|ten| mantissas.iter().map(move |m| m * ten)).collect())
        };
        let near = self.high < 4.0 * self.low;
        let even = [0.1, 0.2, 0.5].into_iter().filter(|_| near).map(steps);
        let finest = even.chain([decades(&[1.0, 2.0, 5.0], 1), decades(&[1.0], 1)]);
        let fits = |ticks: &Vec<f64>| (2..=TICKS_MAX).contains(&ticks.len());
        finest.into_iter().find(fits).unwrap_or_else(|| decades(&[1.0], 3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few_on_any_axis() {
        let ticks = |low, high| -> Vec<String> {
            Axis { low, high }.ticks().iter().map(|tick| digits(*tick)).collect()
        };
        assert_eq!(ticks(0.94, 1.35), ["1", "1.1", "1.2", "1.3"]);
        assert_eq!(ticks(0.94, 3.2), ["1", "1.5", "2", "2.5", "3"]);
        assert_eq!(ticks(0.78, 1.6), ["0.8", "1", "1.2", "1.4", "1.6"]);
        assert_eq!(ticks(0.94, 25.0), ["1", "2", "5", "10", "20"]);
        assert_eq!(ticks(0.04, 1.1), ["0.05", "0.1", "0.2", "0.5", "1"]);
        assert_eq!(ticks(0.94, 30_000.0), ["1", "10", "100", "1000", "10000"]);
        assert!(ticks(0.94, 1e6).len() <= 6 && ticks(1e-9, 1e9).len() <= 7);
    }

    #[test]
    fn a_figure_lies_where_its_logarithm_does() {
        let axis = Axis { low: 1.0, high: 100.0 };
        for (figure, share) in [(1.0, 0.0), (10.0, 0.5), (100.0, 1.0), (0.1, 0.0), (1e9, 1.0)] {
            assert!((axis.share(figure) - share).abs() < 1e-9, "{figure}");
        }
    }
}
