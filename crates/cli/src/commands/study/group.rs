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
    /// The options that chose its machine; empty for the default one.
    pub(super) machine: String,
}

impl Group {
    /// Refuses to add to an execution what would run on another machine than the rest of it.
    ///
    /// # Errors
    /// If its machine was chosen by options that are not given again.
    pub(super) fn refuse_other_machine(&self, given: &str) -> Result<(), Failure> {
        if self.machine.is_empty() || self.machine == given {
            return Ok(());
        }
        let message = format!(
            "this study was run with {}, and what --scale adds is judged together with that: give \
             {} again",
            self.machine, self.machine
        );
        Err(Failure::new(Exit::Usage, message))
    }
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
        let tag = request.and_then(|it| it.study);
        Ok(tag.map(|tag| Group { study: tag.study, key: tag.group, machine: tag.machine }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_goes_on_on_its_own_machine() {
        let group = |machine: &str| Group {
            study: "maildir-2004".to_owned(),
            key: "1".to_owned(),
            machine: machine.to_owned(),
        };
        assert!(group("--lab reiser4").refuse_other_machine("--lab reiser4").is_ok());
        assert!(group("").refuse_other_machine("").is_ok());
        for given in ["", "--lab other"] {
            let Err(refused) = group("--lab reiser4").refuse_other_machine(given) else {
                panic!("another lab: `{given}`");
            };
            let said = refused.message;
            assert!(said.contains("--lab reiser4 again"), "{said}");
        }
    }
}
