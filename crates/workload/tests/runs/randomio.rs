//! The workload `randomio`, run for real with verification.

use std::fs;
use std::io::Write;

use workload::{InputFacts, Inputs, PhaseEvent, PhaseStatus};

use crate::support::{run, scratch};
use crate::watching::{planned, refused, room, watched};

pub(crate) fn ios_of_all_threads_are_those_of_the_sequence() {
    let digests = |seed: u64, settings: &str| {
        let target = tempfile::tempdir().unwrap();
        let settings = format!("size=2M ops=3000 threads=4 {settings}");
        let ran = run("randomio", target.path(), &Inputs::default(), seed, &settings);
        assert!(ran.ended.is_ok(), "{:?}", ran.ended);
        let random = ran.phase("random");
        assert_eq!(random.status, PhaseStatus::Completed);
        let count = |op: &str| random.latencies.get(op).map_or(0, |l| l.count());
        assert_eq!((random.ops, count("read") + count("write")), (3000, 3000));
        assert_eq!(random.read_bytes.0, count("read") * 2048);
        assert_eq!(random.write_bytes.0, count("write") * 2048);
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
        let figures = &random.figures;
        assert!(figures["read_min_ms"] <= figures["read_avg_ms"]);
        assert!(figures["read_avg_ms"] <= figures["read_max_ms"]);
        // Threads never do more at once than there are of them.
        assert!(figures["consistency"] > 0.0 && figures["consistency"] < 1.1, "{figures:?}");
        (random.digest, count("write"))
    };
    for direct in ["direct=on", "direct=off"] {
        assert_eq!(digests(1, direct), digests(2, direct), "the original's sequence is fixed");
        let of_seed = format!("{direct} draws=seed");
        assert_eq!(digests(1, &of_seed), digests(1, &of_seed));
        assert_ne!(digests(1, &of_seed), digests(2, &of_seed));
    }
}

pub(crate) fn it_takes_the_file_that_bigfile_left_and_a_time_ends_it() {
    let target = tempfile::tempdir().unwrap();
    let left = run("bigfile", target.path(), &Inputs::default(), 1, "dd_size=2M size=0 keep=on");
    assert!(left.ended.is_ok());
    let settings = "time=50ms direct=off size=9G io_size=1536";
    let ran = run("randomio", target.path(), &Inputs::default(), 1, settings);
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    assert!(matches!(ran.phase("prepare").status, PhaseStatus::Skipped { .. }));
    let random = ran.phase("random");
    assert!(random.ops > 0 && random.wall.0 >= 50_000_000);
    let again = run("randomio", target.path(), &Inputs::default(), 1, settings);
    // How many I/Os fit into a time is no matter of the seed, and not in the digest.
    assert_eq!(random.digest, again.phase("random").digest);
    assert!(target.path().join("bigfile").exists(), "it belongs to the other workload");
}

pub(crate) fn the_file_is_cold_where_that_is_asked_for() {
    for (settings, expected) in [("", false), ("cold=on", true)] {
        let target = tempfile::tempdir().unwrap();
        let settings = format!("size=2M ops=100 {settings}");
        let ran = run("randomio", target.path(), &Inputs::default(), 1, &settings);
        assert!(ran.ended.is_ok(), "{settings}: {:?}", ran.ended);
        let cold = |phase: &str| matches!(ran.phase(phase).cache, workload::Cache::Cold { .. });
        assert_eq!((cold("prepare"), cold("random")), (false, expected), "{settings}");
    }
}

pub(crate) fn a_file_without_room_for_two_ios_is_refused() {
    let said = "size=3072 has no room for two I/Os of io_size=2048";
    assert_eq!(refused("randomio", "size=3K io_size=2K").as_deref(), Some(said));
    assert_eq!(refused("randomio", "size=4K io_size=2K"), None);
}

pub(crate) fn an_io_is_of_whole_sectors_up_to_64_mib() {
    assert_eq!(refused("randomio", "io_size=64M threads=8"), None);
    let said = refused("randomio", "io_size=64M threads=9").unwrap();
    assert!(said.starts_with("18 buffers of 64 MiB take 1.1"), "{said}");
    // 64 MiB and 512 bytes.
    for size in ["0", "1000", "67109376"] {
        let expected = "a size from 512 to 64M, a multiple of 512 is expected";
        let said = format!("randomio: io_size={size}: {expected}");
        assert_eq!(refused("randomio", &format!("io_size={size}")), Some(said));
    }
}

