//! A program that serves a filesystem in user space, for as long as the trial has one.
//!
//! It is a child of the trial's process, in its group and in its mount namespace: whatever ends
//! the trial also ends it, its mounts and its hold on the devices.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Child;

use rustix::fs::MemfdFlags;
use rustix::mount::{MountFlags, UnmountFlags};
use stack::filesystems::Service;

use super::machine;
use super::program::Programs;

/// A running service. Dropping it ends it.
pub(super) struct Serving {
    child: Option<Child>,
    /// The private directories that are mounted, and whether they were made for it.
    private: Vec<(PathBuf, bool)>,
}

impl Serving {
    /// Starts it and waits until it serves.
    ///
    /// # Errors
    /// What did not work, with the program's output.
    pub(super) fn start(service: &Service, programs: &Programs) -> Result<Serving, String> {
        let mut serving = Serving { child: None, private: Vec::new() };
        for directory in service.private.iter().map(PathBuf::from) {
            serving
                .hide(&directory)
                .map_err(|error| format!("{}: {error}", directory.display()))?;
        }
        links(service).map_err(|error| format!("{}: {error}", service.device_directory))?;

        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", service.start);
        let said = rustix::fs::memfd_create("service", MemfdFlags::CLOEXEC).map(File::from);
        let mut said = said.map_err(|error| named(&error))?;
        let output = said.try_clone().map_err(|error| named(&error))?;
        let child = programs.start(&service.start, output).map_err(|error| named(&error))?;
        let child = serving.child.insert(child);
        let mut ended = None;
        let ready = machine::wait_until(|| {
            ended = child.try_wait().ok().flatten();
            ended.is_some() || programs.run(&service.ready).is_ok()
        });
        if let (None, true) = (ended, ready) {
            return Ok(serving);
        }
        let mut text = String::new();
        let _ = said.rewind().and_then(|()| said.read_to_string(&mut text));
        let how = ended.map_or("does not answer".to_owned(), |status| format!("ended: {status}"));
        Err(format!("{} {how}: {}", service.start, text.trim()))
    }

    /// Puts an empty directory that only the trial sees in the place of this one.
    fn hide(&mut self, directory: &Path) -> std::io::Result<()> {
        let made = !directory.exists();
        fs::create_dir_all(directory)?;
        rustix::mount::mount(
            "none",
            directory,
            "tmpfs",
            MountFlags::NOSUID | MountFlags::NODEV,
            Some(c"mode=0700"),
        )?;
        self.private.push((directory.to_owned(), made));
        Ok(())
    }
}

/// Makes the directory in which it finds its devices.
fn links(service: &Service) -> std::io::Result<()> {
    let directory = Path::new(&service.device_directory);
    fs::create_dir_all(directory)?;
    for device in &service.devices {
        let name = Path::new(device).file_name().unwrap_or_default();
        symlink(device, directory.join(name))?;
    }
    Ok(())
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        for (directory, made) in self.private.drain(..).rev() {
            let _ = rustix::mount::unmount(&directory, UnmountFlags::DETACH);
            if made {
                // Removed only if empty; otherwise another process uses it by now.
                let _ = fs::remove_dir(&directory);
            }
        }
    }
}
