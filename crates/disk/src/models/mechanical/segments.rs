//! The read cache: a few segments, each holding one run of sectors that ends where reading
//! stopped. The least recently used one is replaced.

/// Sectors `start..end` in one segment.
#[derive(Debug, Clone, Copy, Default)]
struct Segment {
    start: u64,
    end: u64,
    used: u64,
}

/// The segments of a drive's read cache.
#[derive(Debug, Clone)]
pub(crate) struct ReadSegments {
    segments: Vec<Segment>,
    sectors: u64,
    uses: u64,
}

impl ReadSegments {
    /// `count` segments of `sectors` each; either may be 0, and nothing is ever held then.
    pub(crate) fn new(count: u32, sectors: u64) -> ReadSegments {
        let count = if sectors == 0 { 0 } else { count };
        ReadSegments { segments: vec![Segment::default(); count as usize], sectors, uses: 0 }
    }

    /// Sectors of one segment: how far to read ahead.
    pub(crate) fn sectors_each(&self) -> u64 {
        if self.segments.is_empty() { 0 } else { self.sectors }
    }

    /// The segment that holds all of `start..end`; it counts as used.
    pub(crate) fn covering(&mut self, start: u64, end: u64) -> Option<usize> {
        let index = self
            .segments
            .iter()
            .position(|segment| segment.start <= start && end <= segment.end)?;
        self.uses += 1;
        self.segments[index].used = self.uses;
        Some(index)
    }

    /// Whether `segment` holds `lba`, or would if it were extended far enough.
    pub(crate) fn begins_before(&self, segment: usize, lba: u64) -> bool {
        self.segments.get(segment).is_some_and(|held| held.start <= lba)
    }

    /// Reuses the least recently used segment for `start..end`, of which the last part is kept.
    pub(crate) fn replace(&mut self, start: u64, end: u64) -> Option<usize> {
        self.uses += 1;
        let (index, segment) =
            self.segments.iter_mut().enumerate().min_by_key(|(_, segment)| segment.used)?;
        *segment =
            Segment { start: start.max(end.saturating_sub(self.sectors)), end, used: self.uses };
        Some(index)
    }

    /// Lets `segment` grow to `end`, dropping its beginning where it overflows.
    pub(crate) fn extend(&mut self, segment: usize, end: u64) {
        if let Some(held) = self.segments.get_mut(segment) {
            held.end = held.end.max(end);
            held.start = held.start.max(held.end.saturating_sub(self.sectors));
        }
    }

    /// Forgets whatever touches `start..end`.
    pub(crate) fn forget(&mut self, start: u64, end: u64) {
        for segment in &mut self.segments {
            if segment.start < end && start < segment.end {
                *segment = Segment { used: segment.used, ..Segment::default() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_again_is_replaced_later() {
        let mut segments = ReadSegments::new(2, 100);
        assert_eq!(segments.replace(0, 10), Some(0));
        assert_eq!(segments.replace(20, 30), Some(1));
        assert_eq!(segments.covering(0, 10), Some(0));
        assert_eq!(segments.replace(40, 50), Some(1));
        assert_eq!(segments.covering(20, 30), None);
        assert_eq!(segments.covering(0, 10), Some(0));
    }

    #[test]
    fn what_only_adjoins_is_not_forgotten() {
        let mut segments = ReadSegments::new(1, 100);
        assert_eq!(segments.replace(10, 20), Some(0));
        segments.forget(0, 10);
        segments.forget(20, 30);
        assert_eq!(segments.covering(10, 20), Some(0));
        segments.forget(19, 30);
        assert_eq!(segments.covering(10, 20), None);
    }
}
