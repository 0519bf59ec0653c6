//! Contents are what was written last, page by page.

use super::*;
use proptest::prelude::*;

pub(super) const SIZE: u64 = 64 * PAGE;

pub(super) fn store(limit: u64) -> PageStore {
    let region = Region::in_memory(STORE_AT + (64 << 20)).unwrap();
    PageStore::new(region, &[Bytes(SIZE), Bytes(SIZE)], Bytes(limit)).unwrap()
}

pub(super) fn write(store: &mut PageStore, disk: usize, offset: u64, data: &[u8]) {
    store
        .write(disk, offset, data.len() as u64, &mut |piece, place| {
            piece.copy_from_slice(&data[place as usize..][..piece.len()]);
            Ok(())
        })
        .unwrap();
}

pub(super) fn read(store: &mut PageStore, disk: usize, offset: u64, len: u64) -> Vec<u8> {
    let mut data = vec![0xaa; len as usize];
    store
        .read(disk, offset, len, &mut |piece, place| {
            data[place as usize..][..piece.len()].copy_from_slice(piece);
            Ok(())
        })
        .unwrap();
    data
}

#[derive(Debug, Clone)]
enum Step {
    Write { disk: usize, sector: u64, sectors: u64, byte: u8, plain: bool },
    Discard { disk: usize, sector: u64, sectors: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let place = (0usize..2, 0u64..SIZE / 512, 1u64..100);
    (place, any::<u8>(), 0u8..4).prop_map(|((disk, sector, sectors), byte, kind)| {
        let sectors = sectors.min(SIZE / 512 - sector);
        match kind {
            0 => Step::Discard { disk, sector, sectors },
            _ => Step::Write { disk, sector, sectors, byte, plain: kind == 1 },
        }
    })
}

proptest! {
    #[test]
    fn it_holds_what_a_plain_array_holds(steps in prop::collection::vec(step(), 1..60)) {
        let mut store = store(2 * SIZE);
        let mut plain = [vec![0u8; SIZE as usize], vec![0u8; SIZE as usize]];
        for (nth, step) in steps.iter().enumerate() {
            match *step {
                Step::Write { disk, sector, sectors, byte, plain: same } => {
                    let data: Vec<u8> = (0..sectors * 512)
                        .map(|at| if same { byte } else { byte.wrapping_add((at / 7) as u8) })
                        .collect();
                    write(&mut store, disk, sector * 512, &data);
                    plain[disk][(sector * 512) as usize..][..data.len()].copy_from_slice(&data);
                }
                Step::Discard { disk, sector, sectors } => {
                    store.discard(disk, sector * 512, sectors * 512).unwrap();
                    let pages = (sector * 512).div_ceil(PAGE)..(sector + sectors) * 512 / PAGE;
                    for page in pages {
                        plain[disk][(page * PAGE) as usize..][..PAGE as usize].fill(0);
                    }
                }
            }
            if nth % 8 == 0 {
                prop_assert_eq!(read(&mut store, 1, 512, SIZE - 1024), &plain[1][512..][..SIZE as usize - 1024]);
            }
        }
        for (disk, plain) in plain.iter().enumerate() {
            prop_assert_eq!(&read(&mut store, disk, 0, SIZE), plain);
        }
        let holding = plain.iter().flat_map(|disk| disk.chunks(PAGE as usize));
        let varied = holding.filter(|page| repeated_byte(page).is_none()).count() as u64;
        prop_assert!(store.pages_in_use() >= varied);
    }
}

#[test]
fn pages_of_one_byte_cost_nothing() {
    let mut store = store(2 * SIZE);
    write(&mut store, 0, 0, &vec![0u8; SIZE as usize]);
    write(&mut store, 1, 0, &vec![0xf6u8; SIZE as usize]);
    assert_eq!(store.pages_in_use(), 0);
    assert_eq!(read(&mut store, 1, PAGE - 3, 6), [0xf6; 6]);
}

#[test]
fn the_limit_is_an_error_with_its_figure() {
    let mut store = store(4 * PAGE);
    let data: Vec<u8> = (0..5 * PAGE).map(|at| (at % 251) as u8).collect();
    let error = store
        .write(0, 0, 5 * PAGE, &mut |piece, place| {
            piece.copy_from_slice(&data[place as usize..][..piece.len()]);
            Ok(())
        })
        .unwrap_err();
    assert!(
        error.to_string().contains("16.0 KiB") || error.to_string().contains("16 KiB"),
        "{error}"
    );
    assert!(store.discard(0, 0, SIZE + 512).is_err());
}
