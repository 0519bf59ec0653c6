//! The names of devices, which another user may have planted.

use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use device::Claim;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use skippable::Ending;

use crate::scratch::{Disk, enters_as_root};

const OTHER_USER: u32 = 65534;

fn refusal(path: &Path, destroy: &[std::path::PathBuf]) -> String {
    Claim::take(path, destroy).unwrap_err().to_string()
}

pub(crate) fn nobody_else_can_lead_root_to_a_device() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(64);
    let room = tempfile::tempdir().unwrap();
    std::fs::set_permissions(room.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (theirs, ours) = (room.path().join("theirs"), room.path().join("ours"));
    for directory in [&theirs, &ours] {
        std::fs::create_dir(directory).unwrap();
        symlink(&disk.node, directory.join("link")).unwrap();
    }
    chown(&theirs, Some(OTHER_USER), None).unwrap();
    std::os::unix::fs::lchown(theirs.join("link"), Some(OTHER_USER), None).unwrap();
    symlink(&disk.node, theirs.join("roots")).unwrap();
    let number = rustix::fs::stat(&disk.node).unwrap().st_rdev;
    for directory in [&theirs, &ours] {
        let node = directory.join("node");
        mknodat(CWD, &node, FileType::BlockDevice, Mode::RUSR | Mode::WUSR, number).unwrap();
    }
    let why = [
        ("link", "symlink of user 65534"),
        ("roots", "could have been put in its place"),
        ("node", "another user can change"),
    ];
    for (name, why) in why {
        let path = theirs.join(name);
        let asked = refusal(&path, &[]);
        assert!(asked.contains(why), "{name}: {asked}");
        // What gives up contents is as strict.
        let given_up = refusal(&disk.node, std::slice::from_ref(&path));
        assert!(given_up.contains(why) && given_up.contains("--destroy"), "{name}: {given_up}");
    }
    Claim::take(&ours.join("link"), &[]).unwrap();
    Ok(())
}

/// A name that leads elsewhere by the time `--destroy` is read still means the device claimed.
pub(crate) fn the_same_name_is_resolved_once() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(64);
    let room = tempfile::tempdir().unwrap();
    let link = room.path().join("link");
    symlink(&disk.node, &link).unwrap();
    let claim = Claim::take(&link, std::slice::from_ref(&link)).unwrap();
    assert_eq!(claim.path(), disk.node);
    Ok(())
}
