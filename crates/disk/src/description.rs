//! A device as data: a TOML file with its parameters, where each came from, and what was
//! published about the real thing. Reads and checks such files and builds models from them.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use units::{Bytes, Nanos, SECTOR_BYTES};

use crate::Model;
use crate::catalogue;
use crate::models::Scheduler;
use crate::models::draw::Draw;
use crate::models::flash::{Ssd, SsdParameters};
use crate::models::ideal::{Ideal, IdealParameters};
use crate::models::mechanical::{Drive, DriveParameters};
use crate::models::raid::{ArrayState, Controller, ControllerParameters, Level};
use crate::models::slowed::Slowed;
use crate::published::Published;

/// Which figures of a device its parameters were made to agree with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Taken from data sheets and manuals; a real one may well be slower.
    Spec,
    /// Adjusted until the model agreed with measurements of a real one.
    Fitted,
    /// Measured on a real one, parameter by parameter.
    Measured,
    /// Made up: nothing real is meant.
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

/// What a device is.
#[derive(Debug, Clone, PartialEq)]
pub enum Device {
    /// A mechanical drive.
    Drive(Box<DriveParameters>),
    /// A solid-state drive.
    Ssd(Box<SsdParameters>),
    /// A RAID controller and the device that each member is.
    Controller(Box<ControllerParameters>, Box<DiskDescription>),
    /// A device of constant latency.
    Ideal(IdealParameters),
}

/// A device: its name, its parameters, and what was published about it.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskDescription {
    /// The name by which it is asked for.
    pub name: String,
    /// What it is, for people.
    pub title: String,
    /// What its parameters agree with.
    pub variant: Variant,
    /// When it was sold, where that matters.
    pub year: Option<u32>,
    /// Its parameters.
    pub device: Device,
    /// Where each parameter comes from.
    pub provenance: Vec<Provenance>,
    /// Figures of the real one, to hold the model against.
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

/// What may be chosen about a device when it is built.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// The volatile write cache on or off; as the device has it by default where `None`. A
    /// controller passes it on to its members.
    pub write_cache: Option<bool>,
    /// Commands the device looks at, at most.
    pub queue_depth: Option<u32>,
    /// In which order it serves them.
    pub scheduler: Option<Scheduler>,
    /// `Some(false)` turns the drive's own reading ahead off.
    pub read_ahead: Option<bool>,
    /// Whether a controller's battery is good; without it, it writes through.
    pub battery: Option<bool>,
    /// Whether a controller's array has lost a member. Without redundancy it has not.
    pub array_state: ArrayState,
    /// By how many thousandths everything the device does takes longer: 50 is 5 %.
    pub slower: Option<u32>,
    /// Offers only this much of the device, from its start. Never more than it has.
    pub capacity: Option<Bytes>,
    /// Keeps an account of what moves to durable storage, for [`Model::take_destaged`].
    pub record_destaging: bool,
}

impl Options {
    /// The sectors to offer of a device that has `all`.
    pub(crate) fn sectors_of(&self, all: u64) -> u64 {
        self.capacity.map_or(all, |limit| all.min(limit.0 / SECTOR_BYTES).max(1))
    }
}

