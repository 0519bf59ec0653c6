//! One directory for all temporary files of a test program. What a program that was killed left
//! there, the next one to start takes away.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};

use crate::loops;

/// The directories' names begin with it.
const NAME: &str = "fstrial-tests.";

/// A directory that only this process uses. It is removed when this is dropped.
pub(crate) struct Room {
    path: PathBuf,
    /// Locked as long as the process lives.
    _held: File,
}

impl Room {
    /// Takes away what killed programs left, and makes `tempfile` use a directory of this process's
    /// own from now on.
    pub(crate) fn enter() -> io::Result<Room> {
        let above = std::env::temp_dir();
        sweep(&above)?;
        let room = Room::make(&above)?;
        let _ = tempfile::env::override_temp_dir(&room.path);
        Ok(room)
    }

    fn make(above: &Path) -> io::Result<Room> {
        let path = above.join(format!("{NAME}{}", std::process::id()));
        loop {
            // Open to all users, since some tests are about a second one.
            DirBuilder::new().mode(0o755).create(&path)?;
            let held = File::open(&path)?;
            held.lock()?;
            // Another program may have taken it for one that was left.
            if fs::metadata(&path).is_ok_and(|now| same(&now, &held)) {
                return Ok(Room { path, _held: held });
            }
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn same(found: &fs::Metadata, held: &File) -> bool {
    held.metadata().is_ok_and(|held| (held.dev(), held.ino()) == (found.dev(), found.ino()))
}

/// Takes away the directories of programs that are gone, with what stands on them.
fn sweep(above: &Path) -> io::Result<()> {
    for entry in fs::read_dir(above)? {
        let entry = entry?;
        let path = entry.path();
        let ours = entry.metadata().is_ok_and(|found| {
            found.is_dir() && found.uid() == rustix::process::geteuid().as_raw()
        });
        if !ours || !entry.file_name().to_string_lossy().starts_with(NAME) {
            continue;
        }
        let Ok(held) = File::open(&path) else { continue };
        if held.try_lock().is_ok() {
            clear(&path);
        }
    }
    Ok(())
}

/// Ends the processes that work below a directory, and removes mounts and loop devices of it.
fn clear(path: &Path) {
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = process.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(process_id) = number.and_then(Pid::from_raw) else { continue };
        if fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(path)) {
            let _ = kill_process(process_id, Signal::KILL);
        }
    }
    let mounts = fs::read_to_string("/proc/thread-self/mounts").unwrap_or_default();
    let places = mounts.lines().rev().filter_map(|line| line.split(' ').nth(1));
    for place in places.map(Path::new).filter(|place| place.starts_with(path)) {
        let _ = unmount(place, UnmountFlags::DETACH);
    }
    loops::detach_all_of(path);
    let _ = fs::remove_dir_all(path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn what_a_killed_program_left_is_taken_away_and_what_lives_is_not() {
        let above = tempfile::tempdir().unwrap();
        let (left, other) = (above.path().join(format!("{NAME}1")), above.path().join("other"));
        for path in [&left, &other] {
            fs::create_dir_all(path.join("home/deep")).unwrap();
        }
        let mut process =
            Command::new("sleep").arg("600").current_dir(left.join("home")).spawn().unwrap();
        let room = Room::make(above.path()).unwrap();
        // Another process's lock is another open file's.
        sweep(above.path()).unwrap();
        assert!(!left.exists() && other.exists() && room.path.exists());
        assert!(!process.wait().unwrap().success());
        let path = room.path.clone();
        drop(room);
        assert!(!path.exists());
    }

    #[test]
    fn devices_and_mounts_are_taken_away_too() {
        if crate::needs_loop_devices().is_err() {
            eprintln!("not tested: no loop devices here");
            return;
        }
        let above = tempfile::tempdir().unwrap();
        let left = above.path().join(format!("{NAME}1"));
        fs::create_dir(&left).unwrap();
        let image = left.join("image");
        File::create(&image).unwrap().set_len(1 << 20).unwrap();
        // As losetup attaches it, which stays.
        let attached = Command::new("losetup").args(["--find", "--show"]).arg(&image).output();
        let device = String::from_utf8(attached.unwrap().stdout).unwrap();
        let backing = |device: &str| {
            let name = device.trim().trim_start_matches("/dev/");
            fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok()
        };
        assert!(backing(&device).is_some());
        crate::own_mounts();
        let place = left.join("mount");
        fs::create_dir(&place).unwrap();
        let tmpfs = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&place).status();
        assert!(tmpfs.unwrap().success());
        sweep(above.path()).unwrap();
        assert!(!left.exists());
        let ours = image.to_string_lossy().into_owned();
        assert!(backing(&device).is_none_or(|now| !now.contains(&ours)));
    }
}
