//! Which process made an object, and whether it is still alive. A process id alone is reused;
//! together with the process's start time and the boot it is unique.

use std::io;

use serde::{Deserialize, Serialize};

/// One process of one boot of one machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since boot: field 22 of proc_pid_stat(5).
    pub start_ticks: u64,
    /// The boot's random id.
    pub boot_id: String,
}

impl ProcessIdentity {
    /// This process.
    ///
    /// # Errors
    /// When /proc cannot be read.
    pub fn current() -> io::Result<ProcessIdentity> {
        let pid = std::process::id();
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let (_, start_ticks) = parse_stat(&status)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/self/stat"))?;
        Ok(ProcessIdentity { pid, start_ticks, boot_id: boot_id()? })
    }

    /// Whether the process is still alive. If that cannot be determined, it counts as alive.
    pub(crate) fn is_alive(&self) -> bool {
        if !self.is_of_this_boot() {
            return false;
        }
        match std::fs::read_to_string(format!("/proc/{}/stat", self.pid)) {
            // A zombie does nothing any more. But a thread group whose first thread has ended also
            // looks like a zombie while its other threads are running.
            Ok(status) => parse_stat(&status).is_none_or(|(state, start_ticks)| {
                start_ticks == self.start_ticks && (state != 'Z' || self.has_other_threads())
            }),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Whether it belongs to the current boot: device numbers and loop devices of another boot mean
    /// nothing now.
    pub(crate) fn is_of_this_boot(&self) -> bool {
        boot_id().map_or(true, |boot_id| boot_id == self.boot_id)
    }

    fn has_other_threads(&self) -> bool {
        std::fs::read_dir(format!("/proc/{}/task", self.pid))
            .is_ok_and(|threads| threads.count() > 1)
    }
}

fn boot_id() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// State and start time. The command's name is in parentheses and may contain blanks and more
/// parentheses, so fields are counted from the last closing one.
fn parse_stat(status: &str) -> Option<(char, u64)> {
    let (_, rest) = status.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    // The state is field 3; the start time is field 22.
    Some((state, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_others_like_it_do_not() {
        let own = ProcessIdentity::current().unwrap();
        assert!(own.is_alive());
        let earlier = ProcessIdentity { start_ticks: own.start_ticks - 1, ..own.clone() };
        assert!(!earlier.is_alive(), "the same pid, given out again");
        let rebooted = ProcessIdentity { boot_id: "another".into(), ..own };
        assert!(!rebooted.is_alive());
    }

    #[test]
    fn a_command_may_be_called_anything() {
        let line = "7 (a) b (c)) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9";
        assert_eq!(parse_stat(line), Some(('S', 4242)));
        assert_eq!(parse_stat("7 (cut"), None);
    }
}
