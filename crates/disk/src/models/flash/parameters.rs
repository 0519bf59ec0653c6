//! What an SSD's parameter file may say, and what must fit together.

use serde::Deserialize;
use units::{Bytes, Nanos, SECTOR_BYTES};

use crate::models::bounds;

/// Bytes of the unit that is mapped: what the host's filesystems write.
pub(crate) const UNIT_BYTES: u64 = 4096;

/// Blocks of a die that never hold valid data only: the two being filled, two free ones, and one
/// for data that is being moved.
pub(crate) const SPARE_BLOCKS: u32 = 5;

/// Sectors of a unit.
pub(crate) const UNIT_SECTORS: u64 = UNIT_BYTES / SECTOR_BYTES;

/// The `[ssd]` table of a parameter file. Rates are in 10⁶ bytes a second.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdParameters {
    /// Sectors of 512 bytes offered to the host.
    pub sectors: u64,
    /// Channels between controller and flash.
    pub channels: u32,
    /// Dies on each channel.
    pub dies_per_channel: u32,
    /// The amount of data that a die programs at once.
    pub page: Bytes,
    /// Pages of a block, which is erased as a whole.
    pub pages_per_block: u32,
    /// Time to read a page from the cells into the die's register.
    pub read: Nanos,
    /// Time to program a page from the register into the cells.
    pub program: Nanos,
    /// Time to erase a block.
    pub erase: Nanos,
    /// How long a read waits until a program or an erase is suspended. If left out, it waits until
    /// they have ended.
    pub suspend: Option<Nanos>,
    /// Rate of one channel.
    pub channel_mb_per_s: f64,
    /// Rate of the host's link.
    pub link_mb_per_s: f64,
    /// Whether the link carries both directions at once.
    pub full_duplex: bool,
    /// The controller's share of a read.
    pub command_read: Nanos,
    /// The controller's share of a write.
    pub command_write: Nanos,
    /// Between the starts of two commands, at least.
    pub command_interval: Nanos,
    /// Commands under way at most.
    pub queue_depth: u32,
    /// Room for written data on its way to the flash.
    pub write_buffer: Bytes,
    /// Whether buffer and map survive a power failure (capacitors).
    pub power_loss_protection: bool,
    /// What a flush costs besides writing out the buffer.
    pub flush: Nanos,
    /// Whether a flush waits for all commands and delays later ones (ATA).
    pub flush_exclusive: bool,
    /// Flash beyond the offered capacity, as a fraction of the offered capacity.
    pub over_provisioning: f64,
}

