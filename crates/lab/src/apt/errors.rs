//! What apt and dpkg say when they fail, and what helps.

use std::io;
use std::process::Output;

use crate::error::LabError;

pub(super) fn not_debian(program: &str, error: &io::Error) -> LabError {
    match error.kind() {
        io::ErrorKind::NotFound => LabError::NotDebian { missing: program.to_owned() },
        _ => LabError::Program { command: program.to_owned(), said: error.to_string(), next: None },
    }
}

pub(super) fn checked(
    program: &str,
    arguments: &[&str],
    output: &Output,
) -> Result<String, LabError> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let all = String::from_utf8_lossy(&output.stderr);
    Err(LabError::Program {
        command: format!("{program} {}", arguments.join(" ")),
        next: advice(&all),
        said: last_words(&all),
    })
}

/// The lines that apt marks as errors, or else the last lines of the output. Explanations that
/// follow an error may be long and are dropped.
fn last_words(all: &str) -> String {
    const LINES: usize = 6;
    let lines: Vec<&str> = all.lines().filter(|line| !line.is_empty()).collect();
    let errors: Vec<&str> = lines.iter().copied().filter(|line| line.starts_with("E:")).collect();
    let kept = match errors.is_empty() {
        true => &lines[lines.len().saturating_sub(LINES)..],
        false => &errors[..errors.len().min(LINES)],
    };
    kept.join(" / ")
}

fn advice(said: &str) -> Option<String> {
    let unreachable =
        ["Could not resolve", "Failed to fetch", "Unable to connect", "Temporary failure"];
    if said.contains("No space left") {
        Some("free some space, or set XDG_CACHE_HOME to a place that has some".to_owned())
    } else if said.contains("Hash Sum mismatch") || said.contains("unexpected size") {
        Some(
            "a file does not match the lists of its archive: the mirror is being updated, or a \
             proxy serves an old copy; try again later, or use another mirror"
                .to_owned(),
        )
    } else if unreachable.iter().any(|words| said.contains(words)) {
        Some(
            "the archive could not be reached: check the network and the sources of apt, or \
             import a lab that was exported on another machine with `fstrial lab import`"
                .to_owned(),
        )
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_kept_and_its_explanation_is_not() {
        let long: String = (0..9).map(|nth| format!("   - detail {nth}\n")).collect();
        assert_eq!(last_words(&format!("E: Hash Sum mismatch\n{long}")), "E: Hash Sum mismatch");
        assert!(last_words(&long).starts_with("   - detail 3 / "));
    }

    #[test]
    fn a_network_that_is_down_is_said_to_be() {
        let next = advice("E: Failed to fetch x  Could not resolve 'x'").unwrap();
        assert!(next.contains("lab import"), "{next}");
        assert_eq!(advice("something else"), None);
    }
}
