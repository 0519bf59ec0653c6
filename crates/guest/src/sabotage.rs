//! Trials that fail on purpose, so that tests see how failures are handled.

use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr::NonNull;

use rustix::fs::{Mode, OFlags};
use rustix::mm::{MapFlags, ProtFlags};

use crate::order::Sabotage;
use crate::port;
use crate::priority::schedule_before_others;

/// Makes the trial fail in this way. `disk` is its first disk.
pub(crate) fn fail(sabotage: Sabotage, disk: &Path) {
    match sabotage {
        Sabotage::Panic => {
            let _ = std::fs::write("/proc/sysrq-trigger", "c");
        }
        Sabotage::Sleep | Sabotage::Kill => loop {
            // Waits for ever, an hour at a time: virtual time skips each hour as soon as nothing
            // else runs.
            waiting::pause(std::time::Duration::from_secs(3600), "the host ends the guest");
        },
        Sabotage::Spin | Sabotage::Hang => {
            if sabotage == Sabotage::Hang {
                schedule_before_others(99);
            }
            // Without a pause instruction: the emulator leaves its loop at each one, so the number
            // of instructions that counts as a hang would take minutes.
            let mut turns = 0_u64;
            loop {
                turns = std::hint::black_box(turns.wrapping_add(1));
            }
        }
        Sabotage::Memory => {
            std::thread::spawn(use_all_memory);
            if let Err(error) = read_for_ever(disk) {
                port::say(&format!("{}: {error}", disk.display()));
            }
        }
    }
}

fn use_all_memory() {
    loop {
        std::mem::forget(std::hint::black_box(vec![1_u8; 1 << 20]));
    }
}

/// Reads a page of each MiB, over and over. Direct reads cannot be interrupted while they wait.
fn read_for_ever(disk: &Path) -> io::Result<()> {
    const PAGE: usize = 4096;
    let file: File = rustix::fs::open(disk, OFlags::RDONLY | OFlags::DIRECT, Mode::empty())?.into();
    // SAFETY: a new mapping at an address of the kernel's choice; it is never unmapped.
    let page = unsafe {
        let flags = MapFlags::PRIVATE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let start = rustix::mm::mmap_anonymous(std::ptr::null_mut(), PAGE, access, flags)?;
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(|| io::Error::other("at 0"))?;
        std::slice::from_raw_parts_mut(start.as_ptr(), PAGE)
    };
    for place in (0..64).cycle() {
        rustix::io::pread(&file, &mut *page, place << 20)?;
    }
    Ok(())
}
