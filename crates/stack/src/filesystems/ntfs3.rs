//! NTFS by the kernel's own driver, ntfs3. Made with the tools of ntfs-3g.

use units::Bytes;

use super::options::Options;
use super::vocabulary::{ATIME, BLOCK_SIZE, COMPRESSION, SYNC};
use super::{
    Description, Filesystem, Mount, Plan, Request, Upkeep, UpkeepRequest, serial_digits, upkeep,
};
use crate::{Command, Contender, Refusal};

pub(super) struct Ntfs3;

static DESCRIPTION: Description = Description {
    name: "ntfs3",
    summary: "NTFS by the kernel's driver",
    kernel_type: "ntfs3",
    module: "ntfs3",
    package: Some("ntfs-3g"),
    programs: &["mkfs.ntfs", "ntfslabel", "ntfsfix", "ntfsinfo"],
    options: &[
        ATIME.here("when reading updates the access time"),
        SYNC.here("synchronous writing"),
        BLOCK_SIZE.here("size of a cluster, 512 to 64K; default 4K"),
        COMPRESSION.only("off|on", "default off; on needs clusters of 4K at most"),
    ],
    presets: &[],
    varies: None,
    needs_device: true,
};

/// What mkfs.ntfs takes at least, rounded up.
const DEVICE_MIN: Bytes = Bytes::from_kib(1100);

fn cluster(options: &Options<'_>) -> Result<Bytes, Refusal> {
    let cluster = options.power_of_two(&BLOCK_SIZE, 512, 64 << 10)?.unwrap_or(Bytes::from_kib(4));
    if options.switch(&COMPRESSION) == Some(true) && cluster > Bytes::from_kib(4) {
        let rule = format!("it needs clusters of 4 KiB at most, not of {cluster}");
        return Err(options.refuse(&COMPRESSION, rule));
    }
    Ok(cluster)
}

fn minimum(cluster: Bytes) -> Bytes {
    DEVICE_MIN.max(cluster * 512)
}

impl Filesystem for Ntfs3 {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn minimum_size(&self, contender: &Contender) -> Result<Bytes, Refusal> {
        let options = Options::of(&DESCRIPTION, contender)?;
        Ok(minimum(cluster(&options)?))
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let options = Options::of(&DESCRIPTION, request.contender)?;
        options.no_journal_disk(request)?;
        let cluster = cluster(&options)?;
        let device = options.device(request, minimum(cluster))?;

        // -Q: no zeroing of the device. -T: all times are 1970 and nothing is drawn.
        let size = cluster.0.to_string();
        let mut args: Vec<String> =
            ["-q", "-F", "-Q", "-T", "-c", &size].map(str::to_owned).to_vec();
        if options.switch(&COMPRESSION) == Some(true) {
            args.push("-C".to_owned());
        }
        args.extend(options.mkfs.iter().cloned());
        args.push(device.to_owned());
        let serial = format!("--new-serial={}", serial_digits(&request.uuid, 16));
        let mount = options.mount(Vec::new());
        Ok(Plan {
            make: vec![
                Command::new("mkfs.ntfs", args).destructive(),
                Command::new("ntfslabel", [serial.as_str(), device]).destructive(),
            ],
            durability: options.durability(&mount),
            mount: Mount {
                kernel_type: "ntfs3".to_owned(),
                source: device.to_owned(),
                options: mount,
            },
            settle: Vec::new(),
            check: vec![Command::new("ntfsfix", ["-n", device])],
            // It refuses a mounted volume unless told to read only.
            inspect: vec![Command::new("ntfsinfo", ["-f", "-m", device])],
            attachment: None,
            served_by: "ntfs3.ko".to_owned(),
        })
    }

    fn upkeep(&self, request: &UpkeepRequest<'_>) -> Upkeep {
        let size = request.size.0.to_string();
        let mut resize = upkeep::run("ntfsresize", &["-f", "-f", "-s", &size, request.device]);
        // It leaves a mark that asks Windows for a check, with which ntfs3 does not mount.
        resize.extend(upkeep::run("ntfsfix", &["-d", request.device]));
        // ntfs3 does not mount a volume that was not unmounted.
        let recover = vec![Command::new("ntfsfix", ["-d", request.device]).destructive()];
        Upkeep { resize_unmounted: resize, recover, ..Upkeep::default() }
    }

    fn upkeep_programs(&self) -> &'static [&'static str] {
        &["ntfsresize"]
    }
}
