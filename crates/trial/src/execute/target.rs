//! The directory a trial works in, and the check that it is still the same: a failed mount or
//! unmount must never let a benchmark run silently on the machine's own root.

use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use measure::DeviceId;
use rustix::fs::{Mode, OFlags};
use units::Bytes;

/// A line of `/proc/self/mountinfo`, as far as it is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MountLine {
    pub(super) mount_id: u64,
    pub(super) mount_point: PathBuf,
    pub(super) kernel_type: String,
    pub(super) source: String,
    /// Per-mount and superblock options as the kernel shows them.
    pub(super) options: String,
}

/// The target and how to recognise it.
#[derive(Debug)]
pub(super) struct Target {
    path: PathBuf,
    /// `st_dev` of the directory.
    device_number: u64,
    /// `f_type` of statfs.
    magic: u64,
    pub(super) mount: MountLine,
    pub(super) size: Bytes,
    pub(super) free: Bytes,
    /// The block devices whose counters belong to the target.
    pub(super) devices: Vec<DeviceId>,
}

impl Target {
    /// Records the directory as it is now.
    pub(super) fn of(path: &Path) -> Result<Target, String> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let metadata = std::fs::metadata(path).map_err(|error| named(&error))?;
        let statfs = rustix::fs::statfs(path).map_err(|error| named(&error))?;
        let mounts = read_text("/proc/self/mountinfo")?;
        let mount = mount_of(&mounts, mount_id(path)?)
            .ok_or_else(|| format!("{}: not on any mount of this process", path.display()))?;
        let block = statfs.f_bsize as u64;
        let mut target = Target {
            path: path.to_owned(),
            device_number: metadata.dev(),
            magic: statfs.f_type as u64,
            size: Bytes(statfs.f_blocks * block),
            free: Bytes(statfs.f_bavail * block),
            devices: Vec::new(),
            mount,
        };
        target.devices = target.device_of_mount().into_iter().collect();
        Ok(target)
    }

    /// Checks that the target is itself a mount point of this type, not a directory below another.
    pub(super) fn expect_mount(&self, kernel_type: &str) -> Result<(), String> {
        let absolute = self.path.canonicalize().map_err(|error| error.to_string())?;
        if self.mount.mount_point != absolute {
            return Err(format!(
                "{} is no mount point; it lies on {} ({})",
                self.path.display(),
                self.mount.mount_point.display(),
                self.mount.kernel_type
            ));
        }
        if self.mount.kernel_type != kernel_type {
            return Err(format!(
                "{} is mounted as {}, not as {kernel_type}",
                self.path.display(),
                self.mount.kernel_type
            ));
        }
        Ok(())
    }

    /// Sets the devices whose counters belong to the target, where the mount's device number names
    /// none of them (btrfs) or not all (an external journal).
    pub(super) fn count_devices(&mut self, devices: &[PathBuf]) {
        self.devices = block_device_ids(devices);
    }

    /// Checks that the directory is still the one that was recorded.
    pub(super) fn check(&self) -> Result<(), String> {
        let path = self.path.display();
        let metadata = std::fs::metadata(&self.path).map_err(|error| format!("{path}: {error}"))?;
        let statfs = rustix::fs::statfs(&self.path).map_err(|error| format!("{path}: {error}"))?;
        if metadata.dev() != self.device_number || statfs.f_type as u64 != self.magic {
            return Err(format!(
                "{path} is on device {:x} (type {:x}), the trial began on {:x} (type {:x})",
                metadata.dev(),
                statfs.f_type,
                self.device_number,
                self.magic
            ));
        }
        Ok(())
    }

    /// After the trial itself has mounted the filesystem again: takes note of the new mount,
    /// which must be of the same type on the same place.
    pub(super) fn refresh(&mut self) -> Result<(), String> {
        let again = Target::of(&self.path)?;
        again.expect_mount(&self.mount.kernel_type)?;
        if again.magic != self.magic {
            return Err(format!("{} came back as another filesystem", self.path.display()));
        }
        self.device_number = again.device_number;
        self.mount = again.mount;
        Ok(())
    }

    fn device_of_mount(&self) -> Option<DeviceId> {
        let number = self.device_number;
        let id = DeviceId { major: libc::major(number), minor: libc::minor(number) };
        if Path::new(&format!("/sys/dev/block/{}:{}", id.major, id.minor)).exists() {
            return Some(id);
        }
        block_device_id(Path::new(&self.mount.source))
    }
}

/// The numbers of these devices, where they are block devices.
pub(super) fn block_device_ids(devices: &[PathBuf]) -> Vec<DeviceId> {
    devices.iter().filter_map(|path| block_device_id(path)).collect()
}

fn block_device_id(path: &Path) -> Option<DeviceId> {
    let metadata = std::fs::metadata(path).ok()?;
    metadata.file_type().is_block_device().then(|| {
        let number = metadata.rdev();
        DeviceId { major: libc::major(number), minor: libc::minor(number) }
    })
}

/// The number of the mount that holds `path`. Several mounts may lie upon one another in one place,
/// and the kernel gives numbers of former mounts to new ones, so neither the place nor the order
/// of the numbers tells which is on top; the kernel does.
fn mount_id(path: &Path) -> Result<u64, String> {
    let handle = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let file = format!("/proc/self/fdinfo/{}", handle.as_raw_fd());
    let number = read_text(&file)?
        .lines()
        .find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    number.ok_or_else(|| format!("{file}: has no mnt_id"))
}

