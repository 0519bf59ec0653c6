//! ext4. First cut: defaults only.

use units::Bytes;

use super::{Description, Filesystem, Mount, Plan, Request, Settle};
use crate::{Command, Contender, Durability, Refusal};

/// See the module's own words.
pub(super) struct Ext4;

static DESCRIPTION: Description = Description {
    name: "ext4",
    summary: "extents, journal, delayed allocation; the default of most distributions",
    kernel_type: "ext4",
    module: "ext4",
    package: Some("e2fsprogs"),
    programs: &["mke2fs", "e2fsck", "dumpe2fs"],
    options: &[],
    presets: &[],
    needs_device: true,
};

impl Filesystem for Ext4 {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn minimum_size(&self, _: &Contender) -> Result<Bytes, Refusal> {
        Ok(Bytes::from_mib(2))
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let Some(data) = request.data.as_deref().and_then(|path| path.to_str()) else {
            return Err(Refusal::new("ext4", "it needs a block device"));
        };
        let extended = format!("nodiscard,hash_seed={}", request.hash_seed);
        let make = ["-q", "-F", "-t", "ext4", "-U", &request.uuid, "-E", &extended, data];
        Ok(Plan {
            make: vec![Command::new("mke2fs", make).destructive()],
            mount: Mount {
                kernel_type: "ext4".to_owned(),
                source: data.to_owned(),
                options: vec!["noatime".to_owned()],
            },
            settle: vec![Settle::KernelThreadGone("ext4lazyinit".to_owned())],
            check: Some(Command::new("e2fsck", ["-fn", data])),
            inspect: vec![Command::new("dumpe2fs", ["-h", data])],
            durability: Durability::Full,
            served_by: "ext4.ko".to_owned(),
        })
    }
}
