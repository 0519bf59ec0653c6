//! Mounts, as `/proc/PID/mountinfo` lists them, and the one that holds a path.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use units::DeviceNumber;

use crate::FileError;

/// One line of mountinfo (proc_pid_mountinfo(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's number of it; free again for another once it is unmounted.
    pub id: u64,
    /// Number of the device; an anonymous one for btrfs.
    pub number: DeviceNumber,
    /// Where it is mounted, as the mount's own namespace sees it.
    pub point: PathBuf,
    /// The filesystem's type, as the kernel calls it.
    pub filesystem: String,
    /// What is mounted: `/dev/sdb1`, `tmpfs`.
    pub source: PathBuf,
    /// Options of the mount, then those of the filesystem that are not among them, with commas.
    pub options: String,
}

impl Mount {
    /// Every mount that this thread sees, the lower of two in one place first. Threads of one
    /// process may be in different namespaces.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub fn all() -> io::Result<Vec<Mount>> {
        Ok(parse_mountinfo(&std::fs::read("/proc/thread-self/mountinfo")?))
    }

    /// The mount that holds what `path` names. Where several are mounted over one another in one
    /// place, it is the one on top; since neither the place nor the order of the numbers tells
    /// which one that is, the kernel is asked for its number.
    ///
    /// # Errors
    /// When `path` names nothing, or this thread's mounts cannot be read.
    pub fn of(path: &Path) -> Result<Mount, FileError> {
        let handle = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map_err(FileError::of("open", path))?;
        Mount::of_open(handle).map_err(FileError::of("find the mount of", path))
    }

    /// The mount through which a file was opened.
    ///
    /// # Errors
    /// When this thread's mounts cannot be read.
    pub fn of_open(open: impl AsFd) -> io::Result<Mount> {
        let about = format!("/proc/thread-self/fdinfo/{}", open.as_fd().as_raw_fd());
        let about = std::fs::read_to_string(about)?;
        let id = about.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
        Mount::all()?
            .into_iter()
            .find(|mount| Some(mount.id) == id)
            .ok_or_else(|| io::Error::other("it is on no mount that this process sees"))
    }
}

/// Reads mountinfo. Malformed lines are left out.
pub fn parse_mountinfo(text: &[u8]) -> Vec<Mount> {
    text.split(|byte| *byte == b'\n').filter_map(parse_mount).collect()
}

fn parse_mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let number = std::str::from_utf8(fields.nth(1)?).ok()?.parse().ok()?;
    let point = unescape_octal(fields.nth(1)?);
    let own_options = String::from_utf8_lossy(fields.next()?);
    fields.find(|field| *field == b"-")?;
    let filesystem = String::from_utf8_lossy(fields.next()?).into_owned();
    let source = unescape_octal(fields.next()?);
    let its_options = String::from_utf8_lossy(fields.next().unwrap_or_default());
    let mut options: Vec<&str> = own_options.split(',').collect();
    for option in its_options.split(',').filter(|option| !option.is_empty()) {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    Some(Mount { id, number, point, filesystem, source, options: options.join(",") })
}

/// Undoes the kernel's `\040` for blanks, tabs, newlines and backslashes in the paths of its tables.
pub fn unescape_octal(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let octal = (first == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let Some(byte) = octal {
            bytes.push(byte);
            rest = &tail[3..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_with_optional_fields_and_blanks() {
        let text =
            b"36 35 98:0 /mnt1 /mnt/my\\040disk rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=panic\n\
                     40 35 0:41 / /btr rw - btrfs /dev/loop3 rw,space_cache\n\
                     torn li\n\
                     41 35 0:42 / /bare rw - tmpfs none";
        let mounts = parse_mountinfo(text);
        assert_eq!(mounts.len(), 3);
        assert_eq!(mounts[0].id, 36);
        assert_eq!(mounts[0].number, DeviceNumber { major: 98, minor: 0 });
        assert_eq!(mounts[0].point, PathBuf::from("/mnt/my disk"));
        assert_eq!(mounts[0].filesystem, "ext3");
        assert_eq!(mounts[0].options, "rw,noatime,errors=panic");
        assert_eq!(mounts[1].source, PathBuf::from("/dev/loop3"));
        assert_eq!(mounts[2].options, "rw");
    }

    #[test]
    fn only_a_backslash_and_three_octal_digits_are_an_escape() {
        assert_eq!(unescape_octal(br"a123\040b\0\999"), PathBuf::from(r"a123 b\0\999"));
    }

    #[test]
    fn a_file_is_on_the_filesystem_that_stat_names() {
        use std::os::unix::fs::MetadataExt;
        for path in ["/proc/version", "/"] {
            let mount = Mount::of(Path::new(path)).unwrap();
            let number = DeviceNumber::from_raw(std::fs::metadata(path).unwrap().dev());
            // btrfs gives each subvolume a number of its own.
            assert!(mount.number == number || mount.filesystem == "btrfs", "{mount:?} {number}");
        }
        assert_eq!(Mount::of(Path::new("/proc/version")).unwrap().filesystem, "proc");
        let error = Mount::of(Path::new("/no/such/file")).unwrap_err().to_string();
        assert!(error.starts_with("cannot open /no/such/file: "), "{error}");
    }
}
