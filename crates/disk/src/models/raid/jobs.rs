//! What the members must do for one write of a stripe: which old sectors to read first for
//! the parity's sake, and what to write then. Knows no time.

use super::parameters::Level;
use super::striping::{Piece, Striping};

/// The two steps of a stripe's write.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StripeWrite {
    /// To be read first; empty where nothing is redundant or the whole stripe is written.
    pub(crate) reads: Vec<Piece>,
    /// To be written when all reads are done.
    pub(crate) writes: Vec<Piece>,
}

/// Plans the write of `sectors` from `lba`, all in one stripe.
pub(crate) fn stripe_write(striping: &Striping, lba: u64, sectors: u64) -> StripeWrite {
    let pieces: Vec<Piece> = striping.pieces(lba, sectors).collect();
    let copies = striping.copies();
    if striping.level != Level::Raid5 {
        let copied = |piece: &Piece| {
            let piece = *piece;
            (0..copies).map(move |copy| Piece { member: piece.member + copy, ..piece })
        };
        return StripeWrite { reads: Vec::new(), writes: pieces.iter().flat_map(copied).collect() };
    }
    let unit = striping.unit;
    let stripe = lba / striping.stripe_sectors();
    let base = stripe * unit;
    // The parity that changes: between the lowest and the highest place written in a unit.
    let from = pieces.iter().map(|piece| piece.lba).min().unwrap_or(base);
    let to = pieces.iter().map(|piece| piece.lba + piece.sectors).max().unwrap_or(base);
    let parity = Piece { member: striping.parity(stripe), lba: from, sectors: to - from };
    let whole = sectors == striping.stripe_sectors();
    let untouched: Vec<Piece> = (0..striping.data_units())
        .map(|index| striping.piece((stripe * striping.data_units() + index) * unit, unit))
        .filter_map(|all| {
            let range = Piece { lba: from, sectors: to - from, ..all };
            (!pieces.contains(&range)).then_some(range)
        })
        .collect();
    let reads = if whole {
        Vec::new()
    } else if untouched.len() < pieces.len() {
        // Most of the stripe is new: its parity is computed anew with the rest of it.
        untouched
    } else {
        pieces.iter().copied().chain([parity]).collect()
    };
    let writes = pieces.into_iter().chain([parity]).collect();
    StripeWrite { reads, writes }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAID5: Striping = Striping { level: Level::Raid5, members: 4, unit: 128 };

    #[test]
    fn a_small_write_reads_two_and_writes_two() {
        let plan = stripe_write(&RAID5, 8, 8);
        assert_eq!((plan.reads.len(), plan.writes.len()), (2, 2));
        assert_eq!(plan.reads, plan.writes, "the same places, before and after");
        assert_ne!(plan.writes[0].member, plan.writes[1].member);
    }

    #[test]
    fn a_whole_stripe_reads_nothing() {
        let plan = stripe_write(&RAID5, 3 * 128, 3 * 128);
        assert_eq!((plan.reads.len(), plan.writes.len()), (0, 4));
        let members: std::collections::BTreeSet<u32> =
            plan.writes.iter().map(|piece| piece.member).collect();
        assert_eq!(members.len(), 4);
    }

    #[test]
    fn most_of_a_stripe_reads_only_the_rest() {
        let plan = stripe_write(&RAID5, 0, 2 * 128);
        assert_eq!((plan.reads.len(), plan.writes.len()), (1, 3));
    }

    #[test]
    fn a_mirror_writes_every_copy() {
        let raid10 = Striping { level: Level::Raid10, members: 4, unit: 128 };
        let plan = stripe_write(&raid10, 128, 8);
        assert_eq!(plan.writes.iter().map(|piece| piece.member).collect::<Vec<_>>(), [2, 3]);
        assert!(plan.reads.is_empty());
    }
}
