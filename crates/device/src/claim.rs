//! Claiming a block device: the guard in front of everything that overwrites one.
//!
//! [`Claim::take`] always refuses a device that is in use, whatever the command line says. It
//! refuses a device that is not known to be empty unless `--destroy` names that very device.
//! [`Claim::recheck`] repeats all checks immediately before each destructive command, and compares
//! the drive and its contents with what was found, or with what fstrial itself left there.
//!
//! # How
//! An exclusive open shows that nobody holds the device. It is closed again, since otherwise
//! fstrial's own mkfs and mount would fail with `EBUSY`. What is kept is a plain read-only
//! descriptor with an exclusive `flock`: other fstrial processes and udev respect it, and the
//! device's number cannot be given to another disk while it is open. The claim of a partition also
//! holds a shared lock on its disk.
//!
//! # The race that remains
//! Between the recheck and the moment the destructive command opens the device, some
//! milliseconds pass. In that window, root can mount it, swap on it or add it to an array, or a
//! disk can be pulled out and another one can take over its name in `/dev`. `flock` binds only
//! programs that use it. mkfs, mount and mdadm open the device exclusively, so they fail if it was
//! put to use in that window; a writer that does not open exclusively (`dd`) is not noticed. Linux
//! offers no way to hold a device and let another program write to it, except by passing it an
//! open descriptor, which mkfs programs do not accept.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use files::HeldFile;
use serde::{Deserialize, Serialize};
use stack::Refusal;
use units::{Bytes, DeviceNumber};

use crate::contents::{self, Contents};
use crate::exclusive::{lock, open_node, probe_exclusively};
use crate::identity::Identity;
use crate::objection::Objection;
use crate::patience::patiently;
use crate::search::{Emptiness, Searched, search};
use crate::sysfs::Entry;
use crate::{ToolPath, Use, ioctl, usage};

/// Smaller devices hold none of the filesystems compared.
pub const SMALLEST_DEVICE: Bytes = Bytes::from_mib(16);

/// A claim as data, which another fstrial process needs in addition to the inherited descriptors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimState {
    /// The path as it was given.
    pub asked: PathBuf,
    /// The device node that the path led to when the claim was taken.
    pub node: PathBuf,
    /// The device's number.
    pub number: DeviceNumber,
    /// Which device it is.
    pub identity: Identity,
    /// Its contents, as far as known.
    pub contents: Contents,
    /// The process that took the claim.
    pub holder: u32,
}

/// The right to overwrite a device, after [`Claim::recheck`].
#[derive(Debug)]
pub struct Claim {
    device: File,
    /// The disk of a claimed partition.
    disk: Option<File>,
    state: ClaimState,
    tools: ToolPath,
}

/// The arguments of a claim. [`Claim::take`] is the short form.
#[derive(Debug, Clone)]
pub struct ClaimRequest<'a> {
    /// The device, or a symlink to it.
    pub path: &'a Path,
    /// Devices whose contents the user gave up, by `--destroy`.
    pub destroy: &'a [PathBuf],
    /// The smallest acceptable size.
    pub minimum: Bytes,
    /// Where blkid is looked for.
    pub tools: ToolPath,
    /// How it is found out that the device is empty.
    pub emptiness: Emptiness<'a>,
}

impl Claim {
    /// Claims the device at `path`, which may be a symlink such as `/dev/disk/by-id/…`.
    ///
    /// # Errors
    /// When it is not a writable block device of at least [`SMALLEST_DEVICE`]; when it is in use in
    /// any way of [`crate::Use`] or held exclusively; and when it carries a signature or data or
    /// cannot be read whole in time, unless `destroy` resolves to that very device. Nothing is
    /// written.
    pub fn take(path: &Path, destroy: &[PathBuf]) -> Result<Claim, Refusal> {
        let (tools, emptiness) = (ToolPath::from_environment(), Emptiness::default());
        ClaimRequest { path, destroy, minimum: SMALLEST_DEVICE, tools, emptiness }.take()
    }

    /// The device node to give to mkfs and mount.
    pub fn path(&self) -> &Path {
        &self.state.node
    }

    /// The device's number.
    pub fn number(&self) -> DeviceNumber {
        self.state.number
    }

    /// The device's size.
    pub fn size(&self) -> Bytes {
        self.state.identity.size
    }

    /// The claim as data: for the record, and for [`Claim::adopt`].
    pub fn state(&self) -> &ClaimState {
        &self.state
    }

    /// The descriptors whose locks make up the claim: the device, and a partition's disk. They are
    /// closed on exec unless the caller changes that.
    pub fn descriptors(&self) -> (BorrowedFd<'_>, Option<BorrowedFd<'_>>) {
        (self.device.as_fd(), self.disk.as_ref().map(AsFd::as_fd))
    }

