//! bcachefs: copy on write in B-trees of large nodes, checksums of everything. Linux 6.12 has
//! its module; Debian 12 has no package of its tools, without which it is refused.
//!
//! Programs have the names and options of bcachefs-tools 1.9, as its manual states them; none of
//! it was run, since there were no tools.

use units::Bytes;

use super::options::Options;
use super::vocabulary::{ATIME, BLOCK_SIZE, CHECKSUM, COMPRESSION, FSYNC, SYNC};
use super::{
    Change, Description, Filesystem, Mount, Plan, ReadAhead, Request, Upkeep, UpkeepRequest,
};
use crate::{Command, Contender, Durability, Refusal};

pub(super) struct Bcachefs;

static DESCRIPTION: Description = Description {
    name: "bcachefs",
    summary: "copy on write, checksums of everything; Debian 12 has no tools for it",
    kernel_type: "bcachefs",
    module: "bcachefs",
    package: Some("bcachefs-tools"),
    programs: &["bcachefs"],
    options: &[
        ATIME.here("when reading updates the access time"),
        SYNC.here("synchronous writing"),
        FSYNC.here("ignored: `journal_flush_disabled`"),
        BLOCK_SIZE.here("512 to 4K; default what the disk reports"),
        CHECKSUM.only("crc32c|xxhash|off", "default crc32c"),
        COMPRESSION.only("off|lz4|zlib|zstd", "default off; zlib: gzip"),
    ],
    presets: &[],
    varies: Some("keys and sequence numbers that format draws, and time stamps"),
    needs_device: true,
};

/// An estimate, since its tools were not available: its journal and its trees take whole buckets,
/// and on a smaller device they leave little room.
const DEVICE_MIN: Bytes = Bytes::from_mib(128);

impl Filesystem for Bcachefs {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn minimum_size(&self, contender: &Contender) -> Result<Bytes, Refusal> {
        Options::of(&DESCRIPTION, contender)?;
        Ok(DEVICE_MIN)
    }

    fn read_ahead(&self, _: &str) -> ReadAhead {
        ReadAhead::Own("it has its own setting, and the kernel does not say under which name")
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let options = Options::of(&DESCRIPTION, request.contender)?;
        options.no_journal_disk(request)?;
        let device = options.device(request, DEVICE_MIN)?;
        let mut args: Vec<String> = ["format", "--quiet", "--force"].map(str::to_owned).to_vec();
        args.push(format!("--uuid={}", request.uuid));
        if let Some(size) = options.power_of_two(&BLOCK_SIZE, 512, 4096)? {
            args.push(format!("--block_size={}", size.0));
        }
        if let Some(checksum) = options.text(&CHECKSUM) {
            let kind = if checksum == "off" { "none" } else { checksum };
            args.push(format!("--data_checksum={kind}"));
        }
        match options.text(&COMPRESSION) {
            None | Some("off") => {}
            Some("zlib") => args.push("--compression=gzip".to_owned()),
            Some(kind) => args.push(format!("--compression={kind}")),
        }
        args.extend(options.mkfs.iter().cloned());
        args.push(device.to_owned());

        let ignored = options.text(&FSYNC) == Some("ignored");
        let own = if ignored { vec!["journal_flush_disabled".to_owned()] } else { Vec::new() };
        let mount = options.mount(own);
        let durability = match ignored {
            true => Durability::None,
            false => options.durability(&mount),
        };
        Ok(Plan {
            make: vec![Command::new("bcachefs", args).destructive()],
            durability,
            mount: Mount {
                kernel_type: "bcachefs".to_owned(),
                source: device.to_owned(),
                options: mount,
            },
            settle: Vec::new(),
            attachment: None,
            check: vec![Command::new("bcachefs", ["fsck", "-n", device])],
            inspect: vec![Command::new("bcachefs", ["show-super", device])],
            served_by: "bcachefs.ko".to_owned(),
        })
    }

    fn upkeep(&self, request: &UpkeepRequest<'_>) -> Upkeep {
        let copy = format!("{}/{}", request.mount_point, request.snapshot);
        let resize = Command::new(
            "bcachefs",
            ["device", "resize", request.device, &request.size.0.to_string()],
        );
        let take =
            Command::new("bcachefs", ["subvolume", "snapshot", "-r", request.mount_point, &copy]);
        let remove = Command::new("bcachefs", ["subvolume", "delete", &copy]);
        Upkeep {
            grow_mounted: vec![Change::Run(resize)],
            snapshot: Some(super::Snapshot::below(take, request.snapshot, remove)),
            ..Upkeep::default()
        }
    }
}
