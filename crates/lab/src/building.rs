//! The programs of a build: where they lie, and steps that start many others.

use std::io::{self, BufRead, BufReader, PipeWriter};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::error::LabError;

/// A program on the PATH.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
}

/// Runs a step of a build and passes its output on line by line. If this process ends, so does
/// the step, with every process it has started.
///
/// # Errors
/// When it cannot be started, or fails: then with its last words.
pub(crate) fn run(command: &mut Command, mut line: impl FnMut(&str)) -> Result<(), LabError> {
    let shown = format!("{command:?}");
    let failed = |said: String| LabError::Program {
        command: shown.chars().rev().take(120).collect::<Vec<_>>().into_iter().rev().collect(),
        said,
        next: None,
    };
    let (reader, writer) = std::io::pipe().map_err(|error| failed(error.to_string()))?;
    let errors = writer.try_clone().map_err(|error| failed(error.to_string()))?;
    command.process_group(0).stdin(Stdio::null()).stdout(writer).stderr(errors);
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let lifeline = Lifeline::of(&child).map_err(|error| {
        let _ = child.kill();
        failed(error.to_string())
    })?;
    // Drops our own copies of the pipe's write end: reading would otherwise never reach its end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut tail: Vec<String> = Vec::new();
    for said in BufReader::new(reader).split(b'\n') {
        let Ok(said) = said else { break };
        let said = String::from_utf8_lossy(&said).into_owned();
        line(&said);
        tail.push(said);
        if tail.len() > 100 {
            tail.drain(..50);
        }
    }
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    drop(lifeline);
    match status.success() {
        true => Ok(()),
        false => Err(failed(last_lines(tail.join("\n").as_bytes()))),
    }
}

/// The last words of a program.
pub(crate) fn last_lines(output: &[u8]) -> String {
    const LINES: usize = 8;
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join(" / ")
}

/// Ends a process group when this process ends, for whatever reason. A parent death signal would
/// not do: it reaches only the direct child, so `make` would end and its compilers would go on.
struct Lifeline {
    shell: Child,
    /// Held until the shell has been killed. If the shell sees it close, this process is gone.
    held: Option<PipeWriter>,
}

impl Lifeline {
    /// For the group that this child leads.
    fn of(leader: &Child) -> io::Result<Lifeline> {
        let (reader, held) = io::pipe()?;
        let shell = Command::new("sh")
            .args(["-c", "read -r _; kill -s KILL -- \"-$0\"", &leader.id().to_string()])
            // A terminal's interrupt is for this process alone.
            .process_group(0)
            .stdin(reader)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Lifeline { shell, held: Some(held) })
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        // It has ended already, or ends now.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
        self.held = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_fails_is_told_with_its_last_words() {
        let mut seen = Vec::new();
        let mut step = Command::new("sh");
        step.args(["-c", "echo one; echo two >&2; exit 3"]);
        let error = run(&mut step, |line| seen.push(line.to_owned())).unwrap_err().to_string();
        assert_eq!(seen, ["one", "two"]);
        assert!(error.contains("one / two"), "{error}");
    }

    /// The pipe is closed by the kernel when this process is gone, as it is here by hand.
    #[test]
    fn what_a_step_has_started_ends_with_us() {
        let mut leader = Command::new("sh");
        leader.args(["-c", "sleep 1000 & echo; wait"]).process_group(0).stdout(Stdio::piped());
        let mut leader = leader.spawn().unwrap();
        let mut said = BufReader::new(leader.stdout.take().unwrap());
        said.read_line(&mut String::new()).unwrap();
        let mut lifeline = Lifeline::of(&leader).unwrap();
        lifeline.held = None;
        assert!(!leader.wait().unwrap().success());
        // Both held the pipe's other end: it ends when neither does.
        assert_eq!(said.read_line(&mut String::new()).unwrap(), 0);
        assert!(lifeline.shell.wait().unwrap().success());
    }
}
