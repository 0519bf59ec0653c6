//! Names, times and contents of the mails in a flat directory.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use super::super::run::{EXTRACT, UNPACK};
use super::*;
use crate::corpora::PackWriter;
use crate::engine::file_io::open_target;

#[test]
fn the_name_of_an_entry_comes_from_its_number() {
    let name = |sources: Sources, number: u32| {
        let mut path = PathBuffer::new();
        sources.entry(number, &mut path);
        path.to_string()
    };
    // 1,072,915,200 - 40,000,000 s; SplitMix64 gives 16294208416658607535 for seed 0.
    assert_eq!(name(Sources::read(1), 0), "read_src/1032915200.M607535P1000Q0.mail");
    // 1,234,567 · 37 = 45,678,979 s later; SplitMix64 gives 6457827717110365317 for this seed;
    // 1,234,567 = 41 · 29,989 + 5,018.
    assert_eq!(
        name(Sources::write(2_000_000), 1_234_567),
        "write_src/1078594179.M365317P6018Q1234567.mail"
    );
}

#[test]
fn unpacked_mails_have_their_contents_and_are_37_seconds_apart() {
    let home = tempfile::tempdir().unwrap();
    let pack = home.path().join("two.mailpack");
    let mut writer = PackWriter::create(&pack, [0; 32], false).unwrap();
    for mail in ["first\n", "second mail\n"] {
        writer.add(mail.as_bytes()).unwrap();
    }
    writer.finish("two mails").unwrap();
    let corpus = MailCorpus::open(&pack).unwrap();
    let target = open_target(home.path()).unwrap();
    let sources = Sources::write(3);
    let mut recorder = Recorder::new(&UNPACK);
    sources.unpack(target.as_fd(), &corpus, &mut recorder, EXTRACT).unwrap();
    // 6 + 12 + 6 bytes: the third mail is the corpus's first again.
    assert_eq!((recorder.ops, recorder.write_bytes), (3, 24));

    let mut path = PathBuffer::new();
    // From 1,072,915,200 - 40,000,000 s on.
    for (number, contents, mtime) in [
        (0, "first\n", 1_032_915_200),
        (1, "second mail\n", 1_032_915_237),
        (2, "first\n", 1_032_915_274),
    ] {
        sources.entry(number, &mut path);
        let file = home.path().join(path.to_string());
        assert_eq!(fs::read_to_string(&file).unwrap(), contents, "{path}");
        assert_eq!(fs::metadata(&file).unwrap().mtime(), mtime, "{path}");
    }
}
