//! What is followed of the requests of a state.

use super::*;
use crate::region::REGION_BYTES;
use units::{Bytes, Lba};

const SIZE: Bytes = Bytes::from_mib(1);

fn store() -> PageStore {
    let region = Region::in_memory(REGION_BYTES).unwrap();
    PageStore::new(region, &[SIZE, SIZE], SIZE).unwrap()
}

/// Follows requests, each with its disk, first sector and how many; writes store a byte.
fn followed(requests: &[(Operation, usize, u64, u64)]) -> Looking {
    let (mut store, mut looking) = (store(), Looking::default());
    for (operation, disk, lba, sectors) in requests.iter().copied() {
        if operation == Operation::Write {
            let mut fill = |piece: &mut [u8], _| {
                piece.fill(7);
                Ok(())
            };
            store.write(disk, lba * 512, sectors * 512, &mut fill).unwrap();
        }
        let arrival = Arrival { disk, slot: 0, operation, lba: Lba(lba), sectors, fua: false };
        looking.follow(&arrival, &mut store).unwrap();
    }
    looking
}

fn reads(ranges: &[(usize, u64, u64)]) -> Reads {
    let mut reads = Reads::default();
    ranges.iter().for_each(|(disk, from, to)| reads.add(*disk, *from, *to));
    reads
}

#[test]
fn what_the_state_itself_wrote_before_is_not_read_of_it() {
    use Operation::{Read, Write};
    let looking = followed(&[(Read, 0, 0, 16), (Write, 0, 18, 4), (Read, 0, 16, 24)]);
    assert_eq!(looking.reads, reads(&[(0, 0, 18), (0, 22, 40)]));
    let other = followed(&[(Write, 0, 0, 8), (Read, 1, 0, 8)]);
    assert_eq!(other.reads, reads(&[(1, 0, 8)]), "another disk");
}

#[test]
fn of_a_page_that_is_discarded_in_part_what_is_left_is_read_of_the_state() {
    use Operation::{Discard, Read};
    let looking = followed(&[(Discard, 0, 4, 12), (Read, 0, 0, 16)]);
    assert_eq!(looking.reads, reads(&[(0, 0, 8)]));
}

#[test]
fn what_was_written_is_known_by_its_contents() {
    use Operation::{Discard, Write};
    let of = |requests: &[_]| followed(requests).writes;
    assert_eq!(of(&[(Write, 0, 3, 2), (Write, 0, 5, 1)]), of(&[(Write, 0, 3, 3)]));
    assert_ne!(of(&[(Write, 0, 8, 8)]), of(&[(Discard, 0, 8, 8)]));
    assert_ne!(of(&[(Write, 0, 8, 8)]), of(&[(Write, 1, 8, 8)]));
}
