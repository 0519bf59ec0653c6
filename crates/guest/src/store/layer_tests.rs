//! What lies below a layer stays as it was.

use super::super::tests::{SIZE, read, store, write};
use super::*;

fn pages(byte: u8, count: u64) -> Vec<u8> {
    (0..count * PAGE).map(|at| byte.wrapping_add((at % 251) as u8)).collect()
}

#[test]
fn what_lies_below_a_layer_comes_back_with_its_pages() {
    let mut store = store(2 * SIZE);
    write(&mut store, 0, 0, &pages(1, 4));
    store.begin_layer();
    let before = store.pages_in_use();
    write(&mut store, 0, PAGE, &pages(2, 2));
    write(&mut store, 0, 512, &pages(3, 1)[..512]);
    store.discard(0, 3 * PAGE, PAGE).unwrap();
    assert_eq!(read(&mut store, 0, PAGE, PAGE), pages(2, 1));
    assert_eq!(read(&mut store, 0, 512, 512), pages(3, 1)[..512]);
    assert_eq!(read(&mut store, 0, 3 * PAGE, PAGE), vec![0; PAGE as usize]);
    store.empty_layer();
    assert_eq!(read(&mut store, 0, 0, 4 * PAGE), pages(1, 4));
    assert_eq!(store.pages_in_use(), before);
}

#[test]
fn what_was_kept_is_put_back_whole_and_in_part() {
    let mut store = store(2 * SIZE);
    write(&mut store, 0, 0, &pages(1, 1));
    store.begin_layer();
    write(&mut store, 0, 0, &pages(2, 1));
    let first = store.kept(0, 0).unwrap();
    write(&mut store, 0, 0, &pages(3, 1));
    store.keep_layer();
    for _ in 0..2 {
        store.empty_layer();
        store.put(0, 0, first, 0..PAGE as usize).unwrap();
        assert_eq!(read(&mut store, 0, 0, PAGE), pages(2, 1));
        store.empty_layer();
        store.put(0, 0, first, 0..512).unwrap();
        let torn = [&pages(2, 1)[..512], &pages(1, 1)[512..]].concat();
        assert_eq!(read(&mut store, 0, 0, PAGE), torn);
        // What the filesystem writes in a state goes with it.
        write(&mut store, 0, 0, &pages(9, 1));
    }
}
