//! A device as data: a TOML file with its parameters, the origin of each, and published figures of
//! the real device. Reads and checks such files and builds models from them.

mod parsing;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use units::{Bytes, Nanos, SECTOR_BYTES};

use crate::Model;
use crate::catalogue::DISKS;
use crate::models::draw::Draw;
use crate::models::flash::{Ssd, SsdParameters};
use crate::models::hypervisor::{Hypervisor, HypervisorParameters};
use crate::models::ideal::{Ideal, IdealParameters};
use crate::models::mechanical::{Drive, DriveParameters};
use crate::models::raid::{Controller, ControllerParameters, Level};
use crate::models::slowed::Slowed;
use crate::options::Options;
use crate::published::Published;
use parsing::As;

/// Where a device's parameters come from, and so which figures they agree with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Taken from data sheets and manuals; a real device may well be slower.
    Spec,
    /// Adjusted until the model agreed with measurements of a real device.
    Fitted,
    /// Measured on a real device, parameter by parameter.
    Measured,
    /// Made up: it describes no real device.
    Synthetic,
}

impl std::fmt::Display for Variant {
    /// As the file has it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Variant::Spec => "spec",
            Variant::Fitted => "fitted",
            Variant::Measured => "measured",
            Variant::Synthetic => "synthetic",
        })
    }
}

/// The kind of a device, with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Device {
    /// A mechanical drive.
    Drive(Box<DriveParameters>),
    /// A solid-state drive.
    Ssd(Box<SsdParameters>),
    /// A RAID controller and the device that each member is.
    Controller(Box<ControllerParameters>, Box<DiskDescription>),
    /// A disk that a hypervisor serves.
    Hypervisor(HypervisorParameters),
    /// A device of constant latency.
    Ideal(IdealParameters),
}

/// A device: its name, its parameters, and what was published about it.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskDescription {
    /// The name by which it is selected.
    pub name: String,
    /// What it is, for people.
    pub title: String,
    /// Where its parameters come from.
    pub variant: Variant,
    /// When it was sold, where that matters.
    pub year: Option<u32>,
    /// Its parameters.
    pub device: Device,
    /// Where each parameter comes from.
    pub provenance: Vec<Provenance>,
    /// Published figures of the real device, for comparison with the model.
    pub published: Vec<Published>,
}

/// Where some parameters come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// The parameters, by their names in the file.
    pub of: Vec<String>,
    /// A source that can be looked up, or why the value was assumed.
    pub text: String,
    /// Whether it was assumed.
    pub assumed: bool,
}

/// Why a device description cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    /// The file cannot be read.
    #[error("cannot read the disk description {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is not TOML, or has a key that is missing, unknown or of the wrong type.
    #[error("{file} does not describe a disk:\n{message}")]
    Syntax {
        /// The file's name.
        file: String,
        /// Line, column, key and cause.
        message: String,
    },
    /// A value does not fit the others.
    #[error("{file}, line {line}: `{key}` {problem}")]
    Value {
        /// The file's name.
        file: String,
        /// The line on which the key stands, or its table's.
        line: usize,
        /// The key.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// No such device.
    #[error("no disk is called `{name}`; {meant} (a disk of your own: the path of its .toml file)")]
    Unknown {
        /// The name asked for.
        name: String,
        /// What was probably meant, or all names.
        meant: String,
    },
}

impl DiskDescription {
    /// Reads a user's own file.
    ///
    /// # Errors
    /// When it cannot be read or does not describe a device; the message names file, line
    /// and key.
    pub fn load(path: &Path) -> Result<DiskDescription, DescriptionError> {
        DiskDescription::parse(&path.display().to_string(), &parsing::read(path)?)
    }

    /// Finds a device: the name of a shipped one, or the path of a file ending in `.toml`.
    ///
    /// # Errors
    /// As [`DiskDescription::load`], or when no shipped device has that name.
    pub fn find(name: &str) -> Result<DiskDescription, DescriptionError> {
        if name.ends_with(".toml") {
            return DiskDescription::load(Path::new(name));
        }
        shipped(name)
    }

    /// Reads the text of a file called `file`.
    ///
    /// # Errors
    /// As [`DiskDescription::load`].
    pub fn parse(file: &str, text: &str) -> Result<DiskDescription, DescriptionError> {
        parsing::parse(file, text, As::Itself)
    }

