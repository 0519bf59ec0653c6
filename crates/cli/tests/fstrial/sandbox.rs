//! A home of its own for each test, and fstrial run in it as a user would.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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

/// Whether tests may make, mount and attach. Says so when not.
pub(crate) fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("left out: needs root");
    }
    root
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
