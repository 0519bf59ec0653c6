//! OpenZFS: copy on write, checksums of everything, a pool over one disk or many. Its modules
//! come from outside the kernel; in the lab they are an optional part.
//!
//! Programs have the names of OpenZFS 2.3. A pool's identity is drawn by the kernel from
//! random numbers of its own, which repeat in the lab with the checkpoint.

use units::Bytes;

use super::aliases::{Alias, is, value};
use super::options::Options;
use super::vocabulary::{
    ATIME, CHECKSUM, COMPRESSION, COMPRESSION_LEVEL, FSYNC, JOURNAL, RECORD_SIZE, SECTOR_SIZE, SYNC,
};
use super::{
    Attachment, Description, Filesystem, Mount, Plan, Preset, ReadAhead, Request, Shown, Snapshot,
    Upkeep, UpkeepRequest, upkeep,
};
use crate::{Command, Contender, Durability, Refusal};

pub(super) struct Zfs;

static DESCRIPTION: Description = Description {
    name: "zfs",
    summary: "copy on write, checksums of everything, a pool over one disk or many",
    kernel_type: "zfs",
    module: "zfs",
    package: Some("zfsutils-linux"),
    programs: &["zpool", "zfs"],
    options: &[
        ATIME.here("when reading updates the access time"),
        SYNC.here("on: `sync=always`, which takes every write through the intent log"),
        FSYNC.here("ignored: `sync=disabled`; default honoured"),
        JOURNAL.only("internal|external", "the intent log; external: a log device"),
        RECORD_SIZE.here("512 to 16M, a power of two; default 128K"),
        SECTOR_SIZE.here("512 to 64K (`ashift`); default what the disk reports"),
        CHECKSUM.only("sha256|off", "default fletcher4, which is not among these values"),
        COMPRESSION.only("off|lz4|zlib|zstd|on", "default on, which is lz4; zlib: gzip"),
        COMPRESSION_LEVEL.here("zlib 1 to 9, default 6; zstd 1 to 19, default 3"),
    ],
    presets: &[Preset {
        name: "2007",
        help: "Solaris Express build 70 (the study of August 2007): pool version 8, filesystem \
               version 2, no compression, checksum fletcher2, direct I/O through the cache",
        options: &[("compression", "off")],
        // What was opened for direct I/O went through ZFS's own cache until OpenZFS 2.3.
        mkfs: &[
            "-o",
            "version=8",
            "-O",
            "version=2",
            "-O",
            "checksum=fletcher2",
            "-O",
            "direct=disabled",
        ],
    }],
    varies: Some(
        "the numbers of the pool and its devices, which the kernel draws, and time stamps",
    ),
    needs_device: true,
};

/// The least a device of a pool may have (`SPA_MINDEVSIZE`, sys/fs/zfs.h).
const DEVICE_MIN: Bytes = Bytes::from_mib(64);

fn properties(options: &Options<'_>) -> Result<Vec<String>, Refusal> {
    let mut properties = vec!["mountpoint=legacy".to_owned()];
    properties.push(match options.text(&ATIME) {
        Some("relatime") => "relatime=on".to_owned(),
        Some("strict") => "atime=on".to_owned(),
        _ => "atime=off".to_owned(),
    });
    match (options.switch(&SYNC), options.text(&FSYNC)) {
        (Some(true), Some("ignored")) => {
            return Err(options
                .refuse(&FSYNC, "it contradicts sync=on, which makes every write synchronous"));
        }
        (Some(true), _) => properties.push("sync=always".to_owned()),
        (_, Some("ignored")) => properties.push("sync=disabled".to_owned()),
        _ => {}
    }
    if let Some(size) = options.power_of_two(&RECORD_SIZE, 512, 16 << 20)? {
        properties.push(format!("recordsize={}", size.0));
    }
    if let Some(checksum) = options.text(&CHECKSUM) {
        properties.push(format!("checksum={checksum}"));
    }
    let (name, most) = match options.text(&COMPRESSION) {
        Some("zlib") => (Some("gzip"), 9),
        Some("zstd") => (Some("zstd"), 19),
        other => (other, 0),
    };
    let level = match options.number(&COMPRESSION_LEVEL) {
        Some(_) if most == 0 => {
            return Err(options.refuse(&COMPRESSION_LEVEL, "only zlib and zstd have levels"));
        }
        _ => options.number_within(&COMPRESSION_LEVEL, 1, most)?,
    };
    match (name, level) {
        (Some(name), Some(level)) => properties.push(format!("compression={name}-{level}")),
        (Some(name), None) => properties.push(format!("compression={name}")),
        (None, _) => {}
    }
    Ok(properties)
}

