//! What a recorder is told of a plan of ops.

use std::fs;
use std::os::fd::AsFd;

use super::super::deliver::{Manner, Source};
use super::super::inventory::Inventory;
use super::super::names::Names;
use super::*;
use crate::Seed;
use crate::corpora::{MailCorpus, PackWriter};
use crate::engine::file_io::open_target;

static PHASE: PhaseDescription = PhaseDescription {
    name: "ops",
    summary: "the ops of a test",
    clock: "all of them",
    ops: &[
        OpDescription { name: "deliver", span: "a delivery" },
        OpDescription { name: "read", span: "a read" },
        OpDescription { name: "list", span: "a listing" },
        OpDescription { name: "mark", span: "a rename" },
    ],
    disk_bound: false,
};
const KINDS: Kinds = Kinds { deliver: Op(0), read: Op(1), list: Op(2), mark: Op(3) };

/// Performs `ops`, of which the first delivers mail 3 into maildir 5. The corpus has mails of 700
/// and 5,000 bytes, so that mail 3 is its second; entry 2 of the pool has 300 bytes.
fn performed(ops: Vec<Planned>) -> (Counts, Recorder<'static>) {
    let home = tempfile::tempdir().unwrap();
    let pack = home.path().join("two.mailpack");
    let mut writer = PackWriter::create(&pack, [0; 32], false).unwrap();
    for size in [700, 5_000] {
        writer.add(&vec![b'm'; size]).unwrap();
    }
    writer.finish("two mails").unwrap();
    let corpus = MailCorpus::open(&pack).unwrap();
    for part in ["tmp", "new"] {
        fs::create_dir_all(home.path().join("maildirs/000/05").join(part)).unwrap();
    }
    let pool = Sources::read(3);
    let mut path = PathBuffer::new();
    pool.entry(2, &mut path);
    fs::create_dir(home.path().join("read_src")).unwrap();
    fs::write(home.path().join(path.to_string()), [b'p'; 300]).unwrap();

    let opened = open_target(home.path()).unwrap();
    let target = opened.as_fd();
    let tree = Tree { maildirs: 6, per_base: 10 };
    let (names, found) = (Names::new(Seed(1), 0), Inventory::default());
    let plan = Plan { ops, deliveries: vec![(3, 5)], seen: vec![] };
    let all = Ops {
        target,
        plan: &plan,
        stored: Stored { tree, names, found: &found, deliveries: &plan.deliveries },
        copied: None,
        pool: Some(pool),
        relist: Relist::Once,
        mark_seen: false,
        kinds: KINDS,
    };
    let mut courier = Courier::new(target, tree, names, Source::Memory(&corpus), Manner::PLAIN);
    let mut reader = Reader::new(target);
    let mut recorder = Recorder::new(&PHASE);
    let counts = all.perform(&mut courier, &mut reader, &mut recorder).unwrap();
    (counts, recorder)
}

/// The digest of ops of which these are the facts.
fn digest_of(facts: &[u64]) -> u64 {
    let mut recorder = Recorder::new(&PHASE);
    facts.iter().for_each(|fact| recorder.digest(*fact));
    recorder.totals().3
}

#[test]
fn the_digest_of_a_delivery_has_its_mail_and_its_maildir() {
    let (counts, recorder) = performed(vec![Planned::Deliver { mail: 3, maildir: 5 }]);
    assert_eq!((counts.writes, counts.reads), (1, 0));
    // The mail is above the 32 bits of the maildir: 3 · 4,294,967,296 + 5.
    let digest = digest_of(&[12_884_901_893]);
    assert_eq!(recorder.totals(), (1, Bytes(0), Bytes(5_000), digest));
}

#[test]
fn the_digest_of_a_read_has_its_mail_and_is_not_that_of_a_delivery() {
    let (counts, recorder) = performed(vec![
        Planned::Deliver { mail: 3, maildir: 5 },
        Planned::Read { mail: 2 },
        Planned::Retrieve { stored: 0, seen: false },
    ]);
    assert_eq!((counts.writes, counts.reads), (1, 2));
    // The highest bit is set in a read: 2⁶³ = 9,223,372,036,854,775,808, plus mails 2 and 0.
    let reads = [9_223_372_036_854_775_810, 9_223_372_036_854_775_808];
    let digest = digest_of(&[12_884_901_893, reads[0], reads[1]]);
    // Read: 300 bytes of the pool's entry and 5,000 of the mail that was delivered.
    assert_eq!(recorder.totals(), (3, Bytes(5_300), Bytes(5_000), digest));
}
