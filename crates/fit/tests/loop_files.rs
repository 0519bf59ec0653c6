//! A loop file is measured on a real loop device, and nothing else is written to. Needs root;
//! without it each test says that it was skipped.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use device::Ledger;
use disk::Asked;
use fit::{Kind, Place, Plan, Role, Session, ThisDisk};
use skippable::{Ending, needs_root};
use units::Bytes;

fn main() -> ExitCode {
    skippable::run(skippable::tests![tests::it_is_written_to_and_gone_afterwards])
}

/// On a disk: direct I/O is asked for.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The loop devices that are attached to a file in this directory.
fn attached(directory: &Path) -> Vec<PathBuf> {
    let devices = std::fs::read_dir("/sys/block").unwrap().flatten();
    let files = devices
        .filter_map(|device| std::fs::read_to_string(device.path().join("loop/backing_file")).ok());
    files.map(|file| PathBuf::from(file.trim())).filter(|it| it.starts_with(directory)).collect()
}

fn session(name: &'static str, role: Role, requests: Vec<Asked>) -> Session {
    Session { name, role, depth: 4, requests }
}

mod tests {
    use super::*;

    pub(super) fn it_is_written_to_and_gone_afterwards() -> Ending {
        needs_root()?;
        let (files, notes) = (directory(), directory());
        // Something of somebody else's beside it.
        std::fs::write(files.path().join("bystander"), b"stays").unwrap();
        let ledger = Ledger::open(notes.path()).unwrap();
        let place = Place::LoopFile(files.path().to_owned());
        let mut disk = ThisDisk::open(&place, &ledger).unwrap();
        assert_eq!(attached(&files.path().canonicalize().unwrap()).len(), 1);
        assert!(disk.writes() && disk.span() == Bytes::from_mib(512), "{disk:?}");
        let flushed = |nth: u64| [Asked::write(nth * 8, 8), Asked::FLUSH];
        let plan = Plan {
            kind: Kind::Ssd,
            span: disk.span(),
            sessions: vec![
                session("reads", Role::Reads, (0..50).map(|nth| Asked::read(nth * 8, 8)).collect()),
                session("flushes", Role::Writes, (0..20).flat_map(flushed).collect()),
            ],
        };
        let times = disk.serve(&plan, |_| {}).unwrap();
        assert_eq!(times.iter().map(Vec::len).collect::<Vec<_>>(), [50, 20]);
        assert!(times.iter().flatten().all(|time| time.0 > 0));
        drop(disk);
        assert!(attached(&files.path().canonicalize().unwrap()).is_empty());
        let left: Vec<_> = std::fs::read_dir(files.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(std::fs::read(files.path().join("bystander")).unwrap(), b"stays");
        Ok(())
    }
}
