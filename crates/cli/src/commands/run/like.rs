//! `fstrial run --like RUN`: the question of a stored run asked again, somewhere else.

use runner::{Request, TestbedRequest};
use store::Store;

use super::request::{contenders, testbed_request};
use crate::arguments::{DEFAULT_PROFILE, Place, Run};
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
    if names_a_place(place) {
        request.testbed = testbed_request(place)?;
    }
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
    // A single run again is no part of a study.
    request.study = None;
    Ok(request)
}

/// Whether the command line says where trials run; else they run where they ran.
fn names_a_place(place: &Place) -> bool {
    place.testbed.is_some()
        || !place.dir.is_empty()
        || !place.device.is_empty()
        || place.loop_dir.is_some()
        || place.profile != DEFAULT_PROFILE
        || place.disk.is_some()
        || !place.changes.is_empty()
}
