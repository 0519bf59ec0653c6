//! F2FS: a log-structured filesystem for flash, with hot and cold data apart.

use units::Bytes;

use super::aliases::{Alias, is, leveled, mount};
use super::options::Options;
use super::vocabulary::{
    ATIME, BARRIER, COMPRESSION, COMPRESSION_LEVEL, INLINE_DATA, METADATA_CHECKSUM, SYNC,
};
use super::{Description, Filesystem, Mount, Plan, Request, Upkeep, UpkeepRequest, upkeep};
use crate::{Command, Contender, Refusal};

pub(super) struct F2fs;

static DESCRIPTION: Description = Description {
    name: "f2fs",
    summary: "log-structured, made for flash",
    kernel_type: "f2fs",
    module: "f2fs",
    package: Some("f2fs-tools"),
    programs: &["mkfs.f2fs", "fsck.f2fs", "dump.f2fs"],
    options: &[
        ATIME.here("when reading updates the access time"),
        SYNC.here("synchronous writing"),
        BARRIER.here("default on"),
        INLINE_DATA.here("default on"),
        METADATA_CHECKSUM.here("default off; on: of inodes and the superblock"),
        COMPRESSION.only("off|lzo|lz4|zstd", "default off; of every file"),
        COMPRESSION_LEVEL.here("lz4 3 to 12, zstd 1 to 22"),
    ],
    presets: &[],
    varies: None,
    needs_device: true,
};

/// What mkfs.f2fs 1.15 takes at least.
const DEVICE_MIN: Bytes = Bytes::from_mib(52);
/// A fixed creation time that does not depend on the clock, the first of 2020.
const MADE_AT: &str = "1577836800";

fn compression(options: &Options<'_>) -> Result<Vec<String>, Refusal> {
    let level = options.number(&COMPRESSION_LEVEL);
    let algorithm = match options.text(&COMPRESSION) {
        None | Some("off") if level.is_some() => {
            return Err(options.refuse(&COMPRESSION_LEVEL, "it needs compression beside it"));
        }
        None | Some("off") => return Ok(Vec::new()),
        Some(algorithm) => algorithm,
    };
    let level = match algorithm {
        "zstd" => options.number_within(&COMPRESSION_LEVEL, 1, 22)?,
        "lz4" => options.number_within(&COMPRESSION_LEVEL, 3, 12)?,
        _ if level.is_some() => {
            return Err(options.refuse(&COMPRESSION_LEVEL, "lzo has no levels"));
        }
        _ => None,
    };
    let level = level.map(|level| format!(":{level}")).unwrap_or_default();
    Ok(vec![format!("compress_algorithm={algorithm}{level}"), "compress_extension=*".to_owned()])
}

static ALIASES: &[Alias] = &[
    is("nobarrier", &[("barrier", "off")]),
    is("barrier", &[("barrier", "on")]),
    is("inline_data", &[("inline_data", "on")]),
    is("noinline_data", &[("inline_data", "off")]),
    leveled("compress_algorithm=", "compression", "compression_level"),
    mount("active_logs="),
    mount("alloc_mode="),
    mount("atgc"),
    mount("background_gc="),
    mount("checkpoint_merge"),
    mount("fsync_mode="),
    mount("inline_dentry"),
    mount("mode="),
    mount("noextent_cache"),
    mount("whint_mode="),
];

impl Filesystem for F2fs {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn aliases(&self) -> &'static [Alias] {
        ALIASES
    }

    fn minimum_size(&self, contender: &Contender) -> Result<Bytes, Refusal> {
        Options::of(&DESCRIPTION, contender)?;
        Ok(DEVICE_MIN)
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let options = Options::of(&DESCRIPTION, request.contender)?;
        options.no_journal_disk(request)?;
        let device = options.device(request, DEVICE_MIN)?;

        // -t 0: no discard. -r: the checkpoint's first version is not random.
        let mut args: Vec<String> =
            ["-q", "-f", "-t", "0", "-r", "-T", MADE_AT, "-U", &request.uuid]
                .map(str::to_owned)
                .to_vec();
        let compression = compression(&options)?;
        let checksums = options.switch(&METADATA_CHECKSUM) == Some(true);
        let mut features = Vec::new();
        if checksums || !compression.is_empty() {
            // Both need the longer inode.
            features.push("extra_attr");
        }
        if !compression.is_empty() {
            features.push("compression");
        }
        if checksums {
            features.extend(["inode_checksum", "sb_checksum"]);
        }
        if !features.is_empty() {
            args.extend(["-O".to_owned(), features.join(",")]);
        }
        args.extend(options.mkfs.iter().cloned());
        args.push(device.to_owned());

        let mut own = Vec::new();
        match options.switch(&BARRIER) {
            Some(true) => own.push("barrier".to_owned()),
            Some(false) => own.push("nobarrier".to_owned()),
            None => {}
        }
        match options.switch(&INLINE_DATA) {
            Some(true) => own.push("inline_data".to_owned()),
            Some(false) => own.push("noinline_data".to_owned()),
            None => {}
        }
        own.extend(compression);
        let mount = options.mount(own);
        Ok(Plan {
            make: vec![Command::new("mkfs.f2fs", args).destructive()],
            durability: options.durability(&mount),
            mount: Mount {
                kernel_type: "f2fs".to_owned(),
                source: device.to_owned(),
                options: mount,
            },
            settle: Vec::new(),
            check: vec![Command::new("fsck.f2fs", ["--dry-run", "-f", device])],
            inspect: vec![Command::new("dump.f2fs", [device])],
            attachment: None,
            served_by: "f2fs.ko".to_owned(),
        })
    }

    fn features(&self, inspected: &[(String, String)]) -> Vec<String> {
        let dumps = inspected.iter().filter(|(command, _)| command.starts_with("dump.f2fs"));
        let mut lines = dumps.flat_map(|(_, output)| output.lines());
        // `Info: superblock features = 2808 :  extra_attr inode_checksum`
        lines
            .find_map(|line| {
                line.trim().strip_prefix("Info: superblock features =")?.split_once(':')
            })
            .map(|(_, flags)| flags.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default()
    }

    fn upkeep(&self, request: &UpkeepRequest<'_>) -> Upkeep {
        let sectors = (request.size.0 / 512).to_string();
        Upkeep {
            resize_unmounted: upkeep::run("resize.f2fs", &["-s", "-t", &sectors, request.device]),
            ..Upkeep::default()
        }
    }

    fn upkeep_programs(&self) -> &'static [&'static str] {
        &["resize.f2fs"]
    }
}