/// The devices in the order and with the words of `zpool create`.
fn devices(request: &Request<'_>, all: &[&str], journal: Option<&str>) -> Vec<String> {
    let group = match request.contender.layout.name.as_str() {
        "zfs-mirror" => Some(("mirror", 2)),
        "zfs-raidz" => Some(("raidz", all.len())),
        _ => None,
    };
    let mut words: Vec<String> = Vec::new();
    match group {
        Some((word, size)) => {
            for members in all.chunks(size) {
                words.push(word.to_owned());
                words.extend(members.iter().map(|member| (*member).to_owned()));
            }
        }
        None => words.extend(all.iter().map(|member| (*member).to_owned())),
    }
    if let Some(journal) = journal {
        words.extend(["log".to_owned(), journal.to_owned()]);
    }
    words
}

static ALIASES: &[Alias] = &[
    is("atime=off", &[("atime", "noatime")]),
    is("atime=on", &[("atime", "strict")]),
    is("sync=disabled", &[("fsync", "ignored")]),
    is("sync=always", &[("sync", "on")]),
    is("sync=standard", &[]),
    is("ashift=9", &[("sector_size", "512")]),
    is("ashift=12", &[("sector_size", "4K")]),
    is("ashift=13", &[("sector_size", "8K")]),
    value("recordsize=", "record_size"),
    is("compression=gzip", &[("compression", "zlib")]),
];

impl Filesystem for Zfs {
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

    fn read_ahead(&self, _: &str) -> ReadAhead {
        ReadAhead::Own("zfs prefetches by its own rules and sets the kernel's read-ahead to 0")
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let options = Options::of(&DESCRIPTION, request.contender)?;
        options.placement(&JOURNAL, true, request.journal.is_some())?;
        let device = options.device(request, DEVICE_MIN)?;
        let journal = options.journal(request)?;
        let mut all = vec![device];
        for member in &request.members {
            all.push(member.to_str().ok_or_else(|| {
                Refusal::new("zfs", format!("the name of {} is not UTF-8", member.display()))
            })?);
        }

        // A name that no pool of the machine has, and that is the same in each repeat.
        let pool = format!("fstrial-{}", super::serial_digits(&request.uuid, 12));
        let mut create: Vec<String> =
            ["create", "-f", "-o", "cachefile=none"].map(str::to_owned).to_vec();
        if let Some(size) = options.power_of_two(&SECTOR_SIZE, 512, 65536)? {
            create.extend(["-o".to_owned(), format!("ashift={}", size.0.trailing_zeros())]);
        }
        for property in properties(&options)? {
            create.extend(["-O".to_owned(), property]);
        }
        create.extend(options.mkfs.iter().cloned());
        create.push(pool.clone());
        create.extend(devices(request, &all, journal));

        // The devices are named: searching all of /dev takes longer than most trials.
        let mut import: Vec<String> =
            ["import", "-N", "-o", "cachefile=none"].map(str::to_owned).to_vec();
        for device in all.iter().copied().chain(journal) {
            import.extend(["-d".to_owned(), device.to_owned()]);
        }
        import.push(pool.clone());

        let mount = options.mount(Vec::new());
        let durability = match options.text(&FSYNC) {
            Some("ignored") => Durability::None,
            _ => options.durability(&mount),
        };
        let zpool =
            |words: &[&str]| Command::new("zpool", words.iter().copied().chain([pool.as_str()]));
        Ok(Plan {
            make: vec![Command::new("zpool", create).destructive()],
            mount: Mount { kernel_type: "zfs".to_owned(), source: pool.clone(), options: mount },
            settle: Vec::new(),
            attachment: Some(Attachment {
                detach: zpool(&["export"]),
                attach: Command::new("zpool", import),
                // Exporting and importing checks every label of every disk again: with six disks
                // that takes five seconds of the host's processor in the lab, each time.
                empty: Some(Command::new("zinject", ["-a"])),
                remove: zpool(&["destroy", "-f"]),
                commit: zpool(&["sync"]),
                service: None,
            }),
            check: vec![
                zpool(&["scrub", "-w"]),
                // Exits with 0 whatever the scrub has found.
                zpool(&["status", "-x"]).printing("is healthy"),
            ],
            inspect: vec![
                zpool(&["status"]),
                zpool(&["get", "-H", "all"]),
                Command::new("zfs", ["get", "-H", "all", &pool]),
            ],
            durability,
            served_by: "zfs.ko, OpenZFS".to_owned(),
        })
    }

