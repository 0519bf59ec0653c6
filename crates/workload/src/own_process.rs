//! Tests in a process of their own: on a small filesystem that no other process sees, so that a
//! test which fills it fills no other, whatever goes wrong; and traced.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that tells a test which was started again where to work.
const PLACE: &str = "FSTRIAL_TEST_PLACE";

/// Mounts a tmpfs with the options that come first and becomes the command that follows.
const MOUNT: &str = r#"mount -t tmpfs -o "$1" none "$FSTRIAL_TEST_PLACE" && shift && exec "$@""#;

/// Where to work, in a test that was started again.
pub(crate) fn place() -> Option<PathBuf> {
    std::env::var_os(PLACE).map(PathBuf::from)
}

/// Starts the test of this name in this module (`module_path!()`) again, alone, as the command
/// that another program runs.
///
/// # Panics
/// If it fails or takes longer than five minutes.
pub(crate) fn again(program: &[&str], module: &str, test: &str, place: &Path) {
    // The name of a test does not begin with its crate.
    let (_, module) = module.split_once("::").unwrap();
    // What goes on forever is a failure.
    let output = Command::new("timeout")
        .args(["--foreground", "--signal=KILL", "300"])
        .args(program)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::{test}"), "--nocapture"])
        .env(PLACE, place)
        .output()
        .expect("timeout (coreutils) is installed");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    // A name that no test has is no error to the process.
    let passed = output.status.success() && stdout.contains("1 passed");
    assert!(passed, "{}: {stdout}\n{stderr}", output.status);
}

/// Where a tmpfs with these mount options lies that only this process sees. `None` in the process
/// that has started the test again for it, and where the user may not mount, which is said.
pub(crate) fn tmpfs(module: &str, test: &str, options: &str) -> Option<PathBuf> {
    if let Some(mounted) = place() {
        return Some(mounted);
    }
    let alone = ["unshare", "--mount", "--map-root-user"];
    let tried = Command::new(alone[0]).args(&alone[1..]).arg("true").status();
    if !tried.is_ok_and(|status| status.success()) {
        eprintln!("left out: needs namespaces of the user's own");
        return None;
    }
    let home = tempfile::tempdir().unwrap();
    let program = [&alone[..], &["sh", "-c", MOUNT, "sh", options]].concat();
    again(&program, module, test, home.path());
    None
}
