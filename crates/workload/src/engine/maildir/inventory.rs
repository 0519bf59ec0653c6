//! The mails that maildirs hold before a workload begins, in one arena: a hundred thousand
//! take some 5 MB.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::names::Tree;
use crate::Failure;
use crate::engine::file_io::list;
use crate::engine::path_buffer::PathBuffer;

/// Mails found in `new` and `cur`, ordered by maildir and name, so that the filesystem's
/// own order does not decide which one is drawn.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    names: Vec<u8>,
    mails: Vec<Found>,
}

#[derive(Debug, Clone, Copy)]
struct Found {
    maildir: u32,
    in_cur: bool,
    start: u32,
    len: u8,
}

impl Inventory {
    /// Lists every maildir; a missing one holds nothing. Not for use within a clock.
    pub(crate) fn take(target: BorrowedFd<'_>, tree: Tree) -> Result<Inventory, Failure> {
        let mut all = Inventory::default();
        let mut path = PathBuffer::new();
        for maildir in 0..tree.maildirs {
            let first = all.mails.len();
            for (part, in_cur) in [("/new", false), ("/cur", true)] {
                tree.maildir(maildir, &mut path);
                path.text(part);
                let (names, mails) = (&mut all.names, &mut all.mails);
                let listed = list(target, path.c_str(), |name| {
                    let (start, name) = (names.len() as u32, name.to_bytes());
                    names.extend_from_slice(name);
                    // NAME_MAX is 255 on every filesystem here.
                    mails.push(Found { maildir, in_cur, start, len: name.len().min(255) as u8 });
                });
                match listed {
                    Ok(_) | Err(Errno::NOENT) => {}
                    Err(error) => {
                        return Err(Failure::Input(format!("cannot list {path}: {error}")));
                    }
                }
            }
            let names = &all.names;
            all.mails[first..].sort_unstable_by_key(|mail| (name_in(names, mail), mail.in_cur));
        }
        Ok(all)
    }

    pub(crate) fn len(&self) -> u32 {
        self.mails.len() as u32
    }

    pub(crate) fn maildir(&self, mail: u32) -> u32 {
        self.mails[mail as usize].maildir
    }

    pub(crate) fn is_in_cur(&self, mail: u32) -> bool {
        self.mails[mail as usize].in_cur
    }

    pub(crate) fn name(&self, mail: u32) -> &[u8] {
        name_in(&self.names, &self.mails[mail as usize])
    }
}

fn name_in<'a>(names: &'a [u8], mail: &Found) -> &'a [u8] {
    &names[mail.start as usize..][..usize::from(mail.len)]
}
