//! A study after it was run: published beside measured, and a verdict on every claim.

use serde::Serialize;
use stats::{Better, Settings, arithmetic_mean, compare_all, geometric_mean};

use crate::atom::CellName;
use crate::figures::{Figures, PartRun};
use crate::measured::{self, ALPHA};
use crate::verdict::{Judged, Verdict};
use crate::{Cell, Claim, Direction, Published, Row, Study, Test, published};

/// Confidence of a cell's own interval.
const CONFIDENCE: f64 = 0.95;

/// A study with what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Results {
    /// The study.
    pub study: Study,
    /// The study as it was named: shipped, or a path.
    pub named: String,
    /// Testbed.
    pub testbed: String,
    /// When the first run began.
    pub created: String,
    /// The version of fstrial that ran it.
    pub version: String,
    /// Error rate of all questions of the claims together.
    pub alpha: f64,
    /// Every run of the store it rests on.
    pub runs: Vec<RunFacts>,
    /// The published tables with what was measured.
    pub tables: Vec<TableResults>,
    /// The claims with their verdicts.
    pub claims: Vec<ClaimResults>,
    /// What limits these results.
    pub notes: Vec<String>,
    /// Each part's own run with its analysis, for charts.
    #[serde(skip)]
    pub(crate) details: Vec<Detail>,
}

/// A part's run with its analysis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Detail {
    pub(crate) part: String,
    pub(crate) title: String,
    /// The names of its workloads within the part and in the catalogue.
    pub(crate) workloads: Vec<(String, String)>,
    pub(crate) run: store::StoredRun,
    pub(crate) analysis: report::Analysis,
}

/// A run of the store.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFacts {
    /// Its id.
    pub id: String,
    /// The part.
    pub part: String,
    /// The assumption, if another than the study's own.
    pub assumption: Option<String>,
    /// The scale.
    pub scale: f64,
    /// The run's seed.
    pub seed: u64,
    /// Trials planned.
    pub trials: usize,
    /// Trials that were done.
    pub done: usize,
    /// Trials without an outcome yet.
    pub outstanding: usize,
    /// Where it took place.
    pub environment: store::Environment,
}

/// A published table beside what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableResults {
    /// As in the study.
    pub id: String,
    /// The part.
    pub part: String,
    /// For people.
    pub title: String,
    /// Contenders.
    pub columns: Vec<String>,
    /// Rows.
    pub rows: Vec<RowResults>,
}

/// A row, published and measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowResults {
    /// As published.
    #[serde(flatten)]
    pub row: Row,
    /// The published figures that are best or worst of the row, as far as they go.
    pub published_marks: Vec<Option<report::Mark>>,
    /// Measured, one for each column.
    pub measured: Vec<MeasuredCell>,
}

/// A measured cell.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct MeasuredCell {
    /// Mean, in the row's unit.
    pub mean: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Seeds.
    pub n: usize,
    /// Best or worst, by significance.
    pub mark: Option<report::Mark>,
    /// Why there is no figure.
    pub missing: Option<String>,
    /// Figures of single trials.
    pub figures: Vec<f64>,
}

/// A claim with both verdicts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimResults {
    /// As in the study.
    #[serde(flatten)]
    pub claim: Claim,
    /// On the page's own figures; missing where it cannot be tested.
    pub published: Option<Judged>,
    /// On what was measured.
    pub measured: Option<Judged>,
    /// The verdict on the study's own machine, before assumptions are asked.
    pub on_own_machine: Option<Verdict>,
    /// What each assumption makes of it.
    pub under: Vec<Under>,
}

/// A verdict under an assumption.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Under {
    /// The assumption.
    pub assumption: String,
    /// The verdict; missing where it was not run.
    pub verdict: Option<Verdict>,
    /// What turned it.
    pub reason: Option<String>,
}

