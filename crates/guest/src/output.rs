//! Output of a guest that the host keeps: a bootable system, written to the area that otherwise
//! holds the contents of the disks.

use std::io;

use rustix::mount::MountFlags;

use crate::order::{MOUNT_POINT, Order};
use crate::port;
use crate::region::{Region, STORE_AT, Word, Words};

/// Written at a time.
const AT_ONCE: usize = 4 << 20;

/// Makes a bootable system of the order's input.
///
/// # Errors
/// With the step that failed.
pub(crate) fn prepare(order: &Order, region: &Region, words: &Words) -> Result<(), String> {
    let archive = order.job.inputs.system.as_deref().ok_or("there is no archive of packages")?;
    rustix::mount::mount("tmpfs", MOUNT_POINT, "tmpfs", MountFlags::empty(), Some(c"size=80%"))
        .map_err(|error| format!("{MOUNT_POINT}: {error}"))?;
    let mut output = Output { region, pending: Vec::with_capacity(AT_ONCE), written: 0 };
    workload::prepare_system(archive, MOUNT_POINT.as_ref(), &mut output, &mut port::say)?;
    io::Write::flush(&mut output).map_err(|error| format!("writing the result: {error}"))?;
    words.set(Word::OutputBytes, output.written);
    Ok(())
}

/// Writes into the shared region.
struct Output<'a> {
    region: &'a Region,
    pending: Vec<u8>,
    written: u64,
}

impl io::Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(AT_ONCE - self.pending.len());
        self.pending.extend_from_slice(&bytes[..taken]);
        if self.pending.len() == AT_ONCE {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        // Whole pages until the end, since only the last piece is shorter.
        let mut window = self.region.map(STORE_AT + self.written, AT_ONCE as u64)?;
        window.bytes_mut()[..self.pending.len()].copy_from_slice(&self.pending);
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}
