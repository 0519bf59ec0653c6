//! What the members have to do for a read, and for one write of a stripe: which old sectors to read
//! first for the parity, and what to write then. Nothing here depends on time.

use super::striping::{Level, Piece, Striping};

/// The place of a member that is missing, or that is new and not filled that far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    /// Which.
    pub(crate) member: u32,
    /// Its first sector that is not filled; always a multiple of a stripe unit. Below it, it is a
    /// member like any other.
    pub(crate) from: u64,
}

impl Gap {
    /// Whether a piece lies in it.
    pub(crate) fn has(gap: Option<Gap>, piece: &Piece) -> bool {
        gap.is_some_and(|gap| piece.member == gap.member && piece.lba >= gap.from)
    }
}

/// What is read to get a piece that no member holds: the same place of all others.
pub(crate) fn reconstruction(striping: &Striping, piece: &Piece) -> impl Iterator<Item = Piece> {
    let (lost, piece) = (piece.member, *piece);
    (0..striping.members)
        .filter(move |member| *member != lost)
        .map(move |member| Piece { member, ..piece })
}

/// The two steps of a stripe's write.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StripeWrite {
    /// To be read first; empty where nothing is redundant or the whole stripe is written.
    pub(crate) reads: Vec<Piece>,
    /// To be written when all reads are done.
    pub(crate) writes: Vec<Piece>,
}

/// Plans the write of `sectors`, at least one, from `lba`, all in one stripe. What lies in the gap
/// is neither read nor written; only the parity then knows it.
pub(crate) fn stripe_write(
    striping: &Striping,
    lba: u64,
    sectors: u64,
    gap: Option<Gap>,
) -> StripeWrite {
    let pieces: Vec<Piece> = striping.pieces(lba, sectors).collect();
    let there = |piece: &Piece| !Gap::has(gap, piece);
    if striping.level != Level::Raid5 {
        let copies = striping.copies();
        let copied = |piece: &Piece| {
            let piece = *piece;
            (0..copies).map(move |copy| Piece { member: piece.member + copy, ..piece })
        };
        let writes = pieces.iter().flat_map(copied).filter(there).collect();
        return StripeWrite { reads: Vec::new(), writes };
    }
    let unit = striping.unit;
    let stripe = lba / striping.stripe_sectors();
    // The parity that changes: between the lowest and the highest place written in a unit.
    let from = pieces.iter().map(|piece| piece.lba).min().unwrap_or(0);
    let to = pieces.iter().map(|piece| piece.lba + piece.sectors).max().unwrap_or(0);
    let parity = Piece { member: striping.parity(stripe), lba: from, sectors: to - from };
    if !there(&parity) {
        return StripeWrite { reads: Vec::new(), writes: pieces };
    }
    let range = |all: Piece| Piece { lba: from, sectors: to - from, ..all };
    let data = (0..striping.data_units())
        .map(|index| striping.piece((stripe * striping.data_units() + index) * unit, unit))
        .map(range);
    let (untouched, rewritten): (Vec<Piece>, Vec<Piece>) =
        data.partition(|range| !pieces.contains(range));
    let reads = if untouched.is_empty() {
        Vec::new()
    } else if let Some(lost) = pieces.iter().find(|piece| !there(piece)) {
        if rewritten.contains(&range(*lost)) {
            // The lost part is overwritten completely: the parity comes from it and the rest.
            untouched
        } else {
            // Some of the lost part stays as it was but is on no member: read all others.
            reconstruction(striping, &range(*lost)).collect()
        }
    } else if untouched.len() < pieces.len() && untouched.iter().all(there) {
        // Most of the stripe is new: its parity is recomputed with the rest of it.
        untouched
    } else {
        pieces.iter().copied().chain([parity]).collect()
    };
    let writes = pieces.into_iter().filter(there).chain([parity]).collect();
    StripeWrite { reads, writes }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAID5: Striping = Striping { level: Level::Raid5, members: 4, unit: 128 };

    #[test]
    fn a_small_write_reads_two_and_writes_two() {
        let plan = stripe_write(&RAID5, 8, 8, None);
        assert_eq!((plan.reads.len(), plan.writes.len()), (2, 2));
        assert_eq!(plan.reads, plan.writes, "the same places, before and after");
        assert_ne!(plan.writes[0].member, plan.writes[1].member);
    }

    #[test]
    fn a_whole_stripe_reads_nothing() {
        let plan = stripe_write(&RAID5, 3 * 128, 3 * 128, None);
        assert_eq!((plan.reads.len(), plan.writes.len()), (0, 4));
        let members: std::collections::BTreeSet<u32> =
            plan.writes.iter().map(|piece| piece.member).collect();
        assert_eq!(members.len(), 4);
    }

    #[test]
    fn most_of_a_stripe_reads_only_the_rest() {
        let plan = stripe_write(&RAID5, 0, 2 * 128, None);
        assert_eq!((plan.reads.len(), plan.writes.len()), (1, 3));
    }

    #[test]
    fn a_mirror_writes_every_copy() {
        let raid10 = Striping { level: Level::Raid10, members: 4, unit: 128 };
        let plan = stripe_write(&raid10, 128, 8, None);
        assert_eq!(plan.writes.iter().map(|piece| piece.member).collect::<Vec<_>>(), [2, 3]);
        assert!(plan.reads.is_empty());
    }

    /// The first stripe's units lie on members 0, 1 and 2, its parity on 3.
    const LOST: fn(u32) -> Option<Gap> = |member| Some(Gap { member, from: 0 });

    fn members(pieces: &[Piece]) -> Vec<u32> {
        pieces.iter().map(|piece| piece.member).collect()
    }

    #[test]
    fn without_the_parity_nothing_is_read() {
        let plan = stripe_write(&RAID5, 8, 8, LOST(3));
        assert_eq!((members(&plan.reads), members(&plan.writes)), (vec![], vec![0]));
    }

    #[test]
    fn what_is_lost_is_written_into_the_parity() {
        let plan = stripe_write(&RAID5, 8, 8, LOST(0));
        assert_eq!((members(&plan.reads), members(&plan.writes)), (vec![1, 2], vec![3]));
    }

    #[test]
    fn beside_what_is_lost_old_data_and_parity_are_read() {
        // Two of three units are new: with all members the third would be read.
        let plan = stripe_write(&RAID5, 0, 2 * 128, LOST(2));
        assert_eq!((members(&plan.reads), members(&plan.writes)), (vec![0, 1, 3], vec![0, 1, 3]));
    }

    #[test]
    fn a_part_of_what_is_lost_takes_all_the_others() {
        // The end of one unit and the beginning of the next.
        let plan = stripe_write(&RAID5, 120, 16, LOST(0));
        assert_eq!((members(&plan.reads), members(&plan.writes)), (vec![1, 2, 3], vec![1, 3]));
        assert_eq!(plan.reads[0].sectors, 128);
    }

    #[test]
    fn a_new_member_is_one_as_far_as_it_is_filled() {
        let gap = Some(Gap { member: 0, from: 128 });
        assert_eq!(stripe_write(&RAID5, 8, 8, gap), stripe_write(&RAID5, 8, 8, None));
        let beyond = 4 * 3 * 128 + 8;
        assert_ne!(stripe_write(&RAID5, beyond, 8, gap), stripe_write(&RAID5, beyond, 8, None));
    }

    #[test]
    fn a_mirror_writes_the_copy_that_is_there() {
        let raid10 = Striping { level: Level::Raid10, members: 4, unit: 128 };
        assert_eq!(members(&stripe_write(&raid10, 128, 8, LOST(3)).writes), [2]);
    }
}
