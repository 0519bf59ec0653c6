//! What a mechanical drive's parameter file may say. Checks what no type can: that zones
//! ascend, that exactly one form of seek curve is given, that the platter holds the
//! capacity.

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) mod tests_support;

use serde::Deserialize;
use units::{Bytes, Nanos};

use crate::models::bounds::{self, Problem};
use crate::models::queue::Scheduler;

/// The longest seek of a measured curve.
const SEEK_MS_MAX: f64 = 10_000.0;

/// By what share a measured time may fall below that over a shorter distance.
const FALL_MAX: f64 = 0.1;

/// The most segments of a read cache.
const SEGMENTS_MAX: u32 = 65_536;

/// The `[drive]` table of a parameter file. Times carry their unit (`"0.34ms"`); sectors
/// are of 512 bytes; rates are in 10⁶ bytes a second, as data sheets have them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveParameters {
    /// Sectors of 512 bytes offered to the host.
    pub sectors: u64,
    /// Bytes of a physical sector; a write that covers one only partly costs a revolution.
    #[serde(default = "sector")]
    pub physical_sector: u64,
    /// Revolutions a minute.
    pub rpm: u32,
    /// Recorded surfaces.
    pub heads: u32,
    /// Cylinders; with `zones` only. A `ramp` gets as many as the capacity needs.
    pub cylinders: Option<u32>,
    /// Zones as measured. Either this or `ramp`.
    #[serde(default)]
    pub zones: Vec<ZoneParameters>,
    /// Sectors set aside for defects, where the drive's map is known.
    pub spares: Option<Spares>,
    /// Zones as a straight line from the outer to the inner sectors per track.
    pub ramp: Option<Ramp>,
    /// How successive tracks follow each other.
    pub layout: Layout,
    /// Cylinders that a serpentine follows on one surface before it changes surface.
    pub band: Option<u32>,
    /// Skew between tracks in parts of a revolution, where it was measured. Otherwise the
    /// switch time, rounded up to a sector.
    pub skew: Option<f64>,
    /// The arm's curve.
    pub seek: SeekParameters,
    /// Time to continue reading on another surface of the same cylinder.
    pub head_switch: Nanos,
    /// Time to continue reading on the next cylinder; the single-track seek where left out.
    pub cylinder_switch: Option<Nanos>,
    /// From a command's arrival to the start of what it needs.
    pub overhead: Overhead,
    /// Rate of the host's link in 10⁶ bytes a second.
    pub link_mb_per_s: f64,
    /// Segments of the read cache.
    pub read_segments: u32,
    /// Size of one segment: how far the drive reads ahead.
    pub read_segment: Bytes,
    /// Room for written data that is not on the platter yet.
    pub write_buffer: Bytes,
    /// Whether the write cache is on unless an option says otherwise.
    pub write_cache: bool,
    /// True where written data survives a power failure (kept in flash by the drive).
    #[serde(default)]
    pub write_cache_protected: bool,
    /// The most commands that the drive considers at a time.
    pub queue_depth: u32,
    /// In which order it serves them.
    pub scheduler: Scheduler,
    /// True where a flush waits for all commands and delays later ones (ATA); false
    /// where it is one command among others (SCSI).
    pub flush_exclusive: bool,
}

fn sector() -> u64 {
    units::SECTOR_BYTES
}

/// One zone, from its first cylinder to the next zone's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneParameters {
    /// First cylinder.
    pub cylinder: u32,
    /// Cylinders in use; all up to the next zone where left out.
    pub cylinders: Option<u32>,
    /// Sectors per track.
    pub sectors: u32,
    /// Skew between heads in sectors, where it was measured.
    pub track_skew: Option<u32>,
    /// Skew between cylinders in sectors, where it was measured.
    pub cylinder_skew: Option<u32>,
}

/// Sectors set aside at the end of every so many cylinders of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spares {
    /// How many cylinders share them.
    pub cylinders: u32,
    /// How many sectors they are.
    pub sectors: u32,
}

/// Equal zones whose sectors per track fall in a straight line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ramp {
    /// Sectors per track in the outermost zone.
    pub outer: u32,
    /// In the innermost zone.
    pub inner: u32,
    /// How many zones.
    pub zones: u32,
}

