//! Swap areas, as `/proc/swaps` lists them.

use std::path::PathBuf;

use files::unescape_octal;

/// Paths of the swap areas in `/proc/swaps`.
pub(super) fn parse_swaps(text: &[u8]) -> Vec<PathBuf> {
    text.split(|byte| *byte == b'\n')
        .skip(1)
        .filter_map(|line| line.split(|byte| matches!(byte, b' ' | b'\t')).next())
        .filter(|field| !field.is_empty())
        .map(unescape_octal)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swaps_with_a_heading_and_a_blank_in_a_name() {
        let text = b"Filename\t\tType\t\tSize\n/dev/loop7   partition\t65532\n/a\\040b file 4\n";
        assert_eq!(parse_swaps(text), [PathBuf::from("/dev/loop7"), PathBuf::from("/a b")]);
    }
}
