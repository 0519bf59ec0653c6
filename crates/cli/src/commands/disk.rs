//! `fstrial self disk`: simulated disks, measured by the requests they answer, as a drive would be.

use std::path::Path;

use disk::{DISKS, DiskDescription, Options, agreement, check, read_trace};

use crate::arguments::{DiskAction, DiskArguments, DiskCheck};
use crate::exit::{Ended, Exit, Failure};
use crate::labs::no_disk;
use crate::output::print;

/// Checks or shows.
pub(crate) fn disk(arguments: DiskArguments) -> Ended {
    match arguments.action {
        DiskAction::Check(arguments) => self::check_model(&arguments),
        DiskAction::Show { model } => show(&model),
    }
}

fn check_model(arguments: &DiskCheck) -> Ended {
    let description = find(&arguments.model)?;
    let write_cache = arguments.write_cache.as_deref().map(|word| word == "on");
    let options = Options { write_cache, ..Options::default() };
    let (name, title, variant) = (&description.name, &description.title, description.variant);
    let head = format!("{name}: {title} ({variant})\n\n");
    if let Some(path) = &arguments.trace {
        let failed =
            |error: String| Failure::new(Exit::Input, format!("{}: {error}", path.display()));
        let text = files::read_text(path).map_err(|error| failed(error.source.to_string()))?;
        let trace = read_trace(&text).map_err(|error| failed(error.to_string()))?;
        let mut model = description.build(arguments.seed, &options);
        return match agreement(model.as_mut(), &trace).map_err(Failure::from(Exit::Input))? {
            Some(agreement) => {
                print(&format!("{head}{agreement}\n"))?;
                Ok(Exit::Done)
            }
            None => Err(failed("the trace holds no request".to_owned())),
        };
    }
    let found =
        check(&description, arguments.seed, &options).map_err(Failure::from(Exit::Input))?;
    print(&format!("{head}{found}"))?;
    let misses = found.rows.iter().any(|row| row.holds() == Some(false));
    Ok(if misses { Exit::SomeFailed } else { Exit::Done })
}

fn show(model: &str) -> Ended {
    match DISKS.iter().find(|shipped| shipped.name == model) {
        Some(shipped) => print(shipped.text)?,
        None => return find(model).map(|_| Exit::Done),
    }
    Ok(Exit::Done)
}

fn find(model: &str) -> Result<DiskDescription, Failure> {
    let found = match model.contains('/') || model.ends_with(".toml") {
        true => DiskDescription::load(Path::new(model)),
        false => DiskDescription::find(model),
    };
    found.map_err(no_disk)
}
