//! reiserfs (version 3): one balanced tree, small files and the ends of files packed in it.
//! Linux 6.12 is the last kernel that has it.

use units::Bytes;

use super::aliases::{Alias, is, mount, value};
use super::options::{Options, Placement};
use super::vocabulary::{
    ATIME, BARRIER, BLOCK_SIZE, COMMIT_INTERVAL, DATA, DIRECTORY_HASH, JOURNAL, JOURNAL_SIZE, SYNC,
    TAIL_PACKING,
};
use super::{
    Change, Description, Filesystem, Mount, Plan, Preset, Request, Upkeep, UpkeepRequest, upkeep,
};
use crate::{Command, Contender, Refusal};

pub(super) struct Reiserfs;

static DESCRIPTION: Description = Description {
    name: "reiserfs",
    summary: "one tree for everything, small files packed; in Linux up to 6.12",
    kernel_type: "reiserfs",
    module: "reiserfs",
    package: Some("reiserfsprogs"),
    programs: &["mkfs.reiserfs", "reiserfsck", "debugreiserfs"],
    options: &[
        ATIME.here("when reading updates the access time"),
        SYNC.here("synchronous writing"),
        BARRIER.here("default on (barrier=flush)"),
        JOURNAL.only("internal|external", "default: external if the layout has a journal disk"),
        JOURNAL_SIZE.here("513 to 32749 blocks; default 8193, which is 32 MiB"),
        DATA.here("default ordered"),
        COMMIT_INTERVAL.here("seconds, 1 to 900; default 30"),
        BLOCK_SIZE.here("1K to 4K; default 4K"),
        DIRECTORY_HASH.only("r5|tea|rupasov", "default r5"),
        TAIL_PACKING.here("default on; off is `notail`"),
    ],
    presets: &[Preset {
        name: "2004",
        help: "reiserfsprogs 3.6 (the Maildir study of 2004, the boot study of 2005): format 3.6, \
               r5, a journal of 8193 blocks. The defaults have not changed since; they are spelled \
               out here so that they stay fixed",
        options: &[("directory_hash", "r5"), ("block_size", "4K")],
        mkfs: &["-s", "8193"],
    }],
    varies: Some("the journal's magic number and the time of the last check, both from the clock"),
    needs_device: true,
};

/// Default number of blocks of a journal, its header included.
const JOURNAL_BLOCKS: u64 = 8193;

struct Geometry {
    block: Bytes,
    placement: Placement,
    journal_blocks: Option<u64>,
}

fn geometry(options: &Options<'_>, journal_disk: bool) -> Result<Geometry, Refusal> {
    let block = options.power_of_two(&BLOCK_SIZE, 1024, 4096)?.unwrap_or(Bytes::from_kib(4));
    let placement = options.placement(&JOURNAL, true, journal_disk)?;
    let journal_blocks = options.size(&JOURNAL_SIZE).map(|size| size.0 / block.0);
    if let Some(blocks) = journal_blocks
        && !(513..=32_749).contains(&blocks)
    {
        let rule = format!("a journal has 513 to 32749 blocks, here of {block}");
        return Err(options.refuse(&JOURNAL_SIZE, rule));
    }
    Ok(Geometry { block, placement, journal_blocks })
}

impl Geometry {
    fn minimum(&self) -> Bytes {
        let journal = match self.placement {
            Placement::Internal => self.journal_blocks.unwrap_or(JOURNAL_BLOCKS),
            Placement::External | Placement::None => 0,
        };
        // 64 KiB before the superblock, a bitmap for each 8 × block size blocks, the root.
        let head = (64 << 10) / self.block.0 + 3;
        let blocks = (journal + head) + (journal + head) / (8 * self.block.0) + 100;
        Bytes(blocks * self.block.0).round_up(64 << 10)
    }
}

static ALIASES: &[Alias] = &[
    is("notail", &[("tail_packing", "off")]),
    is("tails=off", &[("tail_packing", "off")]),
    is("barrier=none", &[("barrier", "off")]),
    is("barrier=flush", &[("barrier", "on")]),
    value("commit=", "commit_interval"),
    value("hash=", "directory_hash"),
    value("-h ", "directory_hash"),
    mount("nolog"),
];

impl Filesystem for Reiserfs {
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

        // Given twice, -f also answers the question about the journal's device.
        let mut args: Vec<String> = ["-q", "-f", "-f"].map(str::to_owned).to_vec();
        let mut option = |flag: &str, value: &str| args.extend([flag.to_owned(), value.to_owned()]);
        option("-u", &request.uuid);
        option("-b", &geometry.block.0.to_string());
        option("-h", options.text(&DIRECTORY_HASH).unwrap_or("r5"));
        // Linux 6.12 does not mount the format 3.5 that mkfs.reiserfs 3.6.27 makes (tried).
        option("--format", "3.6");
        if let Some(blocks) = geometry.journal_blocks {
            option("-s", &blocks.to_string());
        }
        let mut own = Vec::new();
        let mut check: Vec<String> = ["--check", "-y", "-q"].map(str::to_owned).to_vec();
        if let Some(journal) = journal {
            option("-j", journal);
            own.push(format!("jdev={journal}"));
            check.extend(["-j".to_owned(), journal.to_owned()]);
        }
        args.extend(options.mkfs.iter().cloned());
        args.push(device.to_owned());
        check.push(device.to_owned());

        match options.switch(&BARRIER) {
            Some(true) => own.push("barrier=flush".to_owned()),
            Some(false) => own.push("barrier=none".to_owned()),
            None => {}
        }
        if let Some(data) = options.text(&DATA) {
            own.push(format!("data={data}"));
        }
        if let Some(seconds) = options.number_within(&COMMIT_INTERVAL, 1, 900)? {
            own.push(format!("commit={seconds}"));
        }
        if options.switch(&TAIL_PACKING) == Some(false) {
            own.push("notail".to_owned());
        }
        let mount = options.mount(own);
        Ok(Plan {
            make: vec![Command::new("mkfs.reiserfs", args).destructive()],
            durability: options.durability(&mount),
            mount: Mount {
                kernel_type: "reiserfs".to_owned(),
                source: device.to_owned(),
                options: mount,
            },
            settle: Vec::new(),
            check: vec![Command::new("reiserfsck", check)],
            inspect: vec![Command::new("debugreiserfs", [device])],
            attachment: None,
            served_by: "reiserfs.ko".to_owned(),
        })
    }

    fn upkeep(&self, request: &UpkeepRequest<'_>) -> Upkeep {
        let size = request.size.0.to_string();
        Upkeep {
            resize_unmounted: upkeep::run(
                "resize_reiserfs",
                &["-q", "-f", "-s", &size, request.device],
            ),
            grow_mounted: vec![Change::Remount("resize=auto".to_owned())],
            ..Upkeep::default()
        }
    }

    fn upkeep_programs(&self) -> &'static [&'static str] {
        &["resize_reiserfs"]
    }
}
