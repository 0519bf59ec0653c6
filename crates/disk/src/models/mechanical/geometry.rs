//! Where a sector is: zone, cylinder, head and position on the track. Only positions; `motion`
//! computes the time to get there.

use super::parameters::{DriveParameters, Layout, ZoneParameters};

/// A sector's place on the platters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    pub(crate) cylinder: u32,
    pub(crate) head: u32,
    /// Which of the track's angular slots, skew included; below `slots`.
    pub(crate) slot: u32,
    /// Slots (sectors) of the track.
    pub(crate) slots: u32,
    /// Sectors from here to the track's end or the next spare one, this one included.
    pub(crate) left: u32,
}

#[derive(Debug, Clone)]
struct Zone {
    first_lba: u64,
    first_cylinder: u32,
    cylinders: u32,
    slots: u32,
    track_skew: u32,
    cylinder_skew: u32,
    /// Sectors in use before spare ones, and how many spare ones follow; without any, all.
    range: u64,
    spare: u64,
}

/// The map from sectors to places.
#[derive(Debug, Clone)]
pub(crate) struct Geometry {
    zones: Vec<Zone>,
    heads: u32,
    cylinders: u32,
    /// Cylinders of a serpentine's band; 1 in the cylinder layout.
    band: u32,
    serpentine: bool,
    sectors: u64,
}

/// Times of the switches that skews have to hide, in nanoseconds.
pub(crate) struct SwitchTimes {
    pub(crate) revolution_ns: u64,
    pub(crate) head_ns: u64,
    pub(crate) cylinder_ns: u64,
}

impl Geometry {
    /// Lays out a drive. Parameters have been checked.
    pub(crate) fn new(drive: &DriveParameters, switch: &SwitchTimes) -> Geometry {
        let (zones, cylinders) = zones(drive);
        let ends = zones.iter().skip(1).map(|zone| zone.cylinder).chain([cylinders]);
        let mut first_lba = 0;
        let zones = zones
            .iter()
            .zip(ends)
            .map(|(zone, end)| {
                let skew = |given: Option<u32>, time_ns: u64| {
                    given.unwrap_or_else(|| match drive.skew {
                        Some(part) => (part * f64::from(zone.sectors)).ceil() as u32,
                        None => {
                            let slots = u64::from(zone.sectors);
                            (time_ns * slots).div_ceil(switch.revolution_ns) as u32
                        }
                    })
                };
                let used = zone.cylinders.unwrap_or(end - zone.cylinder);
                let per_cylinder = u64::from(drive.heads) * u64::from(zone.sectors);
                let (range, spare) = drive.spares.map_or((u64::MAX, 0), |spares| {
                    let spare = u64::from(spares.sectors);
                    (u64::from(spares.cylinders) * per_cylinder - spare, spare)
                });
                let built = Zone {
                    first_lba,
                    first_cylinder: zone.cylinder,
                    cylinders: used,
                    slots: zone.sectors,
                    track_skew: skew(zone.track_skew, switch.head_ns) % zone.sectors,
                    cylinder_skew: skew(zone.cylinder_skew, switch.cylinder_ns) % zone.sectors,
                    range,
                    spare,
                };
                let all = u64::from(used) * per_cylinder;
                first_lba += all - all.div_ceil(range.saturating_add(spare)) * spare;
                built
            })
            .collect();
        let serpentine = drive.layout == Layout::Serpentine;
        let band = if serpentine { drive.band.unwrap_or(1).max(1) } else { 1 };
        Geometry { zones, heads: drive.heads, cylinders, band, serpentine, sectors: drive.sectors }
    }

    pub(crate) fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// First sector and sectors per track of every zone that holds offered sectors.
    pub(crate) fn zone_starts(&self) -> impl Iterator<Item = (u64, u32)> {
        let offered = self.zones.iter().filter(|zone| zone.first_lba < self.sectors);
        offered.map(|zone| (zone.first_lba, zone.slots))
    }

