//! The room that unpacking needs.

use std::collections::BTreeMap;

use units::Bytes;

use super::*;

#[test]
fn the_room_is_for_the_mails_and_one_directory() {
    let given = BTreeMap::from([("mails".to_owned(), "10".to_owned())]);
    let parameters = Parameters::resolve(&DESCRIPTION, &given, 1.0).unwrap();
    let inputs = InputFacts { mean_mail: Bytes(3000), ..InputFacts::default() };
    // Ten times 3000 bytes and half a block of 4096 that a file wastes, and a block for the
    // directory: 50,480 and 4096.
    let expected = Space { bytes: Bytes(54_576), inodes: 11 };
    assert_eq!(Unpack.space(&parameters, &inputs), expected);
}
