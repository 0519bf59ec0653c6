//! `fstrial lab`: builds the lab, describes it, and checks what it promises.

mod agreement;
mod bench;
mod capabilities;
mod fit;
mod names;
mod processor;
mod twin;
mod verify;

use lab::{BuildOptions, KernelSource, SourceTree};

pub(crate) use self::names::{NO_LAB, listed};
use crate::arguments::{LabAction, LabAgreement, LabArguments, LabBench, LabBuild};
use crate::exit::{Ended, Exit, Failure};
use crate::labs::{cache, named, open, software, tell, tell_of_transfer};
use crate::output::{print, say};

/// Builds or describes.
pub(crate) fn lab(arguments: LabArguments) -> Ended {
    let name = arguments.lab.as_deref();
    lab::sweep_labs(&cache()?);
    match arguments.action {
        LabAction::Build(build) => self::build(name, build),
        LabAction::Show => show(name),
        LabAction::List => names::list(),
        LabAction::Remove { name } => names::remove(&name),
        LabAction::Capabilities(arguments) => capabilities::try_them(name, &arguments),
        LabAction::Fit(arguments) => fit::fit(name, &arguments),
        LabAction::Verify(arguments) => verify::verify(name, &arguments),
        LabAction::Export { file } => {
            lab::export(&software(name)?, &file, &mut tell_of_transfer)
                .map_err(Failure::from(Exit::Output))?;
            say!("the lab is in {}", file.display());
            Ok(Exit::Done)
        }
        LabAction::Import { file } => {
            let read = lab::import(&cache()?, named(name), &file, &mut tell_of_transfer)
                .map_err(Failure::from(Exit::Input))?;
            say!("the lab `{}` is now {}", named(name), read.directory.display());
            Ok(Exit::Done)
        }
    }
}

/// `fstrial self agreement`.
pub(crate) fn agreement(name: Option<&str>, arguments: &LabAgreement) -> Ended {
    lab::sweep_labs(&cache()?);
    agreement::agreement(name, arguments)
}

/// `fstrial self lab-bench`.
pub(crate) fn bench(name: Option<&str>, arguments: &LabBench) -> Ended {
    lab::sweep_labs(&cache()?);
    bench::bench(name, arguments)
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
        emulator: arguments.emulator,
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
    lines.push(format!("emulator   {}", parts.emulator.program().display()));
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
