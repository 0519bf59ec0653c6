//! Snapshots.

use std::fs;
use std::path::Path;

use stack::filesystems::Shown;

use super::finding::Finding;
use super::stage::{SIZE, Stage};
use crate::execute::Mounted;

pub(super) fn snapshot(stage: &Stage<'_>) -> Result<Finding, String> {
    let subject = stage.make(SIZE)?;
    let Some(snapshot) = subject.upkeep(SIZE).snapshot else {
        return Ok(Finding::without_command());
    };
    let file = subject.path().join("file");
    let write = |text: &str| {
        fs::write(&file, text).map_err(|error| error.to_string())?;
        subject.sync();
        Ok::<_, String>(())
    };
    write("first")?;
    if let Err(error) = stage.programs.run(&snapshot.take) {
        return Ok(Finding::no(error.to_string()));
    }
    write("second, which is longer")?;
    let number = match &snapshot.number {
        None => String::new(),
        Some(command) => {
            let said = stage.programs.run(command).map_err(|error| error.to_string())?;
            let last = said.lines().last().unwrap_or_default();
            last.split_whitespace().next().unwrap_or_default().to_owned()
        }
    };
    let seen = match snapshot.shown {
        Shown::Below(directory) => fs::read_to_string(subject.path().join(directory).join("file")),
        Shown::Mounted(mut mount) => {
            for option in &mut mount.options {
                *option = option.replace('%', &number);
            }
            let place = Path::new("/run/snapshot");
            fs::create_dir_all(place).map_err(|error| error.to_string())?;
            let mounted = Mounted::mount(&mount, place).map_err(|error| error.to_string())?;
            let seen = fs::read_to_string(place.join("file"));
            mounted.unmount().map_err(|error| error.to_string())?;
            seen
        }
    };
    let now = fs::read_to_string(&file).map_err(|error| error.to_string())?;
    match seen {
        Err(error) => Ok(Finding::no(format!("the file is not in it: {error}"))),
        Ok(seen) => Ok(Finding::if_so(
            seen == "first" && now.starts_with("second"),
            "it does not have the first contents",
        )),
    }
}
