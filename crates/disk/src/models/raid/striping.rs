//! Where a sector of the array lies on its members. Counts only.

use serde::{Deserialize, Serialize};

/// How data is spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Striped, nothing redundant.
    Raid0,
    /// Every member holds everything.
    Raid1,
    /// Striped with one rotating parity unit a stripe (left-symmetric, as Linux's md).
    Raid5,
    /// Striped over mirrored pairs.
    Raid10,
}

/// A run of sectors on one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The member; the first of the pair or set where there are copies.
    pub(crate) member: u32,
    /// First sector on the member.
    pub(crate) lba: u64,
    /// Sectors.
    pub(crate) sectors: u64,
}

/// The layout of an array.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Striping {
    pub(crate) level: Level,
    pub(crate) members: u32,
    /// Sectors of a stripe unit.
    pub(crate) unit: u64,
}

impl Striping {
    /// Stripe units of data in a stripe.
    pub(crate) fn data_units(&self) -> u64 {
        match self.level {
            Level::Raid0 => u64::from(self.members),
            Level::Raid1 => 1,
            Level::Raid5 => u64::from(self.members) - 1,
            Level::Raid10 => u64::from(self.members) / 2,
        }
    }

    /// Copies of each sector.
    pub(crate) fn copies(&self) -> u32 {
        match self.level {
            Level::Raid0 | Level::Raid5 => 1,
            Level::Raid1 => self.members,
            Level::Raid10 => 2,
        }
    }

    /// Sectors of data in a stripe.
    pub(crate) fn stripe_sectors(&self) -> u64 {
        self.data_units() * self.unit
    }

    /// Sectors the array offers, of members with `each`.
    pub(crate) fn capacity(&self, each: u64) -> u64 {
        each / self.unit * self.stripe_sectors()
    }

    /// The piece that starts at `lba` of the array, of at most `sectors`.
    pub(crate) fn piece(&self, lba: u64, sectors: u64) -> Piece {
        let (unit, within) = (lba / self.unit, lba % self.unit);
        let (stripe, index) = (unit / self.data_units(), unit % self.data_units());
        let member = match self.level {
            Level::Raid0 => index as u32,
            Level::Raid1 => 0,
            Level::Raid10 => index as u32 * 2,
            // Data starts behind the parity and goes round.
            Level::Raid5 => (self.parity(stripe) + 1 + index as u32) % self.members,
        };
        let sectors = sectors.min(self.unit - within);
        Piece { member, lba: stripe * self.unit + within, sectors }
    }

    /// The member that holds the parity of a stripe.
    pub(crate) fn parity(&self, stripe: u64) -> u32 {
        self.members - 1 - (stripe % u64::from(self.members)) as u32
    }

    /// All pieces of a run of sectors, in order.
    pub(crate) fn pieces(&self, lba: u64, sectors: u64) -> impl Iterator<Item = Piece> {
        let striping = *self;
        let mut done = 0;
        std::iter::from_fn(move || {
            (done < sectors).then(|| {
                let piece = striping.piece(lba + done, sectors - done);
                done += piece.sectors;
                piece
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// No two sectors of the array share a place, and none lies on its stripe's parity.
        #[test]
        fn every_sector_has_its_own_place(
            level in prop::sample::select(vec![
                Level::Raid0, Level::Raid1, Level::Raid5, Level::Raid10,
            ]),
            half in 2u32..4,
        ) {
            let striping = Striping { level, members: half * 2, unit: 8 };
            let mut places = std::collections::BTreeSet::new();
            for piece in striping.pieces(0, striping.capacity(8 * 16)) {
                prop_assert!(piece.lba + piece.sectors <= 8 * 16);
                for sector in 0..piece.sectors {
                    prop_assert!(places.insert((piece.member, piece.lba + sector)));
                }
                if level == Level::Raid5 {
                    prop_assert_ne!(piece.member, striping.parity(piece.lba / 8));
                }
            }
        }
    }
}
