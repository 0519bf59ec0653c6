//! Packets into clusters, their index, and a cut of them, on a recording of four clusters.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};

use tempfile::TempDir;

use super::super::{COPY, CUT, DESCRIPTION, DIRECTORY, MD5, REMUX, copy, md5};
use super::*;
use crate::Parameters;
use crate::engine::file_io::open_target;

/// A recording of this size, of which half is kept, in two parts.
fn emulated(size: u64) -> Emulated {
    let parameters = Parameters::resolve(&DESCRIPTION, &BTreeMap::new(), 1.0).unwrap();
    Emulated::new(Seed(1), size, Cuts { keep: 0.5, count: 1 }, Filling::of(&parameters))
}

/// A target with the recording copied into it.
fn copied(maker: &mut Emulated) -> (TempDir, OwnedFd) {
    assert_eq!(BLOCK, 32_768, "as cp and md5sum of 2011 read");
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(DIRECTORY)).unwrap();
    let target = open_target(home.path()).unwrap();
    copy(maker, target.as_fd(), &mut Recorder::for_thread(&COPY)).unwrap();
    (home, target)
}

fn counted(recorder: &Recorder<'_>) -> (u64, u64, u64) {
    (recorder.ops_done(), recorder.read_bytes, recorder.write_bytes)
}

#[test]
fn an_index_has_the_number_and_the_place_of_each_cluster() {
    let numbers: Vec<u64> = index(3)
        .chunks_exact(8)
        .map(|number| u64::from_le_bytes(number.try_into().unwrap()))
        .collect();
    // Clusters have 64 KiB.
    assert_eq!(numbers, [0, 0, 1, 65_536, 2, 131_072]);
}

#[test]
fn as_many_clusters_as_the_payload_needs() {
    // 356 packets carry 356 * 184 = 65,504 bytes, what is left of 64 KiB after a header of 32.
    assert_eq!(emulated(66_928).clusters(), 1);
    // The last packet has 10 bytes after its header of 4.
    assert_eq!(emulated(66_942).clusters(), 2);
}

#[test]
fn a_cluster_is_written_when_it_is_full_and_an_empty_one_never() {
    let mut muxer = Muxer::new();
    let mut lengths = Vec::new();
    let mut write = |cluster: &[u8]| -> Result<(), Infallible> {
        lengths.push(cluster.len());
        Ok(())
    };
    let Ok(()) = muxer.flush(&mut write);
    // 10 bytes of payload, and 356 packets with as much as a cluster takes: 10 are left over.
    let packets = vec![7; 66_928];
    let Ok(()) = muxer.packets(&packets[..14], &mut write);
    let Ok(()) = muxer.packets(&packets, &mut write);
    for _ in 0..2 {
        let Ok(()) = muxer.flush(&mut write);
    }
    assert_eq!(lengths, [65_536, 32 + 10]);
    assert_eq!(muxer.number, 2);
}

#[test]
fn what_is_remuxed_and_cut_is_what_is_expected_of_it() {
    let mut maker = emulated(260_000);
    let (home, target) = copied(&mut maker);
    // 1382 packets and 184 bytes of another: 1382 * 184 + 180 = 254,468 bytes of payload. They are
    // in three clusters of 65,504 and one of 57,956, each with a header of 32; four entries of 16
    // are in the index; the file begins with 4096.
    let mut recorder = Recorder::for_thread(&REMUX);
    maker.remux(target.as_fd(), &mut recorder).unwrap();
    assert_eq!(counted(&recorder), (4, 260_000, 254_468 + 128 + 64 + 4096));
    // The first cluster and the last stay: 65,536 + 57,988 bytes, two entries, the file's header.
    let mut recorder = Recorder::for_thread(&CUT);
    maker.cut(target.as_fd(), &mut recorder).unwrap();
    assert_eq!(counted(&recorder), (2, 123_524, 123_524 + 32 + 4096));

    let sums = [RAW, REMUXED, CUTTED]
        .map(|path| md5(target.as_fd(), path, &mut Recorder::for_thread(&MD5)).unwrap());
    assert_eq!(maker.expected(), Some(sums));

    let [raw, remuxed, cut] =
        [RAW, REMUXED, CUTTED].map(|path| fs::read(home.path().join(path)).unwrap());
    assert_eq!((raw.len(), remuxed.len(), cut.len()), (260_000, 258_756, 127_652));
    let begins = |file: &[u8]| u64::from_le_bytes(file[..8].try_into().unwrap());
    assert_eq!((begins(&remuxed), begins(&cut)), (4, 2), "a file begins with its clusters' count");
    let payload: Vec<u8> = raw.chunks(188).flat_map(|packet| &packet[4..]).copied().collect();
    let clusters = &remuxed[4096..4096 + 254_596];
    let found: Vec<u8> =
        clusters.chunks(65_536).flat_map(|cluster| &cluster[32..]).copied().collect();
    assert!(found == payload, "every packet without its header");
    let kept = [&clusters[..65_536], &clusters[3 * 65_536..]].concat();
    assert!(cut[4096..4096 + 123_524] == kept[..], "the first and the last cluster");
}

/// How many reads this thread has asked the kernel for, without the one that finds it out.
fn reads() -> u64 {
    let mut text = [0; 1024];
    let mut file = File::open("/proc/thread-self/io").expect("the kernel counts calls");
    let length = file.read(&mut text).unwrap();
    let text = std::str::from_utf8(&text[..length]).unwrap();
    text.lines().find_map(|line| line.strip_prefix("syscr:")).unwrap().trim().parse().unwrap()
}

#[test]
fn a_buffer_that_is_full_is_not_read_into_again() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("f"), "hello").unwrap();
    let target = open_target(home.path()).unwrap();
    // A read that finds the end is needed only where the buffer has room left.
    for (length, expected) in [(5, 1), (8, 2)] {
        let file = open(target.as_fd(), "f").unwrap();
        let mut buffer = vec![0; length];
        let before = reads();
        let got = fill(&file, "f", &mut buffer);
        let after = reads();
        assert_eq!(got.unwrap(), 5);
        // The first count was a read too.
        assert_eq!(after - before - 1, expected, "{length} bytes");
    }
}
