//! The ops of one share, on files that a test lays out.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::Parameters;
use crate::engine::file_io::open_target;
use crate::workloads::custom::PHOTOS;
use crate::workloads::custom::script::{Block, Size};

/// A share of one directory, which is `place`.
struct Laid {
    _home: TempDir,
    target: OwnedFd,
    place: PathBuf,
    share: Share,
}

/// Files of these numbers and sizes, all zeros.
fn laid_out(files: &[(u64, u64)]) -> Laid {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(DIRECTORY)).unwrap();
    let target = open_target(home.path()).unwrap();
    let parameters = Parameters::resolve(PHOTOS.description, &BTreeMap::new(), 1.0).unwrap();
    let mut share = Share::new(0, Seed(1), Filling::of(&parameters));
    share.begin(target.as_fd()).unwrap();
    let place = home.path().join("custom/h0/d0");
    for (number, bytes) in files {
        fs::write(place.join(format!("f{number}")), vec![0u8; *bytes as usize]).unwrap();
        share.files.push((0, *number, share.sizes.len()));
        share.sizes.push(*bytes);
    }
    Laid { _home: home, target, place, share }
}

/// All scripts have the same kinds of op.
fn new_recorder() -> Recorder<'static> {
    Recorder::new(PHOTOS.description.phases[0])
}

/// On the last file, with calls of 400 bytes.
fn step(kind: Kind, size: Option<u64>) -> Step {
    let size = size.map(Size::Constant);
    Step { kind, count: 1, size, block: Block(400), fsync: false, pick: Pick::Last, time: None }
}

impl Laid {
    /// Does a step: what was recorded, and what was left out.
    fn perform(&mut self, step: &Step) -> (Recorder<'static>, LeftOut) {
        let (mut recorder, mut left_out) = (new_recorder(), LeftOut::default());
        let (mut buffer, mut path) = ([b'x'; 400], PathBuffer::new());
        let target = self.target.as_fd();
        self.share
            .perform(target, step, &mut buffer, &mut path, &mut left_out, &mut recorder)
            .unwrap();
        (recorder, left_out)
    }
}

#[test]
fn files_are_taken_in_turn() {
    let Laid { mut share, .. } = laid_out(&[(0, 1), (1, 1), (2, 1)]);
    let picked = [(); 4].map(|()| share.pick(Pick::Next));
    assert_eq!(picked, [Some(1), Some(2), Some(0), Some(1)]);
}

#[test]
fn the_digest_has_the_file_the_size_and_the_kind_of_op() {
    let mut laid = laid_out(&[(17, 5)]);
    let (recorder, _) = laid.perform(&step(Kind::Append, Some(1)));
    // 17 * 16 = 272 and 1 * 256 have their highest bit in common, which leaves 16; an append is
    // kind 3.
    let mut expected = new_recorder();
    expected.digest(19);
    assert_eq!(recorder.totals().3, expected.totals().3);
}

#[test]
fn a_write_within_a_file_may_end_where_the_file_ends() {
    let mut laid = laid_out(&[(0, 21)]);
    for _ in 0..64 {
        laid.perform(&step(Kind::Write, Some(20)));
    }
    // It begins at byte 0 or 1. Behind its mark of eight bytes all that it writes is `x`.
    let contents = fs::read(laid.place.join("f0")).unwrap();
    assert_eq!((contents.len(), contents[20]), (21, b'x'));
}

#[test]
fn a_read_ends_at_its_size_or_with_the_file() {
    let mut laid = laid_out(&[(0, 3000)]);
    for (size, expected) in [(Some(1000), 1000), (Some(5000), 3000), (None, 3000)] {
        let (recorder, _) = laid.perform(&step(Kind::Read, size));
        assert_eq!((recorder.ops_done(), recorder.read_bytes), (1, expected), "{size:?}");
    }
}

#[test]
fn a_link_that_is_refused_is_left_out_and_counted() {
    let mut laid = laid_out(&[]);
    // Any filesystem refuses a second name for a directory as others refuse one for a file.
    fs::create_dir(laid.place.join("f0")).unwrap();
    laid.share.files.push((0, 0, 0));
    laid.share.sizes.push(0);
    laid.share.named = 1;
    let (recorder, left_out) = laid.perform(&step(Kind::Link, None));
    assert_eq!((left_out.no_links, left_out.no_file, recorder.ops_done()), (1, 0, 0));
    assert_eq!(laid.share.files, [(0, 0, 0)]);
}

#[test]
fn verification_finds_a_file_that_is_missing_or_of_another_size() {
    let mut laid = laid_out(&[(0, 5), (7, 9)]);
    let file = laid.place.join("f7");
    let mut said = || laid.share.verify(laid.target.as_fd()).map_err(|error| error.to_string());
    assert_eq!(said(), Ok(()));
    fs::write(&file, [0u8; 8]).unwrap();
    assert_eq!(said().unwrap_err(), "verification: custom/h0/d0/f7: 8 bytes, not 9");
    fs::remove_file(&file).unwrap();
    let missing = said().unwrap_err();
    assert!(missing.starts_with("verification: custom/h0/d0/f7: No such file"), "{missing}");
}
