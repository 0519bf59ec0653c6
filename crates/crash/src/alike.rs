//! States that are alike to all who look at them.
//!
//! Mounting a filesystem, reading its files and checking it is decided by what is read from the
//! disk. Where another disk has the same bytes in all those places, the same would be done with it,
//! and the same found.

use std::collections::HashMap;

use crate::content::mix;
use crate::log::Log;
use crate::states::Piece;

/// A sector of 512 bytes: the disk, from 0, and its number.
pub type Sector = (usize, u64);

/// What lies on sectors, as digests. What is not in it is as it was when recording began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Image(HashMap<Sector, u64>);

impl Image {
    /// The disk with these pieces of writes.
    pub fn of(log: &Log, pieces: &[Piece]) -> Image {
        let mut image = Image::default();
        for piece in pieces {
            let write = &log.writes[piece.write];
            let digests = write.digests.iter().take(piece.sectors as usize);
            for (lba, digest) in (write.lba..).zip(digests) {
                image.set((write.disk, lba), *digest);
            }
        }
        image
    }

    /// Something is written to a sector.
    pub fn set(&mut self, sector: Sector, digest: u64) {
        self.0.insert(sector, digest);
    }

    /// The disk after these sectors were written.
    #[must_use]
    pub fn after(&self, written: &Image) -> Image {
        let mut image = self.clone();
        image.0.extend(&written.0);
        image
    }
}

/// Where somebody looked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reads(Vec<(usize, u64, u64)>);

impl Reads {
    /// Sectors from `from` to before `to` were read.
    pub fn add(&mut self, disk: usize, from: u64, to: u64) {
        match self.0.last_mut() {
            Some((last, _, end)) if (*last, *end) == (disk, from) => *end = to,
            _ => self.0.push((disk, from, to)),
        }
    }

    /// The same, in order and each once.
    #[must_use]
    fn in_order(mut self) -> Reads {
        self.0.sort_unstable();
        let mut joined: Vec<(usize, u64, u64)> = Vec::new();
        for (disk, from, to) in self.0 {
            match joined.last_mut() {
                Some((last, _, end)) if *last == disk && from <= *end => *end = to.max(*end),
                _ => joined.push((disk, from, to)),
            }
        }
        Reads(joined)
    }

    /// Whether a sector is among them; they are in order.
    fn contain(&self, (disk, sector): Sector) -> bool {
        let after = self.0.partition_point(|(of, from, _)| (*of, *from) <= (disk, sector));
        let last = after.checked_sub(1).map(|nth| self.0[nth]);
        last.is_some_and(|(of, _, to)| of == disk && sector < to)
    }
}

/// What was found on disks, for all that are alike to who looked.
#[derive(Debug)]
pub struct Memory<T> {
    /// Each sector that an image has, and its place in [`Class::read`].
    places: HashMap<Sector, usize>,
    sectors: Vec<Sector>,
    classes: Vec<Class<T>>,
}

/// Those where the same was read.
#[derive(Debug)]
struct Class<T> {
    reads: Reads,
    /// Of each sector, whether it was read.
    read: Vec<bool>,
    /// By the sum of what was read.
    found: HashMap<u64, T>,
}

impl<T> Default for Memory<T> {
    fn default() -> Memory<T> {
        Memory { places: HashMap::new(), sectors: Vec::new(), classes: Vec::new() }
    }
}

impl<T> Memory<T> {
    /// What was found on a disk that has the same where it was read.
    pub fn find(&mut self, image: &Image) -> Option<&T> {
        let image = self.placed(image);
        for class in &mut self.classes {
            class.follow(&self.sectors);
        }
        self.classes.iter().find_map(|class| class.found.get(&class.sum(&image)))
    }

