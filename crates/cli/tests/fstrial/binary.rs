//! The binary stands alone: no library, no file of the system is needed.

use std::fs;
use std::process::Command;

use skippable::{Ending, needs_root};

use crate::sandbox::Sandbox;

pub(crate) fn it_runs_in_an_empty_root() -> Ending {
    needs_root()?;
    let sandbox = Sandbox::new();
    let root = sandbox.path("root");
    fs::create_dir_all(root.join("tmp")).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_fstrial"), root.join("fstrial")).unwrap();
    let run = |words: &[&str]| {
        let output =
            Command::new("chroot").arg(&root).arg("/fstrial").args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(run(&["--version"]).starts_with("fstrial "));
    assert!(run(&["list", "workloads"]).contains("maildir-write"));
    // SQLite is in it too.
    assert!(run(&["list", "runs", "--store", "/tmp/none.db"]).contains("no runs"));
    Ok(())
}

pub(crate) fn it_asks_for_no_newer_library_than_it_carries() {
    let headers = Command::new("readelf")
        .args(["--program-headers", "--dynamic", env!("CARGO_BIN_EXE_fstrial")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&headers.stdout);
    assert!(text.contains("LOAD"), "readelf said: {text}");
    assert!(!text.contains("INTERP") && !text.contains("NEEDED"), "it is linked dynamically");
}
