//! XFS: allocation groups, B+trees, inodes made as they are needed, a log of metadata.

use units::Bytes;

use super::aliases::{Alias, is, items, mount, nothing, value};
use super::options::{Options, Placement};
use super::vocabulary::{
    ALLOCATION_GROUPS, ATIME, BLOCK_SIZE, FORMAT, INODE_SIZE, JOURNAL, JOURNAL_SIZE, REFLINK,
    STRIPE_UNIT, STRIPE_WIDTH, SYNC,
};
use super::{
    Description, Filesystem, Mount, Plan, Preset, Repair, Request, Upkeep, UpkeepRequest, upkeep,
};
use crate::{Command, Contender, Refusal};

pub(super) struct Xfs;

static DESCRIPTION: Description = Description {
    name: "xfs",
    summary: "allocation groups and B+trees; the default of Red Hat's distributions",
    kernel_type: "xfs",
    module: "xfs",
    package: Some("xfsprogs"),
    programs: &["mkfs.xfs", "xfs_repair", "xfs_db"],
    options: &[
        ATIME.here("when reading updates the access time"),
        SYNC.here("synchronous writing"),
        JOURNAL.only("internal|external", "default: external if the layout has a journal disk"),
        JOURNAL_SIZE.here(
            "64M (the smallest that mkfs makes) up to 2047M; default by device size, 64M on a disk \
             of its own",
        ),
        BLOCK_SIZE.here("1K to 4K, the kernel's page size; default 4K"),
        INODE_SIZE.here("512 (256 in v4) to 2K; default 512"),
        FORMAT.only("v4|v5", "default v5; some kernels refuse to mount v4"),
        REFLINK.here("default on in v5; v4 has none"),
        STRIPE_UNIT.here("default: what the device reports; mkfs.xfs asks it only from 1 GiB up"),
        STRIPE_WIDTH.here("disks that hold data; needs stripe_unit"),
        ALLOCATION_GROUPS.here("default by device size, 4 or more"),
    ],
    presets: &[
        Preset {
            name: "2004",
            help: "xfsprogs 2.6 (the Maildir study of 2004; 2.6.22 of the 2007 study had the \
                   same format): v4, inodes of 256 bytes, log version 1 without lazy counters, \
                   attributes version 1",
            options: &[("format", "v4"), ("inode_size", "256")],
            mkfs: &["-i", "attr=1,projid32bit=0", "-l", "version=1,lazy-count=0", "-n", "ftype=0"],
        },
        Preset {
            name: "2011",
            help: "xfsprogs 3.1 (the 2 GB study of February 2011): v4, inodes of 256 bytes, log \
                   version 2 with lazy counters, attributes version 2",
            options: &[("format", "v4"), ("inode_size", "256")],
            mkfs: &["-i", "attr=2,projid32bit=0", "-l", "version=2,lazy-count=1", "-n", "ftype=0"],
        },
    ],
    varies: Some("the time stamps of its first inodes, and their checksums"),
    needs_device: true,
};

/// Below this mkfs.xfs makes nothing that it supports.
const DEVICE_MIN: Bytes = Bytes::from_mib(300);
/// The smallest log mkfs.xfs makes.
const LOG_MIN: Bytes = Bytes::from_mib(64);
/// The largest log the format holds, in whole MiB.
const LOG_MAX: Bytes = Bytes::from_mib(2047);

struct Geometry {
    block: Bytes,
    inode: Bytes,
    v4: bool,
    log: Option<Bytes>,
    placement: Placement,
    stripe: Option<(Bytes, u64)>,
    groups: Option<u64>,
}

