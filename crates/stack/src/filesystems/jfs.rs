//! JFS: extents and B+trees with a small journal of metadata, from IBM's OS/2 and AIX.
//!
//! It sends no cache flush on fsync (none was seen at the device), so its durability counts as
//! that of other filesystems with barriers off.

use units::Bytes;

use super::options::{Options, Placement};
use super::vocabulary::{ATIME, JOURNAL, JOURNAL_SIZE, SYNC};
use super::{
    Change, Description, Filesystem, Mount, Plan, Repair, Request, Upkeep, UpkeepRequest,
    derived_uuid,
};
use crate::{Command, Contender, Durability, Refusal};

pub(super) struct Jfs;

static DESCRIPTION: Description = Description {
    name: "jfs",
    summary: "extents and B+trees from OS/2; sends no cache flush on fsync",
    kernel_type: "jfs",
    module: "jfs",
    package: Some("jfsutils"),
    programs: &["mkfs.jfs", "fsck.jfs", "jfs_tune", "blockdev"],
    options: &[
        ATIME.here("when reading updates the access time"),
        SYNC.here("synchronous writing"),
        JOURNAL.only("internal|external", "default: external if the layout has a journal disk"),
        JOURNAL_SIZE.here("whole MiB, 1M to 128M and a tenth of the device at most; default 0.4 %"),
    ],
    presets: &[],
    varies: Some(
        "time stamps, and the room for fsck's own log, where mkfs.jfs writes uninitialised memory",
    ),
    needs_device: true,
};

/// The size chosen for the log, if any.
fn log(options: &Options<'_>, journal_disk: bool) -> Result<Option<Bytes>, Refusal> {
    let placement = options.placement(&JOURNAL, true, journal_disk)?;
    let log = options.size(&JOURNAL_SIZE);
    if let Some(size) = log {
        if placement == Placement::External {
            return Err(options.refuse(&JOURNAL_SIZE, "a journal on its own disk takes all of it"));
        }
        if !size.0.is_multiple_of(1 << 20) || size.0 < 1 << 20 || size.0 > 128 << 20 {
            return Err(options.refuse(&JOURNAL_SIZE, "it is whole MiB, 1M to 128M"));
        }
    }
    Ok(log)
}

fn minimum(log: Option<Bytes>) -> Bytes {
    let tenfold = log.map_or(0, |log| log.0 * 10 + (2 << 20));
    Bytes::from_mib(16).max(Bytes(tenfold))
}

impl Filesystem for Jfs {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn minimum_size(&self, contender: &Contender) -> Result<Bytes, Refusal> {
        let options = Options::of(&DESCRIPTION, contender)?;
        Ok(minimum(log(&options, contender.layout.has_journal_disk())?))
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let options = Options::of(&DESCRIPTION, request.contender)?;
        let log = log(&options, request.journal.is_some())?;
        let device = options.device(request, minimum(log))?;

        let mut make = Vec::new();
        let mut args = vec!["-q".to_owned()];
        let mut check = vec!["-f".to_owned(), "-n".to_owned()];
        if let Some(journal) = options.journal(request)? {
            let uuid = derived_uuid(&request.uuid, 1);
            make.push(Command::new("mkfs.jfs", ["-q", "-J", "journal_dev", journal]));
            // Before the filesystem is made, which keeps the UUID of its journal.
            make.push(Command::new("jfs_tune", ["-U", &uuid, journal]));
            args.extend(["-J".to_owned(), format!("device={journal}")]);
            check.extend(["-j".to_owned(), journal.to_owned()]);
        }
        if let Some(size) = log {
            args.extend(["-s".to_owned(), (size.0 >> 20).to_string()]);
        }
        args.extend(options.mkfs.iter().cloned());
        args.push(device.to_owned());
        check.push(device.to_owned());
        make.push(Command::new("mkfs.jfs", args));
        make.push(Command::new("jfs_tune", ["-U", &request.uuid, device]));
        let mut make: Vec<Command> = make.into_iter().map(Command::destructive).collect();
        // jfs_tune leaves what it wrote in the device's page cache, which is written when the
        // last descriptor is closed, and a trial keeps one open; the kernel reads the log
        // past that cache, and without this refuses to mount.
        for device in options.journal(request)?.into_iter().chain([device]) {
            make.push(Command::new("blockdev", ["--flushbufs", device]));
        }

        Ok(Plan {
            make,
            mount: Mount {
                kernel_type: "jfs".to_owned(),
                source: device.to_owned(),
                options: options.mount(Vec::new()),
            },
            settle: Vec::new(),
            check: vec![Command::new("fsck.jfs", check)],
            inspect: vec![Command::new("jfs_tune", ["-l", device])],
            durability: Durability::NoBarriers,
            attachment: None,
            served_by: "jfs.ko".to_owned(),
        })
    }

    fn features(&self, inspected: &[(String, String)]) -> Vec<String> {
        let dumps = inspected.iter().filter(|(command, _)| command.starts_with("jfs_tune"));
        let mut lines = dumps.flat_map(|(_, output)| output.lines());
        lines
            .find_map(|line| line.strip_prefix("JFS flags:"))
            .map(|flags| flags.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default()
    }

    fn upkeep(&self, request: &UpkeepRequest<'_>) -> Upkeep {
        Upkeep {
            grow_mounted: vec![Change::Remount("resize".to_owned())],
            recover: recover(request.plan),
            repair: Repair::by_check(
                request.plan,
                (32 << 10, 4 << 10),
                &[("-n", &["-p"])],
                &[0, 1],
            ),
            ..Upkeep::default()
        }
    }
}

/// Replays the log, which the kernel does not, and repairs only where that was not enough.
fn recover(plan: &Plan) -> Vec<Command> {
    let without = |word: &String| !["-f", "-n"].contains(&word.as_str());
    let recover = |check: &Command| {
        let args = check.args.iter().filter(|word| without(word)).cloned();
        let args = std::iter::once("-a".to_owned()).chain(args);
        Command::new(&check.program, args).succeeding_with(&[0, 1]).destructive()
    };
    plan.check.iter().map(recover).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_power_cut_the_log_is_replayed_wherever_it_lies() {
        let plan = |check: &[&str]| Plan {
            make: Vec::new(),
            mount: Mount {
                kernel_type: "jfs".to_owned(),
                source: "/dev/a".to_owned(),
                options: Vec::new(),
            },
            settle: Vec::new(),
            check: vec![Command::new("fsck.jfs", check.iter().copied())],
            inspect: Vec::new(),
            durability: Durability::NoBarriers,
            attachment: None,
            served_by: "jfs.ko".to_owned(),
        };
        let run = |check: &[&str]| recover(&plan(check))[0].to_string();
        assert_eq!(run(&["-f", "-n", "/dev/a"]), "fsck.jfs -a /dev/a");
        assert_eq!(run(&["-f", "-n", "-j", "/dev/b", "/dev/a"]), "fsck.jfs -a -j /dev/b /dev/a");
    }
}