/// Why a device cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    /// The file cannot be read.
    #[error("cannot read the disk description {}", path.display())]
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
    #[error("no disk is called `{name}`; known are {known}, or give the path of a .toml file")]
    Unknown {
        /// The name asked for.
        name: String,
        /// All names.
        known: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    title: String,
    variant: Variant,
    year: Option<u32>,
    drive: Option<DriveParameters>,
    ssd: Option<SsdParameters>,
    controller: Option<ControllerParameters>,
    ideal: Option<IdealParameters>,
    #[serde(default)]
    source: Vec<Source>,
    #[serde(default)]
    assumption: Vec<Assumption>,
    #[serde(default)]
    published: Vec<Published>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    of: Vec<String>,
    from: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assumption {
    of: Vec<String>,
    because: String,
}

impl DiskDescription {
    /// Reads a user's own file.
    ///
    /// # Errors
    /// When it cannot be read or does not describe a device; the message names file, line
    /// and key.
    pub fn load(path: &Path) -> Result<DiskDescription, DescriptionError> {
        DiskDescription::parse(&path.display().to_string(), &read(path)?)
    }

    /// Finds a device: the name of a shipped one, or the path of a file ending in `.toml`.
    ///
    /// # Errors
    /// As [`DiskDescription::load`], or when no shipped device has that name.
    pub fn find(name: &str) -> Result<DiskDescription, DescriptionError> {
        if name.ends_with(".toml") {
            return DiskDescription::load(Path::new(name));
        }
        catalogue::find(name)
    }

    /// Reads the text of a file called `file`.
    ///
    /// # Errors
    /// As [`DiskDescription::load`].
    pub fn parse(file: &str, text: &str) -> Result<DiskDescription, DescriptionError> {
        DiskDescription::parse_as(file, text, As::Itself)
    }

    /// Reads a controller's text and puts other disks behind it than it names.
    ///
    /// # Errors
    /// As [`DiskDescription::load`], when it describes no controller, or when it cannot have
    /// such an array.
    pub fn parse_array(
        file: &str,
        text: &str,
        array: ArrayOf,
    ) -> Result<DiskDescription, DescriptionError> {
        DiskDescription::parse_as(file, text, As::Array(Box::new(array)))
    }

    fn parse_as(file: &str, text: &str, role: As) -> Result<DiskDescription, DescriptionError> {
        let syntax = |error: toml::de::Error| DescriptionError::Syntax {
            file: file.to_owned(),
            message: error.to_string().trim_end().to_owned(),
        };
        let parsed: File = toml::from_str(text).map_err(syntax)?;
        let at = |section: &str, key: &str, problem: String| DescriptionError::Value {
            file: file.to_owned(),
            line: line_of(text, section, key),
            key: key.to_owned(),
            problem,
        };
        let checked = |section: &'static str, check: Result<(), (&'static str, String)>| {
            check.map_err(|(key, problem)| at(section, key, problem))
        };
        let File { drive, ssd, controller, ideal, .. } = parsed;
        let (section, device) = match (drive, ssd, controller, ideal) {
            (Some(drive), None, None, None) => {
                checked("drive", drive.check())?;
                ("drive", Device::Drive(Box::new(drive)))
            }
            (None, Some(ssd), None, None) => {
                checked("ssd", ssd.check())?;
                ("ssd", Device::Ssd(Box::new(ssd)))
            }
            (None, None, Some(_), None) if matches!(role, As::Member) => {
                let problem = "cannot be the member of another controller: name a drive";
                return Err(at("controller", "controller", problem.to_owned()));
            }
            (None, None, Some(controller), None) => {
                let (controller, member) = match role {
                    As::Array(array) => array.behind(controller),
                    As::Itself | As::Member => {
                        let member = member_of(file, &controller.member)?;
                        (controller, member)
                    }
                };
                checked("controller", controller.check())?;
                if matches!(member.device, Device::Controller(..)) {
                    let problem = "cannot be a controller itself: name a drive";
                    return Err(at("controller", "member", problem.to_owned()));
                }
                ("controller", Device::Controller(Box::new(controller), Box::new(member)))
            }
            _ if matches!(role, As::Array(_)) => {
                let problem = "is needed to put disks behind it: this describes none";
                return Err(at("", "controller", problem.to_owned()));
            }
            (None, None, None, Some(ideal)) => {
                checked("ideal", ideal.check())?;
                ("ideal", Device::Ideal(ideal))
            }
            _ => {
                let problem =
                    "must be one: give exactly one of [drive], [ssd], [controller], [ideal]";
                return Err(at("", "drive", problem.to_owned()));
            }
        };
        let sources = parsed.source.into_iter().map(|source| Provenance {
            of: source.of,
            text: source.from,
            assumed: false,
        });
        let assumptions = parsed.assumption.into_iter().map(|assumption| Provenance {
            of: assumption.of,
            text: assumption.because,
            assumed: true,
        });
        let provenance: Vec<Provenance> = sources.chain(assumptions).collect();
        let table: toml::Table = toml::from_str(text).map_err(syntax)?;
        check_provenance(&table, section, &provenance)
            .map_err(|(section, key, problem)| at(section, &key, problem))?;
        Ok(DiskDescription {
            name: parsed.name,
            title: parsed.title,
            variant: parsed.variant,
            year: parsed.year,
            device,
            provenance,
            published: parsed.published,
        })
    }

    /// Builds the model. `seed` decides where the platter stands at time zero and whatever
    /// else is left to chance.
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
                // Every member's platter stands somewhere else.
                let mut draw = Draw::new(seed, "members");
                let members = (0..controller.members)
                    .map(|_| member.build(draw.bits(), &member_options))
                    .collect();
                Box::new(Controller::new(controller, members, options))
            }
            Device::Ideal(ideal) => Box::new(Ideal::new(ideal, options)),
        }
    }

    /// What is offered when this much of each member is used; the same for what has none.
    pub fn offered(&self, of_each: Bytes) -> Bytes {
        match &self.device {
            Device::Controller(controller, _) => {
                Bytes(controller.striping().capacity(of_each.0 / SECTOR_BYTES) * SECTOR_BYTES)
            }
            Device::Drive(_) | Device::Ssd(_) | Device::Ideal(_) => of_each,
        }
    }

    /// First sector and sectors per track of each zone; nothing for what has no zones.
    pub fn zones(&self) -> Vec<(u64, u32)> {
        match &self.device {
            Device::Drive(drive) => Drive::new(drive, 0, &Options::default()).zone_starts(),
            Device::Ssd(_) | Device::Controller(..) | Device::Ideal(_) => Vec::new(),
        }
    }

    /// One revolution, for what revolves.
    pub fn revolution(&self) -> Option<Nanos> {
        match &self.device {
            Device::Drive(drive) => Some(Nanos(60_000_000_000 / u64::from(drive.rpm))),
            Device::Ssd(_) | Device::Controller(..) | Device::Ideal(_) => None,
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
    /// What lies on one before the next is used; as the controller has it where `None`.
    pub stripe_unit: Option<Bytes>,
    /// The controller's memory for writes, one stripe at least; its own where `None`.
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

/// As what a text is read.
enum As {
    Itself,
    Member,
    Array(Box<ArrayOf>),
}

/// The description of a controller's member: a shipped device, or a file beside `file`.
fn member_of(file: &str, member: &str) -> Result<DiskDescription, DescriptionError> {
    if !member.ends_with(".toml") {
        return catalogue::find(member);
    }
    let beside = Path::new(file).parent().unwrap_or(Path::new("")).join(member);
    DiskDescription::parse_as(&beside.display().to_string(), &read(&beside)?, As::Member)
}

fn read(path: &Path) -> Result<String, DescriptionError> {
    std::fs::read_to_string(path)
        .map_err(|source| DescriptionError::Read { path: path.to_owned(), source })
}

/// Every parameter has a source or is called an assumption, once; nothing else is named.
fn check_provenance(
    table: &toml::Table,
    section: &'static str,
    provenance: &[Provenance],
) -> Result<(), (&'static str, String, String)> {
    let Some(parameters) = table.get(section).and_then(toml::Value::as_table) else {
        return Ok(());
    };
    for key in parameters.keys() {
        let named = provenance.iter().flat_map(|entry| &entry.of).filter(|of| *of == key).count();
        if named != 1 {
            let problem = if named == 0 {
                "has no origin: name it in the `of` of a [[source]] or an [[assumption]]"
            } else {
                "has more than one origin: name it in one [[source]] or [[assumption]]"
            };
            return Err((section, key.clone(), problem.to_owned()));
        }
    }
    let known = |of: &&String| !parameters.contains_key(*of);
    match provenance.iter().flat_map(|entry| &entry.of).find(known) {
        None => Ok(()),
        Some(stray) => {
            let problem = format!("names `{stray}`, which [{section}] does not have");
            Err(("", "of".to_owned(), problem))
        }
    }
}

/// The line on which `key` is set in `[section]`; the section's own, or the first, where it
/// is not set at all.
fn line_of(text: &str, section: &str, key: &str) -> usize {
    let mut found = 1;
    let mut inside = section.is_empty();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let name = header.trim_start_matches('[').split(']').next().unwrap_or_default();
            inside = section.is_empty() || name == section || name == format!("{section}.{key}");
            if inside && !section.is_empty() {
                found = index + 1;
            }
        }
        let name = line.split('=').next().unwrap_or_default().trim();
        if inside && (name == key || name.starts_with(&format!("{key}."))) {
            return index + 1;
        }
    }
    found
}
