//! Ageing step by step, on a filesystem of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::super::description::{AGE, DESCRIPTION};
use super::*;
use crate::engine::contents::Filling;
use crate::engine::file_io::open_target;
use crate::own_process::tmpfs;
use crate::{Parameters, Seed};

fn aging(target: BorrowedFd<'_>) -> Aging<'_> {
    let parameters = Parameters::resolve(&DESCRIPTION, &BTreeMap::new(), 1.0).unwrap();
    let contents = Contents::new(Seed(1), "ffsb aged", 65_536, Filling::of(&parameters));
    Aging::new(target, Seed(1).stream("ffsb aging"), contents)
}

/// What ageing should do, by the same draws.
struct Expected {
    draw: Draw,
    made: u64,
    /// Of each file its number, and of each of its writes the mark it begins with and its bytes.
    files: Vec<(u64, Vec<(u64, u64)>)>,
    /// Creates, appends and deletes.
    ops: [u64; 3],
    written: u64,
    /// Whether the least number that appends was drawn when there was a file to append to.
    appended_by_ten: bool,
}

impl Expected {
    /// Of 21 numbers, 0 to 9 create, 10 to 19 append and 20 deletes; without files all create.
    fn step(&mut self) {
        let drawn = self.draw.below(21);
        // From 4096 bytes to 1 MiB there are 1,048,576 - 4096 + 1 sizes.
        let bytes = 4_096 + self.draw.below(1_044_481);
        let at = if drawn < 10 || self.files.is_empty() {
            self.files.push((self.made, Vec::new()));
            self.made += 1;
            self.ops[0] += 1;
            self.files.len() - 1
        } else {
            let at = self.draw.below(self.files.len() as u64) as usize;
            if drawn == 20 {
                self.files.swap_remove(at);
                self.ops[2] += 1;
                return;
            }
            self.appended_by_ten |= drawn == 10;
            self.ops[1] += 1;
            at
        };
        // Marks of a write begin at a multiple of 1 MiB.
        let place = self.draw.bits() / 1_048_576 * 1_048_576;
        self.files[at].1.push((place, bytes));
        self.written += bytes;
    }
}

/// Compares a file with what was written to it: `first` is what marks are counted from.
fn compare(path: &Path, writes: &[(u64, u64)], first: u64) {
    let found = fs::read(path).unwrap();
    let length: u64 = writes.iter().map(|(_, bytes)| bytes).sum();
    assert_eq!(found.len() as u64, length, "{}", path.display());
    let mut rest = &found[..];
    for (place, bytes) in writes {
        let (written, behind) = rest.split_at(*bytes as usize);
        let mut expected = first.wrapping_add(*place);
        for page in written.chunks(4_096) {
            // The last page may be too short for a whole mark.
            if let Some(mark) = page.first_chunk::<8>() {
                assert_eq!(u64::from_le_bytes(*mark), expected, "{}", path.display());
            }
            expected = expected.wrapping_add(4_096);
        }
        rest = behind;
    }
}

#[test]
fn files_are_created_appended_to_and_deleted_as_drawn() {
    let name = "files_are_created_appended_to_and_deleted_as_drawn";
    let Some(home) = tmpfs(module_path!(), name, "size=200m") else { return };
    let aged = home.join("ffsb/aged");
    fs::create_dir_all(&aged).unwrap();
    let target = open_target(&home).unwrap();
    let mut aging = aging(target.as_fd());
    let mut expected = Expected {
        draw: Seed(1).stream("ffsb aging"),
        made: 0,
        files: Vec::new(),
        ops: [0; 3],
        written: 0,
        appended_by_ten: false,
    };
    let mut recorder = Recorder::new(&AGE);
    // At least 40 ops, among them those at the bounds between kinds.
    let mut steps = 0;
    while steps < 40 || !expected.appended_by_ten || expected.ops[2] == 0 {
        aging.perform(&mut recorder).unwrap();
        expected.step();
        steps += 1;
    }

    // The first hundred files are in the first directory, the next in the second.
    let mut found = 0;
    for directory in fs::read_dir(&aged).unwrap() {
        found += fs::read_dir(directory.unwrap().path()).unwrap().count();
    }
    assert_eq!(found, expected.files.len());
    let first = Seed(1).stream("ffsb aged").bits();
    for (number, writes) in &expected.files {
        let directory = if *number < 100 { "d000000" } else { "d000001" };
        compare(&aged.join(directory).join(format!("f{number:08}")), writes, first);
    }
    let (ops, _, written, _) = recorder.totals();
    assert_eq!((ops, written.0), (steps, expected.written));
    let counts: Vec<u64> = recorder.into_latencies().iter().map(|kind| kind.count()).collect();
    assert_eq!(counts, expected.ops);
}

#[test]
fn only_a_lack_of_room_ends_ageing_well() {
    let name = "only_a_lack_of_room_ends_ageing_well";
    let Some(home) = tmpfs(module_path!(), name, "size=8m") else { return };
    fs::create_dir(home.join("ffsb")).unwrap();
    let target = open_target(&home).unwrap();
    let mut aging = aging(target.as_fd());
    // The second file of its directory, which is made for the first.
    aging.next = 1;
    let failed = aging.until(0.5, &mut Recorder::new(&AGE)).unwrap_err();
    assert_eq!(failed.op, "open");
    assert_eq!(failed.path, Path::new("ffsb/aged/d000000/f00000001"));
}
