//! Which files count for fragments.

use std::fs::{self, File};
use std::path::Path;

use super::*;
use crate::Cache;
use crate::workloads::mongo::tests::target;

#[test]
fn only_files_above_16_kib_of_the_named_trees_count_for_fragments() {
    // The directory for temporary files may lie on a filesystem that does not tell.
    let (home, target) = target();
    let place = |name: &str| home.path().join(DIRECTORY).join(name);
    let noted = || {
        let cache = Cache::Warm { why: "not asked for".to_owned() };
        let mut result = PhaseResult::empty("mongo", "create", cache);
        note_fragments(target.as_fd(), &["testdir1"], &mut result);
        result
    };
    fs::create_dir(place("testdir1-1-1")).unwrap();
    fs::create_dir(place("testdir2-1-1")).unwrap();
    // A hole is no piece: what should not count would lower the mean.
    for (name, bytes) in
        [("testdir1-1-1/0", 100), ("testdir1-1-1/1", 16_384), ("testdir2-1-1/2", 20_000)]
    {
        File::create(place(name)).unwrap().set_len(bytes).unwrap();
    }
    let none = noted();
    assert!(none.figures.is_empty() && none.notes.is_empty(), "{none:?}");

    let large = [place("testdir1-1-1/3"), place("testdir1-1-1/4")];
    fs::write(&large[0], vec![b'a'; 16_385]).unwrap();
    fs::write(&large[1], vec![b'a'; 40_000]).unwrap();
    let told = noted();
    let pieces = |path: &Path| fragments(File::open(path).unwrap().as_fd());
    let (Ok(one), Ok(other)) = (pieces(&large[0]), pieces(&large[1])) else {
        assert!(told.figures.is_empty(), "{told:?}");
        assert!(told.notes[0].contains("where files lie"), "{told:?}");
        return;
    };
    assert!(one + other >= 2);
    assert_eq!(told.figures["fragments_per_file"], (one + other) as f64 / 2.0);
}