    fn features(&self, inspected: &[(String, String)]) -> Vec<String> {
        // `POOL  feature@lz4_compress  active  local`
        let dumps = inspected.iter().filter(|(command, _)| command.starts_with("zpool get"));
        let lines = dumps.flat_map(|(_, output)| output.lines());
        lines
            .filter_map(|line| {
                let mut words = line.split_whitespace();
                let feature = words.nth(1)?.strip_prefix("feature@")?;
                (words.next()? == "active").then(|| feature.to_owned())
            })
            .collect()
    }

    fn kernel_files(&self) -> &'static [(&'static str, &'static [&'static str])] {
        // Its own cache: what it holds, and the bounds it keeps to.
        &[("/proc/spl/kstat/zfs/arcstats", &["size ", "c ", "c_min ", "c_max "])]
    }

    fn upkeep(&self, request: &UpkeepRequest<'_>) -> Upkeep {
        let pool = request.plan.mount.source.as_str();
        let name = format!("{pool}@{}", request.snapshot);
        let mount = Mount {
            kernel_type: "zfs".to_owned(),
            source: name.clone(),
            options: vec!["ro".to_owned()],
        };
        Upkeep {
            grow_mounted: upkeep::run("zpool", &["online", "-e", pool, request.device]),
            snapshot: Some(Snapshot {
                take: Command::new("zfs", ["snapshot", &name]),
                number: None,
                shown: Shown::Mounted(mount),
                remove: Some(Command::new("zfs", ["destroy", &name])),
                freed: Some(Command::new("zpool", ["wait", "-t", "free", pool])),
            }),
            ..Upkeep::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn created(text: &str) -> String {
        let contender = Contender::parse_list(text).unwrap().remove(0);
        let layout = contender.layout.layout().unwrap();
        let roles = layout.disks(&contender.layout).unwrap();
        let disks: Vec<_> = (0..roles.len()).map(|n| PathBuf::from(format!("d{n}"))).collect();
        let asked = crate::layouts::Request {
            choice: &contender.layout,
            disks: &disks,
            uuid: String::new(),
        };
        let place = layout.plan(&asked).unwrap();
        let request = Request {
            contender: &contender,
            data: Some(place.data),
            members: place.members,
            journal: place.journal,
            size: Bytes::from_gib(1),
            uuid: "6f7374f5-1a4e-4b7a-9c51-0123456789ab".to_owned(),
            hash_seed: String::new(),
        };
        let plan = Zfs.plan(&request).unwrap();
        let import = plan.attachment.unwrap().attach.to_string();
        for disk in &disks {
            assert!(import.contains(&format!("-d {}", disk.display())), "{import}");
        }
        let made = plan.make[0].to_string();
        made.split_once(" fstrial-6f7374f51a4e ").unwrap().1.to_owned()
    }

    #[test]
    fn a_pool_is_made_as_its_layout_says() {
        assert_eq!(created("zfs"), "d0");
        assert_eq!(created("zfs:layout=single+journal"), "d0 log d1");
        assert_eq!(
            created("zfs:layout=zfs-mirrorx6+journal"),
            "mirror d0 d1 mirror d2 d3 mirror d4 d5 log d6"
        );
        assert_eq!(created("zfs:layout=zfs-raidzx4"), "raidz d0 d1 d2 d3");
        assert_eq!(created("zfs:layout=zfs-stripex3"), "d0 d1 d2");
    }

    #[test]
    fn mirrors_are_of_two() {
        let refused = crate::LayoutChoice::parse("zfs-mirrorx5").unwrap_err().to_string();
        assert!(refused.contains("even number of disks"), "{refused}");
    }
}
