//! tmpfs: no device, no mkfs. The null member of the table and the template for a driver.

use units::Bytes;

use super::options::Options;
use super::vocabulary::{ATIME, SYNC};
use super::{Change, Description, Filesystem, Mount, Plan, Request, Upkeep, UpkeepRequest};
use crate::{Contender, Refusal};

pub(super) struct Tmpfs;

static DESCRIPTION: Description = Description {
    name: "tmpfs",
    summary: "memory: the overhead of the VFS and of fstrial itself",
    kernel_type: "tmpfs",
    module: "built in",
    package: None,
    programs: &[],
    options: &[
        ATIME.here("when reading updates the access time"),
        SYNC.here("accepted, without effect"),
    ],
    presets: &[],
    varies: None,
    needs_device: false,
};

impl Filesystem for Tmpfs {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn minimum_size(&self, contender: &Contender) -> Result<Bytes, Refusal> {
        Options::of(&DESCRIPTION, contender)?;
        Ok(Bytes::from_kib(64))
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let options = Options::of(&DESCRIPTION, request.contender)?;
        if let Some(argument) = options.mkfs.first() {
            let what = format!("tmpfs: mkfs={argument}");
            return Err(Refusal::new(what, "tmpfs has no mkfs").with_next("use mount="));
        }
        // Inodes without limit, and no reserve of them to run out.
        let own = vec![format!("size={}", request.size.0), "nr_inodes=0".to_owned()];
        let mount = options.mount(own);
        Ok(Plan {
            make: Vec::new(),
            durability: options.durability(&mount),
            mount: Mount {
                kernel_type: "tmpfs".to_owned(),
                source: "fstrial".to_owned(),
                options: mount,
            },
            settle: Vec::new(),
            check: Vec::new(),
            inspect: Vec::new(),
            attachment: None,
            served_by: "tmpfs, built in".to_owned(),
        })
    }

    fn upkeep(&self, request: &UpkeepRequest<'_>) -> Upkeep {
        let resize = vec![Change::Remount(format!("size={}", request.size.0))];
        Upkeep { grow_mounted: resize.clone(), shrink_mounted: resize, ..Upkeep::default() }
    }
}
