//! btrfs: copy on write, checksums, snapshots, several devices in one filesystem.

use units::Bytes;

use super::aliases::{Alias, is, leveled, mount, value};
use super::options::Options;
use super::vocabulary::{
    ATIME, BARRIER, CHECKSUM, COMMIT_INTERVAL, COMPRESSION, COMPRESSION_LEVEL, COPY_ON_WRITE,
    METADATA_COPIES, NODE_SIZE, SYNC,
};
use super::{
    Description, Filesystem, Mount, Plan, Preset, ReadAhead, Repair, Request, Snapshot, Upkeep,
    UpkeepRequest, upkeep,
};
use crate::{Command, Contender, Refusal};

pub(super) struct Btrfs;

static DESCRIPTION: Description = Description {
    name: "btrfs",
    summary: "copy on write, checksums of all content, snapshots",
    kernel_type: "btrfs",
    module: "btrfs",
    package: Some("btrfs-progs"),
    programs: &["mkfs.btrfs", "btrfs", "wipefs"],
    options: &[
        ATIME.here("when reading updates the access time"),
        SYNC.here("synchronous writing"),
        BARRIER.here("default on"),
        COMMIT_INTERVAL.here("seconds, 1 to 300; default 30"),
        NODE_SIZE.here("4K to 64K; default 16K"),
        METADATA_COPIES.here("default 2 (`dup`), as in mkfs.btrfs since 5.15"),
        CHECKSUM.only("crc32c|xxhash|sha256|blake2|off", "default crc32c; off: nodatasum"),
        COPY_ON_WRITE.here("default on"),
        COMPRESSION.only("off|lzo|zlib|zstd", "default off"),
        COMPRESSION_LEVEL.here("zlib 1 to 9, zstd 1 to 15; default 3"),
    ],
    presets: &[Preset {
        name: "2011",
        help: "btrfs-progs 0.19 (the 2 GB study of February 2011): nodes of 4 KiB, none of the \
               features that became defaults later (extref, skinny-metadata, no-holes, \
               free-space-tree)",
        options: &[("node_size", "4K")],
        mkfs: &["-O", "^extref,^skinny-metadata,^no-holes", "-R", "^free-space-tree"],
    }],
    varies: Some(
        "UUIDs of the device and of its trees, which mkfs.btrfs draws itself, and time stamps",
    ),
    needs_device: true,
};

/// The smallest device that mkfs.btrfs accepts, as it reports (btrfs-progs 6.2), for every node
/// size: with two copies of metadata, with one, and for each of several devices.
const DEVICE_MIN: Bytes = Bytes::from_mib(109);
const DEVICE_MIN_ONE_COPY: Bytes = Bytes::from_mib(45);
const MEMBER_MIN: Bytes = Bytes::from_mib(125);

fn node_size(options: &Options<'_>) -> Result<Bytes, Refusal> {
    Ok(options.power_of_two(&NODE_SIZE, 4096, 65536)?.unwrap_or(Bytes::from_kib(16)))
}

/// The profile of a layout over several disks.
fn profile(contender: &Contender) -> Option<&str> {
    contender.layout.name.strip_prefix("btrfs-")
}

fn minimum(options: &Options<'_>) -> Result<Bytes, Refusal> {
    node_size(options)?;
    Ok(match options.text(&METADATA_COPIES) {
        _ if profile(options.contender()).is_some() => MEMBER_MIN,
        Some("1") => DEVICE_MIN_ONE_COPY,
        _ => DEVICE_MIN,
    })
}

