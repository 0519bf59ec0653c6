//! The I/Os of one thread, without a whole run.

use std::fs::{self, File};

use super::*;
use crate::Inputs;
use crate::engine::thread_group::phase_with_threads;
use crate::workloads::bigfile::ZEROS;
use crate::workloads::randomio::description::RANDOM;
use crate::workloads::randomio::draws::Drand48;
use crate::workloads::randomio::tests::{context, terms};

#[test]
fn each_io_is_counted_in_the_second_in_which_it_ended() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(ZEROS);
    fs::write(&path, vec![0u8; 65_536]).unwrap();
    let opened = OwnedFd::from(File::options().read(true).write(true).open(&path).unwrap());
    let shared = Shared::new(terms(65_536, 100), Drand48::default());
    let inputs = Inputs::default();
    let mut wall = Nanos::ZERO;
    let worker = Worker {
        buffer: Aligned::new(512, 0),
        written: Aligned::new(512, FILL),
        tally: Tally::new(Some(Nanos::from_secs(3_600))),
    };
    let tallies = phase_with_threads(
        &mut context(home.path(), &inputs),
        &RANDOM,
        100,
        vec![worker],
        |worker, group, recorder| worker.work(&opened, ZEROS, &shared, None, group, recorder),
        |_| Ok(()),
        |_, result| wall = result.wall,
    )
    .unwrap();
    let Tally { read, write, seconds } = &tallies[0];
    assert_eq!(read.count + write.count, 100);
    // None ended after the phase, however long it took.
    let counted = seconds.iter().zip(0..=wall.0 / 1_000_000_000).map(|(ios, _)| ios);
    assert_eq!(counted.sum::<u64>(), 100);
}

#[test]
fn an_io_that_did_not_move_all_its_bytes_has_failed() {
    assert!(complete(512, 512, "read", ZEROS).is_ok());
    let error = complete(511, 512, "read", ZEROS).unwrap_err();
    assert_eq!(format!("{error}: {}", error.source), "read bigfile: 511 bytes of 512");
}
