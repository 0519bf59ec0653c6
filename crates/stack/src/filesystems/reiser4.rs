//! Reiser4: everything in one tree, changes in atoms. In no kernel of kernel.org or Debian: it
//! needs a kernel that you have patched yourself.

use units::Bytes;

use super::options::Options;
use super::vocabulary::{ATIME, COMPRESSION, DIRECTORY_HASH, SYNC, TAIL_PACKING};
use super::{Description, Filesystem, Mount, Plan, Request};
use crate::{Command, Contender, Refusal};

pub(super) struct Reiser4;

static DESCRIPTION: Description = Description {
    name: "reiser4",
    summary: "everything in one tree; needs a kernel of your own that is patched for it",
    kernel_type: "reiser4",
    module: "reiser4",
    package: Some("reiser4progs"),
    programs: &["mkfs.reiser4", "fsck.reiser4", "debugfs.reiser4"],
    options: &[
        ATIME.here("when reading updates the access time"),
        SYNC.here("synchronous writing"),
        TAIL_PACKING.here("default on: `smart`, for files of up to 16 KiB"),
        DIRECTORY_HASH.only("tea|r5|rupasov", "default r5"),
        COMPRESSION.only(
            "off|lzo|zlib|zstd",
            "default off: plain files, all that it had in 2004; the default of mkfs.reiser4 itself \
             is lzo",
        ),
    ],
    presets: &[],
    varies: Some("the number mkfs.reiser4 draws beside the UUID, and time stamps"),
    needs_device: true,
};

/// mkfs.reiser4 takes less (128 KiB); below this there is no room to work in.
const DEVICE_MIN: Bytes = Bytes::from_mib(1);

/// The plugins that differ from the default profile.
fn plugins(options: &Options<'_>) -> String {
    let mut plugins = match options.text(&COMPRESSION) {
        None | Some("off") => vec!["create=reg40".to_owned()],
        Some("zlib") => vec!["create=ccreg40".to_owned(), "compress=gzip1".to_owned()],
        Some(other) => vec!["create=ccreg40".to_owned(), format!("compress={other}1")],
    };
    if options.switch(&TAIL_PACKING) == Some(false) {
        plugins.push("formatting=extents".to_owned());
    }
    if let Some(hash) = options.text(&DIRECTORY_HASH) {
        plugins.push(format!("hash={hash}_hash"));
    }
    plugins.join(",")
}

impl Filesystem for Reiser4 {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn minimum_size(&self, contender: &Contender) -> Result<Bytes, Refusal> {
        Options::of(&DESCRIPTION, contender)?;
        Ok(DEVICE_MIN)
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let options = Options::of(&DESCRIPTION, request.contender)?;
        options.no_journal_disk(request)?;
        let device = options.device(request, DEVICE_MIN)?;
        let plugins = plugins(&options);
        let mut make: Vec<String> =
            ["-y", "-f", "-U", &request.uuid, "-o", &plugins].map(str::to_owned).to_vec();
        make.extend(options.mkfs.iter().cloned());
        make.push(device.to_owned());
        let mount = options.mount(Vec::new());
        Ok(Plan {
            make: vec![Command::new("mkfs.reiser4", make).destructive()],
            durability: options.durability(&mount),
            mount: Mount {
                kernel_type: "reiser4".to_owned(),
                source: device.to_owned(),
                options: mount,
            },
            settle: Vec::new(),
            attachment: None,
            check: vec![Command::new("fsck.reiser4", ["-y", "--check", device])],
            inspect: vec![Command::new("debugfs.reiser4", ["-f", device])],
            served_by: "reiser4.ko".to_owned(),
        })
    }
}
