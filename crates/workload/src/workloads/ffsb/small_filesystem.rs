//! A small filesystem for one test: a tmpfs that only a process of the test's own sees, so that
//! a test which fills it fills no other, whatever goes wrong.

use std::path::Path;
use std::process::Command;

/// Tells the test's own process where the filesystem is.
const PLACE: &str = "FSTRIAL_SMALL_FILESYSTEM";

/// Mounts the filesystem and becomes the test.
const SCRIPT: &str = r#"mount -t tmpfs -o "$1" none "$2" && exec "$3" --exact "$4" --nocapture"#;

/// Calls `body` with the directory of a tmpfs mounted with these options, in a process that runs
/// only the test of this name in this module (`module_path!()`).
pub(super) fn on_small_filesystem(
    module: &str,
    test: &str,
    options: &str,
    body: impl FnOnce(&Path),
) {
    if let Some(place) = std::env::var_os(PLACE) {
        body(Path::new(&place));
        return;
    }
    if !may_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    // The name of a test does not begin with its crate.
    let (_, module) = module.split_once("::").unwrap();
    // What goes on forever is a failure.
    let output = Command::new("timeout")
        .args(["--foreground", "--signal=KILL", "300", "unshare", "--mount", "--map-root-user"])
        .args(["sh", "-c", SCRIPT, "sh", options])
        .arg(home.path())
        .arg(std::env::current_exe().unwrap())
        .arg(format!("{module}::{test}"))
        .env(PLACE, home.path())
        .output()
        .expect("timeout (coreutils) is installed");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    // A name that no test has is no error to the process.
    let passed = output.status.success() && stdout.contains("1 passed");
    assert!(passed, "{}: {stdout}\n{stderr}", output.status);
}

/// Whether this user may mount in a namespace of his own. Says so when not.
fn may_mount() -> bool {
    let tried = Command::new("unshare").args(["--mount", "--map-root-user", "true"]).status();
    let may = tried.is_ok_and(|status| status.success());
    if !may {
        eprintln!("left out: needs namespaces of the user's own");
    }
    may
}
