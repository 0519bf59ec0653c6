//! tmpfs: no device, no mkfs. The null member of the table and the template for a driver.

use units::Bytes;

use super::{Description, Filesystem, Mount, Plan, Request};
use crate::{Contender, Durability, Refusal};

/// See the module's own words.
pub(super) struct Tmpfs;

static DESCRIPTION: Description = Description {
    name: "tmpfs",
    summary: "memory: what the VFS and fstrial themselves cost",
    kernel_type: "tmpfs",
    module: "built in",
    package: None,
    programs: &[],
    options: &[],
    presets: &[],
    needs_device: false,
};

impl Filesystem for Tmpfs {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn minimum_size(&self, _: &Contender) -> Result<Bytes, Refusal> {
        Ok(Bytes::from_kib(64))
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let mut options = vec![format!("size={}", request.size.0), "nr_inodes=0".to_owned()];
        options.extend(request.contender.mount.iter().cloned());
        Ok(Plan {
            make: Vec::new(),
            mount: Mount { kernel_type: "tmpfs".to_owned(), source: "fstrial".to_owned(), options },
            settle: Vec::new(),
            check: None,
            inspect: Vec::new(),
            durability: Durability::None,
            served_by: "tmpfs, built in".to_owned(),
        })
    }
}
