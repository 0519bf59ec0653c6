//! Who is first and what is shown of the others: the verdict of the run's own report, read back.

use report::{Decision, Relation};
use serde::{Deserialize, Serialize};

/// As the JSON report has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// What is decided about the first place.
    pub decision: Decision,
    /// The best figure of those that can be compared.
    pub leader: Option<String>,
    /// The others that can be compared, best figure first.
    pub behind: Vec<Behind>,
    /// Those whose figures cannot be compared.
    pub not_compared: Vec<String>,
    /// Those without a figure.
    pub missing: Vec<String>,
}

/// One of the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Behind {
    /// Its name.
    pub name: String,
    /// How many times worse than the leader.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What is shown of it.
    pub relation: Relation,
}

impl Standing {
    /// The leader, and whoever is not shown to be worse.
    pub(crate) fn best(&self) -> Vec<&str> {
        let near = self.behind.iter().filter(|one| !one.relation.is_worse());
        self.leader.as_deref().into_iter().chain(near.map(|one| one.name.as_str())).collect()
    }

    /// The nearest of those that are shown to be worse.
    pub(crate) fn next(&self) -> Option<&Behind> {
        self.behind.iter().find(|one| one.relation.is_worse())
    }
}
