//! The tree generator of Mongo, with the C library's `rand()` of fixed seed: the same tree in
//! every run.

/// glibc's `rand()`: additive feedback over 31 words (Knuth, volume 2, 3.2.2), seeded by the
/// minimal standard generator of Park and Miller.
#[derive(Debug, Clone)]
pub(super) struct Rand {
    words: [u32; 31],
    at: usize,
}

impl Rand {
    /// As after `srand(seed)`.
    pub(super) fn new(seed: u32) -> Rand {
        let mut words = [0; 31];
        let mut word = u64::from(seed.max(1));
        for place in &mut words {
            *place = word as u32;
            word = word * 16_807 % 2_147_483_647;
        }
        let mut rand = Rand { words, at: 3 };
        for _ in 0..310 {
            rand.next();
        }
        rand
    }

    /// 31 random bits.
    pub(super) fn next(&mut self) -> u32 {
        let back = (self.at + 28) % 31;
        self.words[self.at] = self.words[self.at].wrapping_add(self.words[back]);
        let drawn = self.words[self.at] >> 1;
        self.at = (self.at + 1) % 31;
        drawn
    }

    /// A size of Mongo's law: P(size > s) = m/(m+s) with m = median + 1. `max` only sets how
    /// finely the quantile is drawn, so larger ones occur.
    fn size(&mut self, median: u64, max: u64) -> u64 {
        let m = (median + 1) as f64;
        let ratio = max as f64 / m;
        let steps = if ratio < 1024.0 { ratio * f64::from(1 << 20) } else { ratio };
        let quantile = (u64::from(self.next()) % (steps as u64).max(1)) as f64 / steps;
        (m * (1.0 / (1.0 - quantile) - 1.0)) as u64
    }
}

/// A step in making one tree. Paths are places in [`Plan::directories`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The directory of this number.
    Directory(u32),
    /// A file in it: running number and size.
    File { directory: u32, number: u32, bytes: u32 },
}

/// One tree: all trees of a run are equal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    /// Path of each directory below the tree's own, which is the first and empty.
    pub(super) directories: Vec<String>,
    pub(super) files: u64,
    pub(super) bytes: u64,
}

const FILE_MAX: u64 = 1_000_000;
const DIRECTORY_MEDIAN: u64 = 100;
const DIRECTORY_MAX: u64 = 10_000;

impl Plan {
    /// A tree of `files` files of this median size.
    pub(super) fn draw(files: u64, median: u64) -> Plan {
        let mut rand = Rand::new(1);
        let mut left = files;
        let mut sizes = Vec::new();
        while left > 0 {
            let size = rand.size(DIRECTORY_MEDIAN, DIRECTORY_MAX).clamp(1, left);
            sizes.push(size);
            left -= size;
        }
        let mut making = Making {
            rand: Rand::new(1),
            sizes: sizes.into_iter(),
            median,
            plan: Plan { steps: Vec::new(), directories: Vec::new(), files: 0, bytes: 0 },
        };
        let directories = making.sizes.len();
        making.fill(String::new(), directories);
        making.plan
    }
}

struct Making {
    rand: Rand,
    sizes: std::vec::IntoIter<u64>,
    median: u64,
    plan: Plan,
}

impl Making {
    /// Makes a directory, its files, and below it what is left of `directories`.
    fn fill(&mut self, path: String, directories: usize) {
        let Some(size) = self.sizes.next() else { return };
        let directory = self.plan.directories.len() as u32;
        self.plan.directories.push(path.clone());
        self.plan.steps.push(Step::Directory(directory));
        for _ in 0..size {
            let bytes = self.rand.size(self.median, FILE_MAX).min(u64::from(u32::MAX));
            let number = self.plan.files as u32;
            self.plan.steps.push(Step::File { directory, number, bytes: bytes as u32 });
            self.plan.files += 1;
            self.plan.bytes += bytes;
        }
        let left = directories - 1;
        if left == 0 {
            return;
        }
        let mut branches = vec![0usize; self.rand.size(0, 1) as usize + 1];
        for _ in 0..left {
            let branch = self.rand.next() as usize % branches.len();
            branches[branch] += 1;
        }
        for (number, directories) in branches.into_iter().enumerate().filter(|(_, n)| *n > 0) {
            self.fill(format!("{path}/d{number}"), directories);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_that_of_the_c_library() {
        for seed in [1, 2, 42] {
            let mut ours = Rand::new(seed);
            // SAFETY: no other test uses the hidden state of rand.
            unsafe { libc::srand(seed) };
            for number in 0..10_000 {
                // SAFETY: as above; rand has no arguments.
                let theirs = unsafe { libc::rand() };
                assert_eq!(ours.next(), theirs as u32, "seed {seed}, draw {number}");
            }
        }
    }

    #[test]
    fn golden_counts_of_the_seminar() {
        // Three repetitions of two trees, and the mount point among the directories.
        for (median, files, directories, all_files, all_directories) in [
            (100, 11_500, 40, 69_000, 241),
            (1000, 2000, 7, 12_000, 43),
            (10_000, 383, 5, 2298, 31),
        ] {
            let plan = Plan::draw(files, median);
            assert_eq!((plan.files, plan.directories.len()), (files, directories));
            assert_eq!(
                (6 * plan.files, 6 * plan.directories.len() + 1),
                (all_files, all_directories)
            );
            let made = plan.steps.iter().filter(|step| matches!(step, Step::File { .. })).count();
            assert_eq!(made as u64, files);
        }
    }

    #[test]
    fn sizes_of_a_tree_add_up_to_what_the_seminar_used() {
        let bytes = |files: usize, median: u64| -> u64 {
            let mut rand = Rand::new(1);
            (0..files).map(|_| rand.size(median, FILE_MAX)).sum()
        };
        assert_eq!(bytes(11_500, 100), 9_061_038);
        assert_eq!(bytes(2000, 1000), 23_758_149);
        assert_eq!(bytes(383, 10_000), 24_438_353);
    }
}
