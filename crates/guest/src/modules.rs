//! Loading kernel modules, in the order the host has worked out.

use std::fs::File;
use std::io;

/// Where the initramfs keeps them, with `order` listing file names, one a line.
pub const MODULES_DIRECTORY: &str = "/modules";

/// Loads all, removing each file: its memory is the machine's again.
///
/// # Errors
/// The first that fails, with its name. One that is there already is no failure.
pub(crate) fn load() -> Result<(), String> {
    let list = std::fs::read_to_string(format!("{MODULES_DIRECTORY}/order"))
        .map_err(|error| format!("{MODULES_DIRECTORY}/order: {error}"))?;
    for line in list.lines() {
        let (name, options) = line.split_once(' ').unwrap_or((line, ""));
        let path = format!("{MODULES_DIRECTORY}/{name}");
        load_one(&path, options).map_err(|error| format!("module {name}: {error}"))?;
        std::fs::remove_file(&path).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

fn load_one(path: &str, options: &str) -> io::Result<()> {
    let file = File::open(path)?;
    let options = std::ffi::CString::new(options)?;
    match rustix::system::finit_module(&file, &options, 0) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
