//! The process that executes one trial: what runs behind [`crate::CHILD_COMMAND`].

use std::io::BufReader;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;

use ::device::{Claim, ClaimState, ToolPath};
use rustix::fs::CWD;
use rustix::mount::{MountPropagationFlags, mount_change};
use serde::{Deserialize, Serialize};
use stack::Command;
use trial::{Event, Guard, Job, Outcome, Step, Unguarded, protocol};

/// What a trial's process is given.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// What to do, and where.
    pub(crate) job: Job,
    /// The claims on its devices, whose descriptors the process has inherited.
    pub(crate) claims: Vec<InheritedClaim>,
    /// Whether it mounts, and so needs a mount namespace of its own.
    pub(crate) mounts: bool,
    /// A directory to work in, through a mount that only this process has.
    pub(crate) held: Option<HeldTarget>,
}

/// A directory that the parent holds, and where the trial's process mounts it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HeldTarget {
    pub(crate) directory: RawFd,
    pub(crate) mount_point: PathBuf,
}

/// A claim of the parent, as data.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InheritedClaim {
    pub(crate) device: RawFd,
    pub(crate) disk: Option<RawFd>,
    pub(crate) state: ClaimState,
}

/// Main function of the trial's process. Not meant to be started by hand.
pub fn child_main() -> ExitCode {
    let read = protocol::read_order(&mut BufReader::new(std::io::stdin()));
    let assignment: Assignment = match read {
        Ok(assignment) => assignment,
        Err(error) => {
            eprintln!("this command is for fstrial's own use: {error}");
            return ExitCode::from(2);
        }
    };
    // If the parent died between its fork and our prctl, nobody could stop this trial. A closed
    // pipe shows that the parent is gone.
    let mut stdout = std::io::stdout();
    let mut tell = |event: Event| {
        if protocol::write_event(&mut stdout, &event).is_err() {
            std::process::exit(1);
        }
    };
    match prepare(&assignment) {
        Ok(guard) => {
            trial::execute(&assignment.job, guard.as_ref(), &mut tell);
            ExitCode::SUCCESS
        }
        Err(reason) => {
            tell(Event::Ended(Outcome::Failed { step: Step::Prepare, reason }));
            ExitCode::FAILURE
        }
    }
}

fn prepare(assignment: &Assignment) -> Result<Box<dyn Guard>, String> {
    if assignment.mounts {
        private_mounts(assignment.held.as_ref())
            .map_err(|error| format!("a private mount namespace: {error}"))?;
    }
    if assignment.claims.is_empty() {
        return Ok(Box::new(Unguarded::default()));
    }
    let tools = ToolPath::of(assignment.job.tool_path.iter().cloned());
    let claims = assignment
        .claims
        .iter()
        .map(|claim| {
            // SAFETY: the parent left exactly these descriptors open for this process and
            // nothing else here knows their numbers.
            let own = |fd: RawFd| unsafe { OwnedFd::from_raw_fd(fd) };
            let (device, disk) = (own(claim.device), claim.disk.map(own));
            Claim::adopt(device, disk, claim.state.clone(), tools.clone())
                .map_err(|refusal| refusal.to_string())
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Box::new(ClaimGuard(Mutex::new(claims))))
}

/// Enters a private mount namespace: mounts made from now on are visible only to this process and
/// its children, and disappear with the last of them. A held directory is mounted in it, so that
/// renames on the way to it do not matter.
fn private_mounts(held: Option<&HeldTarget>) -> rustix::io::Result<()> {
    use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
    let tree = match held {
        None => None,
        Some(held) => {
            // SAFETY: the parent left exactly this descriptor open for this process.
            let directory = unsafe { BorrowedFd::borrow_raw(held.directory) };
            let flags = OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC
                | OpenTreeFlags::AT_EMPTY_PATH;
            // Before the namespace changes, since the descriptor belongs to the old one.
            Some((open_tree(directory, c"", flags)?, &held.mount_point))
        }
    };
    // SAFETY: a mount namespace of its own changes no memory and no descriptor; the process
    // has one thread here.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS)? };
    let recursive = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", recursive)?;
    if let Some((tree, mount_point)) = tree {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(&tree, c"", CWD, mount_point, flags)?;
        mount_change(mount_point, recursive)?;
    }
    Ok(())
}

/// Rechecks every claim before a command that overwrites a device.
struct ClaimGuard(Mutex<Vec<Claim>>);

impl Guard for ClaimGuard {
    fn permit(&self, _: &Command) -> Result<(), String> {
        let claims = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        claims.iter().try_for_each(Claim::recheck).map_err(|refusal| refusal.to_string())
    }

    fn ran(&self, _: &Command) {
        let mut claims = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for claim in claims.iter_mut() {
            // A device that cannot be read any more is refused at the next recheck.
            let _ = claim.note_ours();
        }
    }
}
