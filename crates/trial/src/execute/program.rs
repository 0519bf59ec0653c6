//! Running outside programs: found in the trial's tool path, in the C locale, dying with
//! the trial, their output kept for the error message.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use stack::Command;

/// Where programs are looked up.
#[derive(Clone)]
pub(crate) struct Programs {
    path: Vec<PathBuf>,
}

/// Why a program failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error(
        "{program} is not installed (looked in {looked}); `fstrial doctor` says what to install"
    )]
    Missing { program: String, looked: String },
    #[error("{program} could not be started: {source}")]
    Start { program: String, source: io::Error },
    #[error("`{command}` {status}: {said}")]
    Status { command: String, status: String, said: String },
    #[error("`{command}` did not say `{words}` but: {said}")]
    Unsaid { command: String, words: String, said: String },
}

impl Programs {
    pub(crate) fn new(path: &[PathBuf]) -> Programs {
        Programs { path: path.to_vec() }
    }

    /// Runs a command to its end and returns what it printed, output and errors together.
    pub(crate) fn run(&self, command: &Command) -> Result<String, ProgramError> {
        let start = |source| ProgramError::Start { program: command.program.clone(), source };
        let mut process = self.prepared(command)?;
        process.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = process.output().map_err(start)?;
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        match output.status.code() {
            Some(code) if command.success.contains(&code) => match &command.prints {
                Some(words) if !said.contains(words.as_str()) => Err(ProgramError::Unsaid {
                    command: command.to_string(),
                    words: words.clone(),
                    said: last_lines(&said),
                }),
                _ => Ok(said),
            },
            _ => Err(ProgramError::Status {
                command: command.to_string(),
                status: output.status.to_string(),
                said: last_lines(&said),
            }),
        }
    }

    /// Starts a program that runs beside the trial until it is killed. Its output goes to a file.
    pub(super) fn start(&self, command: &Command, output: File) -> Result<Child, ProgramError> {
        let failed = |source| ProgramError::Start { program: command.program.clone(), source };
        let mut process = self.prepared(command)?;
        process.stdout(output.try_clone().map_err(failed)?).stderr(output);
        process.spawn().map_err(failed)
    }

    /// The process of a command, which dies with the one that starts it.
    fn prepared(&self, command: &Command) -> Result<std::process::Command, ProgramError> {
        let mut process = std::process::Command::new(self.find(&command.program)?);
        process
            .args(&command.args)
            .env("LC_ALL", "C")
            .envs(command.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        // SAFETY: between fork and exec only prctl is called, which is async-signal-safe
        // and touches no memory of ours.
        unsafe {
            process.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        Ok(process)
    }

    fn find(&self, program: &str) -> Result<PathBuf, ProgramError> {
        self.path
            .iter()
            .map(|directory| directory.join(program))
            .find(|path| path.exists())
            .ok_or_else(|| ProgramError::Missing {
                program: program.to_owned(),
                looked: self
                    .path
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect::<Vec<_>>()
                    .join(":"),
            })
    }
}

/// The end of a program's output: enough to see why, short enough for a table's footnote.
fn last_lines(said: &str) -> String {
    let lines: Vec<_> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(4)..].join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs() -> Programs {
        Programs::new(&["/usr/sbin", "/usr/bin", "/bin"].map(PathBuf::from))
    }

    #[test]
    fn the_end_of_an_output_is_its_last_four_lines() {
        assert_eq!(last_lines("one\n\n two \nthree\n\nfour\nfive\n"), "two / three / four / five");
        assert_eq!(last_lines("one"), "one");
    }

    #[test]
    fn what_failed_is_named_with_its_last_words() {
        let command = Command::new("sh", ["-c", "echo first; echo no room >&2; exit 3"]);
        let error = programs().run(&command).unwrap_err().to_string();
        assert!(error.contains("exit status: 3") && error.contains("no room"), "{error}");
        assert!(programs().run(&command.succeeding_with(&[0, 3])).is_ok());
    }

    #[test]
    fn a_program_dies_with_the_thread_that_started_it() {
        use std::io::Read;
        let (mut out, end) = io::pipe().unwrap();
        let output = File::from(std::os::fd::OwnedFd::from(end));
        let started = move || {
            programs().start(&Command::new("sh", ["-c", "echo on; exec sleep 60"]), output).unwrap()
        };
        let mut child = std::thread::spawn(started).join().unwrap();
        let (send, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || send.send(out.read_to_end(&mut Vec::new())));
        let died = ended.recv_timeout(std::time::Duration::from_secs(10)).is_ok();
        let _ = child.kill();
        let _ = child.wait();
        assert!(died, "it runs on");
    }

    #[test]
    fn success_without_the_words_that_mean_it_is_a_failure() {
        let says = |words| {
            let command = Command::new("sh", ["-c", "echo the pool is degraded"]).printing(words);
            programs().run(&command).map_err(|error| error.to_string())
        };
        assert!(says("degraded").is_ok());
        let error = says("healthy").unwrap_err();
        assert!(error.contains("`healthy`") && error.contains("is degraded"), "{error}");
    }

    #[test]
    fn a_missing_program_says_where_it_was_looked_for() {
        let error = programs().run(&Command::new("mkfs.nothing", [""])).unwrap_err().to_string();
        assert!(error.contains("mkfs.nothing is not installed"), "{error}");
        assert!(error.contains("/usr/sbin"), "{error}");
    }
}
