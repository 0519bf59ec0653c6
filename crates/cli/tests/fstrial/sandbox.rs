//! A home of its own for each test, and fstrial run in it as a user would.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use skippable::{Ending, Skipped, skip};

/// A temporary home with store, cache and state of its own.
pub(crate) struct Sandbox {
    pub(crate) directory: tempfile::TempDir,
}

/// What a command printed and how it ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        Sandbox { directory: tempfile::tempdir().unwrap() }
    }

    /// One with the lab of the tests, built where it is not yet.
    ///
    /// # Errors
    /// Skips the test where the lab cannot be had, unless `FSTRIAL_TEST_LAB=required`.
    pub(crate) fn with_lab() -> Result<Sandbox, Skipped> {
        static BUILT: OnceLock<Ending> = OnceLock::new();
        let sandbox = Sandbox::new();
        let lab = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab");
        std::fs::create_dir_all(&lab).unwrap();
        std::fs::create_dir_all(sandbox.path(".cache/fstrial")).unwrap();
        std::os::unix::fs::symlink(lab, sandbox.path(".cache/fstrial/lab")).unwrap();
        let built = BUILT.get_or_init(|| {
            let ran = sandbox.run("lab build");
            let required = std::env::var("FSTRIAL_TEST_LAB").is_ok_and(|it| it == "required");
            assert!(ran.code == Some(0) || !required, "the lab is required: {}", ran.stderr);
            match ran.code {
                Some(0) => Ok(()),
                _ => skip(format!("the lab cannot be had here: {}", ran.stderr.trim())),
            }
        });
        built.clone().map(|()| sandbox)
    }

    /// One with a lab of its own, the same as that of the tests: what is built onto it changes
    /// what other tests measure in, and they run beside each other.
    ///
    /// # Errors
    /// As [`Self::with_lab`].
    pub(crate) fn with_lab_of_its_own() -> Result<Sandbox, Skipped> {
        let tests = Sandbox::with_lab()?;
        let sandbox = Sandbox::new();
        let file = tests.path("lab.tar");
        tests.run(&format!("lab export {}", file.display())).ended_with(0);
        sandbox.run(&format!("lab import {}", file.display())).ended_with(0);
        Ok(sandbox)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// fstrial with these words, split at blanks, not yet started.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fstrial"));
        command
            .args(words.split_whitespace())
            .current_dir(self.directory.path())
            .env("HOME", self.directory.path())
            .env_remove("XDG_CACHE_HOME")
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_STATE_HOME")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &str) -> Ran {
        Ran::of(self.command(words).output().unwrap())
    }
}

impl Ran {
    pub(crate) fn of(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Panics with everything printed unless the exit code is this one.
    #[track_caller]
    pub(crate) fn ended_with(self, code: i32) -> Ran {
        assert_eq!(
            self.code,
            Some(code),
            "\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout,
            self.stderr
        );
        self
    }
}

/// Asks until it is so; the kernel takes a moment to let go of what a dead process had.
#[track_caller]
pub(crate) fn eventually(what: &str, holds: impl FnMut() -> bool) {
    let held = waiting::until(Duration::from_secs(60), Duration::from_millis(10), holds);
    assert!(held, "not within a minute: {what}");
}

/// Images of loop files below a directory.
pub(crate) fn images(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect()
}
