//! Checkpoints: the saved state of a guest that has booted and loaded its modules. A checkpoint is
//! a directory with the guest's RAM, the state of its processor and devices, and a digest of both.
//! There is one for each key, a digest of everything the state depends on.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use sha2::{Digest, Sha256};
use testbed::Stop;
use units::Bytes;

use crate::cache::{touch, unfinished};
use crate::error::LabError;
use crate::lock::Lock;
use crate::machine::{Machine, Use};
use crate::memory::Backing;
use crate::vm::{Happening, Software, Vm};

const RAM: &str = "ram";
const DEVICES: &str = "devices";
const DIGEST: &str = "digest";
const PAGE: usize = 4096;

/// Finds the checkpoint of `key`, or makes it. If several processes ask at once, one makes it.
/// With `check`, its contents are compared with their digest; a damaged one is made again.
///
/// # Errors
/// When the guest does not come up, or there is no room.
pub(crate) fn obtain(
    directory: &Path,
    key: &str,
    machine: &Machine,
    software: Software<'_>,
    check: bool,
    stop: &Stop,
) -> Result<PathBuf, LabError> {
    let path = directory.join(format!("{key}.checkpoint"));
    // Without the lock: a checkpoint that exists can be used while another one is being made.
    if path.is_dir() && (!check || is_whole(&path)) {
        touch(&path.join(DIGEST));
        return Ok(path);
    }
    std::fs::create_dir_all(directory).map_err(LabError::at("create", directory))?;
    // One lock for each first digit of the key: two machines can boot at once.
    let _lock = Lock::take(&directory.join(format!("lock-{}", key.get(..1).unwrap_or_default())))?;
    if path.is_dir() {
        if is_whole(&path) {
            touch(&path.join(DIGEST));
            return Ok(path);
        }
        remove(&path);
    }
    let work = unfinished(&path);
    let made = make(&work, machine, software, stop)
        .and_then(|()| std::fs::rename(&work, &path).map_err(LabError::at("rename", &work)));
    if made.is_err() {
        remove(&work);
    }
    made.map(|()| path)
}

/// Whether a checkpoint is as it was made.
fn is_whole(path: &Path) -> bool {
    let expected = std::fs::read_to_string(path.join(DIGEST)).unwrap_or_default();
    digest(path).is_ok_and(|found| found == expected)
}

/// Removes a checkpoint; guests that run from it are not affected.
pub(crate) fn remove(path: &Path) {
    let _ = std::fs::remove_dir_all(path);
}

fn make(
    work: &Path,
    machine: &Machine,
    software: Software<'_>,
    stop: &Stop,
) -> Result<(), LabError> {
    std::fs::create_dir_all(work).map_err(LabError::at("create", work))?;
    let ram = empty_ram(machine)?;
    let mut vm = boot(machine, software, &ram, stop)?;
    let devices = work.join(DEVICES);
    vm.save_devices(&devices)?;
    drop(vm);
    let path = work.join(RAM);
    let file = File::create(&path).map_err(LabError::at("create", &path))?;
    copy_sparse(&ram, &file, machine.ram).map_err(LabError::at("write", &path))?;
    file.sync_all().map_err(LabError::at("write", &path))?;
    let path = work.join(DIGEST);
    std::fs::write(&path, digest(work)?).map_err(LabError::at("write", &path))
}

/// The RAM of a machine that is about to boot: memory of the host.
fn empty_ram(machine: &Machine) -> Result<File, LabError> {
    let name = Path::new("memory for a guest");
    let file = memfd_create(c"fstrial ram", MemfdFlags::CLOEXEC)
        .map_err(|error| LabError::at("get", name)(error.into()))?;
    let file = File::from(file);
    file.set_len(machine.ram.0).map_err(LabError::at("get", name))?;
    Ok(file)
}

