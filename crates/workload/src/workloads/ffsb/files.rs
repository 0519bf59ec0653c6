//! The files all threads of FFSB share. A read shares a file with other reads; an op that changes
//! a file has it exclusively.

use std::os::fd::BorrowedFd;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::engine::path_buffer::PathBuffer;
use crate::engine::walk::{Step, Walker};
use crate::{Draw, OpError, Seed};

/// A place for a file: its size, or nothing.
pub(super) struct Files {
    places: Vec<RwLock<Option<u64>>>,
    directories: u64,
}

pub(super) const DIRECTORY: &str = "ffsb";

impl Files {
    /// `count` files of sizes from `min` to `max`, and as many empty places.
    pub(super) fn draw(seed: Seed, count: u64, min: u64, max: u64, directories: u64) -> Files {
        let mut draw = seed.stream("ffsb sizes");
        let mut places: Vec<RwLock<Option<u64>>> =
            (0..count).map(|_| RwLock::new(Some(min + draw.below(max - min + 1)))).collect();
        places.extend((0..count).map(|_| RwLock::new(None)));
        Files { places, directories }
    }

    /// The files that an earlier workload has left, if it has; places as it gave them.
    pub(super) fn left(
        target: BorrowedFd<'_>,
        count: u64,
        directories: u64,
    ) -> Result<Option<Files>, OpError> {
        let mut files = Files { places: Vec::new(), directories };
        let mut path = PathBuffer::new();
        path.text(DIRECTORY);
        let stat = |path: &PathBuffer| match rustix::fs::statat(
            target,
            path.c_str(),
            AtFlags::SYMLINK_NOFOLLOW,
        ) {
            Ok(stat) => Ok(Some(stat.st_size as u64)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(path.failed("stat")(error)),
        };
        if stat(&path)?.is_none() {
            return Ok(None);
        }
        for place in 0..2 * count {
            files.path(place as usize, &mut path);
            let size = stat(&path)?;
            files.places.push(RwLock::new(size));
        }
        Ok(Some(files))
    }

    /// How many files have no place here, since they were made with other parameters.
    pub(super) fn without_place(&self, target: BorrowedFd<'_>) -> Result<usize, OpError> {
        let mut path = PathBuffer::new();
        path.text(DIRECTORY);
        let mut there: usize = 0;
        Walker::new().walk(target, &mut path, &mut |step, _| {
            there += usize::from(matches!(step, Step::File(_)));
            Ok(())
        })?;
        let with_place = (0..self.len()).filter(|&place| self.read(place).is_some()).count();
        Ok(there.saturating_sub(with_place))
    }

    /// Whether there is a file of another size than this.
    pub(super) fn holds_other_than(&self, size: u64) -> bool {
        (0..self.len()).any(|place| self.read(place).is_some_and(|other| other != size))
    }

    /// The first place with a file.
    pub(super) fn first(&self) -> Option<usize> {
        (0..self.len()).find(|&place| self.read(place).is_some())
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn path(&self, place: usize, path: &mut PathBuffer) {
        let place = place as u64;
        path.clear().text(DIRECTORY).text("/d").number(place % self.directories, 4);
        path.text("/f").number(place, 7);
    }

    /// Waits for a place and shares it.
    pub(super) fn read(&self, place: usize) -> RwLockReadGuard<'_, Option<u64>> {
        self.places[place].read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, place: usize) -> RwLockWriteGuard<'_, Option<u64>> {
        self.places[place].write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A random file to read; none when all are gone.
    pub(super) fn any_to_read(
        &self,
        draw: &mut Draw,
    ) -> Option<(usize, u64, RwLockReadGuard<'_, Option<u64>>)> {
        self.from(draw).find_map(|place| {
            let guard = self.read(place);
            Some((place, (*guard)?, guard))
        })
    }

    /// A random file to change.
    pub(super) fn any_to_change(
        &self,
        draw: &mut Draw,
    ) -> Option<(usize, u64, RwLockWriteGuard<'_, Option<u64>>)> {
        self.from(draw).find_map(|place| {
            let guard = self.write(place);
            Some((place, (*guard)?, guard))
        })
    }

    /// A random empty place.
    pub(super) fn any_empty(
        &self,
        draw: &mut Draw,
    ) -> Option<(usize, RwLockWriteGuard<'_, Option<u64>>)> {
        self.from(draw).find_map(|place| {
            let guard = self.write(place);
            guard.is_none().then_some((place, guard))
        })
    }

    /// All places, from a random one on. It is drawn from the first half, where files are at
    /// the beginning, so that a run that makes and deletes none draws evenly.
    fn from(&self, draw: &mut Draw) -> impl Iterator<Item = usize> + use<> {
        let (count, half) = (self.places.len(), self.places.len() as u64 / 2);
        let first = draw.below(half) as usize;
        (0..count).map(move |step| (first + step) % count)
    }
}

#[cfg(test)]
mod tests;
