//! What a RAID controller's parameter file may say, and what must fit together.

use serde::Deserialize;
use units::{Bytes, Nanos, SECTOR_BYTES};

use crate::models::bounds;

use super::striping::{Level, Striping};

/// The `[controller]` table of a parameter file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerParameters {
    /// The drive each member is: a shipped name, or the path of a file, relative to this one.
    pub member: String,
    /// How many members.
    pub members: u32,
    /// How data is spread over them.
    pub level: Level,
    /// What lies on one member before the next is used.
    pub stripe_unit: Bytes,
    /// Whether the members' own write caches are on.
    pub member_write_cache: bool,
    /// Memory for written data.
    pub write_memory: Bytes,
    /// Whether a battery keeps that memory alive; without it every write goes through.
    pub battery: bool,
    /// The controller's own time for a command.
    pub command: Nanos,
    /// Rate of the host's link in 10⁶ bytes a second.
    pub link_mb_per_s: f64,
    /// Rate at which it computes parity, in 10⁶ bytes a second.
    pub parity_mb_per_s: f64,
    /// Commands it gives one member at a time.
    pub member_queue_depth: u32,
    /// The part of the time that filling a new member may take, above 0 and up to 1.
    pub rebuild_share: f64,
}

/// The state of an array's last member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArrayState {
    /// It is there and has its data.
    #[default]
    Clean,
    /// It is missing: its data is computed from the others or read from the copy.
    Degraded,
    /// It is new, and is filled from the others from the host's first request on.
    Rebuilding,
}

impl ControllerParameters {
    /// Where its data lies on its members.
    pub(crate) fn striping(&self) -> Striping {
        Striping {
            level: self.level,
            members: self.members,
            unit: self.stripe_unit.0 / SECTOR_BYTES,
        }
    }

    /// Checks the whole; the error is the offending key and what is wrong with it.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        let fail = |key, problem: &str| Err((key, problem.to_owned()));
        let least = match self.level {
            Level::Raid0 => 1,
            Level::Raid1 => 2,
            Level::Raid5 => 3,
            Level::Raid10 => 2,
        };
        if !(least..=32).contains(&self.members) {
            return Err(("members", format!("must be between {least} and 32 for this level")));
        }
        if self.level == Level::Raid10 && !self.members.is_multiple_of(2) {
            return fail("members", "must be even: pairs are mirrored");
        }
        if !self.stripe_unit.0.is_power_of_two() || !(4096..=1 << 24).contains(&self.stripe_unit.0)
        {
            return fail("stripe_unit", "must be a power of two from 4K to 16M");
        }
        for (key, rate) in
            [("link_mb_per_s", self.link_mb_per_s), ("parity_mb_per_s", self.parity_mb_per_s)]
        {
            if !(rate > 0.01 && rate < 1e6) {
                return fail(key, "must be above 0.01 and below 1000000");
            }
        }
        bounds::times(&[("command", self.command)])?;
        bounds::memory(&[("write_memory", self.write_memory)])?;
        if self.member_queue_depth == 0 || self.member_queue_depth > 256 {
            return fail("member_queue_depth", "must be between 1 and 256");
        }
        if !(self.rebuild_share >= 0.01 && self.rebuild_share <= 1.0) {
            return fail("rebuild_share", "must be between 0.01 and 1");
        }
        if self.battery && self.write_memory.0 < self.stripe_unit.0 * u64::from(self.members) {
            return fail("write_memory", "must hold at least one whole stripe");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> ControllerParameters {
        ControllerParameters {
            member: "any".to_owned(),
            members: 4,
            level: Level::Raid5,
            stripe_unit: Bytes::from_kib(64),
            member_write_cache: false,
            write_memory: Bytes::from_kib(256),
            battery: true,
            command: Nanos::from_micros(50),
            link_mb_per_s: 800.0,
            parity_mb_per_s: 400.0,
            member_queue_depth: 8,
            rebuild_share: 0.2,
        }
    }

    #[test]
    fn the_limits_themselves_are_accepted() {
        let (stripe_unit, write_memory) = (Bytes::from_mib(16), Bytes::from_mib(64));
        for accepted in [
            good(),
            ControllerParameters { members: 3, ..good() },
            ControllerParameters { members: 32, write_memory, ..good() },
            ControllerParameters { stripe_unit: Bytes::from_kib(4), ..good() },
            ControllerParameters { stripe_unit, write_memory, ..good() },
            ControllerParameters { member_queue_depth: 1, ..good() },
            ControllerParameters { member_queue_depth: 256, ..good() },
            ControllerParameters { rebuild_share: 0.01, ..good() },
            ControllerParameters { rebuild_share: 1.0, ..good() },
            ControllerParameters { battery: false, write_memory: Bytes::ZERO, ..good() },
        ] {
            assert_eq!(accepted.check(), Ok(()), "{accepted:?}");
        }
    }

    #[test]
    fn what_is_beyond_a_limit_is_refused_by_its_name() {
        let refused = |bad: ControllerParameters, key: &'static str, problem: &str| {
            assert_eq!(bad.check(), Err((key, problem.to_owned())), "{bad:?}");
        };
        for members in [2, 33] {
            let bad = ControllerParameters { members, ..good() };
            refused(bad, "members", "must be between 3 and 32 for this level");
        }
        let odd = ControllerParameters { level: Level::Raid10, members: 5, ..good() };
        refused(odd, "members", "must be even: pairs are mirrored");
        for kib in [2, 12, 32 * 1024] {
            let bad = ControllerParameters { stripe_unit: Bytes::from_kib(kib), ..good() };
            refused(bad, "stripe_unit", "must be a power of two from 4K to 16M");
        }
        for rate in [0.01, 1e6, f64::NAN] {
            let problem = "must be above 0.01 and below 1000000";
            let link = ControllerParameters { link_mb_per_s: rate, ..good() };
            refused(link, "link_mb_per_s", problem);
            let parity = ControllerParameters { parity_mb_per_s: rate, ..good() };
            refused(parity, "parity_mb_per_s", problem);
        }
        for member_queue_depth in [0, 257] {
            let bad = ControllerParameters { member_queue_depth, ..good() };
            refused(bad, "member_queue_depth", "must be between 1 and 256");
        }
        for rebuild_share in [0.0, 0.0099, 1.001, f64::NAN] {
            let bad = ControllerParameters { rebuild_share, ..good() };
            refused(bad, "rebuild_share", "must be between 0.01 and 1");
        }
        let little = ControllerParameters { write_memory: Bytes(256 * 1024 - 1), ..good() };
        refused(little, "write_memory", "must hold at least one whole stripe");
    }
}
