//! What verification finds, and what others see of it.

use std::fs;
use std::os::fd::AsFd;

use super::*;
use crate::Inputs;
use crate::engine::file_io::open_target;
use crate::engine::file_io::tests::{PIPED, watch_reader};
use crate::workloads::bigfile::ZEROS;
use crate::workloads::randomio::tests::{context, terms};

#[test]
fn a_block_is_what_it_was_or_what_a_write_stores_there() {
    let home = tempfile::tempdir().unwrap();
    let (target, inputs) = (open_target(home.path()).unwrap(), Inputs::default());
    let context = context(home.path(), &inputs);
    let said = |bytes: &[u8]| {
        fs::write(home.path().join(ZEROS), bytes).unwrap();
        verify(&context, target.as_fd(), ZEROS, terms(1_636, 1))
            .map_err(|failure| failure.to_string())
    };
    // Three blocks, of which the second was written, and a piece that is too short for a write.
    let mut whole = [0u8; 1_636];
    whole[512..520].copy_from_slice(&[0, 2, 0, 0, 0, 0, 0, 0]);
    whole[520..1_024].fill(0xa5);
    assert_eq!(said(&whole), Ok(()));

    for (place, byte, block) in [
        (3, 1, 0),
        // The place of another block, and the right one before something else.
        (513, 4, 512),
        (520, 0, 512),
        (1_023, 0xa4, 512),
        (1_600, 1, 1_536),
    ] {
        let mut changed = whole;
        changed[place] = byte;
        let message = format!("other contents than written at byte {block}");
        assert_eq!(said(&changed), Err(format!("verification: bigfile: {message}")));
    }
}

#[test]
fn no_program_inherits_the_file_that_is_verified() {
    let home = tempfile::tempdir().unwrap();
    let (target, inputs) = (open_target(home.path()).unwrap(), Inputs::default());
    let context = context(home.path(), &inputs);
    let (verdict, flags) = watch_reader(&home.path().join(ZEROS), || {
        verify(&context, target.as_fd(), ZEROS, terms(PIPED as u64, 1))
    });
    assert!(verdict.is_ok(), "{verdict:?}");
    assert_eq!(flags.len(), 1);
    assert!(flags[0].contains(OFlags::CLOEXEC), "{flags:?}");
}
