//! Arm and spindle: when a sector passes under a head, and when the last one of a transfer
//! has. Pure arithmetic on whole nanoseconds; it remembers nothing but where the head is.

use units::Nanos;

use super::geometry::{Geometry, Place, SwitchTimes};
use super::parameters::DriveParameters;
use super::seek::SeekCurve;
use crate::models::draw::Draw;

/// The moving parts.
#[derive(Debug, Clone)]
pub(crate) struct Motion {
    geometry: Geometry,
    curve: SeekCurve,
    revolution_ns: u64,
    head_switch_ns: u64,
    cylinder_switch_ns: u64,
    write_settle_ns: u64,
    /// Where the platter stood at time zero, from the seed.
    phase_ns: u64,
}

/// Where the head is, and after which sector.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Head {
    pub(crate) cylinder: u32,
    pub(crate) head: u32,
    /// The sector that follows the last one passed: going on there is a switch, not a seek.
    pub(crate) next_lba: u64,
}

impl Motion {
    pub(crate) fn new(drive: &DriveParameters, seed: u64) -> Motion {
        let revolution_ns = 60_000_000_000 / u64::from(drive.rpm);
        let head_switch_ns = drive.head_switch.0;
        // The single-track seek does not depend on how many cylinders there are.
        let single = SeekCurve::new(&drive.seek, 8).time(1);
        let cylinder_switch_ns = drive.cylinder_switch.unwrap_or(single).0;
        let switch =
            SwitchTimes { revolution_ns, head_ns: head_switch_ns, cylinder_ns: cylinder_switch_ns };
        let geometry = Geometry::new(drive, &switch);
        let curve = SeekCurve::new(&drive.seek, geometry.cylinders());
        Motion {
            curve,
            geometry,
            revolution_ns,
            head_switch_ns,
            cylinder_switch_ns,
            write_settle_ns: drive.seek.write_settle.0,
            phase_ns: Draw::new(seed, "platter").below(revolution_ns),
        }
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(crate) fn revolution(&self) -> Nanos {
        Nanos(self.revolution_ns)
    }

    /// Time until `place` has come under the head, seen at `at` with the head on its track.
    #[inline]
    fn rotation(&self, at: u64, place: &Place) -> u64 {
        let angle = self.angle(place.slot, place.slots);
        let phase = (at + self.phase_ns) % self.revolution_ns;
        if angle >= phase { angle - phase } else { angle + self.revolution_ns - phase }
    }

    #[inline]
    fn angle(&self, slot: u32, slots: u32) -> u64 {
        u64::from(slot) * self.revolution_ns / u64::from(slots)
    }

    /// Time for the arm to get from `head` to the track of `place`.
    #[inline]
    fn arm(&self, head: &Head, place: &Place, lba: u64, write: bool) -> u64 {
        let settle = if write { self.write_settle_ns } else { 0 };
        let distance = head.cylinder.abs_diff(place.cylinder);
        if distance == 0 && head.head == place.head {
            0
        } else if lba == head.next_lba {
            // The skew between successive tracks is made to hide this switch.
            if distance == 0 { self.head_switch_ns } else { self.cylinder_switch_ns }
        } else if distance == 0 {
            self.head_switch_ns + settle
        } else {
            self.curve.time(distance).0.max(self.head_switch_ns) + settle
        }
    }

    /// When `lba` starts to pass under the head that leaves for it at `start`.
    #[inline]
    pub(crate) fn reach(&self, head: &Head, lba: u64, start: Nanos, write: bool) -> Nanos {
        self.reach_place(head, &self.geometry.locate(lba), lba, start, write)
    }

    /// As [`Motion::reach`] where the place of `lba` is known already.
    #[inline]
    pub(crate) fn reach_place(
        &self,
        head: &Head,
        place: &Place,
        lba: u64,
        start: Nanos,
        write: bool,
    ) -> Nanos {
        let arrived = start.0 + self.arm(head, place, lba, write);
        Nanos(arrived + self.rotation(arrived, place))
    }

    /// Moves the head from where it is over `sectors` from `lba`, leaving at `start`.
    /// Returns when the first begins to pass and when the last has passed.
    pub(crate) fn transfer(
        &self,
        head: &mut Head,
        lba: u64,
        sectors: u64,
        start: Nanos,
        write: bool,
    ) -> (Nanos, Nanos) {
        let (mut lba, mut left, mut at) = (lba, sectors, start.0);
        let mut first = None;
        loop {
            let place = self.geometry.locate(lba);
            at += self.arm(head, &place, lba, write && first.is_none());
            at += self.rotation(at, &place);
            let first = *first.get_or_insert(at);
            let here = left.min(u64::from(place.left)) as u32;
            at += self.angle(place.slot + here, place.slots) - self.angle(place.slot, place.slots);
            lba += u64::from(here);
            left -= u64::from(here);
            *head = Head { cylinder: place.cylinder, head: place.head, next_lba: lba };
            if left == 0 {
                return (Nanos(first), Nanos(at));
            }
        }
    }

    /// Reads on from `head.next_lba` for at most `sectors`, having passed the sector before
    /// it at `start`, until `until`. Moves the head over the sectors that passed whole;
    /// returns when the last of them had passed.
    pub(crate) fn read_on(
        &self,
        head: &mut Head,
        sectors: u64,
        start: Nanos,
        until: Nanos,
    ) -> Nanos {
        let (mut left, mut at) = (sectors, start.0);
        while left > 0 && at < until.0 {
            let place = self.geometry.locate(head.next_lba);
            let arrived = at + self.arm(head, &place, head.next_lba, false);
            let reached = arrived + self.rotation(arrived, &place);
            if reached >= until.0 {
                break;
            }
            let from = self.angle(place.slot, place.slots);
            // The last slot whose end lies at or before `until`. In a revolution all of them pass,
            // even those that rounding would leave out.
            let time = until.0 - reached;
            let slots = u64::from(place.slots);
            let passed = if time < self.revolution_ns {
                ((from + time) * slots / self.revolution_ns).saturating_sub(u64::from(place.slot))
            } else {
                slots
            };
            let here = passed.min(left).min(u64::from(place.left));
            if here == 0 {
                break;
            }
            at = reached + self.angle(place.slot + here as u32, place.slots) - from;
            left -= here;
            let next_lba = head.next_lba + here;
            *head = Head { cylinder: place.cylinder, head: place.head, next_lba };
            if here < u64::from(place.left) {
                break;
            }
        }
        Nanos(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::mechanical::parameters::DriveParameters;
    use crate::models::mechanical::parameters::tests_support::small;

    impl Motion {
        /// The same, with a platter whose first slot begins to pass at time zero.
        pub(crate) fn at_the_first_slot(mut self) -> Motion {
            self.phase_ns = 0;
            self
        }
    }

    /// The tenth last sector of a track begins to pass at 9 ms. The switch to the other surface
    /// takes 1 ms, so that the first sector there is missed and comes round 10 ms later.
    #[test]
    fn reading_on_waits_for_a_switch_at_the_end_of_a_track() {
        let motion = Motion::new(&small(), 1).at_the_first_slot();
        let reads_until = |until| {
            let mut head = Head { cylinder: 0, head: 0, next_lba: 90 };
            let (start, until) = (Nanos::from_millis(9), Nanos::from_millis(until));
            let at = motion.read_on(&mut head, 20, start, until);
            (at, head.next_lba, head.head)
        };
        assert_eq!(reads_until(15), (Nanos::from_millis(10), 100, 0));
        assert_eq!(reads_until(30), (Nanos::from_millis(21), 110, 1));
    }

    /// A revolution of 8,333,333 ns is no whole number of nanoseconds a sector, and no track begins
    /// at the first slot but the first one.
    #[test]
    fn in_an_hour_all_is_read_on_whatever_rounding_says() {
        let drive = DriveParameters { rpm: 7200, skew: Some(0.37), ..small() };
        let motion = Motion::new(&drive, 1);
        let mut head = Head { cylinder: 0, head: 0, next_lba: 0 };
        motion.read_on(&mut head, 1500, Nanos::ZERO, Nanos::from_secs(3600));
        assert_eq!(head.next_lba, 1500);
    }
}
