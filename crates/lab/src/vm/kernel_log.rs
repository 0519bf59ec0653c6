//! The kernel's log, as `ramoops` leaves it in the shared region at an oops or panic.

use guest::region::KERNEL_LOG_BYTES;

/// Lines of a kernel log that are kept: an oops with its call trace, and what led to it.
const KERNEL_LOG_LINES: usize = 120;

/// The records of a `ramoops` area: each begins with a header of signature, start and length
/// (Linux, fs/pstore/ram_core.c), then `Panic#1 Part1` and the log. The signature was written
/// when the guest booted, into the region it had then; after a checkpoint it is missing.
pub(super) fn records_of(area: &[u8]) -> String {
    const HEADER: usize = 12;
    let mut text = String::new();
    for record in area.chunks(KERNEL_LOG_BYTES as usize / 2) {
        let length = record.get(8..HEADER).and_then(|word| word.try_into().ok());
        let Some(length) = length.map(u32::from_le_bytes).filter(|&length| length > 0) else {
            continue;
        };
        let body = record.get(HEADER..HEADER + length as usize).unwrap_or_default();
        text.push_str(&String::from_utf8_lossy(body));
    }
    // Boot messages are the same every time and say nothing about how the kernel ended.
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(KERNEL_LOG_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_log_is_found_with_and_without_its_signature() {
        let mut area = vec![0; KERNEL_LOG_BYTES as usize];
        assert_eq!(records_of(&area), "");
        area[8] = 5;
        area[12..17].copy_from_slice(b"Panic");
        assert_eq!(records_of(&area), "Panic");
        let second = KERNEL_LOG_BYTES as usize / 2;
        area[second..second + 4].copy_from_slice(b"DBGC");
        area[second + 8] = 2;
        area[second + 12..second + 14].copy_from_slice(b"ab");
        assert_eq!(records_of(&area), "Panicab");
    }
}
