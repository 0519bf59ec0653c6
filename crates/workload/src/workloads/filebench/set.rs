//! The set of files. A file is used by one thread at a time, as in Filebench.

use std::sync::{Mutex, PoisonError};

use crate::engine::path_buffer::PathBuffer;
use crate::{Draw, Seed};

/// A place for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Whether a file is there.
    pub(super) exists: bool,
    pub(super) busy: bool,
    /// Size it is created with.
    pub(super) planned: u64,
    /// Size it has now.
    pub(super) size: u64,
}

pub(super) struct Set {
    places: Mutex<Vec<Place>>,
    width: u64,
    levels: u32,
    root: &'static str,
}

/// Quantiles of the gamma law of shape 1.5: (share, half of chi-squared with three degrees of
/// freedom), straight lines in between.
const GAMMA: [(f64, f64); 13] = [
    (0.0, 0.0),
    (0.01, 0.0574),
    (0.05, 0.1759),
    (0.10, 0.2922),
    (0.25, 0.6063),
    (0.50, 1.1830),
    (0.75, 2.0542),
    (0.90, 3.1257),
    (0.95, 3.9074),
    (0.99, 5.6725),
    (0.999, 8.1331),
    (0.9999, 10.554),
    (1.0, 14.5),
];

/// The mean of that law with its straight lines.
fn gamma_mean() -> f64 {
    GAMMA.windows(2).map(|pair| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0).sum()
}

fn gamma_at(quantile: f64) -> f64 {
    for pair in GAMMA.windows(2) {
        let [(below, low), (share, high)] = [pair[0], pair[1]];
        if quantile < share {
            return low + (high - low) * (quantile - below) / (share - below);
        }
    }
    GAMMA[GAMMA.len() - 1].1
}

