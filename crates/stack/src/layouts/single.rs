//! One disk, and nothing between it and the filesystem.

use std::path::PathBuf;

use super::{Description, Layout, Plan, Role};
use crate::{LayoutChoice, Refusal};

/// See the module's own words.
pub(super) struct Single;

static DESCRIPTION: Description = Description { name: "single", summary: "one disk, used whole" };

impl Layout for Single {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn disks(&self, _: &LayoutChoice) -> Result<Vec<Role>, Refusal> {
        Ok(vec![Role::Data])
    }

    fn plan(&self, _: &LayoutChoice, disks: &[PathBuf]) -> Result<Plan, Refusal> {
        let [data] = disks else {
            let rule = format!("it takes one disk, not {}", disks.len());
            return Err(Refusal::new("layout single", rule));
        };
        Ok(Plan {
            assemble: Vec::new(),
            data: data.clone(),
            journal: None,
            dismantle: Vec::new(),
            inspect: Vec::new(),
        })
    }
}
