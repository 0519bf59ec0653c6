//! A workload in a process of its own, on a tmpfs of a private mount namespace.

use std::process::Command;

use skippable::{Ending, skip};

use crate::support::{corpus, program};
use crate::watching::events;

/// A namespace of the user's own, in which he may mount.
pub(crate) fn needs_to_mount() -> Ending {
    let tried = Command::new("unshare").args(["--mount", "--map-root-user", "true"]).status();
    match tried.is_ok_and(|status| status.success()) {
        true => Ok(()),
        false => skip("needs namespaces of the user's own"),
    }
}

/// What the process said.
pub(crate) struct Said {
    pub(crate) succeeded: bool,
    pub(crate) events: Vec<serde_json::Value>,
    pub(crate) error: String,
}

/// Runs `workload` on a tmpfs with these mount options, of which other files take `used` bytes.
/// `DIR` in it stands for the directory and the mails.
pub(crate) fn run_on_tmpfs(options: &str, used: u64, workload: &str) -> Said {
    let home = tempfile::tempdir().unwrap();
    let pack = corpus(home.path()).path().display().to_string();
    let mount = home.path().join("mnt");
    std::fs::create_dir(&mount).unwrap();
    let script = format!(
        "mount -t tmpfs -o {options} none {mount} && \
         {{ [ {used} = 0 ] || head -c {used} /dev/zero > {mount}/used; }} && \
         exec {program} {workload}",
        mount = mount.display(),
        program = program().display(),
        workload = workload.replace("DIR", &format!("{} {pack}", mount.display())),
    );
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", &script])
        .output()
        .expect("unshare (util-linux) is installed");
    Said {
        succeeded: output.status.success(),
        events: events(&output.stdout),
        error: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
