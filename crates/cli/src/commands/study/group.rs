//! Runs of the store that belong to one execution of a study.

use runner::Request;
use store::Store;

use crate::exit::{Exit, Failure};

/// An execution of a study.
pub(super) struct Group {
    /// The study as it was named.
    pub(super) study: String,
    /// What its runs have in common.
    pub(super) key: String,
}

/// A key that no other execution has: the time to the nanosecond, and the process.
pub(super) fn new_key() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("{:x}-{:x}", now.unwrap_or_default().as_nanos(), std::process::id())
}

/// The execution that a run belongs to: any of its runs, or the latest there is.
pub(super) fn find(store: &Store, id: &str) -> Result<Group, Failure> {
    let tag_of = |id: &str| -> Result<Option<Group>, Failure> {
        let json = store.request(id).map_err(Failure::from(Exit::Store))?;
        let request = serde_json::from_str::<Request>(&json).ok();
        Ok(request.and_then(|it| it.study).map(|tag| Group { study: tag.study, key: tag.group }))
    };
    if id != "latest" {
        let found = tag_of(id)?;
        return found.ok_or_else(|| {
            let message = format!("run {id} belongs to no study; `fstrial report {id}` shows it");
            Failure::new(Exit::Usage, message)
        });
    }
    for header in store.runs().map_err(Failure::from(Exit::Store))? {
        if let Some(found) = tag_of(&header.id)? {
            return Ok(found);
        }
    }
    let message = "no study was run yet; `fstrial study list` shows what there is";
    Err(Failure::new(Exit::Usage, message))
}
