//! Derives the disks of a guest from a trial's specification and a machine profile.

use std::path::Path;

use disk::{DiskDescription, Level, Options};
use guest::{ArrayOrder, DiskOrder};
use stack::layouts::{Array, Role};
use trial::TrialSpec;
use units::Bytes;

use crate::error::LabError;
use crate::profile::{ControllerProfile, DiskProfile, MachineProfile};

/// A disk of a guest and what it is for.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) role: Role,
    pub(crate) order: DiskOrder,
}

/// The disks a specification needs, in the order its layout takes them.
///
/// # Errors
/// When its layout is unknown or refuses, a disk is not described or smaller than asked for,
/// or the machine has no controller and none is named.
pub(crate) fn of(profile: &MachineProfile, spec: &TrialSpec) -> Result<Vec<Disk>, LabError> {
    let contender = &spec.contender;
    let refused = |refusal: stack::Refusal| LabError::value(&contender.name, refusal.to_string());
    let needs_device = stack::filesystems::find(&contender.filesystem)
        .is_none_or(|filesystem| filesystem.describe().needs_device);
    if !needs_device {
        return Ok(Vec::new());
    }
    let layout = contender.layout.layout().map_err(refused)?;
    let roles = layout.disks(&contender.layout).map_err(refused)?;
    let disk = |(nth, role): (usize, Role)| {
        let order = match &role {
            Role::Data => drive(&profile.disk, spec, nth),
            Role::Journal => drive(profile.journal.as_ref().unwrap_or(&profile.disk), spec, nth),
            Role::Controller(array) => controller(profile, array, spec, nth),
        };
        Ok(Disk { role, order: order? })
    };
    roles.into_iter().enumerate().map(disk).collect()
}

/// A disk by itself.
fn drive(profile: &DiskProfile, spec: &TrialSpec, nth: usize) -> Result<DiskOrder, LabError> {
    let (description, parameters) = described(&profile.model)?;
    let mut options = profile.options.clone();
    let cache = if profile.write_cache { "on" } else { "off" };
    options.entry("write_cache".to_owned()).or_insert_with(|| cache.to_owned());
    checked(DiskOrder {
        name: profile.model.clone(),
        parameters,
        array: None,
        options,
        capacity: used_of(&description, &profile.model, spec)?,
        seed: seed(spec, nth),
        queue: profile.queue(),
    })
}

/// A controller with disks of the profile behind it.
fn controller(
    profile: &MachineProfile,
    array: &Array,
    spec: &TrialSpec,
    nth: usize,
) -> Result<DiskOrder, LabError> {
    let contender = &spec.contender;
    let named = array.controller.as_deref().map(ControllerProfile::named);
    let controller = match (&named, &profile.controller) {
        // A controller that is named, but is the profile's own, keeps the profile's settings.
        (Some(named), Some(own)) if own.model == named.model => own,
        (Some(named), _) => named,
        (None, Some(own)) => own,
        (None, None) => {
            let problem = format!(
                "the machine {} has no RAID controller; name one: \
                 layout={}+controller=areca-arc-1220",
                profile.name, contender.layout
            );
            return Err(LabError::value(&contender.name, problem));
        }
    };
    let (drive, drive_parameters) = described(&profile.disk.model)?;
    let (_, parameters) = described(&controller.model)?;
    let level = match array.level {
        "raid0" => Level::Raid0,
        "raid1" => Level::Raid1,
        "raid5" => Level::Raid5,
        "raid10" => Level::Raid10,
        other => {
            let problem = format!("no RAID controller of the lab supports {other}");
            return Err(LabError::value(&contender.name, problem));
        }
    };
    let mut options = profile.disk.options.clone();
    // The controller's model decides whether its disks' caches are on.
    options.remove("write_cache");
    // A contender may ask for a controller without a battery; otherwise the machine decides.
    if array.battery {
        options.entry("battery".to_owned()).or_insert_with(|| "on".to_owned());
    } else {
        options.insert("battery".to_owned(), "off".to_owned());
    }
    if array.state != "clean" {
        options.insert("array".to_owned(), array.state.clone());
    }
    let mut order = DiskOrder {
        name: controller.model.clone(),
        parameters,
        array: Some(ArrayOrder {
            level,
            members: u32::try_from(array.members).unwrap_or(u32::MAX),
            stripe_unit: array.chunk,
            write_memory: controller.write_memory,
            member: profile.disk.model.clone(),
            parameters: drive_parameters,
        }),
        options,
        capacity: Bytes::ZERO,
        seed: seed(spec, nth),
        queue: controller.queue(),
    };
    let whole = guest::models::description(&order)
        .map_err(|problem| LabError::value(format!("controller `{}`", order.name), problem))?;
    order.capacity = whole.offered(used_of(&drive, &profile.disk.model, spec)?);
    checked(order)
}

/// A disk from the catalogue or from a file, and its text.
fn described(model: &str) -> Result<(DiskDescription, String), LabError> {
    let description = DiskDescription::find(model)
        .map_err(|error| LabError::value(format!("disk `{model}`"), error.to_string()))?;
    let text = match disk::DISKS.iter().find(|shipped| shipped.name == model) {
        Some(shipped) => shipped.text.to_owned(),
        None => files::read_text(Path::new(model))?,
    };
    Ok((description, text))
}

/// How much of each such disk the trial uses: what was asked for, or all of it.
fn used_of(
    description: &DiskDescription,
    model: &str,
    spec: &TrialSpec,
) -> Result<Bytes, LabError> {
    let whole = description.build(0, &Options::default()).capacity();
    match spec.size {
        Some(size) if size > whole => Err(LabError::value(
            format!("disk `{model}`"),
            format!("it has {whole}, but {size} were requested"),
        )),
        size => Ok(size.unwrap_or(whole)),
    }
}

fn checked(order: DiskOrder) -> Result<DiskOrder, LabError> {
    guest::models::options(&order)
        .map_err(|problem| LabError::value(format!("disk `{}`", order.name), problem))?;
    Ok(order)
}

fn seed(spec: &TrialSpec, nth: usize) -> u64 {
    spec.seed.derive(&format!("disk {nth}")).0
}
