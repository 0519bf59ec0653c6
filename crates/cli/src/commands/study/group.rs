//! Runs of the store that belong to one execution of a study.

use runner::{Request, TestbedRequest};
use store::Store;

use crate::exit::{Exit, Failure};
use crate::testbeds;

/// An execution of a study.
pub(super) struct Group {
    /// The study as it was named.
    pub(super) study: String,
    /// What its runs have in common.
    pub(super) key: String,
    /// Where that run took place.
    pub(super) testbed: TestbedRequest,
}

impl Group {
    /// Refuses to add what would run on another testbed or in another lab than the rest.
    ///
    /// # Errors
    /// If it would, or if the request is of another version of fstrial.
    pub(super) fn refuse_elsewhere(&self, asked: &TestbedRequest) -> Result<(), Failure> {
        let (own, other) = (testbeds::read(&self.testbed)?, testbeds::read(asked)?);
        if self.testbed.name == asked.name && own.lab() == other.lab() {
            return Ok(());
        }
        let (place, option) = match own.lab() {
            Some(lab) => (format!("in the lab `{lab}`"), format!("--lab {lab}")),
            None => {
                let name = &self.testbed.name;
                (format!("on testbed {name}"), format!("--testbed {name}"))
            }
        };
        let message = format!(
            "this study was run {place}, and what --scale adds is judged together with it: give \
             {option}"
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
        let group = |it: Request| {
            let tag = it.study?;
            Some(Group { study: tag.study, key: tag.group, testbed: it.testbed })
        };
        Ok(request.and_then(group))
    };
    if id != "latest" {
        let found = tag_of(id)?;
        return found.ok_or_else(|| {
            let message = format!("run {id} belongs to no study; `fstrial report {id}` shows it");
            Failure::new(Exit::Usage, message)
        });
    }
    for (id, request) in store.unchecked_requests().map_err(Failure::from(Exit::Store))? {
        // One that cannot be read may be of the study that was run last.
        let is_other = serde_json::from_str::<Request>(&request).is_ok_and(|it| it.study.is_none());
        if !is_other && let Some(found) = tag_of(&id)? {
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
    fn a_study_goes_on_where_it_began() {
        let lab = |name: &str| {
            let settings = serde_json::json!({"disk": null, "name": name, "profile": "scsi-2004"});
            TestbedRequest::new("lab", &settings).unwrap()
        };
        let group = |testbed: &TestbedRequest| Group {
            study: "maildir-2004".to_owned(),
            key: "1".to_owned(),
            testbed: testbed.clone(),
        };
        let loops = serde_json::json!({"devices": [], "destroy": [], "loop_directory": "/var/tmp"});
        let device = TestbedRequest::new("device", &loops).unwrap();
        let (usual, reiser4) = (lab("default"), lab("reiser4"));
        for (own, asked, option) in [
            (&usual, &usual, None),
            (&reiser4, &reiser4, None),
            (&device, &device, None),
            (&reiser4, &usual, Some("--lab reiser4")),
            (&usual, &reiser4, Some("--lab default")),
            (&usual, &device, Some("--lab default")),
            (&device, &usual, Some("--testbed device")),
        ] {
            let refused = group(own).refuse_elsewhere(asked).err().map(|refused| refused.message);
            assert_eq!(refused.is_some(), option.is_some(), "{refused:?}");
            let said = refused.unwrap_or_default();
            assert!(said.ends_with(option.unwrap_or_default()), "{said}");
        }
    }
}