    /// Where `lba` lies. A sector beyond the end lies in the last zone.
    #[inline]
    pub(crate) fn locate(&self, lba: u64) -> Place {
        let after = self.zones.partition_point(|zone| zone.first_lba <= lba);
        let zone = &self.zones[after.saturating_sub(1)];
        let mut within = lba - zone.first_lba;
        let mut in_range = u64::MAX;
        if zone.spare > 0 {
            in_range = zone.range - within % zone.range;
            within += within / zone.range * zone.spare;
        }
        let slots = u64::from(zone.slots);
        // Track numbers have 32 bits: dividing those is cheaper, and this is the hot path.
        let (track, sector) = ((within / slots) as u32, (within % slots) as u32);
        let heads = self.heads;
        // Tracks follow one another band by band; in a band, surface by surface.
        let band_tracks = self.band * heads;
        let band = track / band_tracks;
        let in_band = track % band_tracks;
        let first = band * self.band;
        let width = self.band.min(zone.cylinders.saturating_sub(first)).max(1);
        let (head, along) = (in_band / width, in_band % width);
        let along = if self.serpentine && head % 2 == 1 { width - 1 - along } else { along };
        let cylinder = zone.first_cylinder + first + along;
        // Every step from the zone's first track has turned the start by a skew.
        let head_switches = band * (heads - 1) + head;
        let cylinder_switches = track.saturating_sub(head_switches);
        let turned = u64::from(head_switches) * u64::from(zone.track_skew)
            + u64::from(cylinder_switches) * u64::from(zone.cylinder_skew);
        let slot = ((u64::from(sector) + turned) % slots) as u32;
        let left = (slots - u64::from(sector)).min(in_range) as u32;
        Place { cylinder, head, slot, slots: zone.slots, left }
    }
}

/// The zones as given, or as the ramp makes them, and the number of cylinders.
fn zones(drive: &DriveParameters) -> (Vec<ZoneParameters>, u32) {
    let Some(ramp) = drive.ramp else {
        // Never without a number of cylinders: the check asks for it.
        return (drive.zones.clone(), drive.cylinders.unwrap_or_default());
    };
    // Integer arithmetic, so that the same file gives the same zones on every machine.
    let steps = u64::from(ramp.zones.max(2) - 1);
    let fall = u64::from(ramp.outer - ramp.inner);
    let slots =
        |index: u32| ramp.outer - ((fall * u64::from(index) + steps / 2) / steps).min(fall) as u32;
    let per_cylinder_of_each: u64 =
        (0..ramp.zones).map(|index| u64::from(slots(index)) * u64::from(drive.heads)).sum();
    let width = drive.sectors.div_ceil(per_cylinder_of_each) as u32;
    let zones = (0..ramp.zones)
        .map(|index| ZoneParameters {
            cylinder: index * width,
            cylinders: None,
            sectors: slots(index),
            track_skew: None,
            cylinder_skew: None,
        })
        .collect();
    (zones, width * ramp.zones)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::mechanical::parameters::tests_support::{small, zone};

    fn laid_out(drive: &DriveParameters) -> Geometry {
        let switch =
            SwitchTimes { revolution_ns: 10_000_000, head_ns: 1_000_000, cylinder_ns: 1_000_000 };
        Geometry::new(drive, &switch)
    }

    /// The first four cylinders, of two tracks of 100 sectors, hold 800.
    #[test]
    fn a_zone_of_which_nothing_is_offered_is_none() {
        let zones = vec![zone(0, 100), zone(4, 50)];
        let starts = |sectors| {
            let geometry = laid_out(&DriveParameters { sectors, zones: zones.clone(), ..small() });
            geometry.zone_starts().collect::<Vec<_>>()
        };
        assert_eq!(starts(800), [(0, 100)]);
        assert_eq!(starts(801), [(0, 100), (800, 50)]);
    }

    /// Five cylinders in bands of three, so that the last band has two.
    #[test]
    fn a_serpentine_comes_back_on_the_other_surface() {
        let geometry = laid_out(&DriveParameters {
            sectors: 1000,
            cylinders: Some(5),
            layout: Layout::Serpentine,
            band: Some(3),
            ..small()
        });
        let tracks = (0..10).map(|track| {
            let place = geometry.locate(track * 100);
            (place.head, place.cylinder)
        });
        let outwards_and_back =
            [(0, 0), (0, 1), (0, 2), (1, 2), (1, 1), (1, 0), (0, 3), (0, 4), (1, 4), (1, 3)];
        assert_eq!(tracks.collect::<Vec<_>>(), outwards_and_back);
    }
}
