//! What a filesystem can do, tried: each entry of the table is an attempt on a filesystem made
//! for it, not a quotation. [`CAPABILITIES`] is the only list of them; what was seen is kept
//! in `tried.toml`.

mod attributes;
mod damage;
mod entries;
mod finding;
mod inodes;
mod resize;
mod snapshot;
mod space;
mod stage;
mod tried;

use std::path::Path;

use self::stage::Stage;
use crate::execute::{Programs, kernel_release, tool_versions};
use crate::{Event, Job, Outcome, Site, Step};

pub use finding::{Finding, Found};
pub use tried::{Tried, TriedFilesystem};

/// Programs that the attempts need beside a filesystem's own, to resize the device under it.
pub const PROGRAMS: &[&str] = &["dmsetup"];

/// Something a filesystem can or cannot do.
#[derive(Debug)]
pub struct Capability {
    /// Its name in the table and in `tried.toml`.
    pub name: &'static str,
    /// What is done to find out.
    pub attempt: &'static str,
    how: How,
}

#[derive(Debug)]
enum How {
    /// In an empty directory of a filesystem that others have used as well.
    InDirectory(fn(&Path) -> Finding),
    /// On a filesystem of its own.
    OnItsOwn(fn(&Stage<'_>) -> Result<Finding, String>),
}

macro_rules! capabilities {
    ($($name:literal $how:ident $attempt:path, $words:literal;)*) => {
        /// Everything that is tried, in the order of the table.
        pub static CAPABILITIES: &[Capability] = &[
            $(Capability { name: $name, attempt: $words, how: How::$how($attempt) },)*
        ];
    };
}

capabilities! {
    "grow-mounted" OnItsOwn resize::grow_mounted,
        "its device grows by a third and the mounted filesystem is resized to fill it; contents \
         and check are right";
    "grow-unmounted" OnItsOwn resize::grow_unmounted, "the same while it is not mounted";
    "shrink-mounted" OnItsOwn resize::shrink_mounted,
        "the mounted filesystem shrinks by a sixth and its device is cut to that size; contents \
         and check are right";
    "shrink-unmounted" OnItsOwn resize::shrink_unmounted, "the same while it is not mounted";
    "snapshots" OnItsOwn snapshot::snapshot,
        "a file is written, a snapshot taken, the file overwritten: the snapshot has the first \
         contents";
    "data-checksums" OnItsOwn damage::data,
        "a byte of a file is altered on the disk: reading the file must not return it";
    "metadata-checksums" OnItsOwn damage::metadata,
        "a name in a directory is altered on the disk: it must not be listed";
    "dynamic-inodes" OnItsOwn inodes::dynamic,
        "30,000 empty files on 384 MiB, where a fixed table with one inode per 16 KiB would be \
         full";
    "reflinks" InDirectory space::reflink,
        "a file is cloned (FICLONE) and the clone overwritten: the original is unchanged";
    "hole-punching" InDirectory space::punch_hole,
        "a hole of 256 KiB is punched into a file (fallocate): it reads as zeros and takes no room";
    "preallocation" InDirectory space::preallocate,
        "1 MiB is reserved (fallocate): it takes that room before anything is written";
    "sparse-files" InDirectory space::sparse, "a byte at 64 MiB takes less than 8 MiB";
    "fiemap" InDirectory space::fiemap, "the kernel reports where a file lies (FS_IOC_FIEMAP)";
    "direct-io" InDirectory space::direct,
        "4 KiB are written and read without the page cache (O_DIRECT)";
    "hard-links" InDirectory entries::hard_link, "a file has two names";
    "symlinks" InDirectory entries::symlink, "a symbolic link reads as it was written";
    "named-pipes" InDirectory entries::named_pipe, "a FIFO is made";
    "case-sensitive" InDirectory entries::case, "`name` and `NAME` are two files";
    "any-bytes" InDirectory entries::any_bytes, "a name that is not valid UTF-8 is listed as it \
                                                 was given";
    "longest-name" InDirectory entries::longest_name,
        "the longest name of `n`s and the longest of `€`s that can be made";
    "exchange" InDirectory entries::exchange, "two files swap names atomically (RENAME_EXCHANGE)";
    "unnamed-files" InDirectory entries::unnamed, "a file without a name is made (O_TMPFILE)";
    "owners" InDirectory attributes::owner, "owner, group and mode are stored as set";
    "xattrs" InDirectory attributes::xattr,
        "an attribute `user.fstrial` is read back; the figure is the largest value that is taken, \
         up to 64 KiB";
    "acls" InDirectory attributes::acl, "a POSIX ACL that names a user is read back";
    "immutable" InDirectory attributes::immutable,
        "a file marked immutable cannot be opened for writing";
    "time-stamps" InDirectory attributes::time_stamp, "how precisely a time of 123,456,789 ns is \
                                                       stored";
}

/// Tries every capability of the job's filesystem on the job's first device, and tells
/// `sink`: [`Event::Found`] for each, [`Event::Ended`] last.
pub fn try_capabilities(job: &Job, sink: &mut dyn FnMut(Event)) {
    let outcome = match try_all(job, sink) {
        Ok(()) => Outcome::Done,
        Err(outcome) => outcome,
    };
    sink(Event::Ended(outcome));
}

fn try_all(job: &Job, sink: &mut dyn FnMut(Event)) -> Result<(), Outcome> {
    let failed = |reason: String| Outcome::Failed { step: Step::Work, reason };
    let Site::Devices { devices, mount_point, .. } = &job.site else {
        return Err(failed("capabilities are tried on devices".to_owned()));
    };
    let contender = &job.spec.contender;
    let filesystem = stack::filesystems::find(&contender.filesystem)
        .ok_or_else(|| failed(format!("there is no filesystem `{}`", contender.filesystem)))?;
    let stage = Stage {
        filesystem,
        contender,
        seed: job.spec.seed,
        disk: devices.first().filter(|_| filesystem.describe().needs_device),
        mount_point,
        programs: Programs::new(&job.tool_path),
    };
    // nilfs2's tools keep a semaphore there.
    let _ = std::fs::create_dir_all("/dev/shm");
    let tools = tool_versions(&stage.programs, filesystem);
    sink(Event::Found(Found::Of { kernel: kernel_release(), tools }));
    let mut found = |capability: &Capability, finding| {
        sink(Event::Found(Found::Capability { name: capability.name.to_owned(), finding }));
    };
    let mut subject = stage.make(stage::SIZE).map_err(failed)?;
    for capability in CAPABILITIES {
        if let How::InDirectory(attempt) = capability.how {
            let directory = mount_point.join(capability.name);
            let finding = match std::fs::create_dir(&directory) {
                Ok(()) => attempt(&directory),
                Err(error) => Finding::untried(format!("no directory for it: {error}")),
            };
            found(capability, finding);
        }
    }
    let _ = subject.unmount();
    drop(subject);
    for capability in CAPABILITIES {
        if let How::OnItsOwn(attempt) = capability.how {
            let finding = attempt(&stage).unwrap_or_else(Finding::untried);
            found(capability, finding);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_and_none_comes_twice() {
        let mut names: Vec<&str> = CAPABILITIES.iter().map(|one| one.name).collect();
        assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CAPABILITIES.len());
    }

    #[test]
    fn attempts_in_a_directory_tell_what_is_from_what_is_not() {
        let place = tempfile::tempdir().unwrap();
        let mut done = 0;
        for capability in CAPABILITIES {
            let How::InDirectory(attempt) = capability.how else { continue };
            let directory = place.path().join(capability.name);
            std::fs::create_dir(&directory).unwrap();
            let finding = attempt(&directory);
            if ["hard-links", "symlinks", "named-pipes", "case-sensitive"]
                .contains(&capability.name)
            {
                assert_eq!(finding, Finding::yes(""), "{}", capability.name);
                done += 1;
            }
        }
        assert_eq!(done, 4);
        // Where no filesystem can be made, nothing is found about any capability.
        for capability in CAPABILITIES {
            let How::InDirectory(attempt) = capability.how else { continue };
            let finding = attempt(&place.path().join("absent"));
            assert!(!matches!(finding, Finding::Yes(_)), "{}: {finding}", capability.name);
        }
    }
}
