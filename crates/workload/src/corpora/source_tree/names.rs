//! Which names an archive has made so far while it is unpacked, to find what cannot be unpacked
//! before anything is.

use std::collections::HashMap;

use crate::corpora::archive::{Kind, Member};

/// Longest target of a symbolic link: that of Linux.
const LINK_MAX: usize = 4095;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Directory,
    File,
    Symlink,
}

/// The names made so far.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<Vec<u8>, Made>);

impl Names {
    /// Adds a member as GNU tar does: what has its name goes, unless it is a directory. Returns how
    /// many directories above it the archive has not named.
    pub(super) fn add(&mut self, member: &Member) -> Result<u64, String> {
        if member.path.is_empty() {
            return match member.kind {
                Kind::Directory => Ok(0),
                _ => Err("it has no name".to_owned()),
            };
        }
        let above = self.above(&member.path)?;
        let there = self.0.get(&member.path).copied();
        let made = match member.kind {
            Kind::Directory => Made::Directory,
            _ if there == Some(Made::Directory) => {
                return Err("an earlier member makes it a directory".to_owned());
            }
            Kind::File => Made::File,
            Kind::Symlink if member.link.len() > LINK_MAX => {
                let length = member.link.len();
                return Err(format!("a link of {length} bytes; Linux takes {LINK_MAX} at most"));
            }
            Kind::Symlink => Made::Symlink,
            Kind::HardLink => match self.0.get(&member.link) {
                Some(Made::Directory) => return Err("it is a hard link to a directory".to_owned()),
                Some(made) => *made,
                None => {
                    return Err(format!(
                        "it is a hard link to {}, which is not before it in the archive",
                        text::name(&member.link)
                    ));
                }
            },
        };
        self.0.insert(member.path.clone(), made);
        Ok(above)
    }

    /// Makes the directories above a path.
    fn above(&mut self, path: &[u8]) -> Result<u64, String> {
        let ends = || path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        // No directory becomes anything else.
        let nearest = ends().next_back().map_or(&[][..], |end| &path[..end]);
        if nearest.is_empty() || self.0.get(nearest) == Some(&Made::Directory) {
            return Ok(0);
        }
        let mut made = 0;
        for above in ends().map(|end| &path[..end]) {
            match self.0.get(above) {
                Some(Made::Directory) => {}
                Some(Made::Symlink) => {
                    return Err(format!("it lies behind the symbolic link {}", text::name(above)));
                }
                Some(Made::File) => {
                    return Err(format!("it lies below {}, which is a file", text::name(above)));
                }
                None => {
                    self.0.insert(above.to_owned(), Made::Directory);
                    made += 1;
                }
            }
        }
        Ok(made)
    }
}