fn mount_options(options: &Options<'_>) -> Result<Vec<String>, Refusal> {
    let mut mount = Vec::new();
    match options.switch(&BARRIER) {
        Some(true) => mount.push("barrier".to_owned()),
        Some(false) => mount.push("nobarrier".to_owned()),
        None => {}
    }
    if let Some(seconds) = options.number_within(&COMMIT_INTERVAL, 1, 300)? {
        mount.push(format!("commit={seconds}"));
    }
    let in_place = options.switch(&COPY_ON_WRITE) == Some(false);
    if in_place {
        mount.push("nodatacow".to_owned());
    }
    if options.text(&CHECKSUM) == Some("off") {
        mount.push("nodatasum".to_owned());
    } else if in_place && options.text(&CHECKSUM).is_some() {
        let rule = "content that is overwritten in place has no checksum";
        return Err(options.refuse(&CHECKSUM, rule));
    }
    let level = options.number(&COMPRESSION_LEVEL);
    match options.text(&COMPRESSION) {
        None | Some("off") if level.is_some() => {
            return Err(options.refuse(&COMPRESSION_LEVEL, "it needs compression beside it"));
        }
        None | Some("off") => {}
        Some(_) if in_place => {
            return Err(options.refuse(&COMPRESSION, "it needs copy_on_write=on"));
        }
        Some(algorithm) => {
            let most = match algorithm {
                "zlib" => 9,
                "zstd" => 15,
                _ if level.is_some() => {
                    return Err(options.refuse(&COMPRESSION_LEVEL, "lzo has no levels"));
                }
                _ => 1,
            };
            let level = options.number_within(&COMPRESSION_LEVEL, 1, most)?;
            let level = level.map(|level| format!(":{level}")).unwrap_or_default();
            // Forced, since the heuristic that gives up on a file judges it by its first write.
            mount.push(format!("compress-force={algorithm}{level}"));
        }
    }
    levels_written(options)?;
    Ok(mount)
}

/// The kernel takes a level beyond the highest for the highest, and says nothing.
fn levels_written(options: &Options<'_>) -> Result<(), Refusal> {
    for written in &options.contender().mount {
        let value = written.strip_prefix("compress=").or(written.strip_prefix("compress-force="));
        let Some((algorithm, level)) = value.and_then(|value| value.split_once(':')) else {
            continue;
        };
        let most = match algorithm {
            "zlib" => 9,
            "zstd" => 15,
            _ => 0,
        };
        if level.parse::<i32>().is_ok_and(|level| level > most) {
            let rule = match most {
                0 => format!("{algorithm} has no levels"),
                most => format!("the highest level of {algorithm} is {most}"),
            };
            return Err(Refusal::new(format!("btrfs: {written}"), rule));
        }
    }
    Ok(())
}

static ALIASES: &[Alias] = &[
    is("nodatacow", &[("copy_on_write", "off")]),
    is("datacow", &[("copy_on_write", "on")]),
    is("nodatasum", &[("checksum", "off")]),
    is("datasum", &[("checksum", "crc32c")]),
    is("nobarrier", &[("barrier", "off")]),
    is("barrier", &[("barrier", "on")]),
    value("commit=", "commit_interval"),
    leveled("compress-force=", "compression", "compression_level"),
    // Not the same: it gives up on files that do not begin well.
    mount("compress"),
    mount("compress="),
    mount("autodefrag"),
    mount("noautodefrag"),
    mount("flushoncommit"),
    mount("noflushoncommit"),
    mount("max_inline="),
    mount("metadata_ratio="),
    mount("notreelog"),
    mount("treelog"),
    mount("space_cache"),
    mount("space_cache="),
    mount("nospace_cache"),
    mount("ssd"),
    mount("ssd_spread"),
    mount("nossd"),
    mount("thread_pool="),
    value("-n ", "node_size"),
    value("--nodesize ", "node_size"),
    value("--csum ", "checksum"),
    value("--checksum ", "checksum"),
    is("-m single", &[("metadata_copies", "1")]),
    is("-m dup", &[("metadata_copies", "2")]),
];

