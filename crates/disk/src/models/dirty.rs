//! Dirty sectors: those that the write cache holds and the platter does not yet. They are kept as
//! disjoint extents in order of address. Nothing here depends on time.

/// Sectors `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Extent {
    pub(crate) fn sectors(self) -> u64 {
        self.end - self.start
    }
}

/// Dirty extents, disjoint, not adjacent, ascending.
#[derive(Debug, Clone)]
pub(crate) struct DirtyExtents {
    extents: Vec<Extent>,
    sectors: u64,
}

impl DirtyExtents {
    /// An empty set, with room for `extents` without allocating memory.
    pub(crate) fn new(extents: usize) -> DirtyExtents {
        DirtyExtents { extents: Vec::with_capacity(extents + 1), sectors: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    pub(crate) fn sectors(&self) -> u64 {
        self.sectors
    }

    pub(crate) fn len(&self) -> usize {
        self.extents.len()
    }

    /// Adds `start..end`, joining what it touches.
    pub(crate) fn insert(&mut self, start: u64, end: u64) {
        let first = self.extents.partition_point(|extent| extent.end < start);
        let last = first + self.extents[first..].partition_point(|extent| extent.start <= end);
        let mut joined = Extent { start, end };
        for extent in &self.extents[first..last] {
            joined.start = joined.start.min(extent.start);
            joined.end = joined.end.max(extent.end);
            self.sectors -= extent.sectors();
        }
        self.sectors += joined.sectors();
        if first == last {
            self.extents.insert(first, joined);
        } else {
            self.extents[first] = joined;
            self.extents.drain(first + 1..last);
        }
    }

    /// Takes `start..end` out, leaving what lies on either side.
    pub(crate) fn remove(&mut self, start: u64, end: u64) {
        let mut index = self.extents.partition_point(|extent| extent.end <= start);
        while let Some(extent) = self.extents.get(index).copied()
            && extent.start < end
        {
            self.sectors -= extent.end.min(end) - extent.start.max(start);
            let before = Extent { start: extent.start, end: start.max(extent.start) };
            let after = Extent { start: end.min(extent.end), end: extent.end };
            match (before.sectors() > 0, after.sectors() > 0) {
                (true, true) => {
                    self.extents[index] = before;
                    self.extents.insert(index + 1, after);
                    return;
                }
                (true, false) => {
                    self.extents[index] = before;
                    index += 1;
                }
                (false, true) => {
                    self.extents[index] = after;
                    return;
                }
                (false, false) => {
                    self.extents.remove(index);
                }
            }
        }
    }

    /// Whether any sector of `start..end` is held.
    pub(crate) fn touches(&self, start: u64, end: u64) -> bool {
        let index = self.extents.partition_point(|extent| extent.end <= start);
        self.extents.get(index).is_some_and(|extent| extent.start < end)
    }

    /// Whether every sector of `start..end` is held.
    pub(crate) fn covers(&self, start: u64, end: u64) -> bool {
        let index = self.extents.partition_point(|extent| extent.end <= start);
        self.extents.get(index).is_some_and(|extent| extent.start <= start && end <= extent.end)
    }

    /// The first extent that ends after `lba`, or the very first where none does.
    pub(crate) fn at_or_after(&self, lba: u64) -> Option<Extent> {
        let index = self.extents.partition_point(|extent| extent.end <= lba);
        self.extents.get(index).or_else(|| self.extents.first()).copied()
    }

    /// The extents nearest to `lba`: up to `each` on either side.
    pub(crate) fn near(&self, lba: u64, each: usize) -> &[Extent] {
        let middle = self.extents.partition_point(|extent| extent.start < lba);
        let from = middle.saturating_sub(each);
        let to = (middle + each).min(self.extents.len());
        &self.extents[from..to]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a plain set of sectors.
        #[test]
        fn extents_hold_what_a_set_would(
            steps in prop::collection::vec((any::<bool>(), 0u64..200, 1u64..40), 1..60),
            probe in (0u64..200, 1u64..40),
        ) {
            let mut extents = DirtyExtents::new(8);
            let mut set = std::collections::BTreeSet::new();
            for (insert, start, len) in steps {
                if insert {
                    extents.insert(start, start + len);
                    set.extend(start..start + len);
                } else {
                    extents.remove(start, start + len);
                    set.retain(|sector| !(start..start + len).contains(sector));
                }
                prop_assert_eq!(extents.sectors(), set.len() as u64);
                prop_assert!(extents.extents.is_sorted_by(|a, b| a.end < b.start));
            }
            let range = probe.0..probe.0 + probe.1;
            prop_assert_eq!(
                extents.touches(range.start, range.end),
                range.clone().any(|sector| set.contains(&sector))
            );
            prop_assert_eq!(
                extents.covers(range.start, range.end),
                range.clone().all(|sector| set.contains(&sector))
            );
        }
    }

    /// Ten sectors from here.
    fn ten(start: u64) -> Extent {
        Extent { start, end: start + 10 }
    }

    /// Ten sectors from each of these.
    fn tens(starts: &[u64]) -> DirtyExtents {
        let mut extents = DirtyExtents::new(8);
        for start in starts {
            extents.insert(*start, start + 10);
        }
        extents
    }

    #[test]
    fn extents_that_touch_count_as_one() {
        assert_eq!(tens(&[]).len(), 0);
        assert_eq!(tens(&[0, 20, 40]).len(), 3);
        assert_eq!(tens(&[0, 20, 10]).len(), 1);
    }

    #[test]
    fn the_next_extent_is_the_first_that_ends_later_or_the_very_first() {
        let extents = tens(&[0, 20, 40]);
        let next = [0, 9, 10, 25, 30, 45, 50].map(|lba| extents.at_or_after(lba));
        assert_eq!(next, [0, 0, 20, 20, 40, 40, 0].map(|start| Some(ten(start))));
        assert_eq!(tens(&[]).at_or_after(0), None);
    }

    #[test]
    fn the_nearest_extents_are_as_many_on_either_side() {
        let extents = tens(&[0, 20, 40, 60]);
        assert_eq!(extents.near(30, 1), [ten(20), ten(40)]);
        assert_eq!(extents.near(20, 1), [ten(0), ten(20)], "one that begins there is after it");
        assert_eq!(extents.near(5, 1), [ten(0), ten(20)]);
        assert_eq!(extents.near(0, 1), [ten(0)]);
        assert_eq!(extents.near(100, 3), [ten(20), ten(40), ten(60)]);
    }
}
