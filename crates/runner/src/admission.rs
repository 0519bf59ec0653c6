//! What cannot run of a plan. Trials that differ only in their block have one answer, so that
//! a plan of a hundred thousand costs no more than its first block.

use std::collections::BTreeMap;

use stack::Refusal;
use testbed::Testbed;
use trial::{TrialKind, TrialSpec};
use workload::InputFacts;

use crate::size::too_small;

/// The places of trials that the testbed refuses or that do not fit on its devices, in their order,
/// and why.
pub(crate) fn admit(
    testbed: &dyn Testbed,
    trials: &[TrialSpec],
    facts: &InputFacts,
) -> Vec<(usize, Refusal)> {
    let mut kinds: BTreeMap<TrialKind<'_>, usize> = BTreeMap::new();
    let mut examples: Vec<TrialSpec> = Vec::new();
    let of: Vec<usize> = trials
        .iter()
        .map(|spec| {
            *kinds.entry(spec.kind()).or_insert_with(|| {
                examples.push(spec.clone());
                examples.len() - 1
            })
        })
        .collect();
    let mut refused: BTreeMap<usize, Refusal> = testbed.admit(&examples).into_iter().collect();
    for (at, example) in examples.iter().enumerate() {
        if !refused.contains_key(&at)
            && let Some(refusal) = too_small(example, facts)
        {
            refused.insert(at, refusal);
        }
    }
    let refusal = |(place, kind): (usize, &usize)| Some((place, refused.get(kind)?.clone()));
    of.iter().enumerate().filter_map(refusal).collect()
}
