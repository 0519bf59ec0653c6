//! Formats that people call archives, by their first bytes, since a name proves nothing.

/// A program that undoes a compression: with `-dc` it reads its input and writes its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Program {
    /// Its name.
    pub(crate) name: &'static str,
    /// The Debian package it comes in.
    pub(crate) package: &'static str,
}

const fn program(name: &'static str, package: &'static str) -> Program {
    Program { name, package }
}

const COMPRESSED: &[(&[u8], Program)] = &[
    (b"\x1f\x8b", program("gzip", "gzip")),
    (b"\x1f\x9d", program("gzip", "gzip")),
    (b"\xfd7zXZ\0", program("xz", "xz-utils")),
    (b"\x5d\0\0", program("xz", "xz-utils")),
    (b"BZh", program("bzip2", "bzip2")),
    (b"\x28\xb5\x2f\xfd", program("zstd", "zstd")),
    (b"LZIP", program("lzip", "lzip")),
    (b"\x04\x22\x4d\x18", program("lz4", "lz4")),
    (b"\x89LZO\0", program("lzop", "lzop")),
];

const OTHERS: &[(&[u8], &str)] = &[
    (b"PK", "a zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a rar archive"),
    (b"07070", "a cpio archive"),
    (b"\xc7\x71", "a cpio archive"),
    (b"!<arch>", "an ar archive or a Debian package"),
    (b"\xed\xab\xee\xdb", "an RPM package"),
    (b"hsqs", "a squashfs image"),
    (b"# v", "a git bundle"),
    (b"xar!", "a xar archive"),
];

/// The program that undoes the compression of a file with these first bytes.
pub(crate) fn program_for(first: &[u8]) -> Option<Program> {
    COMPRESSED.iter().find(|(begins, _)| first.starts_with(begins)).map(|(_, program)| *program)
}

/// What a file with these first bytes is, if it is known and no tar.
pub(crate) fn name_of(first: &[u8]) -> Option<&'static str> {
    if program_for(first).is_some() {
        return Some("compressed twice");
    }
    OTHERS.iter().find(|(begins, _)| first.starts_with(begins)).map(|(_, name)| *name)
}
