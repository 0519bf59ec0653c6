//! One disk, and nothing between it and the filesystem.

use super::{Description, JOURNAL, Layout, Parameter, Plan, Request, Role, roles, split};
use crate::{LayoutChoice, Refusal};

pub(super) struct Single;

static PARAMETERS: &[&Parameter] = &[&JOURNAL];

static DESCRIPTION: Description = Description {
    name: "single",
    summary: "one disk, used whole",
    package: None,
    programs: &[],
    modules: &[],
    faster_with: &[],
    parameters: PARAMETERS,
    filesystems: None,
};

impl Layout for Single {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn disks(&self, choice: &LayoutChoice) -> Result<Vec<Role>, Refusal> {
        choice.check(PARAMETERS)?;
        Ok(roles(choice, 1))
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let (data, journal) = split(self, request)?;
        Ok(Plan::of(data[0].clone(), journal))
    }
}
