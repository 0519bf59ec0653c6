//! The kernel's last messages, if it ended the trial's process: which process ran out of memory,
//! or which bug was hit.

/// The kernel's buffer is no longer than this by default.
const BUFFER: usize = 256 << 10;
/// Enough for the memory report that the kernel prints when it kills a process.
const LINES: usize = 80;
/// With this the kernel begins its account of why it kills a process.
const MEMORY_RAN_OUT: &str = "invoked oom-killer";
/// Actions of syslog(2).
const READ_ALL: libc::c_int = 3;

/// The last lines of the kernel's log, from the last time memory ran out if it did. Empty
/// where it cannot be read.
pub(crate) fn last_words() -> String {
    let mut buffer = vec![0; BUFFER];
    // SAFETY: the kernel writes at most as many bytes as the buffer has.
    let got = unsafe { libc::klogctl(READ_ALL, buffer.as_mut_ptr().cast(), BUFFER as libc::c_int) };
    let got = usize::try_from(got).unwrap_or(0);
    end_of(&String::from_utf8_lossy(&buffer[..got]))
}

/// Whether it ends with the account of a process that was killed since memory ran out.
pub(crate) fn tells_of_a_lack_of_memory(last_words: &str) -> bool {
    last_words.lines().next().is_some_and(|line| line.contains(MEMORY_RAN_OUT))
}

fn end_of(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let last = lines.len().saturating_sub(LINES);
    let killer = lines.iter().rposition(|line| line.contains(MEMORY_RAN_OUT));
    let from = killer.unwrap_or(last);
    lines[from..lines.len().min(from + LINES)].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_of_memory_is_told_from_its_beginning() {
        let rest = "<6>[    3.0] Mem-Info:\n".repeat(200);
        let log = format!("<6>[    1.0] boot\n<4>[    2.0] x invoked oom-killer: order=0\n{rest}");
        let told = end_of(&log);
        assert!(told.starts_with("<4>[    2.0] x invoked oom-killer"), "{told}");
        assert_eq!(told.lines().count(), LINES);
        assert!(tells_of_a_lack_of_memory(&told));
        assert!(!tells_of_a_lack_of_memory("<6>[    1.0] boot"));
        assert!(!tells_of_a_lack_of_memory(""));
        assert_eq!(end_of("<6>[    1.0] boot\n"), "<6>[    1.0] boot");
        assert_eq!(end_of(""), "");
    }
}
