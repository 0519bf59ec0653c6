//! Files from outside, copied into the guest's memory before the trial: what a workload
//! reads is there at once, whatever the host's disks do meanwhile.

use std::fs::File;
use std::io::{self, Write};

use crate::order::Input;
use crate::region::{INPUTS_AT, Region};
use crate::store::PAGE;

const AT_ONCE: u64 = 4 << 20;

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
        file.write_all(&window.bytes()[..now as usize])?;
        done += now;
    }
    Ok(())
}
