//! The upkeep of a filesystem in processes of their own: on a small filesystem that no other
//! process fills, and traced.

use std::fs;
use std::path::{Path, PathBuf};

use super::files::tests::{holding, parameters, scratch};
use super::tests::{Keeper, context, keeper};
use super::*;
use crate::own_process::{again, place, tmpfs};
use crate::{Inputs, Seed};

/// Takes a quarter of a MiB of a filesystem: 64 pages.
fn use_quarter(mount: &Path) {
    fs::write(mount.join("others"), vec![1; 262_144]).unwrap();
}

/// Files of at most 4096 bytes: a page each.
fn one_page_files() -> Files {
    Files::new(Seed(1), 2048, Filling::of(&parameters("")))
}

#[test]
fn the_room_is_what_is_free_and_what_is_in_use() {
    let test = "the_room_is_what_is_free_and_what_is_in_use";
    let Some(mount) = tmpfs(module_path!(), test, "size=1m") else { return };
    use_quarter(&mount);
    // Of 1048576 bytes.
    let target = open_target(&mount).unwrap();
    assert_eq!(room(target.as_fd()).unwrap(), (786_432, 262_144));
}

#[test]
fn a_filesystem_of_four_times_the_size_is_not_refused_and_a_larger_one_is() {
    let test = "a_filesystem_of_four_times_the_size_is_not_refused_and_a_larger_one_is";
    let Some(mount) = tmpfs(module_path!(), test, "size=1m") else { return };
    let (host, inputs) = (keeper(), Inputs::default());
    // 1048576 bytes are four times 262144.
    refuse_larger(&context(&host, &inputs, &mount, "size=262144")).unwrap();
    let failed = refuse_larger(&context(&host, &inputs, &mount, "size=262143")).unwrap_err();
    assert!(matches!(&failed, Failure::Input(_)), "{failed:?}");
}

#[test]
fn a_filesystem_is_filled_as_far_as_asked_for() {
    let test = "a_filesystem_is_filled_as_far_as_asked_for";
    let Some(mount) = tmpfs(module_path!(), test, "size=1m") else { return };
    use_quarter(&mount);
    let mut files = one_page_files();
    // For which there was no room earlier; that is not told of this phase.
    files.no_room = 3;
    let (host, inputs) = (keeper(), Inputs::default());
    let settings = "full=0.75 file_size=2K";
    fill(&mut context(&host, &inputs, &mount, settings), &mut files).unwrap();
    // Three quarters of 1 MiB without the quarter in use are 524288 bytes: 256 times the mean
    // size, and 128 pages.
    assert_eq!(*host.planned.borrow(), [("fill".to_owned(), 256)]);
    assert_eq!(files.count(), 128);
    let result = host.result("fill");
    assert!(host.completed("fill"), "{result:?}");
    assert_eq!(result.ops, 128);
    // On a tmpfs files take just their pages.
    assert_eq!((result.figures["files"], result.figures["fullness"]), (128.0, 0.75));
    assert!(result.notes.is_empty(), "{result:?}");
}

#[test]
fn a_filesystem_that_is_full_too_early_is_told() {
    let test = "a_filesystem_that_is_full_too_early_is_told";
    let Some(mount) = tmpfs(module_path!(), test, "size=1m") else { return };
    // Others take a quarter after it was seen how much room there is.
    let starts = |_: &str| use_quarter(&mount);
    let (host, inputs) = (Keeper { starts: &starts, ..keeper() }, Inputs::default());
    let mut files = one_page_files();
    let settings = "full=1 file_size=2K";
    fill(&mut context(&host, &inputs, &mount, settings), &mut files).unwrap();
    // 192 of 256 pages are left.
    assert_eq!((files.count(), files.no_room), (192, 1));
    let result = host.result("fill");
    assert_eq!((result.figures["files"], result.figures["fullness"]), (192.0, 1.0));
    assert_eq!(result.notes, [NO_MORE]);
    assert!(!mount.join("upkeep/00001/f0000192").exists());
}

/// Fills a filesystem of this many inodes, one of which is the root's.
fn fill_with_inodes(test: &str, inodes: u64) -> Option<PathBuf> {
    let mount = tmpfs(module_path!(), test, &format!("size=1m,nr_inodes={inodes}"))?;
    let mut files = one_page_files();
    let (host, inputs) = (keeper(), Inputs::default());
    let settings = "full=1 file_size=2K";
    fill(&mut context(&host, &inputs, &mount, settings), &mut files).unwrap();
    assert!(host.completed("fill"));
    assert_eq!((files.count(), files.no_room), (0, 1));
    assert_eq!(host.result("fill").notes, [NO_MORE]);
    Some(mount)
}

