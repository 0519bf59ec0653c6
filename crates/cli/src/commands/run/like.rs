//! `fstrial run --like RUN`: the question of a stored run asked again, somewhere else.

use report::Place;
use runner::{Prepared, Request};
use store::Store;

use super::request::{check_tree, contenders};
use crate::arguments::Run;
use crate::exit::{Exit, Failure};
use crate::output::say;
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
    let scale = arguments.scale.unwrap_or(request.scale);
    // Filesystems as large as before at the least: how full they are matters.
    if scale == request.scale {
        request.least_size = request.size.or(request.least_size);
    }
    request.size = place.size;
    request.scale = scale;
    // Each trial of a run that decided how many it made gets its counterpart.
    let made = store.run_header(id).map_or(request.repeats, |header| header.repeats);
    request.repeats = arguments.repeats.unwrap_or(made);
    request.until = None;
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

/// Says before it begins in what a run is not like the one that it repeats, where that would keep
/// `compare` from comparing the two.
pub(super) fn tell_of_differences(store: &Store, id: &str, prepared: &Prepared) {
    let Ok(header) = store.run_header(id) else { return };
    let environment = prepared.environment();
    let before =
        Place { testbed: &header.testbed, environment: &header.environment, scale: header.scale };
    let after = Place {
        testbed: prepared.testbed.name(),
        environment: &environment,
        scale: prepared.request.scale,
    };
    for difference in report::places(before, after).iter().filter(|it| it.refuses()) {
        let id = &header.id;
        say!("note: not like {id}, and not comparable with it: {}", difference.words());
    }
}