fn geometry(options: &Options<'_>, journal_disk: bool) -> Result<Geometry, Refusal> {
    let v4 = options.text(&FORMAT) == Some("v4");
    let block_min = if v4 { 512 } else { 1024 };
    let block = options.power_of_two(&BLOCK_SIZE, block_min, 4096)?.unwrap_or(Bytes::from_kib(4));
    let inode_min = if v4 { 256 } else { 512 };
    let inode_max = 2048.min(block.0 / 2);
    let inode_default = if v4 { 256 } else { 512 };
    let inode =
        options.power_of_two(&INODE_SIZE, inode_min, inode_max)?.unwrap_or(Bytes(inode_default));
    if v4 && options.switch(&REFLINK) == Some(true) {
        return Err(options.refuse(&REFLINK, "format=v4 has no reflinks"));
    }
    let placement = options.placement(&JOURNAL, true, journal_disk)?;
    let log = options.size(&JOURNAL_SIZE);
    if let Some(size) = log
        && (size < LOG_MIN || size > LOG_MAX || !size.0.is_multiple_of(block.0))
    {
        return Err(options.refuse(&JOURNAL_SIZE, "a log is whole blocks, 64M to 2047M"));
    }
    let width = options.number_within(&STRIPE_WIDTH, 1, 1024)?;
    let stripe = match (options.size(&STRIPE_UNIT), width) {
        (Some(unit), _) if unit.0 == 0 || !unit.0.is_multiple_of(block.0) => {
            let rule = format!("it is a multiple of the block size, {block}");
            return Err(options.refuse(&STRIPE_UNIT, rule));
        }
        (Some(unit), Some(width)) => Some((unit, width)),
        (None, None) => None,
        (Some(_), None) => {
            return Err(options.refuse(&STRIPE_UNIT, "it needs stripe_width beside it"));
        }
        (None, Some(_)) => {
            return Err(options.refuse(&STRIPE_WIDTH, "it needs stripe_unit beside it"));
        }
    };
    let groups = options.number_within(&ALLOCATION_GROUPS, 1, 1_000_000)?;
    Ok(Geometry { block, inode, v4, log, placement, stripe, groups })
}

impl Geometry {
    /// An internal log lies within one allocation group, beside the group's own headers.
    fn minimum(&self) -> Bytes {
        // mkfs.xfs gives a striped device more groups: 8 from 128 MiB to 8 GiB.
        let groups = self.groups.unwrap_or(if self.stripe.is_some() { 8 } else { 4 });
        let within = match self.placement {
            Placement::Internal => self.log.unwrap_or(LOG_MIN) + Bytes::from_mib(1),
            Placement::External | Placement::None => Bytes::from_mib(16),
        };
        let least = DEVICE_MIN.max(Bytes(within.0.saturating_mul(groups)));
        // The end that fills no stripe is left unused.
        least + self.stripe.map_or(Bytes::ZERO, |(unit, width)| unit * width)
    }
}

static ALIASES: &[Alias] = &[
    mount("allocsize="),
    mount("attr2"),
    mount("filestreams"),
    mount("grpid"),
    mount("ikeep"),
    mount("inode32"),
    mount("inode64"),
    mount("largeio"),
    mount("nolargeio"),
    mount("logbsize="),
    mount("logbufs="),
    mount("noalign"),
    mount("noquota"),
    mount("sunit="),
    mount("swalloc"),
    mount("swidth="),
    mount("wsync"),
    nothing("nobarrier", "xfs has no such option since Linux 4.19: it always flushes"),
    nothing("barrier", "xfs has no such option since Linux 4.19: it always flushes"),
    items("-b ", &[value("size=", "block_size")]),
    items(
        "-d ",
        &[
            value("agcount=", "allocation_groups"),
            value("su=", "stripe_unit"),
            value("sw=", "stripe_width"),
        ],
    ),
    items("-i ", &[value("size=", "inode_size")]),
    items("-l ", &[value("size=", "journal_size")]),
    items(
        "-m ",
        &[
            is("reflink=0", &[("reflink", "off")]),
            is("reflink=1", &[("reflink", "on")]),
            is("crc=0", &[("format", "v4")]),
            is("crc=1", &[("format", "v5")]),
        ],
    ),
];