#[test]
fn a_directory_that_does_not_fit_ends_the_filling() {
    // The second inode is that of the directory above all others.
    let test = "a_directory_that_does_not_fit_ends_the_filling";
    let Some(mount) = fill_with_inodes(test, 2) else { return };
    assert!(mount.join("upkeep").is_dir() && !mount.join("upkeep/00000").exists());
}

#[test]
fn a_file_without_an_inode_ends_the_filling() {
    // The third inode is that of the directory for the first files.
    let Some(mount) = fill_with_inodes("a_file_without_an_inode_ends_the_filling", 3) else {
        return;
    };
    assert!(mount.join("upkeep/00000").is_dir());
}

/// A quarter of 1 MiB in 64 files of a page each.
const QUARTER: &str = "size=1M full=0.25 file_size=2K changes=3 snapshots=1 changes_between=1";

#[test]
fn everything_is_done_in_its_order_and_all_files_are_there_afterwards() {
    let test = "everything_is_done_in_its_order_and_all_files_are_there_afterwards";
    let Some(mount) = tmpfs(module_path!(), test, "size=1m") else { return };
    let (host, inputs) = (keeper(), Inputs::default());
    Upkeep.run(&mut context(&host, &inputs, &mount, QUARTER)).unwrap();
    let asked = [
        Care::Make,
        Care::FirstMount,
        Care::TakeSnapshot(0),
        Care::TakeSnapshot(1),
        Care::RemoveSnapshot(0),
        Care::RemoveSnapshot(1),
        Care::FreeSnapshots,
        Care::Unmount,
        Care::Mount,
        Care::LosePower,
        Care::Mount,
        Care::Unmount,
        Care::Check,
        Care::Damage,
        Care::Repair,
        Care::Check,
        Care::Mount,
    ];
    assert_eq!(*host.asked.borrow(), asked);
    let names: Vec<_> = DESCRIPTION.phases.iter().map(|phase| phase.name).collect();
    let results = host.results.borrow();
    let reported: Vec<_> = results.iter().map(|result| result.phase.as_str()).collect();
    assert_eq!(reported, names);
}

#[test]
fn a_file_that_a_repair_damages_is_found() {
    let test = "a_file_that_a_repair_damages_is_found";
    let Some(mount) = tmpfs(module_path!(), test, "size=1m") else { return };
    let does = |what: &Care, before: &[Care]| -> Result<(), Uncared> {
        match what {
            // So that no file is left out of the verification.
            Care::LosePower => Err(Uncared::Missing("it cannot".to_owned())),
            Care::Mount if before.contains(&Care::Repair) => {
                fs::write(mount.join("upkeep/00000/f0000000"), "").unwrap();
                Ok(())
            }
            _ => Ok(()),
        }
    };
    let (host, inputs) = (Keeper { does: &does, ..keeper() }, Inputs::default());
    let failed = Upkeep.run(&mut context(&host, &inputs, &mount, QUARTER)).unwrap_err();
    let told = "verification: 1 of 64 files are not as they were written";
    assert_eq!(failed.to_string(), told);
}

#[test]
fn files_that_are_only_read_are_not_inherited_by_programs() {
    let test = "files_that_are_only_read_are_not_inherited_by_programs";
    if let Some(home) = place() {
        let target = open_target(&home).unwrap();
        let mut files = holding(&home, 1, 1);
        files.fsync(target.as_fd(), 0).unwrap();
        // Whether blocks can be shared does not matter here.
        drop(files.clone_file(target.as_fd(), 0));
        return;
    }
    let (home, traces) = (scratch(), tempfile::tempdir().unwrap());
    let log = traces.path().join("strace");
    let strace = ["strace", "-f", "-qq", "-e", "trace=openat", "-o", log.to_str().unwrap()];
    again(&strace, module_path!(), test, home.path());
    let log = fs::read_to_string(log).unwrap();
    let opened: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("\"upkeep/") && line.contains("O_RDONLY"))
        .collect();
    // One to be synced and one to be copied.
    assert_eq!(opened.len(), 2, "{log}");
    assert!(opened.iter().all(|line| line.contains("O_CLOEXEC")), "{opened:#?}");
}
