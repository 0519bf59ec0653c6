//! Who is first, who comes near, and what of it is shown.

use crate::Interval;
use crate::table::{Better, Table};

/// How those that can be compared stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The best figure of those that nobody is shown to be better than.
    pub leader: usize,
    /// The others that can be compared, best figure first.
    pub behind: Vec<Behind>,
}

/// A contender that is not the leader.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Behind {
    /// Which.
    pub index: usize,
    /// How many times worse than the leader: above 1 is worse, whichever figures are better.
    pub ratio: f64,
    /// The ratio's interval, from which `relation` is read.
    pub interval: Interval,
    /// What is shown of it.
    pub relation: Relation,
}

/// What is shown of a contender and the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// It is worse.
    Worse,
    /// It is worse, and by less than the margin.
    LittleWorse,
    /// It is level with the leader within the margin.
    Level,
    /// Neither a difference nor that they are level.
    Open,
}

impl Relation {
    /// Whether it is shown to be worse.
    pub fn is_worse(self) -> bool {
        matches!(self, Relation::Worse | Relation::LittleWorse)
    }
}

impl Standing {
    /// Reads it from a table; `None` where nobody can be compared.
    pub(crate) fn of(table: &Table, better: Better) -> Option<Standing> {
        let figure = |index: usize| table.estimates[index].as_ref().ok().map(|it| it.mean);
        let mut order: Vec<(usize, f64)> = (0..table.ranks.len())
            .filter(|index| table.ranks[*index].is_some())
            .filter_map(|index| Some((index, figure(index)?)))
            .collect();
        order.sort_by(|a, b| match better {
            Better::Lower => a.1.total_cmp(&b.1),
            Better::Higher => b.1.total_cmp(&a.1),
        });
        let may_lead =
            |(index, _): &&(usize, f64)| table.ranks[*index].is_some_and(|rank| rank.best == 1);
        let leader = order.iter().find(may_lead)?.0;
        let behind = order.iter().filter(|(index, _)| *index != leader).filter_map(|(index, _)| {
            let pair = table.pair(*index, leader)?;
            let (ratio, interval) = pair.seen_from(*index);
            let (ratio, interval) = match better {
                Better::Lower => (ratio, interval),
                Better::Higher => (1.0 / ratio, interval.inverse()),
            };
            let relation = match (pair.shown.separated, pair.shown.equivalent) {
                (true, false) => Relation::Worse,
                (true, true) => Relation::LittleWorse,
                (false, true) => Relation::Level,
                (false, false) => Relation::Open,
            };
            Some(Behind { index: *index, ratio, interval, relation })
        });
        Some(Standing { leader, behind: behind.collect() })
    }
}
