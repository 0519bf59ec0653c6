//! Files from outside, copied into the guest's memory before the trial: what a workload
//! reads is there at once, whatever the host's disks do meanwhile.

use std::fs::File;
use std::io::{self, Write};

use crate::order::Input;
use crate::region::{INPUTS_AT, Region};
use crate::store::PAGE;

const AT_ONCE: u64 = 4 << 20;

/// A tmpfs takes its files by huge pages where it can, and so the kernel looks at all that is
/// still to be written, at most 2 MiB of it, before each page that it copies
/// (`fault_in_iov_iter_readable` in `generic_perform_write`): in small pieces that is little.
const A_WRITE: usize = 64 << 10;

/// Where inputs lie, as the host names them.
const INPUTS: &str = "/inputs";

/// Makes a place for inputs that takes all the memory there is: the machine has theirs beside
/// its own, and the root's share of it would not do.
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
