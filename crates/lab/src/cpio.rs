//! The archive format of an initramfs: `newc` of cpio, as in Linux,
//! Documentation/driver-api/early-userspace/buffer-format.rst.

/// Builds an archive in memory. Inode numbers count up and every time is 0, so that equal
/// contents give equal bytes.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    inodes: u32,
}

impl Archive {
    /// An empty one.
    pub(crate) fn new() -> Archive {
        Archive::default()
    }

    /// A directory; parents come first.
    pub(crate) fn directory(&mut self, path: &str) {
        self.entry(path, 0o040_755, (0, 0), &[]);
    }

    /// A file, executable or not.
    pub(crate) fn file(&mut self, path: &str, executable: bool, contents: &[u8]) {
        self.entry(path, if executable { 0o100_755 } else { 0o100_644 }, (0, 0), contents);
    }

    /// A symbolic link.
    pub(crate) fn link(&mut self, path: &str, target: &str) {
        self.entry(path, 0o120_777, (0, 0), target.as_bytes());
    }

    /// A character device.
    pub(crate) fn character_device(&mut self, path: &str, major: u32, minor: u32) {
        self.entry(path, 0o020_600, (major, minor), &[]);
    }

    /// The archive's bytes.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), contents: &[u8]) {
        self.inodes += 1;
        let fields = [
            self.inodes,
            mode,
            0,
            0,
            1,
            0,
            contents.len() as u32,
            0,
            0,
            device.0,
            device.1,
            path.len() as u32 + 1,
            0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_one_small_file() {
        let mut archive = Archive::new();
        archive.file("a", false, b"xyz");
        let bytes = archive.finish();
        let head = "07070100000001000081a4000000000000000000000001000000000000000300000000\
                    000000000000000000000000000000020000000061";
        let shown: String = head.split_whitespace().collect();
        assert!(bytes.starts_with(&shown.as_bytes()[..110]));
        assert_eq!(&bytes[110..112], b"a\0");
        assert_eq!(&bytes[112..116], b"xyz\0");
        assert_eq!(bytes.len() % 4, 0);
        assert!(bytes.windows(10).any(|window| window == b"TRAILER!!!"));
    }
}
