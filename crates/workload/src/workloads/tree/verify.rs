//! Comparing trees and archives with the archive everything came from.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::FileType;

use super::passes::open_to_read;
use super::untar::pieces;
use super::{EMPTY, fnv, fnv_on};
use crate::Failure;
use crate::corpora::archive::{ArchiveError, Kind, Member, PlainFile, Reader};
use crate::engine::path_buffer::PathBuffer;
use crate::engine::walk::{Step, Walker};

/// Digest of each file and symbolic link by its path, as the kernel knows it.
type Contents = HashMap<Vec<u8>, Found>;

#[derive(Debug, Clone, Copy)]
struct Found {
    digest: u64,
    /// Whether a filesystem without links has none of it.
    link: bool,
}

fn broken(what: &str) -> impl Fn(String) -> Failure + '_ {
    move |why| Failure::Verify(format!("{what}: {why}"))
}

/// What an archive leaves when all of it is unpacked.
fn of_archive(path: &Path) -> Result<Contents, ArchiveError> {
    let mut reader = Reader::new(PlainFile::open(path)?);
    let (mut member, mut contents) = (Member::default(), Contents::new());
    while reader.next(&mut member)? {
        let digest = match member.kind {
            Kind::Directory => {
                contents.remove(&member.path);
                continue;
            }
            Kind::Symlink => fnv(&member.link),
            Kind::HardLink => match contents.get(&member.link) {
                Some(found) => found.digest,
                None => return Err(reader.refuse("a hard link names no earlier file")),
            },
            Kind::File => digest(&mut reader, &member)?,
        };
        let link = member.kind != Kind::File;
        contents.insert(member.path.clone(), Found { digest, link });
    }
    Ok(contents)
}

/// The digest of a file, the zeros in its holes among them.
fn digest(reader: &mut Reader<PlainFile>, member: &Member) -> Result<u64, ArchiveError> {
    let (mut digest, mut at) = (EMPTY, 0);
    for (offset, length) in pieces(member) {
        digest = of_zeros(digest, offset - at);
        let mut left = length;
        while left > 0 {
            let piece = reader.piece()?;
            let took = piece.len().min(usize::try_from(left).unwrap_or(piece.len()));
            digest = fnv_on(digest, &piece[..took]);
            reader.consume(took);
            left -= took as u64;
        }
        at = offset + length;
    }
    Ok(of_zeros(digest, member.size - at))
}

fn of_zeros(mut digest: u64, mut count: u64) -> u64 {
    let zeros = [0; 4096];
    while count > 0 {
        let now = count.min(zeros.len() as u64);
        digest = fnv_on(digest, &zeros[..now as usize]);
        count -= now;
    }
    digest
}

fn of_tree(target: BorrowedFd<'_>, root: &str) -> Result<Contents, Failure> {
    let mut contents = Contents::new();
    let mut buffer = vec![0; 128 << 10];
    let mut start = PathBuffer::new();
    start.text(root);
    Walker::new()
        .walk(target, &mut start, &mut |step, path| {
            let Step::File(kind) = step else { return Ok(()) };
            let link = kind == FileType::Symlink;
            let digest = if link {
                let link = rustix::fs::readlinkat(target, path.c_str(), Vec::new())
                    .map_err(path.failed("read the link"))?;
                fnv(link.to_bytes())
            } else {
                let mut file = File::from(open_to_read(target, path)?);
                let mut digest = EMPTY;
                loop {
                    let got = file.read(&mut buffer).map_err(path.failed("read"))?;
                    if got == 0 {
                        break digest;
                    }
                    digest = fnv_on(digest, &buffer[..got]);
                }
            };
            let name = path.as_bytes()[root.len() + 1..].to_owned();
            contents.insert(name, Found { digest, link });
            Ok(())
        })
        .map_err(|error| broken(root)(format!("{error}: {}", error.source)))?;
    Ok(contents)
}

/// Whether `trees` and `archives` hold what `source` holds, byte by byte; but for links, where
/// they were left out since the filesystem has none.
pub(super) fn verify(
    target: BorrowedFd<'_>,
    source: &Path,
    trees: &[&str],
    archives: &[&Path],
    links_left_out: bool,
) -> Result<(), Failure> {
    let read = |path: &Path| {
        of_archive(path).map_err(|error| broken(&path.display().to_string())(error.to_string()))
    };
    let expected = read(source)?;
    let compare = |what: &str, mut found: Contents| {
        let names = found.len();
        for (path, wanted) in &expected {
            match found.remove(path) {
                Some(it) if it.digest == wanted.digest => {}
                None if wanted.link && links_left_out => {}
                _ => {
                    let path = text::name(path);
                    return Err(broken(what)(format!("{path} is missing or has other contents")));
                }
            }
        }
        match found.is_empty() {
            true => Ok(()),
            false => Err(broken(what)(format!("{names} files instead of {}", expected.len()))),
        }
    };
    for tree in trees {
        compare(tree, of_tree(target, tree)?)?;
    }
    for archive in archives {
        compare(&archive.display().to_string(), read(archive)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
