//! What a process does to its trees, and what it puts into the digest.

use std::fs::{self, Permissions};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;

use units::Bytes;

use super::*;
use crate::PhaseDescription;
use crate::workloads::mongo::tests::{target, worker};
use crate::workloads::mongo::{COPY, CREATE, DELETE, READ, RENAME, STATS, SYMLINKS};

#[test]
fn a_copy_has_the_contents_and_the_mode_of_its_source() {
    let (home, target) = target();
    let trees = home.path().join(DIRECTORY);
    let (from, to) = (trees.join("testdir1-1-1"), trees.join("testdir2-1-1"));
    fs::create_dir_all(from.join("d0")).unwrap();
    // More than a read takes, and nothing.
    let files = [("0", 0o600, vec![b'x'; 5000]), ("d0/1", 0o400, Vec::new())];
    for (name, mode, contents) in &files {
        fs::write(from.join(name), contents).unwrap();
        fs::set_permissions(from.join(name), Permissions::from_mode(*mode)).unwrap();
    }
    let plan = Plan::draw(1, 100);
    let mut recorder = Recorder::new(&COPY);
    copy(&worker(target.as_fd(), &plan), &ThreadGroup::default(), &mut recorder).unwrap();
    for (name, mode, contents) in &files {
        let copied = fs::metadata(to.join(name)).unwrap();
        assert_eq!(copied.permissions().mode() & 0o7777, *mode, "{name}");
        assert_eq!(fs::read(to.join(name)).unwrap(), *contents, "{name}");
    }
    // Two directories and two files.
    let (ops, read, written, _) = recorder.totals();
    assert_eq!((ops, read, written), (4, Bytes(5000), Bytes(5000)));
}

/// The digest of these facts.
fn digest(facts: &[u64]) -> u64 {
    let mut recorder = Recorder::new(&CREATE);
    facts.iter().for_each(|fact| recorder.digest(*fact));
    recorder.totals().3
}

#[test]
fn each_phase_puts_what_it_made_or_found_into_its_digest() {
    let (_home, target) = target();
    // A tree is a directory with files of 83 and 136 bytes, which are called 0 and 1.
    let plan = Plan::draw(2, 100);
    let worker = worker(target.as_fd(), &plan);
    let phases: [(&PhaseDescription, Work<'_>, &[u64]); 7] = [
        // 2^32 for the number 1.
        (&CREATE, &create, &[83, 4_294_967_296 + 136]),
        (&COPY, &copy, &[219]),
        (&SYMLINKS, &symlinks, &[2]),
        (&READ, &read_all, &[2 * 219]),
        // Beside the four files there are three directories and two links.
        (&STATS, &stats, &[4]),
        (&RENAME, &rename, &[2]),
        // Each tree with its own directory; the copy has no links.
        (&DELETE, &delete, &[5, 3]),
    ];
    for (phase, work, facts) in phases {
        let mut recorder = Recorder::new(phase);
        work(&worker, &ThreadGroup::default(), &mut recorder).unwrap();
        assert_eq!(recorder.totals().3, digest(facts), "{}", phase.name);
    }
}
