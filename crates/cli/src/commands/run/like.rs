//! `fstrial run --like RUN`: the question of a stored run asked again, somewhere else.

use runner::Request;
use store::Store;

use super::request::{check_tree, contenders};
use crate::arguments::Run;
use crate::exit::{Exit, Failure};
use crate::testbeds;

/// The request of run `id`, with what the command line says of place, contenders, size and scale.
///
/// # Errors
/// When there is no such run, or its contenders are directories and none are named now.
pub(super) fn request(arguments: &Run, id: &str) -> Result<Request, Failure> {
    let place = &arguments.place;
    let path = arguments.store.path.clone().unwrap_or_else(Store::default_path);
    let store = crate::files::open_store(&path)?;
    // Also of a run whose trials are damaged: that is how it is measured again.
    let stored = store.request(id).map_err(Failure::from(Exit::Store))?;
    let other_version = |error: &dyn std::fmt::Display| {
        let message = format!("run {id} is of another version of fstrial, make a new one: {error}");
        Failure::new(Exit::Input, message)
    };
    let mut request: Request =
        serde_json::from_str(&stored).map_err(|error| other_version(&error))?;
    testbeds::read(&request.testbed).map_err(|failure| other_version(&failure.message))?;
    let were_directories = !testbeds::describe(&request.testbed)?.makes_filesystems;
    request.testbed = testbeds::again(request.testbed, &place.testbed.0)?;
    if let Some(contenders) = testbeds::read(&request.testbed)?.contenders()? {
        request.contenders = contenders;
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
