//! The directory a trial works in, and the check that it is still the same: a failed mount or
//! unmount must never let a benchmark run silently on the machine's own root.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use files::Mount;
use units::{Bytes, DeviceNumber};

/// The target and how to recognise it.
#[derive(Debug)]
pub(super) struct Target {
    path: PathBuf,
    /// `st_dev` of the directory.
    device_number: u64,
    /// `f_type` of statfs.
    magic: u64,
    pub(super) mount: Mount,
    pub(super) size: Bytes,
    pub(super) free: Bytes,
    /// The block devices whose counters belong to the target.
    pub(super) devices: Vec<DeviceNumber>,
}

impl Target {
    /// Records the directory as it is now.
    pub(super) fn of(path: &Path) -> Result<Target, String> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let metadata = std::fs::metadata(path).map_err(|error| named(&error))?;
        let statfs = rustix::fs::statfs(path).map_err(|error| named(&error))?;
        let mount = Mount::of(path).map_err(|error| error.to_string())?;
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
        if self.mount.point != absolute {
            return Err(format!(
                "{} is no mount point; it lies on {} ({})",
                self.path.display(),
                self.mount.point.display(),
                self.mount.filesystem
            ));
        }
        if self.mount.filesystem != kernel_type {
            return Err(format!(
                "{} is mounted as {}, not as {kernel_type}",
                self.path.display(),
                self.mount.filesystem
            ));
        }
        Ok(())
    }

    /// Sets the devices whose counters belong to the target, where the mount's device number names
    /// none of them (btrfs) or not all (an external journal).
    pub(super) fn count_devices(&mut self, devices: &[PathBuf]) {
        self.devices = block_device_numbers(devices);
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
        again.expect_mount(&self.mount.filesystem)?;
        if again.magic != self.magic {
            return Err(format!("{} came back as another filesystem", self.path.display()));
        }
        self.device_number = again.device_number;
        self.mount = again.mount;
        Ok(())
    }

    fn device_of_mount(&self) -> Option<DeviceNumber> {
        let number = DeviceNumber::from_raw(self.device_number);
        if Path::new(&format!("/sys/dev/block/{number}")).exists() {
            return Some(number);
        }
        block_device_number(&self.mount.source)
    }
}

/// The numbers of these devices, where they are block devices.
pub(super) fn block_device_numbers(devices: &[PathBuf]) -> Vec<DeviceNumber> {
    devices.iter().filter_map(|path| block_device_number(path)).collect()
}

fn block_device_number(path: &Path) -> Option<DeviceNumber> {
    let metadata = std::fs::metadata(path).ok()?;
    metadata.file_type().is_block_device().then(|| DeviceNumber::from_raw(metadata.rdev()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let number = DeviceNumber::from_raw(std::fs::metadata(directory.path()).unwrap().dev());
        let of_a_device = Path::new(&format!("/sys/dev/block/{number}")).exists();
        assert!(!of_a_device || target.devices == [number], "{:?}", target.devices);
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
