//! Checkpoints: a guest that has booted and loaded its modules, kept in a file, one for
//! everything it depends on.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use testbed::Stop;

use crate::cache::{Lock, touched, write_whole};
use crate::error::LabError;
use crate::machine::{Machine, Use};
use crate::vm::{Happening, Software, Vm};

/// A boot that takes longer than this has gone wrong.
const BOOT_LIMIT: Duration = Duration::from_secs(180);

/// Finds the checkpoint of `key`, or makes it. Several may ask at once; one makes it.
///
/// # Errors
/// When the guest does not come up, or there is no room.
pub(crate) fn obtain(
    directory: &Path,
    key: &str,
    machine: &Machine,
    software: Software<'_>,
    stop: &Stop,
) -> Result<PathBuf, LabError> {
    let path = directory.join(format!("{key}.checkpoint"));
    if touched(&path) {
        return Ok(path);
    }
    std::fs::create_dir_all(directory).map_err(LabError::at("create", directory))?;
    let _lock = Lock::take(&directory.join("lock"))?;
    if path.exists() {
        return Ok(path);
    }
    let mut vm = boot(machine, software, stop)?;
    write_whole(&path, |file| vm.save(file))?;
    Ok(path)
}

/// Boots a guest up to its checkpoint.
fn boot(machine: &Machine, software: Software<'_>, stop: &Stop) -> Result<Vm, LabError> {
    let mut vm = Vm::start(machine, software, Use::Checkpoint)?;
    let end = Instant::now() + BOOT_LIMIT;
    loop {
        let reason = match vm.wait(end, stop)? {
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
                vm.shake();
                let _ = vm.wait(Instant::now() + Duration::from_secs(10), stop)?;
                format!("it did not come up within {} s: {}", BOOT_LIMIT.as_secs(), vm.said_text())
            }
        };
        return Err(LabError::NoStart { reason, kernel_log: vm.kernel_log() });
    }
}

/// Starts a guest from a checkpoint, stopped: the order can be written.
///
/// # Errors
/// When it does not load. A damaged checkpoint is removed, so that the next start makes a
/// new one.
pub(crate) fn resume(
    path: &Path,
    machine: &Machine,
    software: Software<'_>,
) -> Result<Vm, LabError> {
    let file = File::open(path).map_err(LabError::at("open", path))?;
    let mut vm = Vm::start(machine, software, Use::Trial)?;
    match vm.load(&file) {
        Ok(()) => Ok(vm),
        Err(error) => {
            let _ = std::fs::remove_file(path);
            Err(error)
        }
    }
}

/// The key of a checkpoint: a digest of all it depends on.
pub(crate) fn key(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize()[..10].iter().map(|byte| format!("{byte:02x}")).collect()
}
