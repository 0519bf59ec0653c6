//! `fstrial lab`: building the lab, saying what it is, and checking what it promises.

mod agreement;
mod bench;
mod capabilities;
mod fit;
mod names;
mod verify;

use std::collections::BTreeMap;
use std::path::Path;

use lab::{
    BuildOptions, BuildProgress, KernelSource, Kvm, Lab, LabError, MachineProfile, Offer,
    PartDescription, Qemu, SourceTree,
};
use stack::Contender;
use testbed::Stop;
use trial::InputFiles;

use crate::arguments::{DEFAULT_PROFILE, LabAction, LabArguments, LabBuild};
use crate::exit::{Ended, Exit, Failure};
use crate::output::{print, say};

/// Builds or describes.
pub(crate) fn lab(arguments: LabArguments) -> Ended {
    let name = arguments.lab.as_deref();
    match arguments.action {
        LabAction::Build(build) => self::build(name, build),
        LabAction::Show => show(name),
        LabAction::List => names::list(),
        LabAction::Remove { name } => names::remove(&name),
        LabAction::Agreement(arguments) => agreement::agreement(&arguments),
        LabAction::Capabilities(arguments) => capabilities::try_them(name, &arguments),
        LabAction::Bench(arguments) => bench::bench(name, &arguments),
        LabAction::Fit(arguments) => fit::fit(&arguments),
        LabAction::Verify(arguments) => verify::verify(name, &arguments),
        LabAction::Export { file } => {
            lab::export(&software(name)?, &file).map_err(Failure::from(Exit::Output))?;
            say!("the lab is in {}", file.display());
            Ok(Exit::Done)
        }
        LabAction::Import { file } => {
            let read =
                lab::import(&cache()?, named(name), &file).map_err(Failure::from(Exit::Input))?;
            say!("the lab `{}` is now {}", named(name), read.directory.display());
            Ok(Exit::Done)
        }
        LabAction::Kvm => kvm(name),
    }
}

fn build(name: Option<&str>, arguments: LabBuild) -> Ended {
    let cache = cache()?;
    let kernel_source = match arguments.kernel_source {
        Some(text) => Some(KernelSource {
            tree: SourceTree::named(&text).map_err(Failure::from(Exit::Usage))?,
            patches: arguments.patch,
            settings: arguments.config,
        }),
        None => None,
    };
    let options = BuildOptions {
        name: arguments.name.or(name.map(str::to_owned)),
        kernel: arguments.kernel,
        modules: arguments.modules,
        kernel_source,
        tools: arguments.tools,
        unpack_qemu: arguments.unpack_qemu,
        refresh: arguments.refresh,
        with: arguments.with,
    };
    let built = lab::build(&cache, &options, &mut tell).map_err(Failure::from(Exit::Refused))?;
    say!(
        "the lab `{}` is built: {} packages in {}",
        named(options.name.as_deref()),
        built.manifest.packages.len(),
        built.directory.display()
    );
    Ok(Exit::Done)
}

fn tell(progress: BuildProgress) {
    match progress {
        BuildProgress::Lists => say!("lab: fetching the lists of packages"),
        BuildProgress::Download { what, packages, size } => {
            say!("lab: fetching {packages} packages for the {what}, {size}");
        }
        BuildProgress::Unpack { what } => say!("lab: unpacking the {what}"),
        BuildProgress::Absent { package } => {
            say!("lab: this machine's archives have no {package}; going without");
        }
        BuildProgress::Booted { front_end, filesystems, missing } => {
            say!("lab: the kernel boots, and reaches its disks by {front_end}");
            say!("lab: it has {}", filesystems.join(", "));
            if !missing.is_empty() {
                say!("lab: it goes without {}", missing.join(", "));
            }
        }
        BuildProgress::Part { part, doing } => say!("lab: {part}: {doing}"),
    }
}

