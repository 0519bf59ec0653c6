//! `fstrial slurm-task`: one trial of a run, begun by Slurm on a node.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Component, Path};

use runner::{Places, TestbedRequest};
use slurm::Task;
use units::Bytes;
use workload::Space;

use crate::arguments::SlurmTask;
use crate::ending::stop_on_signals;
use crate::exit::{Ended, Exit, Failure};
use crate::files::private_cache;
use crate::places::Here;
use crate::testbeds;

/// Set once the node has the run's lab, in a cache of its own.
const PREPARED: &str = "FSTRIAL_SLURM_LAB";

/// Runs the trial and writes its events to the spool. An error before the trial began is written
/// there too: another attempt on this node would fail in the same way.
pub(crate) fn run(arguments: &SlurmTask) -> Ended {
    let task = Task::read(&arguments.spool, arguments.first).map_err(Failure::from(Exit::Input))?;
    if task.is_done() {
        return Ok(Exit::Done);
    }
    let request = serde_json::from_value::<TestbedRequest>(task.order.testbed.clone())
        .map_err(Failure::from(Exit::Input))?;
    let configured = testbeds::read(&request)?;
    if let (Some(software), Some(name)) = (&task.order.lab_software, configured.lab())
        && std::env::var_os(PREPARED).is_none()
    {
        return Err(with_lab(software, name, &task.spool().lab()));
    }
    let node = std::env::var("SLURMD_NODENAME").unwrap_or_else(|_| "this node".to_owned());
    let failed = |reason: String| {
        task.fail(format!("on {node}: {reason}")).map_err(Failure::from(Exit::Output))
    };
    let here = Here::open()?;
    let stop = stop_on_signals()?;
    let room = Space { bytes: Bytes(task.order.room), inodes: task.order.inodes };
    let testbed = match here.testbed(&request, task.order.inputs.clone(), room) {
        Ok(testbed) => testbed,
        Err(error) => return failed(error.to_string()).map(|()| Exit::SomeFailed),
    };
    if let Some((_, refusal)) = testbed.admit(std::slice::from_ref(&task.spec)).first() {
        return failed(refusal.to_string()).map(|()| Exit::SomeFailed);
    }
    task.run(testbed.as_ref(), &stop).map_err(Failure::from(Exit::Output))?;
    Ok(if stop.asked() { Exit::Stopped } else { Exit::Done })
}

/// Imports the lab, once per node, into a cache of its own under the name that the run uses, and
/// restarts this program with that cache. Returns only if this fails.
fn with_lab(software: &str, name: &str, archive: &Path) -> Failure {
    let prepare = || -> Result<std::path::PathBuf, Failure> {
        // It names a directory in the cache, and must not lead out of it.
        let parts: Vec<Component<'_>> = Path::new(software).components().collect();
        if !matches!(parts[..], [Component::Normal(_)]) {
            let message =
                format!("the spool names `{software}` as the lab's software, which is no name");
            return Err(Failure::new(Exit::Input, message));
        }
        let failed = Failure::from::<std::io::Error>(Exit::Refused);
        let home = private_cache()?.join("slurm").join(software);
        let cache = home.join("fstrial").join("lab");
        ::files::private_directory(&cache).map_err(Failure::from(Exit::Refused))?;
        // Tasks that begin at the same time on one node: the first imports, the others wait.
        let lock = File::create(home.join("import.lock")).map_err(&failed)?;
        lock.lock().map_err(&failed)?;
        if lab::find(&cache, name).is_err() {
            lab::import(&cache, name, archive, &mut |_| ()).map_err(Failure::from(Exit::Input))?;
        }
        Ok(home)
    };
    let home = match prepare() {
        Ok(home) => home,
        Err(failure) => return failure,
    };
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return Failure::new(Exit::Refused, error.to_string()),
    };
    let mut again = std::process::Command::new(program);
    again.args(std::env::args_os().skip(1)).env("XDG_CACHE_HOME", &home).env(PREPARED, software);
    Failure::new(Exit::Refused, again.exec().to_string())
}