    /// This was found on a disk that was read there.
    pub fn learn(&mut self, image: &Image, reads: Reads, found: T) {
        let (image, reads) = (self.placed(image), reads.in_order());
        let known = self.classes.iter().position(|class| class.reads == reads);
        let nth = known.unwrap_or_else(|| {
            self.classes.push(Class { reads, read: Vec::new(), found: HashMap::new() });
            self.classes.len() - 1
        });
        let class = &mut self.classes[nth];
        class.follow(&self.sectors);
        class.found.insert(class.sum(&image), found);
    }

    /// What lies on each sector, by the sector's place.
    fn placed(&mut self, image: &Image) -> Vec<(usize, u64)> {
        let place = |(sector, digest): (&Sector, &u64)| {
            let place = *self.places.entry(*sector).or_insert_with(|| {
                self.sectors.push(*sector);
                self.sectors.len() - 1
            });
            (place, mix(*digest, mix(sector.0 as u64, sector.1)))
        };
        image.0.iter().map(place).collect()
    }
}

impl<T> Class<T> {
    /// Takes the sectors that are new.
    fn follow(&mut self, sectors: &[Sector]) {
        let new = &sectors[self.read.len()..];
        self.read.extend(new.iter().map(|sector| self.reads.contain(*sector)));
    }

    fn sum(&self, image: &[(usize, u64)]) -> u64 {
        let read = image.iter().filter(|(place, _)| self.read[*place]);
        read.fold(0, |sum: u64, (_, digest)| sum.wrapping_add(*digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(sectors: &[(u64, u64)]) -> Image {
        Image(sectors.iter().map(|(sector, digest)| ((0, *sector), *digest)).collect())
    }

    fn reads(ranges: &[(u64, u64)]) -> Reads {
        let mut reads = Reads::default();
        ranges.iter().for_each(|(from, to)| reads.add(0, *from, *to));
        reads
    }

    #[test]
    fn disks_are_alike_that_differ_only_where_nobody_looked() {
        let mut memory = Memory::default();
        memory.learn(&image(&[(1, 10), (5, 50)]), reads(&[(0, 3)]), "found");
        assert_eq!(memory.find(&image(&[(1, 10), (5, 51)])), Some(&"found"));
        assert_eq!(memory.find(&image(&[(1, 10)])), Some(&"found"));
        assert_eq!(memory.find(&image(&[(1, 11), (5, 50)])), None);
        assert_eq!(memory.find(&image(&[(5, 50)])), None, "a sector as it was in the beginning");
        let elsewhere = image(&[(1, 10), (2, 20)]);
        assert_eq!(memory.find(&elsewhere), None, "a sector that no image had until then");
    }

    #[test]
    fn each_of_those_who_looked_elsewhere_is_asked() {
        let mut memory = Memory::default();
        memory.learn(&image(&[(1, 10), (5, 50)]), reads(&[(1, 2)]), 1);
        memory.learn(&image(&[(1, 11), (5, 50)]), reads(&[(1, 2), (5, 6)]), 2);
        memory.learn(&image(&[(1, 12), (5, 50)]), reads(&[(5, 6), (1, 2)]), 3);
        assert_eq!(memory.classes.len(), 2);
        assert_eq!(memory.find(&image(&[(1, 10), (5, 51)])), Some(&1));
        assert_eq!(memory.find(&image(&[(1, 11), (5, 50)])), Some(&2));
        assert_eq!(memory.find(&image(&[(1, 12), (5, 50)])), Some(&3));
        assert_eq!(memory.find(&image(&[(1, 11), (5, 51)])), None);
    }

    #[test]
    fn disks_are_told_apart_and_ranges_join() {
        let mut reads = Reads::default();
        for (disk, from, to) in [(0, 8, 16), (0, 16, 24), (1, 0, 8), (0, 4, 10)] {
            reads.add(disk, from, to);
        }
        let reads = reads.in_order();
        assert_eq!(reads.0, [(0, 4, 24), (1, 0, 8)]);
        assert!(reads.contain((0, 4)) && reads.contain((0, 23)) && reads.contain((1, 0)));
        assert!(!reads.contain((0, 3)) && !reads.contain((0, 24)) && !reads.contain((1, 8)));
    }
}
