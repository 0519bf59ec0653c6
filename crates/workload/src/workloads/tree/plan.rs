//! An invented source tree with the statistics of Linux 2.6.22: names, directories and sizes drawn
//! from the seed, contents cut from one text.

use crate::{Draw, Seed};

/// A file of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct File {
    /// Place in [`Plan::directories`].
    pub(super) directory: u32,
    /// Running number, part of the name.
    pub(super) number: u32,
    pub(super) bytes: u64,
    /// Where its contents begin in the text.
    pub(super) offset: u32,
}

/// The whole tree, about 24 bytes a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Paths, parents first.
    pub(super) directories: Vec<String>,
    /// Files, directory by directory.
    pub(super) files: Vec<File>,
    /// Lines that look like C; files are pieces of it.
    pub(super) text: Vec<u8>,
}

/// Sizes of the files of a kernel tree: (share of the files below, bytes), straight lines in
/// between. Assumed from memory of 2.6.22's shape (median 5 KB, mean 12 KB, largest 1 MB);
/// the sum is then scaled to what is asked for.
const SIZES: [(f64, f64); 12] = [
    (0.0, 0.0),
    (0.02, 100.0),
    (0.10, 700.0),
    (0.25, 1900.0),
    (0.50, 5000.0),
    (0.75, 12_300.0),
    (0.90, 27_000.0),
    (0.97, 60_000.0),
    (0.99, 110_000.0),
    (0.999, 400_000.0),
    (0.9999, 1_000_000.0),
    (1.0, 1_000_000.0),
];

/// Files in a directory on average: 2.6.22 has some 1,400 directories.
const FILES_PER_DIRECTORY: u64 = 16;
/// Directories directly below the root.
const TOP: u64 = 20;
const DEPTH_MAX: usize = 7;
/// Length of the text.
const TEXT: usize = 1 << 20;

const WORDS: [&str; 32] = [
    "arch", "block", "crypto", "drivers", "fs", "include", "init", "ipc", "kernel", "lib", "mm",
    "net", "scripts", "security", "sound", "usr", "char", "core", "host", "device", "bus", "page",
    "inode", "super", "queue", "timer", "irq", "main", "setup", "proc", "table", "string",
];

impl Plan {
    /// Draws a tree of `files` files with `bytes` bytes together.
    pub(super) fn draw(seed: Seed, files: u64, bytes: u64) -> Plan {
        let directories = directories(seed, directory_count(files));
        let mut sizes = sizes(&mut seed.stream("tree sizes"), files, bytes);
        let mut places = seed.stream("tree places");
        places.shuffle(&mut sizes);
        let mut files: Vec<File> = sizes
            .into_iter()
            .enumerate()
            .map(|(number, bytes)| File {
                directory: places.below(directories.len() as u64) as u32,
                number: number as u32,
                bytes,
                offset: places.below(TEXT as u64) as u32,
            })
            .collect();
        files.sort_by_key(|file| (file.directory, file.number));
        Plan { directories, files, text: text(&mut seed.stream("tree text")) }
    }

    /// The path of a file.
    pub(super) fn path(&self, file: &File, path: &mut String) {
        use std::fmt::Write;
        path.clear();
        let number = file.number as usize;
        let word = WORDS[number % WORDS.len()];
        let ending = if number % 5 < 2 { "c" } else { ["h", "S", "txt"][number % 3] };
        // Writing to a String cannot fail.
        let _ =
            write!(path, "{}/{word}_{number}.{ending}", self.directories[file.directory as usize]);
    }

    /// Calls `each` with a file's contents, piece by piece.
    pub(super) fn contents<E>(
        &self,
        file: &File,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut at, mut left) = (file.offset as usize, file.bytes as usize);
        while left > 0 {
            let piece = &self.text[at..self.text.len().min(at.saturating_add(left))];
            each(piece)?;
            left -= piece.len();
            at = 0;
        }
        Ok(())
    }
}

/// Directories of a tree of so many files.
pub(super) fn directory_count(files: u64) -> u64 {
    (files / FILES_PER_DIRECTORY).max(1)
}

fn directories(seed: Seed, count: u64) -> Vec<String> {
    let mut draw = seed.stream("tree directories");
    let mut made = vec!["linux".to_owned()];
    for number in 1..count {
        let mut parent = "linux";
        if number > TOP {
            let drawn = &made[draw.below(number) as usize];
            if drawn.matches('/').count() < DEPTH_MAX {
                parent = drawn;
            }
        }
        let word = WORDS[draw.below(WORDS.len() as u64) as usize];
        made.push(format!("{parent}/{word}{number}"));
    }
    made
}

/// `count` sizes of `total` bytes together. One is drawn from each `count`-th of the
/// distribution, so that a small tree has its shape too.
fn sizes(draw: &mut Draw, count: u64, total: u64) -> Vec<u64> {
    let raw: Vec<f64> =
        (0..count).map(|part| size_at((part as f64 + draw.unit()) / count as f64)).collect();
    let sum: f64 = raw.iter().sum::<f64>().max(1.0);
    let mut sizes: Vec<u64> = raw.iter().map(|size| (size * total as f64 / sum) as u64).collect();
    // The rounding difference is added to the largest.
    let lost = total.saturating_sub(sizes.iter().sum());
    if let Some(last) = sizes.last_mut() {
        *last += lost;
    }
    sizes
}

