//! The command line of mke2fs.

use units::Bytes;

use super::{Geometry, Member};
use crate::filesystems::options::Options;
use crate::filesystems::vocabulary::{
    INODE_RATIO, JOURNAL_SIZE, LAZY_INIT, RESERVED_PERCENT, STRIPE_UNIT, STRIPE_WIDTH,
};
use crate::filesystems::{Request, derived_uuid};
use crate::{Command, Refusal};

/// The creation time that superblocks carry, the first of 2020: otherwise two filesystems made
/// from one request would differ in it. The lab's clock starts at the same time, so no mount is
/// earlier.
const MADE_AT: &str = "1577836800";

impl Member {
    pub(super) fn make_journal(
        &self,
        options: &Options<'_>,
        geometry: &Geometry,
        request: &Request<'_>,
        journal: &str,
    ) -> Command {
        let mut args: Vec<String> =
            ["-q", "-F", "-O", "journal_dev", "-b"].map(str::to_owned).to_vec();
        args.push(geometry.block.0.to_string());
        args.extend(["-U".to_owned(), derived_uuid(&request.uuid, 1)]);
        // A journal device has no directories, but mke2fs would draw a hash seed for it all the
        // same.
        args.extend(["-E".to_owned(), format!("nodiscard,hash_seed={}", request.hash_seed)]);
        args.push(journal.to_owned());
        if let Some(size) = options.size(&JOURNAL_SIZE) {
            args.push((size.0 / geometry.block.0).to_string());
        }
        outside_configuration(Command::new("mke2fs", args))
    }

    pub(super) fn make(
        &self,
        options: &Options<'_>,
        geometry: &Geometry,
        request: &Request<'_>,
        features: &[&str],
        device: &str,
        journal: Option<&str>,
    ) -> Result<Command, Refusal> {
        let raw = Raw::split(options)?;
        let mut extended = vec!["nodiscard".to_owned(), format!("hash_seed={}", request.hash_seed)];
        let lazy = u8::from(options.switch(&LAZY_INIT).unwrap_or(false));
        extended.push(format!("lazy_itable_init={lazy}"));
        extended.push(format!("lazy_journal_init={lazy}"));
        extended.extend(stripe(options, geometry.block)?);
        extended.extend(raw.extended);
        let features: Vec<&str> = ["none"]
            .iter()
            .chain(features)
            .copied()
            .chain(raw.features.iter().map(String::as_str))
            .collect();
        let reserved = options.number_within(&RESERVED_PERCENT, 0, 50)?.unwrap_or(5);

        let mut args: Vec<String> =
            ["-q", "-F", "-t", self.description.name, "-O"].map(str::to_owned).to_vec();
        args.push(features.join(","));
        let mut option = |flag: &str, value: String| args.extend([flag.to_owned(), value]);
        option("-b", geometry.block.0.to_string());
        option("-I", geometry.inode.0.to_string());
        if !raw.usage_type || options.text(&INODE_RATIO).is_some() {
            option("-i", geometry.ratio.0.to_string());
        }
        option("-m", reserved.to_string());
        option("-U", request.uuid.clone());
        option("-E", extended.join(","));
        match (journal, geometry.journal) {
            (Some(journal), _) => option("-J", format!("device={journal}")),
            (None, Some(size)) => option("-J", format!("size={}", size.0 >> 20)),
            (None, None) => {}
        }
        args.extend(raw.rest);
        args.push(device.to_owned());
        Ok(outside_configuration(Command::new("mke2fs", args)))
    }
}

/// `stride` and `stripe_width` of mke2fs, in blocks.
fn stripe(options: &Options<'_>, block: Bytes) -> Result<Vec<String>, Refusal> {
    let disks = options.number_within(&STRIPE_WIDTH, 1, 1024)?;
    let Some(unit) = options.size(&STRIPE_UNIT) else {
        return match disks {
            None => Ok(Vec::new()),
            Some(_) => Err(options.refuse(&STRIPE_WIDTH, "it needs stripe_unit beside it")),
        };
    };
    if unit.0 == 0 || !unit.0.is_multiple_of(block.0) {
        let rule = format!("it is a multiple of the block size, {block}");
        return Err(options.refuse(&STRIPE_UNIT, rule));
    }
    let stride = unit.0 / block.0;
    let mut extended = vec![format!("stride={stride}")];
    extended.extend(disks.map(|disks| format!("stripe_width={}", stride * disks)));
    Ok(extended)
}

/// Raw arguments. mke2fs honours only the last `-E` and the last `-O`, so what is given there is
/// merged into the driver's own; the other arguments follow the driver's own and override them.
struct Raw {
    extended: Vec<String>,
    features: Vec<String>,
    /// A usage type (`-T news`) brings an inode ratio of its own.
    usage_type: bool,
    rest: Vec<String>,
}

impl Raw {
    fn split(options: &Options<'_>) -> Result<Raw, Refusal> {
        let mut raw =
            Raw { extended: Vec::new(), features: Vec::new(), usage_type: false, rest: Vec::new() };
        let mut args = options.mkfs.iter();
        while let Some(arg) = args.next() {
            let (flag, value) = match arg.split_at_checked(2) {
                Some((flag @ ("-E" | "-O"), attached)) => (flag, attached),
                _ => {
                    raw.usage_type |= arg.starts_with("-T");
                    raw.rest.push(arg.clone());
                    continue;
                }
            };
            let value = if value.is_empty() {
                args.next().map(String::as_str).unwrap_or_default()
            } else {
                value
            };
            let parts = value.split(',').filter(|part| !part.is_empty()).map(str::to_owned);
            match flag {
                "-E" => raw.extended.extend(parts),
                _ => raw.features.extend(parts),
            }
        }
        if raw.extended.iter().any(|extended| extended == "discard") {
            let name = &options.contender().name;
            return Err(Refusal::new(
                format!("{name}: mkfs=-E discard"),
                "a discard punches holes into the allocated backing file, and later work fills \
                 them inside the clock",
            )
            .with_next("leave it out"));
        }
        Ok(raw)
    }
}

/// A destructive command of e2fsprogs that no configuration file and no clock influences.
pub(super) fn outside_configuration(command: Command) -> Command {
    command
        .destructive()
        .with_env("MKE2FS_CONFIG", "/nonexistent/mke2fs.conf")
        .with_env("E2FSPROGS_FAKE_TIME", MADE_AT)
}
