//! What a run is planned with: its room, the parts of a cut, sums as text.

use std::collections::BTreeMap;

use rustix::io::{FdFlags, fcntl_getfd};

use super::*;

#[test]
fn there_is_room_for_three_files_and_a_clip() {
    let space = |size: &str| {
        let given = BTreeMap::from([("size".to_owned(), size.to_owned())]);
        let parameters = Parameters::resolve(&DESCRIPTION, &given, 1.0).unwrap();
        Video.space(&parameters, &InputFacts::default())
    };
    // Three times 1024 MiB and 32 more.
    assert_eq!(space("1G"), Space { bytes: Bytes::from_mib(3104), inodes: 4 });
    assert_eq!(space("1M"), Space { bytes: Bytes::from_mib(35), inodes: 4 });
}

#[test]
fn a_sum_is_shown_with_two_digits_for_each_byte() {
    let mut sum = [0; 16];
    (sum[0], sum[1], sum[15]) = (0xab, 0x10, 0x05);
    assert_eq!(hex(&sum), "ab100000000000000000000000000005");
}

#[test]
fn a_cut_keeps_equal_parts_and_both_ends() {
    let parts = |count| Cuts { keep: 0.5, count }.parts(24.0);
    assert_eq!(parts(0), [(0.0, 12.0)]);
    // Two parts of 6 around a break of 12.
    assert_eq!(parts(1), [(0.0, 6.0), (18.0, 24.0)]);
    // Four parts of 3 and three breaks of 4.
    assert_eq!(parts(3), [(0.0, 3.0), (7.0, 10.0), (14.0, 17.0), (21.0, 24.0)]);
}

#[test]
fn no_program_inherits_a_file_that_is_read() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("f"), "x").unwrap();
    let target = open_target(home.path()).unwrap();
    let file = open(target.as_fd(), "f").unwrap();
    assert_eq!(fcntl_getfd(&file), Ok(FdFlags::CLOEXEC));
}
