//! Readers of `/proc/*/mountinfo` and `/proc/swaps`: text in, rows out.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::DeviceNumber;

/// One line of mountinfo (proc_pid_mountinfo(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Number of the device; an anonymous one for btrfs.
    pub number: DeviceNumber,
    /// Where it is mounted, as the mount's own namespace sees it.
    pub point: PathBuf,
    /// The filesystem's type.
    pub filesystem: String,
    /// What is mounted: `/dev/sdb1`, `tmpfs`.
    pub source: PathBuf,
}

/// Reads mountinfo. Malformed lines are left out; the exclusive open still finds such mounts.
pub fn parse_mountinfo(text: &[u8]) -> Vec<Mount> {
    text.split(|byte| *byte == b'\n').filter_map(parse_mount).collect()
}

fn parse_mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let number = std::str::from_utf8(fields.nth(2)?).ok()?.parse().ok()?;
    let point = unescape(fields.nth(1)?);
    fields.find(|field| *field == b"-")?;
    let filesystem = String::from_utf8_lossy(fields.next()?).into_owned();
    let source = unescape(fields.next()?);
    Some(Mount { number, point, filesystem, source })
}

/// Paths of the swap areas in `/proc/swaps`.
pub(crate) fn parse_swaps(text: &[u8]) -> Vec<PathBuf> {
    text.split(|byte| *byte == b'\n')
        .skip(1)
        .filter_map(|line| line.split(|byte| matches!(byte, b' ' | b'\t')).next())
        .filter(|field| !field.is_empty())
        .map(unescape)
        .collect()
}

/// Undoes the kernel's `\040` for blanks and backslashes in paths.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let octal = (first == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let Some(byte) = octal {
            bytes.push(byte);
            rest = &tail[3..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_with_optional_fields_and_blanks() {
        let text =
            b"36 35 98:0 /mnt1 /mnt/my\\040disk rw,noatime master:1 shared:2 - ext3 /dev/root rw\n\
                     40 35 0:41 / /btr rw - btrfs /dev/loop3 rw,space_cache\n\
                     torn li";
        let mounts = parse_mountinfo(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].number, DeviceNumber { major: 98, minor: 0 });
        assert_eq!(mounts[0].point, PathBuf::from("/mnt/my disk"));
        assert_eq!(mounts[0].filesystem, "ext3");
        assert_eq!(mounts[1].source, PathBuf::from("/dev/loop3"));
    }

    #[test]
    fn swaps_with_a_heading_and_a_blank_in_a_name() {
        let text = b"Filename\t\tType\t\tSize\n/dev/loop7   partition\t65532\n/a\\040b file 4\n";
        assert_eq!(parse_swaps(text), [PathBuf::from("/dev/loop7"), PathBuf::from("/a b")]);
    }
}
