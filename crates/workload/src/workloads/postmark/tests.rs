//! Room, the figures of the original, and calls, by pieces.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

use super::*;

/// Parameters of these settings, all others by default.
fn parameters(settings: &str) -> Parameters {
    let pairs = settings.split_whitespace().map(|setting| setting.split_once('=').unwrap());
    let given: BTreeMap<String, String> =
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Parameters::resolve(&DESCRIPTION, &given, 1.0).unwrap()
}

/// A plan in which nothing is done and these files are left.
fn plan(text: &[u8], left: Vec<(File, Vec<u32>)>) -> Plan {
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
fn the_originals_figures_are_of_whole_seconds_without_reading_back() {
    let at = |tenths: u64| Nanos::from_millis(100 * tenths);
    let times = Times {
        start: at(109),
        transactions_start: at(122),
        transactions_end: at(151),
        delete_start: at(400),
        end: at(425),
    };
    // 14 MB read and 10.5 MB written.
    let figures = BTreeMap::from(times.figures((14_680_064, 11_010_048)));
    // The deletes end 2.5 s after 15.1 s: from second 10 to second 17.
    assert_eq!(figures["original_total_s"], 7.0);
    // From second 12 to second 15, though only 2.9 s passed.
    assert_eq!(figures["original_transactions_s"], 3.0);
    assert_eq!(figures["original_read_mb_per_s"], 2.0);
    assert_eq!(figures["original_write_mb_per_s"], 1.5);
}

#[test]
fn the_originals_seconds_are_at_least_one() {
    let at = |tenths: u64| Nanos::from_millis(100 * tenths);
    let times = Times {
        start: at(101),
        transactions_start: at(102),
        transactions_end: at(103),
        delete_start: at(104),
        end: at(105),
    };
    let figures = BTreeMap::from(times.figures((3_145_728, 524_288)));
    assert_eq!(figures["original_total_s"], 1.0);
    assert_eq!(figures["original_transactions_s"], 1.0);
    assert_eq!(figures["original_read_mb_per_s"], 3.0);
    assert_eq!(figures["original_write_mb_per_s"], 0.5);
}

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