    /// Takes over a claim in a process that inherited its descriptors. The locks belong to
    /// the descriptors, so they hold until both processes have closed them.
    ///
    /// # Errors
    /// When the descriptor is not that device, or the device is no longer as `state` says.
    pub fn adopt(
        device: OwnedFd,
        disk: Option<OwnedFd>,
        state: ClaimState,
        tools: ToolPath,
    ) -> Result<Claim, Refusal> {
        let claim = Claim { device: device.into(), disk: disk.map(File::from), state, tools };
        let metadata = claim.device.metadata().map_err(|error| claim.refuse(error.to_string()))?;
        if !metadata.file_type().is_block_device()
            || DeviceNumber::from_raw(metadata.rdev()) != claim.state.number
        {
            return Err(claim.refuse("the inherited descriptor is another file"));
        }
        claim.check_identity()?;
        Ok(claim)
    }

    /// Has to be called immediately before each command that overwrites the device. The module's
    /// documentation describes what can still happen afterwards.
    ///
    /// # Errors
    /// When the device is in use or held by now, is a different one, or has other contents than at
    /// [`Claim::take`] or the last [`Claim::note_ours`].
    pub fn recheck(&self) -> Result<(), Refusal> {
        self.check_node()?;
        self.check_identity()?;
        refuse_if_used(&self.state.node, &self.shown(), self.number(), &self.own())?;
        probe_exclusively(&self.state.node, &self.shown(), self.number())?;
        let now = self.read_contents()?;
        if now != self.state.contents {
            let found = Objection::of(&now)
                .map_or_else(|| "it is blank".to_owned(), |objection| objection.to_string());
            return Err(self
                .refuse(format!("its contents changed, and not by us: now {found}"))
                .with_next("find out who wrote to it before starting again"));
        }
        Ok(())
    }

    /// Records the present contents of the device as fstrial's own. May be called only when a
    /// command of fstrial's has written to it and is done: after mkfs, after unmount.
    ///
    /// # Errors
    /// When the device is a different one by now or cannot be read.
    pub fn note_ours(&mut self) -> Result<(), Refusal> {
        self.check_node()?;
        self.check_identity()?;
        self.state.contents = self.read_contents()?;
        Ok(())
    }

    fn own(&self) -> [u32; 1] {
        [self.state.holder]
    }

    fn shown(&self) -> String {
        shown(&self.state.asked, &self.state.node, self.state.number)
    }

    fn refuse(&self, rule: impl Into<String>) -> Refusal {
        Refusal::new(self.shown(), rule)
    }

    fn check_node(&self) -> Result<(), Refusal> {
        if usage::block_number(&self.state.node) == Some(self.state.number) {
            return Ok(());
        }
        Err(self
            .refuse(format!("{} is no longer this device", self.state.node.display()))
            .with_next("see `lsblk` and start again"))
    }

    fn check_identity(&self) -> Result<(), Refusal> {
        let now = Identity::of(&self.device, self.state.number)
            .map_err(|error| self.refuse(format!("it no longer answers ({error})")))?;
        match self.state.identity.difference(&now) {
            None => Ok(()),
            Some(difference) => Err(self
                .refuse(format!("it is no longer the device that was claimed: {difference}"))
                .with_next("see `lsblk` and start again")),
        }
    }

    fn read_contents(&self) -> Result<Contents, Refusal> {
        read_contents(&self.device, &self.state, &self.tools)
            .map_err(|unknown| unknown_contents(&self.shown(), unknown))
    }
}

impl ClaimRequest<'_> {
    /// See [`Claim::take`].
    ///
    /// # Errors
    /// As [`Claim::take`].
    pub fn take(&self) -> Result<Claim, Refusal> {
        let asked = self.path.display().to_string();
        let (node, number) = resolve(self.path, &asked)?;
        let destroy = self.may_destroy(number)?;
        let name = shown(self.path, &node, number);
        let refuse = |rule: String| Refusal::new(&name, rule);

        refuse_if_used(&node, &name, number, &[])?;
        let device = open_node(&node, &name, number, 0)?;
        if ioctl::is_read_only(&device).map_err(|error| refuse(error.to_string()))? {
            return Err(refuse("it is read-only".into())
                .with_next("`blockdev --setrw` if that is a setting, or name another device"));
        }
        let identity = Identity::of(&device, number)
            .map_err(|error| refuse(format!("no answer ({error})")))?;
        if identity.size < self.minimum {
            return Err(refuse(format!(
                "it has {}, and at least {} are needed",
                identity.size, self.minimum
            ))
            .with_next("name a larger device"));
        }
        probe_exclusively(&node, &name, number)?;
        let disk = lock(&device, &node, &name, number)?;

        let nothing = Contents { signatures: Vec::new(), data: None, digest: 0 };
        let mut state = ClaimState {
            asked: self.path.to_owned(),
            node,
            number,
            identity,
            contents: nothing,
            holder: std::process::id(),
        };
        state.contents = read_contents(&device, &state, &self.tools)
            .map_err(|unknown| unknown_contents(&name, unknown))?;
        if !destroy && let Some(objection) = self.objection(&device, &state, &name)? {
            return Err(refuse(objection.to_string()).with_next(objection.next(&state.node)));
        }
        let claim = Claim { device, disk, state, tools: self.tools.clone() };
        // Someone may have started to use it between the first check and the lock.
        refuse_if_used(claim.path(), &name, number, &[])?;
        claim.check_identity()?;
        Ok(claim)
    }

    /// What speaks against overwriting the device, whose signatures and samples are known.
    fn objection(
        &self,
        device: &File,
        state: &ClaimState,
        name: &str,
    ) -> Result<Option<Objection>, Refusal> {
        let reading = match self.emptiness {
            Emptiness::Read(reading) if state.contents.signature().is_none() => reading,
            _ => return Ok(Objection::of(&state.contents)),
        };
        let entry =
            Entry::of(state.number).map_err(|error| Refusal::new(name, error.to_string()))?;
        let node = state.node.display().to_string();
        let (size, data) = (state.identity.size.0, state.contents.data);
        let searched = Searched { node: &node, file: device, entry: &entry, size, data };
        search(&searched, &reading).map_err(|unread| unknown_contents(name, unread.into()))
    }

    /// Whether `--destroy` names this very device. A name that leads nowhere is an error: a typing
    /// mistake in the option that gives up data must not go unnoticed.
    fn may_destroy(&self, number: DeviceNumber) -> Result<bool, Refusal> {
        let mut named = false;
        for path in self.destroy {
            // The same words are the same device: they are not resolved a second time.
            if path == self.path {
                named = true;
                continue;
            }
            let (_, other) = resolve(path, &format!("--destroy {}", path.display()))?;
            named |= other == number;
        }
        Ok(named)
    }
}