pub(crate) fn its_own_file_is_removed_however_it_ends() {
    let target = scratch();
    let left = || fs::read_dir(target.path()).unwrap().count();
    let ran = run("randomio", target.path(), &Inputs::default(), 1, "size=2K io_size=2K");
    assert!(ran.ended.unwrap_err().to_string().contains("no room for two"));
    assert_eq!(left(), 0);
    // What is found wrong afterwards, too: a byte more than there should be.
    let more = |event: &PhaseEvent| {
        if matches!(event, PhaseEvent::Finished(result) if result.phase == "random") {
            let file = fs::OpenOptions::new().append(true).open(target.path().join("randomio"));
            file.unwrap().write_all(b"x").unwrap();
        }
    };
    let settings = "size=64K io_size=4K ops=3 threads=1 direct=off";
    let ended = watched("randomio", target.path(), &Inputs::default(), settings, true, &more);
    let said = ended.unwrap_err().to_string();
    assert_eq!(said, "verification: randomio: is longer than 65536 bytes");
    assert_eq!(left(), 0);
    // One that was there is not its own.
    fs::write(target.path().join("randomio"), "mine").unwrap();
    let ran = run("randomio", target.path(), &Inputs::default(), 1, "size=64K ops=3");
    assert!(ran.ended.unwrap_err().to_string().contains("File exists"));
    assert_eq!(fs::read_to_string(target.path().join("randomio")).unwrap(), "mine");
}

pub(crate) fn an_io_has_at_most_64_mib_and_the_file_room_for_two() {
    let target = scratch();
    // Without contents, as if `bigfile` had left it.
    let file = fs::File::create(target.path().join("bigfile")).unwrap();
    let said = |size: u64, io: &str| {
        file.set_len(size).unwrap();
        let settings = format!("io_size={io} ops=3 threads=1 direct=off");
        let ran = run("randomio", target.path(), &Inputs::default(), 1, &settings);
        ran.ended.map_or_else(|failure| failure.to_string(), |()| "done".to_owned())
    };
    assert!(said(1 << 20, "64M").contains("has no room for two I/Os"));
    assert!(said(4_095, "2048").contains("has no room for two I/Os"));
    assert_eq!(said(4_096, "2048"), "done");
}

pub(crate) fn a_file_of_that_name_in_another_directory_at_its_path_stays() {
    let home = scratch();
    let (target, moved) = (home.path().join("target"), home.path().join("moved"));
    fs::create_dir(&target).unwrap();
    let exchange = |event: &PhaseEvent| {
        if matches!(event, PhaseEvent::Finished(result) if result.phase == "random") {
            fs::rename(&target, &moved).unwrap();
            fs::create_dir(&target).unwrap();
            fs::write(target.join("randomio"), "mine").unwrap();
        }
    };
    let settings = "size=64K io_size=4K ops=3 threads=1 direct=off";
    watched("randomio", &target, &Inputs::default(), settings, true, &exchange).unwrap();
    assert_eq!(fs::read_to_string(target.join("randomio")).unwrap(), "mine");
    assert_eq!(fs::read_dir(&moved).unwrap().count(), 0);
}

pub(crate) fn the_file_is_read_back_only_where_that_is_asked_for() {
    let found = "verification: bigfile: other contents than written at byte 0";
    for (verify, expected) in [(true, found), (false, "done")] {
        let target = scratch();
        fs::write(target.path().join("bigfile"), [1u8; 8_192]).unwrap();
        let (inputs, settings) = (Inputs::default(), "io_size=2048 ops=3 direct=off write_share=0");
        let ended = watched("randomio", target.path(), &inputs, settings, verify, &|_| {});
        let said = ended.map_or_else(|failure| failure.to_string(), |()| "done".to_owned());
        assert_eq!(said, expected);
    }
}

pub(crate) fn its_own_file_needs_room() {
    assert_eq!(room("randomio", "size=3M", &InputFacts::default()), (3 << 20, 1));
}

pub(crate) fn its_own_file_ends_where_it_should_within_a_mib() {
    let target = scratch();
    // A MiB and a half.
    let settings = "size=1572864 ops=3 threads=1 direct=off";
    let ran = run("randomio", target.path(), &Inputs::default(), 1, settings);
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    let prepare = ran.phase("prepare");
    assert_eq!((prepare.ops, prepare.write_bytes.0), (2, 1_572_864));
    let expected = [("prepare".to_owned(), 2), ("random".to_owned(), 3)];
    assert_eq!(planned("randomio", target.path(), settings), expected);
}
