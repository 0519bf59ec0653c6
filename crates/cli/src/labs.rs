//! The labs of this machine: finds them by name, builds a missing one, opens them.

use std::collections::BTreeMap;
use std::path::Path;

use lab::{
    BuildOptions, BuildProgress, Holder, Lab, LabError, MachineProfile, Offer, PartDescription,
    Transfer, Transferred,
};
use stack::Contender;
use trial::InputFiles;

use crate::exit::{Exit, Failure};
use crate::output::say;

/// The default machine profile.
pub(crate) const DEFAULT_PROFILE: &str = "server-ssd";

/// Reads a change of a value in a profile's file, `KEY=VALUE`.
pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("not of the form KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Where labs are kept.
pub(crate) fn cache() -> Result<std::path::PathBuf, Failure> {
    crate::surroundings::proc_and_dev()?;
    lab::cache_directory().map_err(Failure::from(Exit::Refused))
}

/// The lab that is meant: the default one where none is named.
pub(crate) fn named(name: Option<&str>) -> &str {
    name.unwrap_or(lab::DEFAULT_LAB)
}

/// The software of a lab.
pub(crate) fn software(name: Option<&str>) -> Result<lab::Software, Failure> {
    lab::find(&cache()?, named(name)).map_err(Failure::from(Exit::Refused))
}

/// The system that the lab boots, if that part was built.
pub(crate) fn system(name: Option<&str>) -> Result<Option<std::path::PathBuf>, Failure> {
    match lab::find(&cache()?, named(name)) {
        Err(LabError::NotBuilt(_)) => Ok(None),
        found => Ok(found
            .and_then(|software| software.parts())
            .map_err(Failure::from(Exit::Refused))?
            .system()),
    }
}

/// Writes the lab to a file for other machines; returns the digest that names its software.
pub(crate) fn export_to(name: Option<&str>, file: &Path) -> Result<String, Failure> {
    let software = software(name)?;
    if !file.exists() {
        lab::export(&software, file, &mut tell_of_transfer).map_err(Failure::from(Exit::Output))?;
    }
    let name = software.directory.file_name().unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

/// The optional parts these contenders and workloads need and the lab does not have. Builds the
/// lab itself first where there is none yet.
pub(crate) fn lacking<'a>(
    name: Option<&str>,
    contenders: impl IntoIterator<Item = &'a Contender>,
    workloads: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<&'static PartDescription>, Failure> {
    let parts = ensure_built(&cache()?, name).and_then(|software| software.parts());
    let offer = parts.and_then(|parts| Offer::of(&parts)).map_err(Failure::from(Exit::Refused))?;
    Ok(offer.parts_for(contenders, workloads).into_values().collect())
}

/// Builds optional parts into the lab. If one cannot be built, the trials that need it are refused
/// with the reason when their turn comes, and the others run.
pub(crate) fn complete(
    name: Option<&str>,
    parts: &[&'static PartDescription],
) -> Result<(), Failure> {
    let cache = cache()?;
    for part in parts {
        say!("lab: building its part `{}`, which is needed here: {}", part.name, part.summary);
        let options = BuildOptions {
            name: name.map(str::to_owned),
            with: vec![part.name.to_owned()],
            ..BuildOptions::default()
        };
        if let Err(error) = lab::build(&cache, &options, &mut tell) {
            say!("lab: continuing without its part `{}`: {error}", part.name);
        }
    }
    Ok(())
}

/// The lab's software, built first where there is none yet.
fn ensure_built(cache: &Path, name: Option<&str>) -> Result<lab::Software, LabError> {
    match lab::find(cache, named(name)) {
        Err(LabError::NotBuilt(_)) => lab::build(cache, &BuildOptions::default(), &mut tell),
        found => found,
    }
}

/// The lab with this machine, built first where there is none yet.
/// `disk` takes the place of the profile's own, `changes` that of other values in its file.
pub(crate) fn open(
    name: Option<&str>,
    profile: &str,
    disk: Option<&str>,
    changes: &BTreeMap<String, String>,
    inputs: &InputFiles,
) -> Result<Lab, Failure> {
    let cache = cache()?;
    let exit = if MachineProfile::is_file(profile) { Exit::Input } else { Exit::Usage };
    let found = MachineProfile::find(profile).map_err(Failure::from(exit))?;
    let mut profile = found.with(changes).map_err(Failure::from(Exit::Usage))?;
    if let Some(disk) = disk {
        ::disk::DiskDescription::find(disk).map_err(no_disk)?;
        profile.disk.model = disk.to_owned();
    }
    let parts = ensure_built(&cache, name)
        .and_then(|software| software.parts())
        .map_err(Failure::from(Exit::Refused))?;
    Lab::open(parts, &cache, profile, inputs).map_err(Failure::from(Exit::Refused))
}

/// A disk that there is none of is a wrong word; one whose file cannot be used is a wrong input.
pub(crate) fn no_disk(error: ::disk::DescriptionError) -> Failure {
    let exit = match error {
        ::disk::DescriptionError::Unknown { .. } => Exit::Usage,
        _ => Exit::Input,
    };
    Failure::new(exit, error.to_string())
}

/// Reports the progress of an export or import that takes long.
pub(crate) fn tell_of_transfer(progress: Transferred) {
    let Transferred { doing, done, total } = progress;
    let doing = match doing {
        Transfer::Packing => "writing",
        Transfer::Unpacking => "unpacking",
        Transfer::Checking => "checking",
    };
    say!("lab: {doing}: {done} of {total}");
}

/// Reports the progress of a build.
pub(crate) fn tell(progress: BuildProgress) {
    match progress {
        BuildProgress::Waits { what, holder } => match holder {
            Some(Holder { process, held }) => say!(
                "lab: waiting for {what}: process {process} has been at it for {}",
                crate::progress::rounded(held)
            ),
            None => say!("lab: waiting for {what}, which another process works on"),
        },
        BuildProgress::Lists => say!("lab: fetching the lists of packages"),
        BuildProgress::Download { what, packages, size } => {
            say!("lab: fetching {packages} packages for the {what}, {size}");
        }
        BuildProgress::Unpack { what } => say!("lab: unpacking the {what}"),
        BuildProgress::Absent { package } => {
            say!("lab: this machine's package archives have no {package}; continuing without it");
        }
        BuildProgress::Booted { front_end, filesystems, missing } => {
            say!("lab: the kernel boots and accesses its disks through {front_end}");
            say!("lab: it supports {}", filesystems.join(", "));
            if !missing.is_empty() {
                say!("lab: tools and modules that it lacks: {}", missing.join(", "));
            }
        }
        BuildProgress::Part { part, doing } => say!("lab: {part}: {doing}"),
    }
}