fn mount_of(mountinfo: &str, id: u64) -> Option<MountLine> {
    mountinfo.lines().filter_map(parse_mount_line).find(|mount| mount.mount_id == id)
}

fn read_text(file: &str) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))
}

/// Reads a line as proc(5) describes it.
fn parse_mount_line(line: &str) -> Option<MountLine> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ');
    let mount_id = left.next()?.parse().ok()?;
    let mount_point = PathBuf::from(unescape_octal(left.nth(3)?));
    let own_options = left.next()?;
    let mut right = right.split(' ');
    let kernel_type = right.next()?.to_owned();
    let source = unescape_octal(right.next()?);
    let super_options = right.next().unwrap_or_default();
    let mut options: Vec<&str> = own_options.split(',').collect();
    for option in super_options.split(',') {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    Some(MountLine { mount_id, mount_point, kernel_type, source, options: options.join(",") })
}

/// mountinfo writes blanks, tabs, newlines and backslashes as `\040`.
fn unescape_octal(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|d| byte == b'\\' && d.iter().all(u8::is_ascii_digit));
        match digits {
            Some(digits) => {
                let value = digits.iter().fold(0u32, |sum, d| sum * 8 + u32::from(d - b'0'));
                out.push(value as u8);
                rest = &after[3..];
            }
            None => {
                out.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};

    use super::*;

    const INFO: &str = "\
21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 21 0:20 / /mnt/a\\040b rw,noatime - btrfs /dev/loop0 rw,space_cache=v2
31 21 7:1 / /mnt rw - xfs /dev/loop1 rw,attr2";

    #[test]
    fn a_mount_is_found_by_its_number() {
        let found = mount_of(INFO, 30).unwrap();
        assert_eq!(found.mount_point, Path::new("/mnt/a b"));
        assert_eq!((found.kernel_type.as_str(), found.source.as_str()), ("btrfs", "/dev/loop0"));
        assert_eq!(found.options, "rw,noatime,space_cache=v2");
        assert_eq!(mount_of(INFO, 31).unwrap().source, "/dev/loop1");
        assert_eq!(mount_of(INFO, 1), None);
    }

    /// The upper one has the number of a former mount, which is less than the lower one's, unless
    /// another process takes that number first.
    #[test]
    fn of_two_mounts_in_one_place_the_upper_one_holds_the_files() {
        let directory = tempfile::tempdir().unwrap();
        let [former, place] = ["former", "place"].map(|name| directory.path().join(name));
        let alone = std::thread::spawn(move || {
            // SAFETY: CLONE_NEWNS affects this thread alone, which ends with this closure.
            if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
                return None;
            }
            rustix::mount::mount_change(
                "/",
                MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
            )
            .unwrap();
            for (path, kernel_type) in [(&former, "tmpfs"), (&place, "tmpfs"), (&place, "ramfs")] {
                std::fs::create_dir_all(path).unwrap();
                if kernel_type == "ramfs" {
                    rustix::mount::unmount(&former, UnmountFlags::empty()).unwrap();
                }
                rustix::mount::mount(kernel_type, path, kernel_type, MountFlags::empty(), None)
                    .unwrap();
            }
            let mounts = read_text("/proc/thread-self/mountinfo").unwrap();
            mount_of(&mounts, mount_id(&place).unwrap())
        });
        match alone.join().unwrap() {
            Some(found) => assert_eq!(found.kernel_type, "ramfs"),
            None => eprintln!("skipped: needs root"),
        }
    }

    #[test]
    fn only_a_backslash_begins_an_escape() {
        assert_eq!(unescape_octal(r"a123\040b\0"), r"a123 b\0");
    }

    #[test]
    fn a_target_has_the_size_and_the_device_of_its_filesystem() {
        let directory = tempfile::tempdir().unwrap();
        let target = Target::of(directory.path()).unwrap();
        let df = std::process::Command::new("df")
            .args(["-B1", "--output=size,avail"])
            .arg(directory.path())
            .output()
            .unwrap();
        let df = String::from_utf8(df.stdout).unwrap();
        let df: Vec<u64> = df.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [size, free] = df[..] else { panic!("{df:?}") };
        assert_eq!(target.size, Bytes(size));
        // Others write to the same filesystem meanwhile.
        assert!(target.free.0.abs_diff(free) <= free / 10 + (64 << 20), "{}", target.free);
        let number = std::fs::metadata(directory.path()).unwrap().dev();
        let id = DeviceId { major: libc::major(number), minor: libc::minor(number) };
        let of_a_device = Path::new(&format!("/sys/dev/block/{}:{}", id.major, id.minor)).exists();
        assert!(!of_a_device || target.devices == [id], "{:?}", target.devices);
    }

    #[test]
    fn a_directory_that_is_no_mount_point_is_not_taken_for_one() {
        let directory = tempfile::tempdir().unwrap();
        let target = Target::of(directory.path()).unwrap();
        assert!(target.check().is_ok());
        let error = target.expect_mount("ext4").unwrap_err();
        assert!(error.contains("is no mount point"), "{error}");
    }

    #[test]
    fn another_filesystem_in_the_same_place_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let mut target = Target::of(directory.path()).unwrap();
        target.device_number ^= 1;
        assert!(target.check().unwrap_err().contains("the trial began on"));
    }
}
