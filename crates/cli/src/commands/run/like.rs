//! `fstrial run --like RUN`: the question of a stored run asked again, somewhere else.

use runner::{Request, TestbedRequest};
use store::Store;

use super::request::{check_tree, contenders, testbed_request};
use crate::arguments::{Place, Run, TestbedName};
use crate::exit::{Exit, Failure};

/// The request of run `id`, with what the command line says of place, contenders, size and scale.
///
/// # Errors
/// When there is no such run, or its contenders are directories and none are named now.
pub(super) fn request(arguments: &Run, id: &str) -> Result<Request, Failure> {
    let place = &arguments.place;
    let path = arguments.store.path.clone().unwrap_or_else(Store::default_path);
    if !path.exists() {
        let message = format!("--like {id}: there is no store {} yet", path.display());
        return Err(Failure::new(Exit::Store, message));
    }
    let store = Store::open(&path).map_err(Failure::from(Exit::Store))?;
    let id = store.run_header(id).map_err(Failure::from(Exit::Store))?.id;
    let stored = store.request(&id).map_err(Failure::from(Exit::Store))?;
    let mut request: Request = serde_json::from_str(&stored).map_err(|error| {
        let message = format!("run {id} was asked for by another version of fstrial: {error}");
        Failure::new(Exit::Input, message)
    })?;
    let were_directories = !request.testbed.makes_filesystems();
    request.testbed = again(request.testbed, place)?;
    if let TestbedRequest::Dir { directories, .. } = &request.testbed {
        request.contenders = testbed::directory_contenders(directories)
            .map_err(|refusal| Failure::new(Exit::Refused, refusal.to_string()))?;
    } else if place.fs.is_some() || place.contenders.is_some() {
        request.contenders = contenders(place)?;
    } else if were_directories {
        let message = format!("run {id} compared directories: name filesystems with --fs");
        return Err(Failure::new(Exit::Usage, message));
    }
    request.size = place.size;
    request.scale = arguments.scale.unwrap_or(request.scale);
    request.repeats = arguments.repeats.unwrap_or(request.repeats);
    request.seed = arguments.seed.unwrap_or(request.seed);
    request.timeout = place.timeout.unwrap_or(request.timeout);
    request.verify |= arguments.verify;
    request.sequence |= arguments.sequence;
    if let Some(mail) = &arguments.mail {
        request.mail.clone_from(mail);
    }
    if let Some(tree) = &arguments.source_tree {
        check_tree(tree)?;
        request.source_tree.clone_from(tree);
    }
    // A single run again is no part of a study.
    request.study = None;
    Ok(request)
}

/// Where trials run now: where they ran, but for what the command line says of it.
fn again(ran: TestbedRequest, place: &Place) -> Result<TestbedRequest, Failure> {
    let elsewhere = place.testbed.is_some_and(|name| name != TestbedName::Lab)
        || !place.dir.is_empty()
        || !place.device.is_empty()
        || place.loop_dir.is_some();
    if !elsewhere && let TestbedRequest::Lab { name, profile, disk, changes, .. } = ran {
        let other_machine = place.profile.is_some();
        let (disk, mut changes) = match other_machine {
            true => (None, Default::default()),
            false => (disk, changes),
        };
        changes.extend(place.changes.iter().cloned());
        return Ok(TestbedRequest::Lab {
            name: place.lab.clone().or(name),
            profile: place.profile.clone().unwrap_or(profile),
            disk: place.disk.clone().or(disk),
            changes,
            // Logs of the run before stay as they are.
            request_log: place.request_log.clone(),
        });
    }
    let in_a_lab = place.testbed.is_some()
        || place.lab.is_some()
        || place.profile.is_some()
        || place.disk.is_some()
        || !place.changes.is_empty();
    if elsewhere || in_a_lab { testbed_request(place) } else { Ok(ran) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::{Arguments, Command};

    fn place(words: &str) -> Place {
        let all = ["fstrial", "run", "--like", "r1"].into_iter().chain(words.split_whitespace());
        match Arguments::try_parse_from(all).unwrap().command {
            Command::Run(run) => run.place,
            other => panic!("{other:?}"),
        }
    }

    fn lab(name: Option<&str>, profile: &str, disk: Option<&str>) -> TestbedRequest {
        TestbedRequest::Lab {
            name: name.map(str::to_owned),
            profile: profile.to_owned(),
            disk: disk.map(str::to_owned),
            changes: Default::default(),
            request_log: None,
        }
    }

    /// Each option changes what it names and nothing else.
    #[test]
    fn what_is_not_said_stays_as_it_was() {
        let ran = || lab(None, "scsi-2004", Some("ideal"));
        let now = |words| again(ran(), &place(words)).unwrap();
        assert_eq!(now(""), ran());
        assert_eq!(now("--lab mine"), lab(Some("mine"), "scsi-2004", Some("ideal")));
        assert_eq!(now("--profile server-ssd"), lab(None, "server-ssd", None), "with its own disk");
        assert_eq!(now("--disk samsung-pm883"), lab(None, "scsi-2004", Some("samsung-pm883")));
        let slower = now("--set disk.options.slower=5%");
        let TestbedRequest::Lab { changes, profile, .. } = slower else { panic!("{slower:?}") };
        assert_eq!((profile.as_str(), changes.len()), ("scsi-2004", 1));
        assert!(matches!(now("--dir ."), TestbedRequest::Dir { .. }));
    }

    #[test]
    fn a_run_of_a_directory_goes_into_the_lab_where_one_is_named() {
        let dir = || TestbedRequest::Dir {
            directories: vec![".".into()],
            names: Vec::new(),
            drop_caches: false,
        };
        assert_eq!(again(dir(), &place("")).unwrap(), dir());
        let there = again(dir(), &place("--lab mine")).unwrap();
        assert_eq!(there, lab(Some("mine"), "server-ssd", None));
    }
}