/// How successive tracks follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// All heads of a cylinder, then the next cylinder.
    Cylinder,
    /// Along one surface for a band of cylinders, back along the next.
    Serpentine,
}

/// The seek curve: three published points, or a measured curve.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeekParameters {
    /// To the next cylinder.
    pub single: Option<Nanos>,
    /// Mean over random pairs of cylinders.
    pub average: Option<Nanos>,
    /// From the first cylinder to the last.
    pub full: Option<Nanos>,
    /// A measured curve: `[cylinders, milliseconds]`, ascending; straight lines between.
    #[serde(default)]
    pub knots_ms: Vec<(u32, f64)>,
    /// How much longer a write than a read waits for the head to settle.
    pub write_settle: Nanos,
}

/// Command overheads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overhead {
    /// A read that the cache answers.
    pub read_hit: Nanos,
    /// A read from the platter.
    pub read_miss: Nanos,
    /// A write into the cache.
    pub write_hit: Nanos,
    /// A write to the platter.
    pub write_miss: Nanos,
}

impl DriveParameters {
    /// Checks the whole; the error is the offending key and what is wrong with it.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        let fail = |key, problem: &str| Err((key, problem.to_owned()));
        bounds::sectors(self.sectors)?;
        self.check_amounts()?;
        if !(500..=100_000).contains(&self.rpm) {
            return fail("rpm", "must be between 500 and 100000");
        }
        if self.heads == 0 || self.heads > 1000 {
            return fail("heads", "must be between 1 and 1000");
        }
        if !(self.link_mb_per_s > 0.01 && self.link_mb_per_s < 1e6) {
            return fail("link_mb_per_s", "must be above 0.01 and below 1000000");
        }
        if self.physical_sector < units::SECTOR_BYTES || !self.physical_sector.is_power_of_two() {
            return fail("physical_sector", "must be a power of two, 512 or more");
        }
        if self.queue_depth == 0 || self.queue_depth > 256 {
            return fail("queue_depth", "must be between 1 and 256");
        }
        if self.write_cache && self.write_buffer.0 < 4096 {
            return fail("write_buffer", "a write cache needs at least 4 KiB");
        }
        if self.skew.is_some_and(|skew| !(0.0..1.0).contains(&skew)) {
            return fail("skew", "is a part of a revolution: from 0 to below 1");
        }
        match (self.zones.is_empty(), self.ramp) {
            (true, None) => return fail("zones", "give `zones` or `ramp`"),
            (false, Some(_)) => return fail("ramp", "give `zones` or `ramp`, not both"),
            (true, Some(_)) if self.spares.is_some() => {
                return fail("spares", "go with `zones` only");
            }
            (true, Some(_)) if self.cylinders.is_some() => {
                return fail("cylinders", "a `ramp` takes as many as the capacity needs");
            }
            (true, Some(ramp)) => self.check_ramp(ramp)?,
            (false, None) => self.check_zones()?,
        }
        let band = self.band.unwrap_or(0);
        if self.layout == Layout::Serpentine && !(1..=1_000_000).contains(&band) {
            return fail("band", "a serpentine layout needs its band: 1 to 1000000 cylinders");
        }
        self.check_seek()
    }

    fn check_amounts(&self) -> Result<(), Problem> {
        bounds::times(&[
            ("head_switch", self.head_switch),
            ("cylinder_switch", self.cylinder_switch.unwrap_or_default()),
            ("overhead", self.overhead.read_hit),
            ("overhead", self.overhead.read_miss),
            ("overhead", self.overhead.write_hit),
            ("overhead", self.overhead.write_miss),
            ("seek", self.seek.full.unwrap_or_default()),
            ("seek", self.seek.write_settle),
        ])?;
        bounds::memory(&[
            ("read_segment", self.read_segment),
            ("write_buffer", self.write_buffer),
        ])?;
        if self.read_segments > SEGMENTS_MAX {
            return Err(("read_segments", format!("must be at most {SEGMENTS_MAX}")));
        }
        Ok(())
    }

    fn check_ramp(&self, ramp: Ramp) -> Result<(), (&'static str, String)> {
        if ramp.zones == 0 || ramp.inner == 0 || ramp.outer < ramp.inner {
            return Err(("ramp", "needs zones > 0 and outer >= inner > 0".to_owned()));
        }
        if self.sectors / u64::from(self.heads) / u64::from(ramp.outer) < u64::from(ramp.zones) {
            return Err(("ramp", "has more zones than the capacity needs tracks".to_owned()));
        }
        Ok(())
    }

    fn check_zones(&self) -> Result<(), (&'static str, String)> {
        let Some(cylinders) = self.cylinders else {
            return Err(("cylinders", "is needed with `zones`".to_owned()));
        };
        if self.zones.first().is_none_or(|zone| zone.cylinder != 0) {
            return Err(("zones", "the first zone must start at cylinder 0".to_owned()));
        }
        let starts = self.zones.iter().map(|zone| zone.cylinder).chain([cylinders]);
        if !starts.is_sorted_by(|before, after| before < after) {
            let problem = "zones must ascend and end below `cylinders`";
            return Err(("zones", problem.to_owned()));
        }
        if self.zones.iter().any(|zone| zone.sectors == 0) {
            return Err(("zones", "a zone needs at least one sector per track".to_owned()));
        }
        let ends = self.zones.iter().skip(1).map(|zone| zone.cylinder).chain([cylinders]);
        let mut held = 0;
        for (zone, end) in self.zones.iter().zip(ends) {
            let used = zone.cylinders.unwrap_or(end - zone.cylinder);
            if used == 0 || used > end - zone.cylinder {
                let problem = "a zone's `cylinders` must be above 0 and end before the next zone";
                return Err(("zones", problem.to_owned()));
            }
            let per_cylinder = u64::from(zone.sectors) * u64::from(self.heads);
            held += u64::from(used) * per_cylinder;
            if let Some(Spares { cylinders, sectors }) = self.spares {
                if cylinders == 0 || u64::from(cylinders) * per_cylinder <= u64::from(sectors) {
                    return Err(("spares", "must leave sectors to use".to_owned()));
                }
                held -= u64::from(used.div_ceil(cylinders)) * u64::from(sectors);
            }
        }
        if held < self.sectors {
            return Err(("sectors", format!("the zones hold only {held} sectors")));
        }
        Ok(())
    }

    fn check_seek(&self) -> Result<(), (&'static str, String)> {
        let seek = &self.seek;
        let points = [seek.single, seek.average, seek.full];
        let given = points.iter().flatten().count();
        match (given, seek.knots_ms.len()) {
            (3, 0) => {
                if points.is_sorted() {
                    Ok(())
                } else {
                    Err(("seek", "needs single <= average <= full".to_owned()))
                }
            }
            (0, 2..) => {
                let ascend = seek.knots_ms.is_sorted_by(|a, b| a.0 < b.0);
                let possible = |ms: f64| ms > 0.0 && ms <= SEEK_MS_MAX;
                let mut longest = 0.0_f64;
                let falls = seek.knots_ms.iter().find(|(_, ms)| {
                    longest = longest.max(*ms);
                    *ms < longest * (1.0 - FALL_MAX)
                });
                if !ascend
                    || seek.knots_ms[0].0 == 0
                    || !seek.knots_ms.iter().all(|knot| possible(knot.1))
                {
                    let problem = format!(
                        "knots_ms must ascend from 1 cylinder or more, times above 0 and at most \
                         {SEEK_MS_MAX} ms"
                    );
                    Err(("seek", problem))
                } else if let Some((cylinders, ms)) = falls {
                    let problem = format!(
                        "knots_ms: {ms} ms over {cylinders} cylinders is less than over fewer \
                         ({longest} ms), by more than measuring explains ({:.0} %)",
                        FALL_MAX * 100.0
                    );
                    Err(("seek", problem))
                } else {
                    Ok(())
                }
            }
            _ => {
                let problem = "give `single`, `average` and `full`, or at least two `knots_ms`";
                Err(("seek", problem.to_owned()))
            }
        }
    }
}
