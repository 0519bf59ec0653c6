//! Files from outside, copied into the guest's memory before the trial, so that a workload reads
//! them at once, whatever the host's disks do meanwhile.

use std::fs::File;
use std::io::{self, Write};

use crate::order::Input;
use crate::region::{INPUTS_AT, Region};
use crate::store::PAGE;

const AT_ONCE: u64 = 4 << 20;

/// Size of the pieces of a copy. A tmpfs uses huge pages where it can, and before each page that
/// it copies the kernel faults in everything still to be written, up to 2 MiB
/// (`fault_in_iov_iter_readable` in `generic_perform_write`). With small pieces that costs little.
const A_WRITE: usize = 64 << 10;

/// Where inputs lie, as the host names them.
const INPUTS: &str = "/inputs";

/// Mounts a tmpfs for inputs that may use all memory: the machine has extra memory for them, but
/// the root filesystem's default share of it would be too small.
///
/// # Errors
/// The kernel's.
pub(crate) fn make_room() -> Result<(), String> {
    let failed = |error: io::Error| format!("{INPUTS}: {error}");
    std::fs::create_dir_all(INPUTS).map_err(failed)?;
    let flags = rustix::mount::MountFlags::empty();
    rustix::mount::mount("tmpfs", INPUTS, "tmpfs", flags, Some(c"size=100%"))
        .map_err(|error| failed(error.into()))
}

/// Copies one.
///
/// # Errors
/// When there is no room, or its place is outside the region.
pub(crate) fn take(region: &Region, input: &Input) -> io::Result<()> {
    if let Some(directory) = input.path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let mut file = File::create(&input.path)?;
    let mut done = 0;
    while done < input.len {
        let now = (input.len - done).min(AT_ONCE);
        let window = region.map(INPUTS_AT + input.at + done, now.next_multiple_of(PAGE))?;
        window.bytes()[..now as usize]
            .chunks(A_WRITE)
            .try_for_each(|piece| file.write_all(piece))?;
        done += now;
    }
    Ok(())
}