    /// Reads a controller's text, and replaces the disks behind it by those of `array`.
    ///
    /// # Errors
    /// As [`DiskDescription::load`], when it describes no controller, or when it cannot have
    /// such an array.
    pub fn parse_array(
        file: &str,
        text: &str,
        array: ArrayOf,
    ) -> Result<DiskDescription, DescriptionError> {
        parsing::parse(file, text, As::Array(Box::new(array)))
    }

    /// Builds the model. `seed` decides the platter's position at time zero and everything else
    /// that is random.
    pub fn build(&self, seed: u64, options: &Options) -> Box<dyn Model> {
        let model = self.build_at_speed(seed, options);
        match options.slower {
            Some(slower) => Box::new(Slowed::new(model, slower)),
            None => model,
        }
    }

    fn build_at_speed(&self, seed: u64, options: &Options) -> Box<dyn Model> {
        match &self.device {
            Device::Drive(drive) => Box::new(Drive::new(drive, seed, options)),
            Device::Ssd(ssd) => Box::new(Ssd::new(ssd, options)),
            Device::Controller(controller, member) => {
                let cache = options.write_cache.unwrap_or(controller.member_write_cache);
                let member_options = Options {
                    write_cache: Some(cache),
                    queue_depth: options.queue_depth,
                    scheduler: options.scheduler,
                    read_ahead: options.read_ahead,
                    ..Options::default()
                };
                // Every member's platter has another position.
                let mut draw = Draw::new(seed, "members");
                let members = (0..controller.members)
                    .map(|_| member.build(draw.bits(), &member_options))
                    .collect();
                Box::new(Controller::new(controller, members, options))
            }
            Device::Hypervisor(parameters) => Box::new(Hypervisor::new(parameters, seed, options)),
            Device::Ideal(ideal) => Box::new(Ideal::new(ideal, options)),
        }
    }

    /// The size of an array if this much of each member is used; for a device without members, the
    /// same size.
    pub fn offered(&self, of_each: Bytes) -> Bytes {
        match &self.device {
            Device::Controller(controller, _) => {
                Bytes(controller.striping().capacity(of_each.0 / SECTOR_BYTES) * SECTOR_BYTES)
            }
            Device::Drive(_) | Device::Ssd(_) | Device::Hypervisor(_) | Device::Ideal(_) => of_each,
        }
    }

    /// First sector and sectors per track of each zone; empty for a device without zones.
    pub fn zones(&self) -> Vec<(u64, u32)> {
        match &self.device {
            Device::Drive(drive) => Drive::new(drive, 0, &Options::default()).zone_starts(),
            _ => Vec::new(),
        }
    }

    /// The time of one revolution, for a mechanical drive.
    pub fn revolution(&self) -> Option<Nanos> {
        match &self.device {
            Device::Drive(drive) => Some(Nanos(60_000_000_000 / u64::from(drive.rpm))),
            _ => None,
        }
    }
}

/// Disks to put behind a controller.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayOf {
    /// How data is spread over them.
    pub level: Level,
    /// How many.
    pub members: u32,
    /// How much goes to one disk before the next is used; where `None`, the controller's own value.
    pub stripe_unit: Option<Bytes>,
    /// The controller's memory for writes, at least one stripe; where `None`, its own value.
    pub write_memory: Option<Bytes>,
    /// What each of them is.
    pub member: DiskDescription,
}

impl ArrayOf {
    fn behind(self, controller: ControllerParameters) -> (ControllerParameters, DiskDescription) {
        let controller = ControllerParameters {
            member: self.member.name.clone(),
            members: self.members,
            level: self.level,
            stripe_unit: self.stripe_unit.unwrap_or(controller.stripe_unit),
            write_memory: self.write_memory.unwrap_or(controller.write_memory),
            ..controller
        };
        (controller, self.member)
    }
}

/// The shipped device of that name.
fn shipped(name: &str) -> Result<DiskDescription, DescriptionError> {
    match DISKS.iter().find(|shipped| shipped.name == name) {
        Some(shipped) => DiskDescription::parse(&format!("{}.toml", shipped.name), shipped.text),
        None => Err(DescriptionError::Unknown {
            name: name.to_owned(),
            meant: text::meant(name, DISKS.iter().map(|shipped| shipped.name)).unwrap_or_default(),
        }),
    }
}
