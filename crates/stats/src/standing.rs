//! Who is first, who comes near, and what of it is shown.

use crate::Interval;

/// How those that can be compared stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The best figure of those that nobody is shown to be better than, in the blocks that they
    /// share.
    pub leader: usize,
    /// The others that can be compared, nearest first.
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