impl Filesystem for Btrfs {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn aliases(&self) -> &'static [Alias] {
        ALIASES
    }

    fn minimum_size(&self, contender: &Contender) -> Result<Bytes, Refusal> {
        minimum(&Options::of(&DESCRIPTION, contender)?)
    }

    /// btrfs has one setting for all devices it is spread over, by default at least 4 MiB
    /// (`open_ctree`, fs/btrfs/disk-io.c); the devices' own settings have no effect.
    fn read_ahead(&self, uuid: &str) -> ReadAhead {
        ReadAhead::Mounted(format!("/sys/fs/btrfs/{uuid}/bdi/read_ahead_kb"))
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let options = Options::of(&DESCRIPTION, request.contender)?;
        options.no_journal_disk(request)?;
        let device = options.device(request, minimum(&options)?)?;

        let node = node_size(&options)?.0.to_string();
        let mut args: Vec<String> =
            ["-q", "-f", "-K", "-U", &request.uuid, "-s", "4096", "-n", &node]
                .map(str::to_owned)
                .to_vec();
        let mut option = |flag: &str, value: &str| args.extend([flag.to_owned(), value.to_owned()]);
        let members: Vec<&str> = request
            .members
            .iter()
            .map(|member| {
                member.to_str().ok_or_else(|| {
                    Refusal::new("btrfs", format!("the name of {} is not UTF-8", member.display()))
                })
            })
            .collect::<Result<_, _>>()?;
        let profile = profile(request.contender).unwrap_or("single");
        let metadata = if !members.is_empty() {
            if options.text(&METADATA_COPIES).is_some() {
                let rule = "over several disks the layout decides, which mirrors metadata";
                return Err(options.refuse(&METADATA_COPIES, rule));
            }
            if profile == "raid10" { "raid10" } else { "raid1" }
        } else if options.text(&METADATA_COPIES) == Some("1") {
            "single"
        } else {
            "dup"
        };
        option("-m", metadata);
        option("-d", if members.is_empty() { "single" } else { profile });
        if let Some(checksum) = options.text(&CHECKSUM).filter(|checksum| *checksum != "off") {
            option("--checksum", checksum);
        }
        args.extend(options.mkfs.iter().cloned());
        args.push(device.to_owned());
        args.extend(members.iter().map(|member| (*member).to_owned()));

        // The kernel knows the other members only if it is told of them.
        let mut own: Vec<String> =
            members.iter().map(|member| format!("device={member}")).collect();
        own.extend(mount_options(&options)?);
        let mount = options.mount(own);
        // mkfs.btrfs refuses a UUID that any device carries, this very one included: the
        // second trial of a seed on the same device would fail. So the device is wiped first,
        // and libblkid's cache, which may not have noticed, is kept out. A UUID that another
        // device carries is still refused, and rightly: the kernel could not tell them apart.
        let devices = ["-a", "-q", device].into_iter().chain(members.iter().copied());
        let make =
            Command::new("mkfs.btrfs", args).with_env("BLKID_FILE", "/nonexistent/blkid.tab");
        let wipe = Command::new("wipefs", devices);
        Ok(Plan {
            make: vec![wipe.destructive(), make.destructive()],
            durability: options.durability(&mount),
            mount: Mount {
                kernel_type: "btrfs".to_owned(),
                source: device.to_owned(),
                options: mount,
            },
            settle: Vec::new(),
            check: vec![Command::new("btrfs", ["check", "--readonly", device])],
            inspect: vec![Command::new("btrfs", ["inspect-internal", "dump-super", device])],
            attachment: None,
            served_by: "btrfs.ko".to_owned(),
        })
    }

    fn features(&self, inspected: &[(String, String)]) -> Vec<String> {
        let dumps = inspected.iter().filter(|(command, _)| command.contains("dump-super"));
        // Flags stand in brackets, in lines of their own: `( MIXED_BACKREF |`.
        dumps
            .flat_map(|(_, output)| output.lines())
            .map(|line| line.trim().trim_start_matches('(').trim_end_matches(['|', ')']).trim())
            .filter(|line| {
                *line != "WRITTEN"
                    && line
                        .chars()
                        .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
                    && line.chars().any(|c| c.is_ascii_uppercase())
            })
            .map(str::to_owned)
            .collect()
    }

    fn upkeep(&self, request: &UpkeepRequest<'_>) -> Upkeep {
        let at = request.mount_point;
        let resize = |size: &str| upkeep::run("btrfs", &["filesystem", "resize", size, at]);
        let copy = format!("{at}/{}", request.snapshot);
        let remove = Command::new("btrfs", ["subvolume", "delete", &copy]);
        let freed = Command::new("btrfs", ["subvolume", "sync", at]);
        // It exits with 2 when it has restored a superblock.
        let recover = Command::new("btrfs", ["rescue", "super-recover", "-y", request.device])
            .succeeding_with(&[0, 2]);
        let take = Command::new("btrfs", ["subvolume", "snapshot", "-r", at, &copy]);
        Upkeep {
            grow_mounted: resize("max"),
            shrink_mounted: resize(&request.size.0.to_string()),
            snapshot: Some(Snapshot::below(take, request.snapshot, remove).freed_by(freed)),
            repair: Repair::by(64 << 10, 4 << 10, recover)
                .map(|repair| repair.where_there_is(has_second_superblock)),
            ..Upkeep::default()
        }
    }
}

/// Whether the filesystem reaches beyond 64 MiB, where the copy of its superblock lies.
fn has_second_superblock(superblock: &[u8]) -> bool {
    const COPY_ENDS: u64 = (64 << 20) + (4 << 10);
    let total = superblock.get(112..120).and_then(|bytes| bytes.try_into().ok());
    total.is_some_and(|total| u64::from_le_bytes(total) >= COPY_ENDS)
}
