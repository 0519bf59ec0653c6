//! Blocks that contenders share.

use std::collections::BTreeSet;

use crate::Observation;
use crate::comparison::COMPARED_FROM;

/// The figures of the blocks that all contenders with most of the blocks have, if those are enough
/// to compare by; a contender with fewer keeps all of its own.
pub(crate) fn in_shared_blocks(contenders: &[Vec<Vec<Observation>>]) -> Vec<Vec<Vec<Observation>>> {
    let blocks: Vec<BTreeSet<u32>> = contenders
        .iter()
        .map(|variants| variants.iter().flatten().map(|observed| observed.block).collect())
        .collect();
    let most = blocks.iter().map(BTreeSet::len).max().unwrap_or(0);
    let has_most = |blocks: &BTreeSet<u32>| blocks.len() * 2 > most;
    let shared = blocks
        .iter()
        .filter(|blocks| has_most(blocks))
        .cloned()
        .reduce(|one, other| &one & &other)
        .unwrap_or_default();
    let of_shared = |one: &Vec<Observation>| -> Vec<Observation> {
        one.iter().filter(|observed| shared.contains(&observed.block)).copied().collect()
    };
    let restricted = |(variants, blocks): (&Vec<Vec<Observation>>, &BTreeSet<u32>)| match shared
        .len()
        >= COMPARED_FROM
        && has_most(blocks)
    {
        true => variants.iter().map(of_shared).collect(),
        false => variants.clone(),
    };
    contenders.iter().zip(&blocks).map(restricted).collect()
}