impl SsdParameters {
    pub(crate) fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel
    }

    pub(crate) fn units_per_page(&self) -> u32 {
        (self.page.0 / UNIT_BYTES) as u32
    }

    pub(crate) fn units_per_block(&self) -> u32 {
        self.units_per_page() * self.pages_per_block
    }

    /// Blocks of each die: those for the offered capacity and the over-provisioning, with always
    /// enough spare blocks for garbage collection.
    pub(crate) fn blocks_per_die(&self, sectors: u64) -> u32 {
        let block_sectors = u64::from(self.units_per_block()) * UNIT_SECTORS;
        let each = sectors.div_ceil(u64::from(self.dies())).div_ceil(block_sectors);
        let spare = (each as f64 * self.over_provisioning) as u64;
        u32::try_from(each + spare.max(u64::from(SPARE_BLOCKS))).unwrap_or(u32::MAX)
    }

    /// Checks the whole; the error is the offending key and what is wrong with it.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        let fail = |key, problem: &str| Err((key, problem.to_owned()));
        if self.sectors < 2048 || self.sectors > 1 << 34 {
            return fail("sectors", "must be between 2048 and 17179869184 (8 TiB)");
        }
        if !(1..=64).contains(&self.channels) {
            return fail("channels", "must be between 1 and 64");
        }
        if !(1..=64).contains(&self.dies_per_channel) {
            return fail("dies_per_channel", "must be between 1 and 64");
        }
        if !self.page.0.is_power_of_two() || !(UNIT_BYTES..=1 << 20).contains(&self.page.0) {
            return fail("page", "must be a power of two from 4K to 1M");
        }
        if !(2..=8192).contains(&self.pages_per_block) {
            return fail("pages_per_block", "must be between 2 and 8192");
        }
        for (key, rate) in
            [("channel_mb_per_s", self.channel_mb_per_s), ("link_mb_per_s", self.link_mb_per_s)]
        {
            if !(rate > 0.01 && rate < 1e6) {
                return fail(key, "must be above 0.01 and below 1000000");
            }
        }
        bounds::times(&[
            ("read", self.read),
            ("program", self.program),
            ("erase", self.erase),
            ("suspend", self.suspend.unwrap_or_default()),
            ("command_read", self.command_read),
            ("command_write", self.command_write),
            ("command_interval", self.command_interval),
            ("flush", self.flush),
        ])?;
        bounds::memory(&[("write_buffer", self.write_buffer)])?;
        if self.queue_depth == 0 || self.queue_depth > 65_536 {
            return fail("queue_depth", "must be between 1 and 65536");
        }
        if self.write_buffer.0 < self.page.0 {
            return fail("write_buffer", "must hold at least one page");
        }
        if !(0.0..=10.0).contains(&self.over_provisioning) {
            return fail("over_provisioning", "must be from 0 to 10");
        }
        let slots = u64::from(self.blocks_per_die(self.sectors))
            * u64::from(self.dies())
            * u64::from(self.units_per_block());
        if slots >= u64::from(u32::MAX) {
            return fail("sectors", "with its spare blocks it exceeds 16 TiB of flash");
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests_support {
    use super::*;

    /// A small SSD for tests: 2 dies, 16 KiB pages, 8 pages a block.
    pub(crate) fn small(sectors: u64) -> SsdParameters {
        SsdParameters {
            sectors,
            channels: 2,
            dies_per_channel: 1,
            page: Bytes::from_kib(16),
            pages_per_block: 8,
            read: Nanos::from_micros(50),
            program: Nanos::from_micros(400),
            erase: Nanos::from_micros(3000),
            suspend: None,
            channel_mb_per_s: 800.0,
            link_mb_per_s: 560.0,
            full_duplex: false,
            command_read: Nanos::from_micros(15),
            command_write: Nanos::from_micros(10),
            command_interval: Nanos::from_micros(3),
            queue_depth: 32,
            write_buffer: Bytes::from_mib(1),
            power_loss_protection: false,
            flush: Nanos::from_millis(1),
            flush_exclusive: true,
            over_provisioning: 0.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::tests_support::small;
    use super::*;

    fn good() -> SsdParameters {
        small(2048)
    }

    #[test]
    fn the_limits_themselves_are_accepted() {
        let page = Bytes::from_mib(1);
        for accepted in [
            good(),
            small(1 << 34),
            // Nearly as much flash again: below 16 TiB.
            SsdParameters { over_provisioning: 0.99, ..small(1 << 34) },
            SsdParameters { page: Bytes::from_kib(4), ..good() },
            SsdParameters { page, write_buffer: page, ..good() },
            SsdParameters { queue_depth: 1, ..good() },
            SsdParameters { queue_depth: 65_536, ..good() },
        ] {
            assert_eq!(accepted.check(), Ok(()), "{accepted:?}");
        }
    }

    #[test]
    fn what_is_beyond_a_limit_is_refused_by_its_name() {
        let refused = |bad: SsdParameters, key: &'static str, problem: &str| {
            assert_eq!(bad.check(), Err((key, problem.to_owned())), "{bad:?}");
        };
        for sectors in [0, 2047, (1 << 34) + 1] {
            let problem = "must be between 2048 and 17179869184 (8 TiB)";
            refused(small(sectors), "sectors", problem);
        }
        for kib in [2, 12, 2048] {
            let bad = SsdParameters { page: Bytes::from_kib(kib), ..good() };
            refused(bad, "page", "must be a power of two from 4K to 1M");
        }
        for rate in [0.01, 1e6, f64::NAN] {
            let problem = "must be above 0.01 and below 1000000";
            let channel = SsdParameters { channel_mb_per_s: rate, ..good() };
            refused(channel, "channel_mb_per_s", problem);
            let link = SsdParameters { link_mb_per_s: rate, ..good() };
            refused(link, "link_mb_per_s", problem);
        }
        for queue_depth in [0, 65_537] {
            let bad = SsdParameters { queue_depth, ..good() };
            refused(bad, "queue_depth", "must be between 1 and 65536");
        }
        let little = SsdParameters { write_buffer: Bytes(16 * 1024 - 1), ..good() };
        refused(little, "write_buffer", "must hold at least one page");
        // Twice 8 TiB.
        let much = SsdParameters { over_provisioning: 1.0, ..small(1 << 34) };
        refused(much, "sectors", "with its spare blocks it exceeds 16 TiB of flash");
    }
}
