//! PostMark's room and verification; parameters and a plan for the other tests.

use std::collections::BTreeMap;
use std::fs;

use super::plan::File;
use super::*;

/// Parameters of these settings, all others by default.
pub(super) fn parameters(settings: &str) -> Parameters {
    let pairs = settings.split_whitespace().map(|setting| setting.split_once('=').unwrap());
    let given: BTreeMap<String, String> =
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Parameters::resolve(&DESCRIPTION, &given, 1.0).unwrap()
}

/// A plan in which nothing is done and these files are left.
pub(super) fn plan(text: &[u8], left: Vec<(File, Vec<u32>)>) -> Plan {
    let text = text.to_vec();
    Plan { text, creates: Vec::new(), transactions: Vec::new(), transactions_done: 0, left }
}

#[test]
fn room_is_for_the_files_that_transactions_add_and_for_directories() {
    let room = |settings: &str| PostMark.space(&parameters(settings), &InputFacts::default());
    // Three tenths of 70 transactions create: 121 files of two blocks each, in 7 directories
    // of one.
    assert_eq!(
        room("number=100 transactions=70 bias_create=3 size_high=5000 subdirectories=7"),
        Space { bytes: Bytes(1_024_000), inodes: 129 }
    );
    // The table of files has no place for more than twice as many as there are at first.
    assert_eq!(
        room("number=10 transactions=1000 size_high=4K"),
        Space { bytes: Bytes(86_016), inodes: 21 }
    );
}

#[test]
fn verification_compares_files_with_the_pieces_they_were_written_in() {
    let directory = tempfile::tempdir().unwrap();
    let target = open_target(directory.path()).unwrap();
    let files = [
        (File { number: 9, subdirectory: 0 }, vec![3]),
        (File { number: 7, subdirectory: 2 }, vec![4, 2]),
    ];
    let plan = plan(b"abcdef", files.to_vec());
    for subdirectory in ["s0", "s2"] {
        fs::create_dir(directory.path().join(subdirectory)).unwrap();
    }
    fs::write(directory.path().join("s0/9"), "abc").unwrap();
    let second = directory.path().join("s2/7");
    let found = || verify(&plan, target.as_fd(), true).map_err(|failure| failure.to_string());
    let missing = found().unwrap_err();
    assert!(missing.starts_with("verification: s2/7: "), "{missing}");
    fs::write(&second, "abcdab").unwrap();
    assert_eq!(found(), Ok(()));
    // A changed byte, a piece that is missing, a byte too many.
    for contents in ["abcdaX", "abcd", "abcdabc"] {
        fs::write(&second, contents).unwrap();
        let expected = "verification: s2/7 has other contents than written".to_owned();
        assert_eq!(found(), Err(expected), "{contents}");
    }
}
