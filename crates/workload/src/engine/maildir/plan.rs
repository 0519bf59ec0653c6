//! The sequence of ops, drawn from the seed before any clock starts.

use super::names::Tree;
use super::parameters::Pool;
use crate::Seed;

/// One op. A mail is an entry of the source; a stored mail counts first those found at the
/// start, then deliveries in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planned {
    /// Copy this mail into this maildir.
    Deliver { mail: u32, maildir: u32 },
    /// Read this entry of a flat pool.
    Read { mail: u32 },
    /// Read this stored mail; whether an earlier read has moved it to `cur`.
    Retrieve { stored: u32, seen: bool },
}

/// All ops of a phase: 12 bytes each.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) ops: Vec<Planned>,
    /// Mail and maildir of each delivery.
    pub(crate) deliveries: Vec<(u32, u32)>,
    /// For each stored mail, whether a read has moved it to `cur`. Empty unless reads mark.
    pub(crate) seen: Vec<bool>,
}

/// What a plan is drawn from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) ops: u64,
    pub(crate) write_share: f64,
    pub(crate) tree: Tree,
    /// Entries deliveries draw from.
    pub(crate) mails: u32,
    pub(crate) pool: Pool,
    /// Entries of a flat pool.
    pub(crate) pool_mails: u32,
    /// Stored mails found at the start.
    pub(crate) found: u32,
    /// Whether reading a stored mail moves it to `cur`.
    pub(crate) mark_seen: bool,
}

impl Plan {
    /// Draws every op. Each use has a stream of its own, so that the mails delivered do not
    /// depend on where reads go.
    pub(crate) fn draw(seed: Seed, terms: Terms) -> Plan {
        let mut kinds = seed.stream("kinds of op");
        let mut mails = seed.stream("mails");
        let mut maildirs = seed.stream("maildirs");
        let mut reads = seed.stream("reads");
        let mut plan =
            Plan { ops: Vec::with_capacity(terms.ops as usize), deliveries: vec![], seen: vec![] };
        for _ in 0..terms.ops {
            let stored = terms.found + plan.deliveries.len() as u32;
            let write = kinds.chance(terms.write_share)
                // Nothing is stored yet that could be read.
                || (terms.pool == Pool::Maildirs && stored == 0);
            let op = if write {
                let mail = mails.below(u64::from(terms.mails)) as u32;
                let maildir = maildirs.below(u64::from(terms.tree.maildirs)) as u32;
                plan.deliveries.push((mail, maildir));
                Planned::Deliver { mail, maildir }
            } else if terms.pool == Pool::Maildirs {
                let stored = reads.below(u64::from(stored)) as u32;
                Planned::Retrieve { stored, seen: terms.mark_seen && plan.mark(stored) }
            } else {
                Planned::Read { mail: reads.below(u64::from(terms.pool_mails)) as u32 }
            };
            plan.ops.push(op);
        }
        plan
    }

    /// Marks a stored mail as seen; returns whether it was.
    fn mark(&mut self, stored: u32) -> bool {
        let stored = stored as usize;
        if stored >= self.seen.len() {
            self.seen.resize(stored + 1, false);
        }
        std::mem::replace(&mut self.seen[stored], true)
    }

    /// Whether a read has moved this stored mail to `cur`.
    pub(crate) fn is_seen(&self, stored: u32) -> bool {
        self.seen.get(stored as usize).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(pool: Pool) -> Terms {
        Terms {
            ops: 10_000,
            write_share: 0.8,
            tree: Tree { maildirs: 10_100, per_base: 100 },
            mails: 77_133,
            pool,
            pool_mails: 1177,
            found: 0,
            mark_seen: true,
        }
    }

    #[test]
    fn the_write_share_is_within_four_sigma() {
        for seed in 0..50 {
            let plan = Plan::draw(Seed(seed), terms(Pool::ReadSrc));
            // Binomial: mean 8000, σ = √(10000 · 0.8 · 0.2) = 40.
            let writes = plan.deliveries.len() as i64;
            assert!((writes - 8000).abs() <= 160, "seed {seed}: {writes}");
        }
    }

    #[test]
    fn golden_counts_of_seed_one() {
        let plan = Plan::draw(Seed(1), terms(Pool::ReadSrc));
        assert_eq!(plan.deliveries.len(), 7957);
        assert_eq!(plan.deliveries[..2], [(69122, 1681), (73484, 7247)]);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(16))]
        #[test]
        fn a_stored_mail_is_read_only_after_it_was_delivered_and_moved_once(seed: u64) {
            let plan = Plan::draw(Seed(seed), Terms { ops: 500, ..terms(Pool::Maildirs) });
            let mut delivered = 0;
            let mut moved = std::collections::HashSet::new();
            for op in &plan.ops {
                match *op {
                    Planned::Deliver { .. } => delivered += 1,
                    Planned::Retrieve { stored, seen } => {
                        proptest::prop_assert!(stored < delivered);
                        proptest::prop_assert_eq!(seen, !moved.insert(stored));
                    }
                    Planned::Read { .. } => proptest::prop_assert!(false, "not from this pool"),
                }
            }
        }
    }
}
