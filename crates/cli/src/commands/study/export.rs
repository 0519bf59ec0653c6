//! `fstrial study export`: the results of a study in a store of their own, to be given away.

use std::path::Path;

use serde_json::Value;
use store::{Environment, Store};

use super::group;
use crate::arguments::StudyExport;
use crate::exit::{Ended, Exit, Failure};
use crate::files::{open_store, write_whole};
use crate::output::print;

/// Copies the runs of a study, redacted.
pub(super) fn export(arguments: &StudyExport) -> Ended {
    let file = &arguments.file;
    if file.exists() {
        let message = format!("{} is there already; name a new file", file.display());
        return Err(Failure::new(Exit::Usage, message));
    }
    let path = arguments.store.path.clone().unwrap_or_else(Store::default_path);
    let store = open_store(&path)?;
    let found = group::find(&store, &arguments.run)?;
    let mut copy = Store::in_memory().map_err(Failure::from(Exit::Store))?;
    let trials = report::counted(copy_runs(&store, &found.key, &mut copy)?, "trial");
    let bytes = copy.to_bytes().map_err(Failure::from(Exit::Store))?;
    let written = match file.extension().is_some_and(|end| end == "xz") {
        true => store::compress(&bytes).and_then(|bytes| write_whole(file, &bytes)),
        false => write_whole(file, &bytes),
    };
    written.map_err(|error| Failure::new(Exit::Output, format!("{}: {error}", file.display())))?;
    print(&format!("{}: {trials} of {}\n", file.display(), name_of(&found.study)))?;
    Ok(Exit::Done)
}

/// Copies every run of one execution; returns how many trials they have.
fn copy_runs(from: &Store, key: &str, to: &mut Store) -> Result<usize, Failure> {
    let mut trials = 0;
    for part in study::stored_runs(from, key)? {
        let mut run = report::redacted(&part.run);
        if run.header.is_simulated() {
            forget_host(&mut run.header.environment);
        }
        let request = from.request(&run.header.id).map_err(Failure::from(Exit::Store))?;
        to.copy_run(&run, &without_paths(&request)).map_err(Failure::from(Exit::Store))?;
        trials += run.trials.len();
    }
    Ok(trials)
}

/// Of a simulated machine's figures nothing is the host's: only what describes the lab and the
/// inputs is kept.
fn forget_host(environment: &mut Environment) {
    let inputs = ["architecture", "source_tree"];
    environment.0.retain(|key, _| key.starts_with("lab_") || inputs.contains(&key.as_str()));
}

/// What was asked for, without directories of this machine. A study of the user's own is looked for
/// beside whoever reads it.
fn without_paths(request: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(request) else { return "null".to_owned() };
    if let Some(Value::String(study)) = value.pointer_mut("/study/study") {
        *study = name_of(study);
    }
    scrub(&mut value);
    value.to_string()
}

/// `./my-study` for a study in a folder, and the name of one that is shipped.
fn name_of(study: &str) -> String {
    match Path::new(study).file_name() {
        Some(name) if study.contains('/') => format!("./{}", name.to_string_lossy()),
        _ => study.to_owned(),
    }
}

fn scrub(value: &mut Value) {
    match value {
        Value::String(text) if Path::new(text).is_absolute() => "[path]".clone_into(text),
        Value::Array(values) => values.iter_mut().for_each(scrub),
        Value::Object(values) => values.values_mut().for_each(scrub),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_kept_without_its_directories() {
        let asked = r#"{"study":{"study":"/home/anna/own","group":"1"},"mail":"/home/anna/Mail",
            "testbed":{"profile":"/home/anna/p.toml","disk":null},"contenders":["xfs/int"]}"#;
        let kept: Value = serde_json::from_str(&without_paths(asked)).unwrap();
        let expected = serde_json::json!({
            "study": {"study": "./own", "group": "1"}, "mail": "[path]",
            "testbed": {"profile": "[path]", "disk": null}, "contenders": ["xfs/int"],
        });
        assert_eq!(kept, expected);
        assert_eq!(name_of("zfs-2007"), "zfs-2007");
    }

    #[test]
    fn nothing_of_the_host_of_a_simulated_machine_is_kept() {
        let facts =
            [("lab_disk", "x"), ("kernel", "6.1"), ("hostname", "h"), ("architecture", "a")];
        let facts = facts.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut environment = Environment(facts.into());
        forget_host(&mut environment);
        assert_eq!(environment.0.into_keys().collect::<Vec<_>>(), ["architecture", "lab_disk"]);
    }
}
