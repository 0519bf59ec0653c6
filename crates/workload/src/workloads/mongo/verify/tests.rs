//! What verification finds.

use std::fs;
use std::os::fd::AsFd;

use super::*;
use crate::Recorder;
use crate::engine::thread_group::ThreadGroup;
use crate::workloads::mongo::CREATE;
use crate::workloads::mongo::tests::{target, worker};
use crate::workloads::mongo::worker::create;

#[test]
fn verification_finds_what_is_missing_and_what_is_not_as_written() {
    let (home, target) = target();
    let plan = Plan::draw(2, 100);
    let worker = worker(target.as_fd(), &plan);
    create(&worker, &ThreadGroup::default(), &mut Recorder::new(&CREATE)).unwrap();
    let said = || verify(target.as_fd(), &plan, 1, false).map_err(|failure| failure.to_string());
    assert_eq!(said(), Ok(()));

    let file = home.path().join("mongo/testdir1-1-1/1");
    let mut contents = fs::read(&file).unwrap();
    assert_eq!(contents, [b'a'; 136]);
    contents[135] = b'b';
    fs::write(&file, &contents).unwrap();
    let foreign = said().unwrap_err();
    assert!(foreign.contains("mongo/testdir1-1-1/1 has other contents"), "{foreign}");
    fs::write(&file, &contents[..135]).unwrap();
    assert_eq!(said().unwrap_err(), "verification: 2 files of 218 bytes instead of 2 of 219");
    fs::remove_file(&file).unwrap();
    assert_eq!(said().unwrap_err(), "verification: 1 files of 83 bytes instead of 2 of 219");
}
