//! Loop devices, and what they stand on.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{Unreadable, Use, block_number, must};

use units::DeviceNumber;

use crate::ioctl;
use crate::sysfs::Entry;

/// A loop device with something attached.
#[derive(Debug, Clone)]
pub(crate) struct Loop {
    pub(crate) number: DeviceNumber,
    pub(crate) node: PathBuf,
    /// Device and inode number of the attached file, where the driver could be asked.
    pub(crate) file: Option<(u64, u64)>,
    /// The block device it stands on, if it is not an ordinary file.
    pub(crate) over: Option<DeviceNumber>,
}

/// Every loop device of the machine that has something attached.
pub(crate) fn attached_loops() -> Result<Vec<Loop>, Unreadable> {
    let mut loops = Vec::new();
    for device in must("/sys/block", std::fs::read_dir("/sys/block"))?.flatten() {
        let name = device.file_name().to_string_lossy().into_owned();
        let Ok(backing) = std::fs::read_to_string(device.path().join("loop/backing_file")) else {
            continue;
        };
        let Some(number) = std::fs::read_to_string(device.path().join("dev"))
            .ok()
            .and_then(|text| text.parse().ok())
        else {
            continue;
        };
        let node = Path::new("/dev").join(name);
        // The driver's own answer does not depend on the file's present name. The path in sysfs is
        // the fallback where /dev has no node.
        let status = open_quietly(&node).and_then(|file| ioctl::loop_status(&file)).ok();
        let (file, over) = match status {
            Some(status) => (
                Some((status.device, status.inode)),
                (status.rdevice != 0).then(|| DeviceNumber::from_raw(status.rdevice)),
            ),
            None => (None, block_number(Path::new(backing.trim_end()))),
        };
        loops.push(Loop { number, node, file, over });
    }
    Ok(loops)
}

/// Opens a device only to query it, without waiting for a medium and without writing.
fn open_quietly(node: &Path) -> io::Result<std::fs::File> {
    std::fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(node)
}

/// A loop device of others that stands on the target, or that has the same file attached.
pub(super) fn looped(
    entry: &Entry,
    nodes: &BTreeMap<DeviceNumber, PathBuf>,
    loops: &[Loop],
) -> Option<Use> {
    // Loop devices below the target are in `nodes`, together with the devices below them. Only a
    // loop device outside the family is a foreign use.
    for other in loops.iter().filter(|other| !nodes.contains_key(&other.number)) {
        if let Some(node) = other.over.and_then(|number| nodes.get(&number)) {
            return Some(Use::LoopBacking { node: node.clone(), above: other.node.clone() });
        }
        let mine = loops.iter().find(|mine| mine.number == entry.number);
        if let Some(mine) = mine
            && mine.over.is_none()
            && mine.file.is_some()
            && mine.file == other.file
        {
            return Some(Use::SharedFile { node: mine.node.clone(), other: other.node.clone() });
        }
    }
    None
}
