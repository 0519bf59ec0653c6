//! Loop devices over sparse files, places to mount on, and programs that stand in for real ones.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use skippable::Attached;
use trial::{DeviceKind, Site};

/// Directories of the real programs.
pub(crate) const PATH: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Runs a program that has to succeed; returns its standard output.
pub(crate) fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program)
        .args(args)
        .env("PATH", PATH.join(":"))
        .env("LC_ALL", "C")
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {args:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A loop device, detached when dropped, its queue as it was before.
pub(crate) struct Disk {
    directory: tempfile::TempDir,
    node: PathBuf,
    _attached: Attached,
    /// Settings of its queue that outlive the attachment: files and contents.
    settings: Vec<(PathBuf, String)>,
}

impl Disk {
    /// A blank disk of this many MiB.
    pub(crate) fn blank(mib: u64) -> Disk {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("disk.img");
        fs::File::create(&image).unwrap().set_len(mib << 20).unwrap();
        fs::create_dir(directory.path().join("mnt")).unwrap();
        let attached = Attached::over(&image);
        let node = attached.node().to_owned();
        let mut disk = Disk { directory, node, _attached: attached, settings: Vec::new() };
        let files = ["read_ahead_kb", "scheduler"].map(|name| disk.queue(name));
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            // The scheduler in use stands in brackets.
            let used = text.split(['[', ']']).nth(1).unwrap_or(&text).trim().to_owned();
            disk.settings.push((file, used));
        }
        disk
    }

    pub(crate) fn text(&self) -> &str {
        self.node.to_str().unwrap()
    }

    /// A file of its queue in sysfs.
    pub(crate) fn queue(&self, name: &str) -> PathBuf {
        Path::new("/sys/block").join(self.node.file_name().unwrap()).join("queue").join(name)
    }

    /// An empty directory that goes with it.
    pub(crate) fn mount_point(&self) -> PathBuf {
        self.directory.path().join("mnt")
    }

    /// Keeps it open, as a claim does: its own page cache outlives an unmount then.
    pub(crate) fn hold(&self) -> fs::File {
        fs::File::open(&self.node).unwrap()
    }

    /// A place for a trial with this disk alone.
    pub(crate) fn site(&self, kind: DeviceKind) -> Site {
        site(&[self], kind)
    }
}

/// A place for a trial with these disks.
pub(crate) fn site(disks: &[&Disk], kind: DeviceKind) -> Site {
    let devices = disks.iter().map(|disk| disk.node.clone()).collect();
    Site::Devices { devices, kind, mount_point: disks[0].mount_point() }
}

impl Drop for Disk {
    fn drop(&mut self) {
        for (file, text) in &self.settings {
            let _ = fs::write(file, text);
        }
    }
}

/// A directory of scripts that are found before the real programs.
pub(crate) struct StandIns(tempfile::TempDir);

impl StandIns {
    pub(crate) fn new() -> StandIns {
        StandIns(tempfile::tempdir().unwrap())
    }

    /// The same, with a script for sh.
    pub(crate) fn with(self, program: &str, script: &str) -> StandIns {
        // Another process writes it: while this one has a file open for writing, a process that
        // another test starts may have it too, and then nobody can execute it.
        let mut install = Command::new("install")
            .args(["-m", "755", "/dev/stdin"])
            .arg(self.0.path().join(program))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let text = format!("#!/bin/sh\n{script}\n");
        install.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(install.wait().unwrap().success());
        self
    }

    /// Where it is; scripts may keep files there.
    pub(crate) fn directory(&self) -> &Path {
        self.0.path()
    }

    /// A tool path with it.
    pub(crate) fn tool_path(&self) -> Vec<PathBuf> {
        let real = PATH.iter().map(PathBuf::from);
        std::iter::once(self.directory().to_owned()).chain(real).collect()
    }
}