/// Tables and verdicts from the runs of one study.
pub fn results(study: &Study, runs: &[PartRun]) -> Results {
    let own = Figures::of(study, runs, None);
    let by_assumption: Vec<(&str, Figures<'_>)> = study
        .assumptions
        .iter()
        .map(|it| (it.id.as_str(), Figures::of(study, runs, Some(&it.id))))
        .collect();
    let lab = runs.iter().any(|it| it.run.header.testbed == "lab");
    let judged = measured::judge(study, &own);
    let under: Vec<(&str, bool, Vec<Option<Judged>>)> = by_assumption
        .iter()
        .map(|(id, figures)| (*id, !figures.is_empty(), measured::judge(study, figures)))
        .collect();
    let claims = study
        .claims
        .iter()
        .zip(judged)
        .enumerate()
        .map(|(at, (claim, judged))| {
            let concerned = |id: &str| lab && concerns(study, claim, id);
            let under: Vec<Under> = under
                .iter()
                .filter(|(id, ..)| concerned(id))
                .map(|(id, run, judged)| {
                    let judged = judged[at].as_ref().filter(|_| *run);
                    Under {
                        assumption: (*id).to_owned(),
                        verdict: judged.map(|judged| judged.verdict),
                        reason: judged.and_then(|judged| judged.reason.clone()),
                    }
                })
                .collect();
            let published = match &claim.test {
                Test::Untestable(_) => None,
                Test::Statements(all) => Some(published::judge(study, all)),
            };
            ClaimResults {
                claim: claim.clone(),
                published,
                on_own_machine: judged.as_ref().map(|judged| judged.verdict),
                measured: judged.map(|judged| surviving(judged, &under)),
                under,
            }
        })
        .collect();
    let first = runs.first();
    let mut ordered: Vec<&PartRun> = runs.iter().collect();
    ordered.sort_by_key(|it| it.run.header.id.trim_start_matches('r').parse::<u64>().ok());
    Results {
        study: study.clone(),
        named: first.map_or(study.name.clone(), |it| it.tag.study.clone()),
        testbed: first.map(|it| it.run.header.testbed.clone()).unwrap_or_default(),
        created: first.map(|it| it.run.header.created.clone()).unwrap_or_default(),
        version: first.map(|it| it.run.header.fstrial_version.clone()).unwrap_or_default(),
        alpha: ALPHA,
        runs: ordered.iter().map(|it| facts(it)).collect(),
        tables: study.tables.iter().map(|table| table_results(study, table, &own)).collect(),
        claims,
        notes: notes(study, runs, &own),
        details: study.parts.iter().filter_map(|part| detail(part, &own)).collect(),
    }
}

fn detail(part: &crate::Part, own: &Figures<'_>) -> Option<Detail> {
    let figures = own.part(&part.id)?;
    let names = part.workloads.iter().map(|it| (it.id.clone(), it.request.name.clone()));
    Some(Detail {
        part: part.id.clone(),
        title: part.title.clone(),
        workloads: names.collect(),
        run: figures.run.clone(),
        analysis: figures.analysis.clone(),
    })
}

/// Whether an assumption concerns a part that the claim speaks of.
fn concerns(study: &Study, claim: &Claim, assumption: &str) -> bool {
    let Some(known) = study.assumptions.iter().find(|it| it.id == assumption) else { return false };
    let atoms = measured::atoms_of(study, claim).unwrap_or_default();
    atoms.iter().flat_map(|atom| atom.question.cells()).any(|cell| {
        study.row(&cell.row).is_some_and(|(table, _)| known.parts.contains(&table.part))
    })
}

/// The verdict that survives every assumption, else undecided.
fn surviving(judged: Judged, under: &[Under]) -> Judged {
    if judged.verdict == Verdict::Undecided {
        return judged;
    }
    let turned: Vec<String> = under
        .iter()
        .filter(|it| it.verdict.is_some_and(|verdict| verdict != judged.verdict))
        .map(|it| {
            let verdict = it.verdict.map(|verdict| verdict.to_string()).unwrap_or_default();
            let why = it.reason.as_ref().map_or(String::new(), |why| format!(": {why}"));
            format!("{verdict} under {}{why}", it.assumption)
        })
        .collect();
    let untried: Vec<&str> =
        under.iter().filter(|it| it.verdict.is_none()).map(|it| it.assumption.as_str()).collect();
    let base = format!("{} on the study's machine, but", judged.verdict);
    let reason = match (turned.is_empty(), untried.is_empty()) {
        (true, true) => return judged,
        (false, _) => format!("{base} {}", turned.join("; ")),
        (true, false) => format!("{base} not tried under {}", untried.join(", ")),
    };
    Judged { verdict: Verdict::Undecided, reason: Some(reason), answers: judged.answers }
}

fn table_results(study: &Study, table: &Published, figures: &Figures<'_>) -> TableResults {
    let rows = table.rows.iter().map(|row| row_results(study, table, row, figures));
    TableResults {
        id: table.id.clone(),
        part: table.part.clone(),
        title: table.title.clone(),
        columns: table.columns.clone(),
        rows: rows.collect(),
    }
}

fn row_results(study: &Study, table: &Published, row: &Row, figures: &Figures<'_>) -> RowResults {
    let found: Vec<_> = table
        .columns
        .iter()
        .map(|column| {
            if study.part(&table.part).is_none() {
                return Err("its part is not known".to_owned());
            }
            figures.of_cell(&CellName { row: row.id.clone(), column: column.clone() })
        })
        .collect();
    let mut cells: Vec<MeasuredCell> = found
        .iter()
        .map(|found| match found {
            Err(reason) => {
                MeasuredCell { missing: Some(reason.clone()), ..MeasuredCell::default() }
            }
            Ok(series) => {
                let values: Vec<f64> = series.iter().map(|one| one.value).collect();
                let mean = geometric_mean(&values, CONFIDENCE)
                    .or_else(|_| arithmetic_mean(&values, CONFIDENCE));
                let mean = mean.ok();
                let interval = mean.and_then(|mean| mean.interval.ok());
                MeasuredCell {
                    mean: mean.map(|mean| mean.mean),
                    low: interval.map(|interval| interval.low),
                    high: interval.map(|interval| interval.high),
                    n: values.len(),
                    mark: None,
                    missing: None,
                    figures: values,
                }
            }
        })
        .collect();
    let better = match row.better {
        Direction::Lower => Some(Better::Lower),
        Direction::Higher => Some(Better::Higher),
        Direction::Neither => None,
    };
    if let Some(better) = better {
        let series: Vec<_> = found.into_iter().map(Result::unwrap_or_default).collect();
        let table = compare_all(&series, &Settings::new(better));
        for (at, cell) in cells.iter_mut().enumerate().filter(|(_, cell)| cell.n > 1) {
            cell.mark = match (table.is_best(at), table.is_worst(at)) {
                (true, false) => Some(report::Mark::Best),
                (false, true) => Some(report::Mark::Worst),
                _ => None,
            };
        }
    }
    RowResults { row: row.clone(), published_marks: published_marks(row), measured: cells }
}

/// Best and worst of the plain published figures, where neither is a tie.
fn published_marks(row: &Row) -> Vec<Option<report::Mark>> {
    let value = |cell: &Cell| match cell {
        Cell::Value(value) => Some(*value),
        _ => None,
    };
    let plain: Vec<f64> = row.values.iter().filter_map(value).collect();
    let (low, high) = plain
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
    let (best, worst) = match row.better {
        Direction::Lower => (low, high),
        Direction::Higher => (high, low),
        Direction::Neither => (f64::NAN, f64::NAN),
    };
    let bounded = row.values.iter().any(|cell| matches!(cell, Cell::Above(_) | Cell::Below(_)));
    row.values
        .iter()
        .map(|cell| match value(cell) {
            Some(value) if low < high && value == best && !bounded => Some(report::Mark::Best),
            Some(value) if low < high && value == worst => Some(report::Mark::Worst),
            _ => None,
        })
        .collect()
}

fn facts(it: &PartRun) -> RunFacts {
    let (header, trials) = (&it.run.header, &it.run.trials);
    let done = |trial: &&store::StoredTrial| trial.outcome.as_ref().is_some_and(|o| o.is_done());
    RunFacts {
        id: header.id.clone(),
        part: it.tag.part.clone(),
        assumption: it.tag.assumption.clone(),
        scale: header.scale,
        seed: header.seed,
        trials: trials.len(),
        done: trials.iter().filter(done).count(),
        outstanding: trials.iter().filter(|trial| trial.outcome.is_none()).count(),
        environment: public(&header.environment),
    }
}

/// A study's results are shown to others: what names a person or a machine stays out.
fn public(environment: &store::Environment) -> store::Environment {
    let private = store::Environment::PRIVATE;
    let all = environment.0.iter().filter(|(key, _)| !private.contains(&key.as_str()));
    store::Environment(all.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn notes(study: &Study, runs: &[PartRun], own: &Figures<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if runs.iter().any(|it| it.tag.digest != study.digest) {
        notes.push(
            "The study's files have changed since it was run; tables and claims are today's."
                .to_owned(),
        );
    }
    let outstanding: usize =
        runs.iter().flat_map(|it| &it.run.trials).filter(|trial| trial.outcome.is_none()).count();
    if outstanding > 0 {
        notes.push(format!("{outstanding} trials have not been run yet; --resume goes on."));
    }
    // Each once, however many parts it is about.
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for (part, figures) in own.parts() {
        for warning in &figures.analysis.warnings {
            match said.iter_mut().find(|(text, _)| text == warning) {
                Some((_, parts)) if parts.contains(&part.as_str()) => {}
                Some((_, parts)) => parts.push(part),
                None => said.push((warning, vec![part])),
            }
        }
    }
    notes.extend(said.into_iter().map(|(text, parts)| format!("{}: {text}", parts.join(", "))));
    notes
}
