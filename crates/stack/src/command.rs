//! A program to run, as data.

use serde::{Deserialize, Serialize};

/// One run of an outside program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The program's name, looked up in the trial's tool path (which includes the `sbin`
    /// directories).
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables set for it, beside a fixed locale.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// Exit codes that mean success. Output is checked beside them by the caller where a
    /// program is known to exit 0 after errors.
    pub success: Vec<i32>,
    /// What it must print to have succeeded, for a program that exits with 0 whatever it
    /// found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prints: Option<String>,
    /// Whether it is repeated until it succeeds: it asks about something that takes a while. The
    /// trial's own time limit ends the attempts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaited: bool,
    /// Whether it overwrites a device: then the guard checks the device once more
    /// immediately before.
    pub destructive: bool,
}

impl Command {
    /// A command that changes no device and succeeds with 0.
    pub fn new<S: Into<String>>(program: &str, args: impl IntoIterator<Item = S>) -> Command {
        Command {
            program: program.to_owned(),
            args: args.into_iter().map(Into::into).collect(),
            env: Vec::new(),
            success: vec![0],
            prints: None,
            awaited: false,
            destructive: false,
        }
    }

    /// The same, again and again until it succeeds.
    pub fn awaited(self) -> Command {
        Command { awaited: true, ..self }
    }

    /// The same, overwriting a device.
    pub fn destructive(self) -> Command {
        Command { destructive: true, ..self }
    }

    /// The same, with an environment variable.
    pub fn with_env(mut self, name: &str, value: &str) -> Command {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, with other exit codes that mean success.
    pub fn succeeding_with(self, codes: &[i32]) -> Command {
        Command { success: codes.to_vec(), ..self }
    }

    /// The same, which must print this to have succeeded.
    pub fn printing(self, words: &str) -> Command {
        Command { prints: Some(words.to_owned()), ..self }
    }
}

/// As one would type it.
impl std::fmt::Display for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, value) in &self.env {
            write!(f, "{name}={value} ")?;
        }
        f.write_str(&self.program)?;
        for arg in &self.args {
            write!(f, " {}", text::shell_word(arg))?;
        }
        Ok(())
    }
}
