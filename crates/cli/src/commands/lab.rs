//! `fstrial lab`: building the lab and saying what it is.

use std::path::Path;

use lab::{BuildOptions, BuildProgress, Lab, LabError, MachineProfile};
use trial::InputFiles;

use crate::arguments::{LabAction, LabArguments, LabBuild};
use crate::exit::{Ended, Exit, Failure};

/// Builds or describes.
pub(crate) fn lab(arguments: LabArguments) -> Ended {
    match arguments.action {
        LabAction::Build(build) => self::build(build),
        LabAction::Show => show(),
    }
}

fn build(arguments: LabBuild) -> Ended {
    let cache = lab::cache_directory().map_err(Failure::from(Exit::Refused))?;
    let options = BuildOptions {
        kernel: arguments.kernel,
        modules: arguments.modules,
        tools: arguments.tools,
        unpack_qemu: arguments.unpack_qemu,
        refresh: arguments.refresh,
    };
    let built = lab::build(&cache, &options, &mut tell).map_err(Failure::from(Exit::Refused))?;
    eprintln!(
        "the lab is built: {} packages in {}",
        built.manifest.packages.len(),
        built.directory.display()
    );
    Ok(Exit::Done)
}

fn tell(progress: BuildProgress) {
    match progress {
        BuildProgress::Lists => eprintln!("lab: fetching the lists of packages"),
        BuildProgress::Download { what, packages, size } => {
            eprintln!("lab: fetching {packages} packages for the {what}, {size}");
        }
        BuildProgress::Unpack { what } => eprintln!("lab: unpacking the {what}"),
    }
}

fn show() -> Ended {
    let cache = lab::cache_directory().map_err(Failure::from(Exit::Refused))?;
    let software = lab::current(&cache).map_err(Failure::from(Exit::Refused))?;
    let parts = software.parts().map_err(Failure::from(Exit::Refused))?;
    println!("directory  {}", software.directory.display());
    println!("kernel     {}", parts.kernel.display());
    println!("modules    {}", parts.modules.display());
    println!("tools      {}", parts.tools.display());
    println!("emulator   {:?}", parts.qemu);
    for package in &software.manifest.packages {
        println!("package    {} {}", package.name, package.version);
    }
    Ok(Exit::Done)
}

/// The lab with this machine, built first where there is none yet.
pub(crate) fn open(profile: &str, disk: Option<&str>, inputs: &InputFiles) -> Result<Lab, Failure> {
    let cache = lab::cache_directory().map_err(Failure::from(Exit::Refused))?;
    let mut profile = MachineProfile::find(profile).map_err(Failure::from(Exit::Usage))?;
    if let Some(disk) = disk {
        profile.disk.model = disk.to_owned();
    }
    let software = match lab::current(&cache) {
        Err(LabError::NotBuilt(_)) => lab::build(&cache, &BuildOptions::default(), &mut tell),
        found => found,
    };
    let parts =
        software.and_then(|software| software.parts()).map_err(Failure::from(Exit::Refused))?;
    // The program that runs now is the one that boots, also when its file was replaced.
    let binary = Path::new("/proc/self/exe");
    Lab::open(parts, binary, &cache, profile, inputs).map_err(Failure::from(Exit::Refused))
}