impl Filesystem for Xfs {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn aliases(&self) -> &'static [Alias] {
        ALIASES
    }

    fn minimum_size(&self, contender: &Contender) -> Result<Bytes, Refusal> {
        let options = Options::of(&DESCRIPTION, contender)?;
        Ok(geometry(&options, contender.layout.has_journal_disk())?.minimum())
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let options = Options::of(&DESCRIPTION, request.contender)?;
        let geometry = geometry(&options, request.journal.is_some())?;
        let device = options.device(request, geometry.minimum())?;
        let journal = options.journal(request)?;

        let mut args: Vec<String> = ["-q", "-f", "-K", "-m"].map(str::to_owned).to_vec();
        let mut metadata = format!("crc={},uuid={}", u8::from(!geometry.v4), request.uuid);
        if geometry.v4 {
            // Each needs v5, and mkfs.xfs would not drop them by itself.
            metadata.push_str(",finobt=0,rmapbt=0,reflink=0,bigtime=0,inobtcount=0");
        } else if let Some(reflink) = options.switch(&REFLINK) {
            metadata.push_str(&format!(",reflink={}", u8::from(reflink)));
        }
        args.push(metadata);
        let mut option = |flag: &str, value: String| args.extend([flag.to_owned(), value]);
        option("-b", format!("size={}", geometry.block.0));
        let sparse = if geometry.v4 { ",sparse=0" } else { "" };
        option("-i", format!("size={}{sparse}", geometry.inode.0));
        if let Some((unit, width)) = geometry.stripe {
            option("-d", format!("su={},sw={width}", unit.0));
        }
        if let Some(groups) = geometry.groups {
            option("-d", format!("agcount={groups}"));
        }
        match (journal, geometry.log) {
            (Some(journal), size) => {
                option("-l", format!("logdev={journal},size={}", size.unwrap_or(LOG_MIN).0));
            }
            (None, Some(size)) => option("-l", format!("size={}", size.0)),
            (None, None) => {}
        }
        args.extend(options.mkfs.iter().cloned());
        args.push(device.to_owned());

        let mut own = Vec::new();
        let mut check = vec!["-n".to_owned()];
        if let Some(journal) = journal {
            own.push(format!("logdev={journal}"));
            check.extend(["-l".to_owned(), journal.to_owned()]);
        }
        check.push(device.to_owned());
        let mount = options.mount(own);
        Ok(Plan {
            make: vec![Command::new("mkfs.xfs", args).destructive()],
            durability: options.durability(&mount),
            mount: Mount {
                kernel_type: "xfs".to_owned(),
                source: device.to_owned(),
                options: mount,
            },
            settle: Vec::new(),
            check: vec![Command::new("xfs_repair", check)],
            // The command that the script xfs_info runs, called directly: no shell is needed.
            inspect: vec![Command::new(
                "xfs_db",
                ["-r", "-c", "info", "-c", "version", "-c", "uuid", device],
            )],
            attachment: None,
            served_by: if geometry.v4 { "xfs.ko, format v4" } else { "xfs.ko" }.to_owned(),
        })
    }

    fn features(&self, inspected: &[(String, String)]) -> Vec<String> {
        let dumps = inspected.iter().filter(|(command, _)| command.starts_with("xfs_db"));
        let mut lines = dumps.flat_map(|(_, output)| output.lines());
        lines
            .find_map(|line| line.strip_prefix("versionnum")?.split_once('='))
            .map(|(_, flags)| flags.trim().split(',').map(str::to_owned).collect())
            .unwrap_or_default()
    }

    fn upkeep(&self, request: &UpkeepRequest<'_>) -> Upkeep {
        let blocks = (request.size.0 / 4096).to_string();
        Upkeep {
            grow_mounted: upkeep::run("xfs_growfs", &["-d", request.mount_point]),
            shrink_mounted: upkeep::run("xfs_growfs", &["-D", &blocks, request.mount_point]),
            repair: Repair::by_check(request.plan, (0, 512), &[("-n", &[])], &[0])
                .map(|repair| repair.where_there_is(has_second_group)),
            ..Upkeep::default()
        }
    }

    fn upkeep_programs(&self) -> &'static [&'static str] {
        &["xfs_growfs"]
    }
}

/// Whether there is a second allocation group, which begins with a copy of the superblock.
fn has_second_group(superblock: &[u8]) -> bool {
    let groups = superblock.get(88..92).and_then(|bytes| bytes.try_into().ok());
    groups.is_some_and(|groups| u32::from_be_bytes(groups) > 1)
}
