//! The emulator that runs trials: a copy of the installed QEMU with a few instructions changed.
//!
//! * [`quick_count`]: it counts instructions without stalling the host's processor.
//! * [`quick_crc`]: it computes checksums with the host's instruction.
//! * [`fine_clock`]: its clock counts fractions of a nanosecond, for profiles with a current
//!   processor. Such a profile is refused if this change is not possible.
//!
//! The first two change no figure. Every emulator also loads a library that keeps the host's clock
//! out of it ([`flush_clock`]).

mod fine_clock;
pub(crate) mod flush_clock;
mod quick_count;
mod quick_crc;

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::cache::{key, prune, sweep_unfinished, touch, unfinished};
use crate::elf::Elf;
use crate::error::LabError;
use crate::machine::Qemu;

/// Bytes of the program to be replaced: the offset, and the new bytes.
type Change = (usize, Vec<u8>);

/// To be increased whenever the changes made in copies differ, so that old copies are not used.
const FORM: &[u8] = b"4";
/// The directory of copies in the lab's cache.
const COPIES: &str = "emulators";
/// What QEMU looks for beside its `bin`: modules, firmware, helpers.
const BESIDE: [&str; 4] = ["lib", "lib64", "libexec", "share"];
/// Copies kept when another is made, the most recently used ones. Each lab has two, of 18 MB each,
/// and a run that began before the installed QEMU was replaced still has to find its own.
const KEPT: usize = 16;

/// What the clock of a copy counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Whole nanoseconds an instruction, as QEMU does.
    Whole,
    /// This many fractions of a nanosecond an instruction, 1 to 127; see [`fine_clock`].
    Fine(u8),
}

/// The same QEMU as a changed copy in `cache`: with the quicker counting where the place to change
/// is found, and with a fine clock if `clock` asks for one. `None` when there is nothing to change,
/// the places are not found, or the copy cannot be made or does not run.
pub(crate) fn copy_of(qemu: &Qemu, cache: &Path, clock: Clock) -> Option<Qemu> {
    let program = qemu.program().canonicalize().ok()?;
    let data = program.metadata().ok()?;
    let key = key(&[
        FORM,
        format!("{clock:?}").as_bytes(),
        program.as_os_str().as_encoded_bytes(),
        &data.len().to_le_bytes(),
        &data.mtime().to_le_bytes(),
        &data.mtime_nsec().to_le_bytes(),
    ]);
    let copies = cache.join(COPIES);
    let tree = copies.join(format!("{key}.emulator"));
    let copy = qemu.at(tree.join("bin").join(program.file_name()?));
    if tree.is_dir() {
        touch(&tree);
        return Some(copy);
    }
    std::fs::create_dir_all(&copies).ok()?;
    sweep_unfinished(&copies);
    let work = unfinished(&tree);
    let made = make(&program, &work, clock).is_ok_and(|made| made)
        && qemu.at(work.join("bin").join(program.file_name()?)).version().ok()
            == qemu.version().ok();
    if made {
        prune(&copies, KEPT);
        // Another process may have been quicker: its copy is the same.
        let _ = std::fs::rename(&work, &tree);
    }
    let _ = std::fs::remove_dir_all(&work);
    tree.is_dir().then_some(copy)
}

/// Records that this emulator was started, so that its copy is not pruned while others are made.
pub(crate) fn used(qemu: &Qemu) {
    let trees = qemu.program().ancestors();
    for tree in trees.filter(|path| path.extension().is_some_and(|kind| kind == "emulator")) {
        touch(tree);
    }
}

/// Makes a tree at `work` like the one `program` is installed in, with the changed copy in its
/// `bin`: QEMU finds its modules and firmware relative to its own path. Returns whether there was
/// anything to change.
fn make(program: &Path, work: &Path, clock: Clock) -> Result<bool, LabError> {
    let contents = std::fs::read(program).map_err(LabError::at("read", program))?;
    let Some(changed) = changes(&contents, clock).and_then(|all| changed(&contents, &all)) else {
        return Ok(false);
    };
    let installed = program.parent().filter(|directory| directory.ends_with("bin"));
    let (Some(prefix), Some(name)) = (installed.and_then(Path::parent), program.file_name()) else {
        return Ok(false);
    };
    let bin = work.join("bin");
    std::fs::create_dir_all(&bin).map_err(LabError::at("create", &bin))?;
    for beside in BESIDE {
        let (there, link) = (prefix.join(beside), work.join(beside));
        if there.is_dir() {
            symlink(&there, &link).map_err(LabError::at("create", &link))?;
        }
    }
    let path: PathBuf = bin.join(name);
    let written = |mut file: File| file.write_all(&changed).and_then(|()| file.sync_all());
    File::options()
        .create_new(true)
        .write(true)
        .mode(0o755)
        .open(&path)
        .and_then(written)
        .map_err(LabError::at("write", &path))?;
    Ok(true)
}

/// The changes to make; `None` if there are none, or if a required one is not possible.
fn changes(program: &[u8], clock: Clock) -> Option<Vec<Change>> {
    let elf = Elf::parse(program)?;
    let mut all = match clock {
        Clock::Whole => Vec::new(),
        Clock::Fine(times) => fine_clock::finer(program, &elf, times)?,
    };
    all.extend(quick_count::without_wait(program, &elf));
    all.extend(quick_crc::as_the_host_does(program));
    (!all.is_empty()).then_some(all)
}

/// The program with these changes; `None` where one lies outside of it.
fn changed(program: &[u8], changes: &[Change]) -> Option<Vec<u8>> {
    let mut changed = program.to_vec();
    for (at, instead) in changes {
        changed.get_mut(*at..at.checked_add(instead.len())?)?.copy_from_slice(instead);
    }
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_emulator_has_no_copy_and_leaves_nothing() {
        let cache = tempfile::tempdir().unwrap();
        for clock in [Clock::Whole, Clock::Fine(1), Clock::Fine(45)] {
            for path in ["/bin/sh", "/no/such"] {
                assert_eq!(copy_of(&Qemu::Host { path: path.into() }, cache.path(), clock), None);
            }
        }
        let left = std::fs::read_dir(cache.path().join(COPIES)).unwrap().count();
        assert_eq!(left, 0, "nothing half-made stays");
    }

    #[test]
    fn a_copy_that_is_used_is_not_pruned_and_one_that_is_not_is() {
        let cache = tempfile::tempdir().unwrap();
        let tree = |name: &str| cache.path().join(format!("{name}.emulator"));
        for name in ["runs", "unused"] {
            std::fs::create_dir_all(tree(name).join("bin")).unwrap();
            let old = std::fs::FileTimes::new().set_modified(std::time::SystemTime::UNIX_EPOCH);
            File::open(tree(name)).unwrap().set_times(old).unwrap();
        }
        used(&Qemu::Host { path: tree("runs").join("bin/qemu") });
        prune(cache.path(), 1);
        assert!(tree("runs").exists() && !tree("unused").exists());
    }

    #[test]
    fn a_change_beyond_the_end_is_none() {
        assert_eq!(changed(b"abc", &[(1, b"x".to_vec())]).unwrap(), b"axc");
        assert_eq!(changed(b"abc", &[(2, b"xy".to_vec())]), None);
    }
}