impl Set {
    pub(super) fn draw(
        seed: Seed,
        count: u64,
        mean: u64,
        preallocated: f64,
        width: u64,
        root: &'static str,
    ) -> Set {
        let mut sizes = seed.stream("filebench sizes");
        let mut present = seed.stream("filebench preallocated");
        let scale = mean as f64 / gamma_mean();
        let places = (0..count)
            .map(|_| {
                let planned = ((gamma_at(sizes.unit()) * scale) as u64).max(1);
                let exists = present.chance(preallocated);
                Place { exists, busy: false, planned, size: if exists { planned } else { 0 } }
            })
            .collect();
        let leaves = count.div_ceil(width);
        let mut levels = 0;
        let mut reach = 1u64;
        while reach < leaves {
            reach = reach.saturating_mul(width.max(2));
            levels += 1;
        }
        Set { places: Mutex::new(places), width: width.max(2), levels, root }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first free place from a random one on, with or without a file as asked for; it is then
    /// busy. `None` if there is none. The place drawn first is returned too.
    pub(super) fn take(&self, draw: &mut Draw, exists: bool) -> (u64, Option<(usize, Place)>) {
        let mut places = self.lock();
        let first = draw.below(places.len() as u64) as usize;
        let count = places.len();
        let found = (0..count)
            .map(|step| if first + step < count { first + step } else { first + step - count })
            .find(|place| places[*place].exists == exists && !places[*place].busy);
        let taken = found.map(|place| {
            places[place].busy = true;
            (place, places[place])
        });
        (first as u64, taken)
    }

    /// Releases a place in its present state.
    pub(super) fn give_back(&self, number: usize, place: Place) {
        self.lock()[number] = Place { busy: false, ..place };
    }

    /// All places, for making and verifying the files.
    pub(super) fn places(&self) -> Vec<Place> {
        self.lock().clone()
    }

    /// The path of a place: directories by digits of its leaf's number.
    pub(super) fn path(&self, number: usize, path: &mut PathBuffer) {
        self.directory(number as u64 / self.width, path);
        path.text("/").number(number as u64, 8);
    }

    fn directory(&self, leaf: u64, path: &mut PathBuffer) {
        path.clear().text(self.root);
        for level in (0..self.levels).rev() {
            let digit = leaf / self.width.pow(level) % self.width;
            path.text("/").number(digit, 2);
        }
    }

    /// Calls `each` with every directory, parents first.
    pub(super) fn directories<E>(
        &self,
        mut each: impl FnMut(&PathBuffer) -> Result<(), E>,
    ) -> Result<(), E> {
        let leaves = (self.lock().len() as u64).div_ceil(self.width).max(1);
        let mut path = PathBuffer::new();
        path.text(self.root);
        each(&path)?;
        for leaf in 0..leaves {
            self.directory(leaf, &mut path);
            let whole = path.as_bytes().to_vec();
            let mut ends: Vec<usize> =
                whole.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at).collect();
            ends.push(whole.len());
            // The first leaf below a directory makes it.
            for (level, end) in ends.iter().enumerate().skip(1) {
                let below = self.width.pow(self.levels - level as u32);
                if leaf.is_multiple_of(below) {
                    path.clear().bytes(&whole[..*end]);
                    each(&path)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_mean_and_shape_asked_for() {
        let set = Set::draw(Seed(1), 20_000, 16_384, 0.8, 20, "r");
        let places = set.places();
        let mean = places.iter().map(|place| place.planned).sum::<u64>() / 20_000;
        assert!((16_000..16_800).contains(&mean), "{mean}");
        let mut sizes: Vec<u64> = places.iter().map(|place| place.planned).collect();
        sizes.sort_unstable();
        // The median of the law is 0.789 of its mean.
        assert!((12_300..13_300).contains(&sizes[10_000]), "{}", sizes[10_000]);
        let present = places.iter().filter(|place| place.exists).count();
        assert!((15_700..16_300).contains(&present), "{present}");
    }

    #[test]
    fn the_law_is_that_of_its_table_with_straight_lines_between() {
        for (share, value) in GAMMA {
            assert_eq!(gamma_at(share), value, "{share}");
        }
        // In the middle from 0.25 to 0.5: (0.6063 + 1.1830) / 2.
        assert!((gamma_at(0.375) - 0.894_65).abs() < 1e-9);
    }

    #[test]
    fn a_path_has_the_digits_of_its_leaf_and_the_number_of_its_place() {
        // Ten leaves of three files each take three digits to base 3. Leaf 7 is 021, 9 is 100.
        let set = Set::draw(Seed(1), 30, 100, 0.5, 3, "r");
        let mut path = PathBuffer::new();
        for (number, expected) in [(23, "r/00/02/01/00000023"), (29, "r/01/00/00/00000029")] {
            set.path(number, &mut path);
            assert_eq!(path.to_string(), expected);
        }
    }

    #[test]
    fn directories_hold_as_many_entries_as_asked_for() {
        for (count, width, expected) in
            [(1000, 1_000_000, 1), (1000, 20, 1 + 3 + 50), (7, 3, 1 + 3)]
        {
            let set = Set::draw(Seed(1), count, 100, 0.5, width, "r");
            let mut made = Vec::new();
            let done: Result<(), ()> = set.directories(|path| {
                made.push(path.to_string());
                Ok(())
            });
            done.unwrap();
            assert_eq!(made.len(), expected, "{count} {width}: {made:?}");
            let mut path = PathBuffer::new();
            for number in 0..count as usize {
                set.path(number, &mut path);
                let text = path.to_string();
                let parent = text.rsplit_once('/').unwrap().0;
                assert!(made.iter().any(|directory| directory == parent), "{text}");
            }
        }
    }

    #[test]
    fn a_place_is_taken_by_one_at_a_time() {
        let set = Set::draw(Seed(1), 3, 100, 1.0, 10, "r");
        let mut draw = Seed(2).stream("x");
        let taken: Vec<_> = (0..3).map(|_| set.take(&mut draw, true).1.unwrap()).collect();
        assert_eq!(set.take(&mut draw, true).1, None);
        assert_eq!(set.take(&mut draw, false).1, None);
        let (number, place) = taken[1];
        set.give_back(number, Place { exists: false, ..place });
        assert_eq!(set.take(&mut draw, false).1.unwrap().0, number);
    }
}