/// The device node a path leads to, and its number. The node is held while it is looked at, and is
/// given to other programs by its name: so nobody else may be able to change what has that name.
fn resolve(path: &Path, what: &str) -> Result<(PathBuf, DeviceNumber), Refusal> {
    const LOOK: &str = "see `lsblk` for the devices of this machine";
    let not_a_device = |path: &Path| {
        Refusal::new(what, format!("{} is not a block device", path.display()))
            .with_next("name a device of `lsblk`, or use --dir for a directory")
    };
    let held = HeldFile::hold(path).map_err(|error| match error.source.kind() {
        io::ErrorKind::IsADirectory => not_a_device(path),
        _ => Refusal::new(what, format!("there is no such device ({})", error.source))
            .with_next(LOOK),
    })?;
    let node = held.present_path();
    let number = held.block_device().ok_or_else(|| not_a_device(&node))?;
    held.check_name().map_err(|reach| {
        Refusal::new(what, reach.to_string()).with_next("name the device by its node in /dev")
    })?;
    Ok((node, number))
}

/// How the device is shown: a symlink with where it leads.
fn shown(asked: &Path, node: &Path, number: DeviceNumber) -> String {
    if asked == node {
        format!("{} ({number})", node.display())
    } else {
        format!("{} → {} ({number})", asked.display(), node.display())
    }
}

fn refuse_if_used(
    node: &Path,
    name: &str,
    number: DeviceNumber,
    own: &[u32],
) -> Result<(), Refusal> {
    let found = patiently(
        || usage::find(number, own),
        |found| match found {
            Ok(Some(Use::Writer { node, .. })) => Some(node.clone()),
            _ => None,
        },
    );
    match found {
        Ok(None) => Ok(()),
        Ok(Some(found)) => {
            // For another device of the same disk, the message has to say why its use matters.
            let text = found.to_string();
            let here = text.contains(&*node.to_string_lossy());
            let rule = if here { text } else { format!("its disk is in use: {text}") };
            Err(Refusal::new(name, rule).with_next(found.next()))
        }
        Err(unreadable) => Err(Refusal::new(
            name,
            format!("who uses it is unknown: {unreadable} ({})", unreadable.source),
        )
        .with_next("mount /proc and /sys, or run as root")),
    }
}

fn read_contents(
    device: &File,
    state: &ClaimState,
    tools: &ToolPath,
) -> Result<Contents, contents::Unknown> {
    let start = contents::Unknown::Start;
    let entry = Entry::of(state.number).map_err(start)?;
    let mut partitions = Vec::new();
    for partition in entry.partitions().map_err(start)? {
        let node = partition.node();
        let file = open_node(&node, &node.to_string_lossy(), partition.number, 0)
            .map_err(|refusal| start(io::Error::other(refusal)))?;
        partitions.push((node.display().to_string(), file));
    }
    let mut nodes = vec![(state.node.display().to_string(), device)];
    nodes.extend(partitions.iter().map(|(node, file)| (node.clone(), file)));
    contents::read(&nodes, state.identity.size.0, tools)
}

fn unknown_contents(name: &str, unknown: contents::Unknown) -> Refusal {
    let next = match unknown {
        contents::Unknown::NoBlkid => "install blkid (Debian: apt-get install util-linux)",
        contents::Unknown::Read(_) => "see `dmesg` for its errors, or name another device",
        _ => "make `blkid -p` work on it, or name another device",
    };
    Refusal::new(name, unknown.to_string()).with_next(next)
}
