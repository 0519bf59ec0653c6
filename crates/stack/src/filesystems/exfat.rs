//! exFAT: the format of memory cards. No journal, no permissions.

use units::Bytes;

use super::options::Options;
use super::vocabulary::{ATIME, BLOCK_SIZE, SYNC};
use super::{Description, Filesystem, Mount, Plan, Request, serial_digits};
use crate::{Command, Contender, Refusal};

pub(super) struct Exfat;

static DESCRIPTION: Description = Description {
    name: "exfat",
    summary: "the format of memory cards; no journal, no permissions",
    kernel_type: "exfat",
    module: "exfat",
    package: Some("exfatprogs"),
    programs: &["mkfs.exfat", "tune.exfat", "fsck.exfat", "dump.exfat"],
    options: &[
        ATIME.here("when reading updates the access time"),
        SYNC.here("synchronous writing"),
        BLOCK_SIZE.here("size of a cluster, 512 to 32M; default by device size"),
    ],
    presets: &[],
    varies: None,
    needs_device: true,
};

/// FAT and clusters each begin at a multiple of 1 MiB.
const DEVICE_MIN: Bytes = Bytes::from_mib(3);

fn cluster(options: &Options<'_>) -> Result<Option<Bytes>, Refusal> {
    options.power_of_two(&BLOCK_SIZE, 512, 32 << 20)
}

fn minimum(options: &Options<'_>) -> Result<Bytes, Refusal> {
    // Bitmap, upper-case table and root take a cluster each; as many are left for files.
    let clusters = cluster(options)?.map_or(0, |cluster| cluster.0 * 8);
    Ok((DEVICE_MIN + Bytes(clusters)).round_up(64 << 10))
}

impl Filesystem for Exfat {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn minimum_size(&self, contender: &Contender) -> Result<Bytes, Refusal> {
        minimum(&Options::of(&DESCRIPTION, contender)?)
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let options = Options::of(&DESCRIPTION, request.contender)?;
        options.no_journal_disk(request)?;
        let device = options.device(request, minimum(&options)?)?;

        let mut args = Vec::new();
        if let Some(size) = cluster(&options)? {
            args.extend(["-c".to_owned(), size.0.to_string()]);
        }
        args.extend(options.mkfs.iter().cloned());
        args.push(device.to_owned());
        let serial = format!("0x{}", serial_digits(&request.uuid, 8));
        let mount = options.mount(Vec::new());
        Ok(Plan {
            make: vec![
                Command::new("mkfs.exfat", args).destructive(),
                Command::new("tune.exfat", ["-I", &serial, device]).destructive(),
                // Run here, for the record: it cannot open the device once it is mounted.
                Command::new("dump.exfat", [device]),
            ],
            durability: options.durability(&mount),
            mount: Mount {
                kernel_type: "exfat".to_owned(),
                source: device.to_owned(),
                options: mount,
            },
            settle: Vec::new(),
            check: vec![Command::new("fsck.exfat", ["-n", device])],
            inspect: Vec::new(),
            attachment: None,
            served_by: "exfat.ko".to_owned(),
        })
    }
}
