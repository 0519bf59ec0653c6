//! A member of an archive, and the names it may have.

/// What is made of a member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file.
    #[default]
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// Another name of an earlier member.
    HardLink,
}

impl Kind {
    /// Of the letter in a header. In old archives a directory is a file whose name ends with a
    /// slash.
    pub(super) fn of(letter: u8, slash: bool) -> Result<Kind, &'static str> {
        match letter {
            b'0' | 0 | b'7' if slash => Ok(Kind::Directory),
            b'0' | 0 | b'7' | b'S' => Ok(Kind::File),
            b'1' => Ok(Kind::HardLink),
            b'2' => Ok(Kind::Symlink),
            // With a list of what is in it, from `tar --listed-incremental`.
            b'5' | b'D' => Ok(Kind::Directory),
            b'3' | b'4' => Err("it is a device"),
            b'6' => Err("it is a named pipe"),
            b'M' => Err("it goes on from another volume; join the volumes first"),
            _ => Err("it is of a kind that is not known"),
        }
    }
}

/// One member of an archive, as it is to be unpacked.
#[derive(Debug, Default)]
pub(crate) struct Member {
    /// What it is.
    pub(crate) kind: Kind,
    /// Its place, without `.` and empty parts; empty for the directory all is unpacked into.
    pub(crate) path: Vec<u8>,
    /// Target of a link; that of a hard link like `path`.
    pub(crate) link: Vec<u8>,
    /// Permissions, with set-user-ID and the like.
    pub(crate) mode: u32,
    /// User and group.
    pub(crate) owner: (u64, u64),
    /// Modification time: seconds since 1970, and nanoseconds after them.
    pub(crate) mtime: (i64, u32),
    /// Bytes of the unpacked file, holes among them.
    pub(crate) size: u64,
    /// Whether all outside of `pieces` is a hole.
    pub(crate) sparse: bool,
    /// Of a sparse file: where its contents lie, as offset and length, in ascending order.
    pub(crate) pieces: Vec<(u64, u64)>,
}

/// Longest name of a file: that of Linux.
const NAME_MAX: usize = 255;
/// Longest path: that of Linux, without the directory it is unpacked into.
const PATH_MAX: usize = 4080;

/// Writes a path without `.` and empty parts.
pub(super) fn inside(written: &[u8], path: &mut Vec<u8>) -> Result<(), String> {
    if written.starts_with(b"/") || written.split(|byte| *byte == b'/').any(|part| part == b"..") {
        return Err("its name leads out of the directory".to_owned());
    }
    if written.contains(&0) {
        return Err("its name has a NUL byte".to_owned());
    }
    let parts = written.split(|byte| *byte == b'/');
    for part in parts.filter(|part| !part.is_empty() && *part != b".") {
        if part.len() > NAME_MAX {
            let length = part.len();
            return Err(format!("a name of {length} bytes; Linux takes {NAME_MAX} at most"));
        }
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(part);
    }
    match path.len() > PATH_MAX {
        true => Err(format!("a path of {} bytes; {PATH_MAX} fit at most", path.len())),
        false => Ok(()),
    }
}
