//! How many calls a read and a write take.

use std::fs;
use std::io::Read;
use std::os::fd::AsFd;

use super::*;
use crate::engine::file_io::open_target;
use crate::workloads::postmark::tests::{parameters, plan};

/// How many reads and writes this thread has asked the kernel for, those of no bytes included.
/// To know is one read.
fn calls() -> (u64, u64) {
    let mut text = [0; 1024];
    let mut file = fs::File::open("/proc/thread-self/io").expect("the kernel counts calls");
    let len = file.read(&mut text).unwrap();
    let text = std::str::from_utf8(&text[..len]).unwrap();
    let count = |field: &str| -> u64 {
        text.lines().find_map(|line| line.strip_prefix(field)).unwrap().trim().parse().unwrap()
    };
    (count("syscr:"), count("syscw:"))
}

/// How many reads and writes it takes to write a new file of this size and to read it.
fn calls_for(settings: &str, bytes: u32) -> (u64, u64) {
    let directory = tempfile::tempdir().unwrap();
    let target = open_target(directory.path()).unwrap();
    let plan = plan(&[b'x'; 20_000], Vec::new());
    let mut runner = Runner::new(&parameters(settings), &plan, target.as_fd(), false);
    let file = File { number: 1, subdirectory: 0 };
    let before = calls();
    runner.write(file, bytes, false).unwrap();
    runner.read(file, bytes).unwrap();
    let after = calls();
    assert_eq!(fs::metadata(directory.path().join("1")).unwrap().len(), u64::from(bytes));
    assert_eq!(runner.totals(), (u64::from(bytes), u64::from(bytes)));
    (after.0 - before.0 - 1, after.1 - before.1)
}

#[test]
fn whole_blocks_without_a_buffer_are_followed_by_a_call_of_no_bytes() {
    let unbuffered = "buffered=off read_block=400 write_block=500";
    assert_eq!(calls_for(unbuffered, 2000), (5 + 1, 4 + 1));
    assert_eq!(calls_for(unbuffered, 1999), (5, 4));
    // Whole blocks for writes and not for reads.
    assert_eq!(calls_for(unbuffered, 1000), (3, 2 + 1));
}

#[test]
fn whole_buffers_of_a_stream_are_followed_by_no_call() {
    let whole = calls_for("buffered=on", 8192);
    // One byte less needs as many calls, the last one for less.
    assert_eq!(whole, calls_for("buffered=on", 8191));
    // A buffer is from 512 bytes to 8 KiB.
    assert!((1..=16).contains(&whole.0) && whole.0 == whole.1, "{whole:?}");
}