fn size_at(quantile: f64) -> f64 {
    for pair in SIZES.windows(2) {
        let [(below, low), (share, high)] = [pair[0], pair[1]];
        if quantile < share {
            return low + (high - low) * (quantile - below) / (share - below);
        }
    }
    SIZES[SIZES.len() - 1].1
}

fn text(draw: &mut Draw) -> Vec<u8> {
    let mut text = Vec::with_capacity(TEXT + 100);
    while text.len() < TEXT {
        let [a, b, c] = std::array::from_fn(|_| WORDS[draw.below(WORDS.len() as u64) as usize]);
        let line = format!("\t{a}->{b}_{:x} = {c}({:#x});\n", draw.below(4096), draw.bits() >> 40);
        text.extend_from_slice(line.as_bytes());
    }
    text.truncate(TEXT);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_has_the_statistics_of_2_6_22() {
        let plan = Plan::draw(Seed(1), 22_500, 250 << 20);
        assert_eq!(plan.files.len(), 22_500);
        assert_eq!(plan.directories.len(), 1406);
        assert_eq!(plan.files.iter().map(|file| file.bytes).sum::<u64>(), 250 << 20);
        let mut sizes: Vec<u64> = plan.files.iter().map(|file| file.bytes).collect();
        sizes.sort_unstable();
        let median = sizes[sizes.len() / 2];
        assert!((3500..6000).contains(&median), "{median}");
        let depth = plan.directories.iter().map(|path| path.matches('/').count()).max();
        assert_eq!(depth, Some(DEPTH_MAX));
        let mut paths: Vec<String> = Vec::new();
        for file in &plan.files {
            let mut path = String::new();
            plan.path(file, &mut path);
            assert!(path.len() < 256);
            paths.push(path);
        }
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), 22_500, "names are unique");
    }

    #[test]
    fn a_seed_is_a_tree_and_contents_wrap_around() {
        let plan = Plan::draw(Seed(3), 300, 1 << 20);
        assert_eq!(plan, Plan::draw(Seed(3), 300, 1 << 20));
        assert_ne!(plan.files, Plan::draw(Seed(4), 300, 1 << 20).files);
        let file = File { directory: 0, number: 0, bytes: 3 << 20, offset: 1000 };
        let mut seen = 0;
        let done: Result<(), ()> = plan.contents(&file, |piece| {
            seen += piece.len();
            Ok(())
        });
        assert_eq!((done, seen), (Ok(()), 3 << 20));
    }

    #[test]
    fn a_name_is_a_word_the_running_number_and_an_ending() {
        let directories = vec!["linux".to_owned(), "linux/fs1".to_owned()];
        let plan = Plan { directories, files: Vec::new(), text: Vec::new() };
        let name = |directory, number| {
            let mut path = "what was there before".to_owned();
            plan.path(&File { directory, number, bytes: 0, offset: 0 }, &mut path);
            path
        };
        // Two of five are C. The others have the first, second or third other ending by what is
        // left of their number divided by three.
        let names: Vec<String> = (0..10).map(|number| name(0, number)).collect();
        assert_eq!(
            names,
            [
                "linux/arch_0.c",
                "linux/block_1.c",
                "linux/crypto_2.txt",
                "linux/drivers_3.h",
                "linux/fs_4.S",
                "linux/include_5.c",
                "linux/init_6.c",
                "linux/ipc_7.S",
                "linux/kernel_8.txt",
                "linux/lib_9.h",
            ]
        );
        // There are 32 words.
        assert_eq!(name(1, 33), "linux/fs1/block_33.h");
    }

    #[test]
    fn the_first_twenty_directories_are_directly_below_the_root() {
        // The parent of another is drawn, and for one seed may be the root by chance.
        for seed in 1..=8 {
            let made = directories(Seed(seed), 22);
            assert_eq!((made.len(), made[0].as_str()), (22, "linux"));
            for path in &made[1..=20] {
                assert_eq!(path.matches('/').count(), 1, "{seed}: {path}");
            }
        }
    }

    #[test]
    fn sizes_lie_on_straight_lines_between_the_shares() {
        // Half of the way to 100 bytes, a quarter of that from 100 to 700, half of that from 5000
        // to 12,300, and the end.
        let expected = [(0.01, 50.0), (0.04, 250.0), (0.625, 8650.0), (1.0, 1_000_000.0)];
        for (quantile, bytes) in expected {
            let found = size_at(quantile);
            assert!((found - bytes).abs() < 1e-6, "{quantile}: {found}");
        }
    }

    #[test]
    fn the_text_is_a_mib() {
        assert_eq!(text(&mut Seed(1).stream("tree text")).len(), 1_048_576);
    }
}
