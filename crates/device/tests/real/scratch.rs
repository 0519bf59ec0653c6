//! Disks for the tests: sparse files behind loop devices, checksummed as a whole.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use device::Claim;
use skippable::{Attached, Ending, Part};
use stack::Refusal;

/// Gives the test's thread a mount namespace of its own; skips the test where it may not have what
/// it needs. In the namespace of the machine, any process that makes one for itself at the wrong
/// moment would take a copy of our mounts along and keep our devices busy.
pub(crate) fn enters_as_root() -> Ending {
    skippable::needs_loop_devices()?;
    skippable::own_mounts();
    Ok(())
}

/// Runs a program that has to succeed; returns its standard output.
pub(crate) fn run(program: &str, args: &[&str]) -> String {
    let output = attempt(program, args);
    assert!(output.status.success(), "{program} {args:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Runs a program that may fail.
pub(crate) fn attempt(program: &str, args: &[&str]) -> Output {
    Command::new(program)
        .args(args)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LC_ALL", "C")
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error} (./test installs what is missing)"))
}

/// A loop device over a sparse file, detached and deleted when dropped.
pub(crate) struct Disk {
    directory: tempfile::TempDir,
    pub(crate) node: PathBuf,
    _attached: Attached,
}

impl Disk {
    /// A blank disk of this many MiB.
    pub(crate) fn blank(mib: u64) -> Disk {
        Disk::of(mib, Part::default())
    }

    /// This part of a blank disk.
    pub(crate) fn of(mib: u64, part: Part) -> Disk {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("disk.img");
        std::fs::File::create(&image).unwrap().set_len(mib << 20).unwrap();
        let attached = Attached::part_of(&image, part);
        Disk { directory, node: attached.node().to_owned(), _attached: attached }
    }

    pub(crate) fn image(&self) -> PathBuf {
        self.directory.path().join("disk.img")
    }

    /// An empty directory that goes with the disk.
    pub(crate) fn mount_point(&self) -> PathBuf {
        let point = self.directory.path().join("mnt");
        std::fs::create_dir_all(&point).unwrap();
        point
    }

    pub(crate) fn text(&self) -> &str {
        self.node.to_str().unwrap()
    }

    /// SHA-256 of the whole device.
    pub(crate) fn checksum(&self) -> String {
        run("blockdev", &["--flushbufs", self.text()]);
        run("sha256sum", &[self.text()]).split_whitespace().next().unwrap().to_owned()
    }

    /// Writes bytes at an offset and makes sure they are on the device.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) {
        use std::os::unix::fs::FileExt;
        let file = std::fs::OpenOptions::new().write(true).open(&self.node).unwrap();
        file.write_all_at(bytes, offset).unwrap();
        file.sync_all().unwrap();
    }
}

/// Unmounts when dropped.
pub(crate) struct Mounted(pub(crate) PathBuf);

impl Mounted {
    pub(crate) fn on(node: &Path, point: PathBuf) -> Mounted {
        run("mount", &[node.to_str().unwrap(), point.to_str().unwrap()]);
        Mounted(point)
    }
}

impl Mounted {
    /// Mounted so that the filesystem itself writes nothing either: whoever compares
    /// checksums sees only what others write.
    pub(crate) fn read_only(node: &Path, point: PathBuf) -> Mounted {
        run("mount", &["-o", "ro", node.to_str().unwrap(), point.to_str().unwrap()]);
        Mounted(point)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        attempt("umount", &[self.0.to_str().unwrap()]);
    }
}

/// Claims and expects to be refused, without `--destroy`, naming another device and naming
/// this one; the device stays as it is. Returns the refusal with `--destroy`.
pub(crate) fn refused_whatever_is_said(disk: &Disk, node: &Path) -> Refusal {
    let before = disk.checksum();
    let other = Disk::blank(16);
    Claim::take(node, &[]).expect_err("in use, and claimed");
    Claim::take(node, std::slice::from_ref(&other.node)).expect_err("in use, and claimed");
    let destroy = [node.to_owned()];
    let refusal = Claim::take(node, &destroy).expect_err("in use, and claimed with --destroy");
    assert_eq!(before, disk.checksum(), "a refused device was written to");
    assert!(refusal.next.is_some(), "no next step: {refusal}");
    refusal
}