fn show(name: Option<&str>) -> Ended {
    let mut lines: Vec<String> = Vec::new();
    let software = software(name)?;
    let parts = software.parts().map_err(Failure::from(Exit::Refused))?;
    lines.push(format!("name       {}", named(name)));
    lines.push(format!("directory  {}", software.directory.display()));
    lines.push(format!("kernel     {}", parts.kernel.display()));
    if let Some(own) = &software.manifest.own_kernel {
        lines.push(format!("made of    {}", own.made_of));
    }
    lines.push(format!("modules    {}", parts.modules.display()));
    lines.push(format!("tools      {}", parts.tools.display()));
    let emulator = match &parts.qemu {
        Qemu::Host { path } => format!("{} (this machine's own)", path.display()),
        Qemu::Unpacked { program, .. } => format!("{} (unpacked)", program.display()),
    };
    lines.push(format!("emulator   {emulator}"));
    for part in lab::OPTIONAL_PARTS {
        let part = part.describe();
        let built = match software.manifest.with.contains(part.name) {
            true => "built".to_owned(),
            false => format!("not built: `fstrial lab build --with {}`", part.name),
        };
        lines.push(format!("part       {} ({}): {built}", part.name, part.summary));
    }
    for package in &software.manifest.packages {
        lines.push(format!("package    {} {}", package.name, package.version));
    }
    print(&(lines.join("\n") + "\n"))?;
    Ok(Exit::Done)
}

/// Writes the lab to a file for other machines; the name of its software by content.
pub(crate) fn export_to(name: Option<&str>, file: &Path) -> Result<String, Failure> {
    let software = software(name)?;
    if !file.exists() {
        lab::export(&software, file).map_err(Failure::from(Exit::Output))?;
    }
    let name = software.directory.file_name().unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

fn cache() -> Result<std::path::PathBuf, Failure> {
    lab::cache_directory().map_err(Failure::from(Exit::Refused))
}

/// The lab that is meant: the default one where none is named.
fn named(name: Option<&str>) -> &str {
    name.unwrap_or(lab::DEFAULT_LAB)
}

fn software(name: Option<&str>) -> Result<lab::Software, Failure> {
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

/// Says whether real time is to be had. Emulation in real time never is a measurement.
fn kvm(name: Option<&str>) -> Ended {
    let lab = open(name, DEFAULT_PROFILE, None, &BTreeMap::new(), &InputFiles::default())?;
    match lab.probe_kvm(&Stop::new()).map_err(Failure::from(Exit::Refused))? {
        Kvm::Works { boot } => {
            print(&format!("KVM works: a guest booted in {:.1} s\n", boot.as_secs_f64()))?
        }
        Kvm::Unusable { reason } => print(&format!("KVM does not work here: {reason}\n"))?,
    }
    Ok(Exit::Done)
}

/// Refuses `--clock real`, with the reason.
pub(crate) fn refuse_real_time(name: Option<&str>, profile: &str) -> Failure {
    let probed = open(name, profile, None, &BTreeMap::new(), &InputFiles::default())
        .and_then(|lab| lab.probe_kvm(&Stop::new()).map_err(Failure::from(Exit::Refused)));
    let reason = match probed {
        Ok(Kvm::Unusable { reason }) => reason,
        Ok(Kvm::Works { .. }) => {
            "KVM works on this machine, but disks backed by the host are not built yet; use \
             --testbed device for real time"
                .to_owned()
        }
        Err(failure) => failure.message,
    };
    Failure::new(Exit::Refused, format!("--clock real: {reason}"))
}

/// The optional parts these contenders and workloads need and the lab does not have. Builds the
/// lab itself first where there is none yet.
pub(crate) fn lacking<'a>(
    name: Option<&str>,
    contenders: impl IntoIterator<Item = &'a Contender>,
    workloads: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<&'static PartDescription>, Failure> {
    let parts = there_is(&cache()?, name).and_then(|software| software.parts());
    let offer = parts.and_then(|parts| Offer::of(&parts)).map_err(Failure::from(Exit::Refused))?;
    Ok(offer.parts_for(contenders, workloads).into_values().collect())
}

/// Builds optional parts into the lab. Without one that cannot be built, what needs it is
/// refused with its reason when its turn comes, and the rest runs.
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
            say!("lab: going without its part `{}`: {error}", part.name);
        }
    }
    Ok(())
}

/// The lab's software, built first where there is none yet.
fn there_is(cache: &Path, name: Option<&str>) -> Result<lab::Software, LabError> {
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
    let profile = MachineProfile::find(profile).and_then(|profile| profile.with(changes));
    let mut profile = profile.map_err(Failure::from(Exit::Usage))?;
    if let Some(disk) = disk {
        ::disk::DiskDescription::find(disk).map_err(Failure::from(Exit::Usage))?;
        profile.disk.model = disk.to_owned();
    }
    let parts = there_is(&cache, name)
        .and_then(|software| software.parts())
        .map_err(Failure::from(Exit::Refused))?;
    Lab::open(parts, &cache, profile, inputs).map_err(Failure::from(Exit::Refused))
}
