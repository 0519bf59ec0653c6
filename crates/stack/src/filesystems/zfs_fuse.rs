//! zfs-fuse: the ZFS of 2011 (pool version 23) in user space. A limited substitute for OpenZFS on
//! machines without its modules: its pool ends with the process that serves it.
//!
//! An fsync reaches it and flushes the device (seen: 51 flushes for 50 synchronous writes). A
//! syncfs does not: FUSE answers it itself, in microseconds and with no write (Linux 6.18).
//!
//! Words and program names are those of zfs-fuse 0.7.0.

use units::Bytes;

use super::options::Options;
use super::vocabulary::{ATIME, CHECKSUM, COMPRESSION, RECORD_SIZE};
use super::{
    Attachment, Description, Filesystem, MOUNT_POINT, Mount, Plan, ReadAhead, Request, Service,
};
use crate::{Command, Contender, Refusal};

pub(super) struct ZfsFuse;

static DESCRIPTION: Description = Description {
    name: "zfs-fuse",
    summary: "ZFS of 2011 served in user space by FUSE, a limited substitute for OpenZFS; testbed \
              device only",
    kernel_type: "fuse",
    module: "fuse",
    package: Some("zfs-fuse"),
    programs: &["zfs-fuse", "zpool", "zfs"],
    options: &[
        ATIME.here("when reading updates the access time; relatime behaves like strict"),
        RECORD_SIZE.here("512 to 128K, a power of two; default 128K"),
        CHECKSUM.only("sha256|off", "default fletcher4, which is not among these values"),
        COMPRESSION.only("off|zlib|on", "default off; zlib: gzip; on: lzjb"),
    ],
    presets: &[],
    varies: Some("the numbers of the pool and its devices, which are drawn, and time stamps"),
    needs_device: true,
};

/// The least a device of a pool may have (`SPA_MINDEVSIZE`, sys/fs/zfs.h).
const DEVICE_MIN: Bytes = Bytes::from_mib(64);

/// Where the daemon keeps its socket, its lock and its list of pools; built into it.
const PRIVATE: [&str; 3] = ["/run/zfs", "/run/lock/zfs", "/var/lib/zfs"];

/// `zpool import` takes a directory to look through and no device.
const DEVICES: &str = "/run/zfs/devices";

fn properties(options: &Options<'_>) -> Result<Vec<String>, Refusal> {
    let mut properties = vec!["mountpoint=none".to_owned()];
    properties.extend(["setuid=off", "devices=off"].map(str::to_owned));
    properties.push(match options.text(&ATIME) {
        Some("relatime" | "strict") => "atime=on".to_owned(),
        _ => "atime=off".to_owned(),
    });
    if let Some(size) = options.power_of_two(&RECORD_SIZE, 512, 128 << 10)? {
        properties.push(format!("recordsize={}", size.0));
    }
    if let Some(checksum) = options.text(&CHECKSUM) {
        properties.push(format!("checksum={checksum}"));
    }
    match options.text(&COMPRESSION) {
        Some("zlib") => properties.push("compression=gzip".to_owned()),
        Some(other) => properties.push(format!("compression={other}")),
        None => {}
    }
    Ok(properties)
}

impl Filesystem for ZfsFuse {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn minimum_size(&self, contender: &Contender) -> Result<Bytes, Refusal> {
        Options::of(&DESCRIPTION, contender)?;
        Ok(DEVICE_MIN)
    }

    fn read_ahead(&self, _: &str) -> ReadAhead {
        ReadAhead::Own("zfs-fuse prefetches by its own rules, in its own process")
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let options = Options::of(&DESCRIPTION, request.contender)?;
        options.no_journal_disk(request)?;
        let device = options.device(request, DEVICE_MIN)?;
        let pool = format!("fstrial-{}", super::serial_digits(&request.uuid, 12));

        let mut create: Vec<String> =
            ["create", "-f", "-o", "cachefile=none"].map(str::to_owned).to_vec();
        for property in properties(&options)? {
            create.extend(["-O".to_owned(), property]);
        }
        create.extend(options.mkfs.iter().cloned());
        create.extend([pool.clone(), device.to_owned()]);

        let mount = options.mount(["nosuid", "nodev"].map(str::to_owned).to_vec());
        let zpool =
            |words: &[&str]| Command::new("zpool", words.iter().copied().chain([pool.as_str()]));
        let zfs =
            |words: &[&str]| Command::new("zfs", words.iter().copied().chain([pool.as_str()]));
        let service = Service {
            start: Command::new(
                "zfs-fuse",
                ["--no-daemon", "--no-kstat-mount", "-o", &mount.join(",")],
            ),
            ready: Command::new("zpool", ["list"]),
            private: PRIVATE.map(str::to_owned).to_vec(),
            device_directory: DEVICES.to_owned(),
            devices: vec![device.to_owned()],
            // The daemon mounts the filesystem by itself as soon as the mount point exists, and
            // unmounts it likewise.
            mount: zfs(&["set", &format!("mountpoint={MOUNT_POINT}")]),
            unmount: zfs(&["set", "mountpoint=none"]),
        };
        Ok(Plan {
            make: vec![Command::new("zpool", create).destructive()],
            durability: options.durability(&mount),
            mount: Mount {
                kernel_type: "fuse.zfs".to_owned(),
                source: pool.clone(),
                options: mount,
            },
            settle: Vec::new(),
            attachment: Some(Attachment {
                detach: zpool(&["export"]),
                attach: zpool(&["import", "-d", DEVICES, "-o", "cachefile=none"]),
                empty: None,
                remove: zpool(&["destroy", "-f"]),
                // It has no `zpool sync`; a property is set in a transaction that is waited for.
                commit: zfs(&["set", "fstrial:counted=yes"]),
                service: Some(service),
            }),
            check: vec![
                zpool(&["scrub"]),
                // Scrubbing continues after the command has returned.
                zpool(&["status"]).printing("scrub completed").awaited(),
                zpool(&["status"]).printing("with 0 errors"),
                zpool(&["status", "-x"]).printing("is healthy"),
            ],
            inspect: vec![zpool(&["status"]), zpool(&["get", "all"]), zfs(&["get", "-H", "all"])],
            served_by: "zfs-fuse, in user space by FUSE: a lesser stand-in for OpenZFS, which \
                        syncfs does not reach"
                .to_owned(),
        })
    }

    fn features(&self, inspected: &[(String, String)]) -> Vec<String> {
        // `POOL  version  23  default`
        let dumps = inspected.iter().filter(|(command, _)| command.starts_with("zpool get"));
        let lines = dumps.flat_map(|(_, output)| output.lines());
        lines
            .filter_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
                [_, "version", version, ..] => Some(format!("pool version {version}")),
                _ => None,
            })
            .collect()
    }
}
