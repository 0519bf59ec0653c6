//! Who is first in a table and what is shown of the others: the one verdict that every format puts
//! into words.

use serde::{Deserialize, Serialize};
use stats::Better;

/// Ratios up to 1 + this (0.05: 5 %) count as equal, if they are shown to be.
pub(crate) const EQUIVALENCE_MARGIN: f64 = 0.05;

/// How the contenders of a table stand.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Standing {
    /// The best figure of those that can be compared, of whom nobody is shown to be better.
    pub leader: Option<usize>,
    /// The others that can be compared, best figure first.
    pub behind: Vec<Behind>,
    /// Those with a figure that cannot be compared: too few trials, or a figure of 0. Best first.
    pub not_compared: Vec<usize>,
    /// Those without a figure.
    pub missing: Vec<usize>,
    /// Fewest trials of a contender that is compared.
    pub repeats: usize,
}

/// A contender that is compared with the leader.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Behind {
    /// Which.
    pub contender: usize,
    /// How many times worse than the leader; above 1 is worse, for every metric.
    pub ratio: f64,
    /// Lower end of the ratio's interval; `None` where it is not bounded.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What is shown.
    pub relation: Relation,
}

/// What is shown of a contender and the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// It is worse.
    Worse,
    /// It is worse, by less than the margin.
    LittleWorse,
    /// It is level with the leader within the margin.
    Level,
    /// Neither.
    Open,
}

impl Relation {
    /// Whether it is shown to be worse.
    pub fn is_worse(self) -> bool {
        matches!(self, Relation::Worse | Relation::LittleWorse)
    }

    /// Whether it is shown to be within the margin.
    pub fn is_near(self) -> bool {
        matches!(self, Relation::LittleWorse | Relation::Level)
    }
}

/// What a table decides about the first place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Nobody has a figure.
    NoFigure,
    /// One contender alone has a figure.
    Alone,
    /// There are figures, and no two contenders have enough of them to be compared.
    TooFew,
    /// All others that are compared are shown to be worse than the leader.
    First,
    /// They are shown to be worse or to be level with the leader.
    Level,
    /// Of at least one of them neither is shown.
    Open,
}

impl Standing {
    /// Reads it from a table; each contender has so many figures.
    pub(super) fn of(table: &stats::Table, figures: &[usize], better: Better) -> Standing {
        let mean = |at: usize| table.estimates[at].as_ref().ok().map(|estimate| estimate.mean);
        let standing = table.standing.as_ref();
        let finite = |value: f64| value.is_finite().then_some(value);
        let behind = standing.into_iter().flat_map(|it| &it.behind).filter_map(|behind| {
            Some(Behind {
                contender: behind.index,
                ratio: finite(behind.ratio)?,
                low: finite(behind.interval.low),
                high: finite(behind.interval.high),
                relation: match behind.relation {
                    stats::Relation::Worse => Relation::Worse,
                    stats::Relation::LittleWorse => Relation::LittleWorse,
                    stats::Relation::Level => Relation::Level,
                    stats::Relation::Open => Relation::Open,
                },
            })
        });
        let mut found = Standing {
            leader: standing.map(|it| it.leader),
            behind: behind.collect(),
            ..Standing::default()
        };
        let compared = found.order();
        found.repeats = compared.iter().map(|at| figures[*at]).min().unwrap_or(0);
        let mut rest: Vec<(usize, f64)> = (0..figures.len())
            .filter(|at| !compared.contains(at))
            .filter_map(|at| Some((at, mean(at)?)))
            .collect();
        rest.sort_by(|a, b| match better {
            Better::Lower => a.1.total_cmp(&b.1),
            Better::Higher => b.1.total_cmp(&a.1),
        });
        found.not_compared = rest.into_iter().map(|(at, _)| at).collect();
        found.missing = (0..figures.len()).filter(|at| mean(*at).is_none()).collect();
        found
    }

    /// All that have a figure: the leader, the others that are compared, the rest.
    pub fn order(&self) -> Vec<usize> {
        let behind = self.behind.iter().map(|behind| behind.contender);
        self.leader.into_iter().chain(behind).chain(self.not_compared.iter().copied()).collect()
    }

    /// What is decided about the first place.
    pub fn decision(&self) -> Decision {
        let any = |relation: Relation| self.behind.iter().any(|it| it.relation == relation);
        match (self.leader, self.not_compared.len()) {
            (None, 0) => Decision::NoFigure,
            (None, 1) => Decision::Alone,
            (None, _) => Decision::TooFew,
            (Some(_), _) if any(Relation::Open) => Decision::Open,
            (Some(_), _) if any(Relation::Level) => Decision::Level,
            (Some(_), _) => Decision::First,
        }
    }

    /// Those that may be the best: the leader and whoever is not shown to be worse. Nobody where
    /// nothing separates any of them.
    pub fn best(&self) -> Vec<usize> {
        if !self.behind.iter().any(|behind| behind.relation.is_worse()) {
            return Vec::new();
        }
        let near = self.behind.iter().filter(|behind| !behind.relation.is_worse());
        self.leader.into_iter().chain(near.map(|behind| behind.contender)).collect()
    }
}