/// Copies what is not zero.
fn copy_sparse(from: &File, to: &File, size: Bytes) -> std::io::Result<()> {
    to.set_len(size.0)?;
    let mut buffer = vec![0; 256 * PAGE];
    let mut at = 0;
    while at < size.0 {
        at = match seek(from, SeekFrom::Data(at)) {
            Ok(data) => data,
            // No data behind this place.
            Err(rustix::io::Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let hole = seek(from, SeekFrom::Hole(at))?;
        while at < hole {
            let len = buffer.len().min((hole - at) as usize);
            from.read_exact_at(&mut buffer[..len], at)?;
            for (nth, page) in buffer[..len].chunks(PAGE).enumerate() {
                if page.iter().any(|&byte| byte != 0) {
                    to.write_all_at(page, at + (nth * PAGE) as u64)?;
                }
            }
            at += len as u64;
        }
    }
    Ok(())
}

/// SHA-256 of RAM (without its holes) and devices.
fn digest(directory: &Path) -> Result<String, LabError> {
    let mut sum = Sha256::new();
    let path = directory.join(RAM);
    let ram = File::open(&path).map_err(LabError::at("open", &path))?;
    let len = ram.metadata().map_err(LabError::at("stat", &path))?.len();
    sum.update(len.to_le_bytes());
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    while let Ok(data) = seek(&ram, SeekFrom::Data(at)) {
        let hole = seek(&ram, SeekFrom::Hole(data)).unwrap_or(len);
        at = data;
        while at < hole {
            let count = buffer.len().min((hole - at) as usize);
            ram.read_exact_at(&mut buffer[..count], at).map_err(LabError::at("read", &path))?;
            // Page by page, skipping zeros: filesystems differ in where they put holes.
            for (nth, page) in buffer[..count].chunks(PAGE).enumerate() {
                if page.iter().any(|&byte| byte != 0) {
                    sum.update((at + (nth * PAGE) as u64).to_le_bytes());
                    sum.update(page);
                }
            }
            at += count as u64;
        }
    }
    let path = directory.join(DEVICES);
    let mut devices = Vec::new();
    File::open(&path)
        .and_then(|mut file| file.read_to_end(&mut devices))
        .map_err(LabError::at("read", &path))?;
    sum.update(&devices);
    Ok(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Boots a guest up to its checkpoint.
fn boot(
    machine: &Machine,
    software: Software<'_>,
    ram: &File,
    stop: &Stop,
) -> Result<Vm, LabError> {
    let region = Backing::Memory.region(Path::new("/"));
    let mut vm = Vm::start(machine, software, Use::Checkpoint, ram, None, region)?;
    let mut patience = BootPatience::default();
    loop {
        let reason = match vm.wait(Instant::now() + BootPatience::LOOK, stop)? {
            Happening::Stopped => {
                let log = vm.kernel_log();
                if log.is_empty() {
                    return Ok(vm);
                }
                "its kernel panicked".to_owned()
            }
            Happening::Rang => continue,
            Happening::Gone(said) if said.is_empty() => "it ended while booting".to_owned(),
            Happening::Gone(said) => said,
            Happening::Nothing => {
                let Some(why) = patience.ends(vm.processor_time(), vm.sleeps()) else { continue };
                vm.shake();
                let _ = vm.wait(Instant::now() + Duration::from_secs(10), stop)?;
                format!("it did not come up: {why}: {}", vm.said_text())
            }
        };
        return Err(LabError::NoStart { reason, kernel_log: vm.kernel_log() });
    }
}

/// Decides when to give up on a boot. Does not use the host's clock, since a slow boot on a busy
/// host is no failure.
#[derive(Debug, Default)]
struct BootPatience {
    spent: Duration,
    /// Consecutive checks at which the emulator had done nothing and waited for no processor.
    still: u32,
}

impl BootPatience {
    /// Time between two checks.
    const LOOK: Duration = Duration::from_secs(2);
    /// Processor time of the emulator; a boot takes some seconds of it.
    const SPENT_MAX: Duration = Duration::from_secs(300);
    /// A guest skips its idle time, so one that does nothing waits for something that never comes.
    const STILL_MAX: u32 = 30;

    /// The reason to give up, if there is one now that the emulator has used `spent`.
    fn ends(&mut self, spent: Duration, sleeps: bool) -> Option<String> {
        let stands = spent == self.spent && sleeps;
        self.still = if stands { self.still + 1 } else { 0 };
        self.spent = spent;
        if spent > BootPatience::SPENT_MAX {
            return Some(format!("its emulator took {} s of processor time", spent.as_secs()));
        }
        let looked = BootPatience::LOOK * self.still;
        let still = self.still >= BootPatience::STILL_MAX;
        still.then(|| format!("its emulator stood still for {} s", looked.as_secs()))
    }
}

/// Starts a guest from a checkpoint and leaves it stopped, so that its order can be written.
/// `backing` says where the contents of its disks are kept: in memory, or in a file made in the
/// checkpoint's directory.
///
/// # Errors
/// When the checkpoint does not load. It is removed then, so that the next start makes a new one.
pub(crate) fn resume(
    path: &Path,
    machine: &Machine,
    software: Software<'_>,
    backing: Backing,
) -> Result<Vm, LabError> {
    let open = |name: &str| {
        let path = path.join(name);
        File::options().read(true).write(true).open(&path).map_err(LabError::at("open", &path))
    };
    let (ram, devices) = (open(RAM)?, open(DEVICES)?);
    let region = backing.region(path);
    let mut vm = Vm::start(machine, software, Use::Trial, &ram, Some(&devices), region)?;
    match vm.loaded() {
        Ok(()) => Ok(vm),
        Err(error) => {
            remove(path);
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_on_a_busy_host_is_waited_for() {
        let mut patience = BootPatience::default();
        // An hour of the host's time in which the emulator got a second now and then.
        for look in 0..1800 {
            assert_eq!(patience.ends(Duration::from_secs(look / 10), false), None);
        }
        // It waits for a processor: no thread of it sleeps.
        for _ in 0..1800 {
            assert_eq!(patience.ends(Duration::from_secs(180), false), None);
        }
        assert!(patience.ends(Duration::from_secs(301), false).is_some());
    }

    #[test]
    fn a_boot_that_stands_still_ends() {
        let mut patience = BootPatience::default();
        let spent = Duration::from_secs(3);
        let ends = (0..60).position(|_| patience.ends(spent, true).is_some());
        assert_eq!(ends, Some(30), "the first look only sees how much was spent");
    }
}
