//! NILFS2: a log-structured filesystem with continuous snapshots.
//!
//! Its cleaner is a user-space program that mount(8) starts through a helper. fstrial mounts
//! without it, so that nothing runs in the background of a measurement. A trial that writes more
//! than the device holds therefore runs out of space.

use units::Bytes;

use super::aliases::{Alias, is, mount};
use super::options::Options;
use super::vocabulary::{ATIME, BARRIER, BLOCK_SIZE, SYNC};
use super::{
    Description, Filesystem, Mount, Plan, Request, Shown, Snapshot, Upkeep, UpkeepRequest, upkeep,
};
use crate::{Command, Contender, Refusal};

pub(super) struct Nilfs2;

static DESCRIPTION: Description = Description {
    name: "nilfs2",
    summary: "log-structured with continuous snapshots; measured without its cleaner",
    kernel_type: "nilfs2",
    module: "nilfs2",
    package: Some("nilfs-tools"),
    programs: &["mkfs.nilfs2", "nilfs-tune"],
    options: &[
        ATIME.here("when reading updates the access time"),
        SYNC.here("synchronous writing"),
        BARRIER.here("default on"),
        BLOCK_SIZE.here("1K to 4K; default 4K"),
    ],
    presets: &[],
    varies: Some("time stamps and the seed of its checksums, which mkfs.nilfs2 draws itself"),
    needs_device: true,
};

fn block(options: &Options<'_>) -> Result<Bytes, Refusal> {
    Ok(options.power_of_two(&BLOCK_SIZE, 1024, 4096)?.unwrap_or(Bytes::from_kib(4)))
}

/// Sixteen segments of 2048 blocks, and room for the second superblock, which lies at a
/// multiple of 4 KiB before the end.
fn minimum(block: Bytes) -> Bytes {
    block * (16 * 2048) + Bytes::from_kib(64)
}

static ALIASES: &[Alias] =
    &[is("nobarrier", &[("barrier", "off")]), is("barrier", &[("barrier", "on")]), mount("order=")];

impl Filesystem for Nilfs2 {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn aliases(&self) -> &'static [Alias] {
        ALIASES
    }

    fn minimum_size(&self, contender: &Contender) -> Result<Bytes, Refusal> {
        let options = Options::of(&DESCRIPTION, contender)?;
        Ok(minimum(block(&options)?))
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let options = Options::of(&DESCRIPTION, request.contender)?;
        options.no_journal_disk(request)?;
        let block = block(&options)?;
        let device = options.device(request, minimum(block))?;

        let size = block.0.to_string();
        let mut args: Vec<String> = ["-q", "-f", "-K", "-b", &size].map(str::to_owned).to_vec();
        args.extend(options.mkfs.iter().cloned());
        args.push(device.to_owned());
        let mut own = Vec::new();
        match options.switch(&BARRIER) {
            Some(true) => own.push("barrier".to_owned()),
            Some(false) => own.push("nobarrier".to_owned()),
            None => {}
        }
        let mount = options.mount(own);
        Ok(Plan {
            make: vec![
                Command::new("mkfs.nilfs2", args).destructive(),
                Command::new("nilfs-tune", ["-f", "-U", &request.uuid, device]).destructive(),
            ],
            durability: options.durability(&mount),
            mount: Mount {
                kernel_type: "nilfs2".to_owned(),
                source: device.to_owned(),
                options: mount,
            },
            settle: Vec::new(),
            // There is no checker. Reading the superblock at least shows that it is still there.
            check: vec![Command::new("nilfs-tune", ["-l", device])],
            inspect: vec![Command::new("nilfs-tune", ["-l", device])],
            attachment: None,
            served_by: "nilfs2.ko".to_owned(),
        })
    }

    fn upkeep(&self, request: &UpkeepRequest<'_>) -> Upkeep {
        let size = request.size.0.to_string();
        let resize = upkeep::run("nilfs-resize", &["-y", request.device, &size]);
        let mut mount = request.plan.mount.clone();
        mount.options.extend(["ro".to_owned(), "cp=%".to_owned()]);
        Upkeep {
            grow_mounted: resize.clone(),
            shrink_mounted: resize,
            snapshot: Some(Snapshot {
                take: Command::new("mkcp", ["-s", request.device]),
                number: Some(Command::new("lscp", ["-s", request.device])),
                shown: Shown::Mounted(mount),
                remove: None,
                freed: None,
            }),
            ..Upkeep::default()
        }
    }

    fn upkeep_programs(&self) -> &'static [&'static str] {
        &["nilfs-resize", "mkcp", "lscp"]
    }
}
