//! Block devices, or loop files made in a directory.

use std::path::PathBuf;

use clap::Args;
use runner::TestbedRequest;
use serde::{Deserialize, Serialize};
use study::Study;
use testbed::{DeviceTestbed, Testbed};
use units::Bytes;

use super::options::{WHERE, request};
use super::{Configured, Description, Finding, Given, OfPart, OpenWith, OwnOptions, TestbedKind};
use crate::ending::stop_on_signals;
use crate::exit::{Exit, Failure};
use crate::files::{cache_directory, tool_path};
use crate::progress::aside;

pub(super) struct Device;

const DESTROY_ALONE: &str =
    "--destroy only allows what --device names: name the device with --device too";

static DESCRIPTION: Description = Description {
    name: "device",
    summary: "Block devices or loop files: mkfs, mount, work, unmount, check (root)",
    in_study: "your disks",
    makes_filesystems: true,
    simulated: false,
    in_guest: false,
    slow: false,
    chosen_by: Some("device"),
    own_options: &[
        OwnOptions {
            ids: &["device"],
            places: true,
            in_vain: "--device and --destroy belong to --testbed device",
        },
        OwnOptions { ids: &["destroy"], places: false, in_vain: DESTROY_ALONE },
        OwnOptions {
            ids: &["loop_dir"],
            places: true,
            in_vain: "--loop-dir belongs to --testbed device: only that makes loop files",
        },
    ],
    refuses: &[(&["dir"], "--dir belongs to --testbed dir; loop files go to --loop-dir")],
    own_in_study: &["device", "destroy", "loop_dir"],
};

#[derive(Args)]
struct DeviceOptions {
    /// A block device to test on; without it loop files are made
    #[arg(long, value_name = "DEV", help_heading = WHERE)]
    device: Vec<PathBuf>,

    /// Allow the contents of this device, and no other, to be destroyed
    #[arg(long, value_name = "DEV", help_heading = WHERE)]
    destroy: Vec<PathBuf>,

    /// Where loop files are made [default: the cache directory]
    #[arg(long, value_name = "PATH", help_heading = WHERE)]
    loop_dir: Option<PathBuf>,
}

/// What the store keeps.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Devices; empty for loop files.
    devices: Vec<PathBuf>,
    /// The devices whose contents may be destroyed.
    destroy: Vec<PathBuf>,
    /// Where loop files are made.
    loop_directory: PathBuf,
}

impl Settings {
    /// What these options ask for.
    fn asked(given: &Given) -> Result<Settings, Failure> {
        let DeviceOptions { device, destroy, loop_dir } = given.read()?;
        if !destroy.is_empty() && device.is_empty() {
            return Err(Failure::new(Exit::Usage, DESTROY_ALONE));
        }
        let loop_directory = loop_dir.unwrap_or_else(|| cache_directory().join("loop"));
        Ok(Settings { devices: device, destroy, loop_directory })
    }
}

/// Loop files in this directory, or in the cache directory.
///
/// # Errors
/// When the path cannot be kept in the store.
pub(crate) fn loop_files(directory: Option<PathBuf>) -> Result<TestbedRequest, Failure> {
    let loop_directory = directory.unwrap_or_else(|| cache_directory().join("loop"));
    request(&DESCRIPTION, &Settings { devices: Vec::new(), destroy: Vec::new(), loop_directory })
}

impl TestbedKind for Device {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn options(&self, command: clap::Command) -> clap::Command {
        DeviceOptions::augment_args(command)
    }

    fn study_options(&self, command: clap::Command) -> clap::Command {
        let help = "With device: a block device to test on; without it loop files are made";
        // In place: `mut_arg` would put it behind the others.
        self.options(command).mut_args(|option| match option.get_id() == "device" {
            true => option.help(help),
            false => option,
        })
    }

    fn asked(&self, given: &Given) -> Result<TestbedRequest, Failure> {
        request(&DESCRIPTION, &Settings::asked(given)?)
    }

    fn asked_for_study(&self, given: &Given, _: &Study) -> Result<OfPart, Failure> {
        let request = request(&DESCRIPTION, &Settings::asked(given)?)?;
        Ok(Box::new(move |_, _| Ok(request.clone())))
    }

    fn may_destroy(&self, given: &Given) -> Vec<PathBuf> {
        given.read().map_or_else(|_| Vec::new(), |options: DeviceOptions| options.destroy)
    }

    fn read(&self, request: &TestbedRequest) -> Result<Box<dyn Configured>, serde_json::Error> {
        Ok(Box::new(request.settings::<Settings>()?))
    }

    fn findings(&self) -> Vec<Finding> {
        let root = rustix::process::geteuid().is_root();
        let loops = device::loop_devices().is_ok();
        let detail = match (root, loops) {
            (true, true) => "root, loop devices",
            (false, _) => "needs root: mkfs and mount; run it with sudo",
            (true, false) => {
                "root, but no loop devices (/dev/loop-control): name a block device with --device"
            }
        };
        vec![Finding::new("testbed device", root && loops, detail)]
    }
}

impl Configured for Settings {
    fn open(&self, with: OpenWith) -> Result<Box<dyn Testbed>, Failure> {
        let (devices, destroy) = (&self.devices, &self.destroy);
        let testbed = DeviceTestbed::new(
            with.ledger,
            devices,
            destroy,
            &self.loop_directory,
            with.inputs,
            tool_path(),
            with.room,
        );
        Ok(Box::new(testbed.watched(stop_on_signals()?, aside)))
    }

    fn listed(&self) -> String {
        "devices".to_owned()
    }

    fn room(&self, size: Option<Bytes>) -> String {
        let size = size.unwrap_or(Bytes::ZERO);
        match self.devices.is_empty() {
            true => format!("{size} in {} (one device at a time)", self.loop_directory.display()),
            false => format!("devices of {size}"),
        }
    }

    fn allowing(&self, _: &TestbedRequest, devices: &[PathBuf]) -> Result<TestbedRequest, Failure> {
        let mut allowed = self.clone();
        allowed.destroy.extend(devices.iter().cloned());
        request(&DESCRIPTION, &allowed)
    }
}
