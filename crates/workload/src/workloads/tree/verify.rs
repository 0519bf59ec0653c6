//! Comparing trees and archives with the archive everything came from.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::FileType;

use super::fnv;
use super::passes::open_to_read;
use crate::Failure;
use crate::corpora::source_tree::is_remark;
use crate::engine::path_buffer::PathBuffer;
use crate::engine::walk::{Step, Walker};

/// Digest of each file and symbolic link by its path.
type Contents = HashMap<Vec<u8>, u64>;

fn broken(what: &str) -> impl Fn(String) -> Failure + '_ {
    move |why| Failure::Verify(format!("{what}: {why}"))
}

fn of_archive(path: &Path) -> Result<Contents, Failure> {
    let shown = path.display().to_string();
    let fail = |error: std::io::Error| broken(&shown)(error.to_string());
    let mut archive = tar::Archive::new(File::open(path).map_err(fail)?);
    let mut contents = Contents::new();
    let mut bytes = Vec::new();
    for entry in archive.entries().map_err(fail)? {
        let mut entry = entry.map_err(fail)?;
        let kind = entry.header().entry_type();
        if is_remark(kind) || kind == tar::EntryType::Directory {
            continue;
        }
        let name = entry.path_bytes().into_owned();
        let link = entry.link_name_bytes().unwrap_or_default().into_owned();
        let digest = match kind {
            tar::EntryType::Symlink => fnv(&link),
            tar::EntryType::Link => *contents
                .get(&link)
                .ok_or_else(|| broken(&shown)("a hard link names no earlier file".to_owned()))?,
            _ => {
                bytes.clear();
                entry.read_to_end(&mut bytes).map_err(fail)?;
                fnv(&bytes)
            }
        };
        contents.insert(name, digest);
    }
    Ok(contents)
}

fn of_tree(target: BorrowedFd<'_>, root: &str) -> Result<Contents, Failure> {
    let mut contents = Contents::new();
    let mut start = PathBuffer::new();
    start.text(root);
    Walker::new()
        .walk(target, &mut start, &mut |step, path| {
            let Step::File(kind) = step else { return Ok(()) };
            let digest = if kind == FileType::Symlink {
                let link = rustix::fs::readlinkat(target, path.c_str(), Vec::new())
                    .map_err(path.failed("read the link"))?;
                fnv(link.to_bytes())
            } else {
                let opened = open_to_read(target, path)?;
                let mut bytes = Vec::new();
                File::from(opened).read_to_end(&mut bytes).map_err(path.failed("read"))?;
                fnv(&bytes)
            };
            contents.insert(path.as_bytes()[root.len() + 1..].to_owned(), digest);
            Ok(())
        })
        .map_err(|error| broken(root)(format!("{error}: {}", error.source)))?;
    Ok(contents)
}

/// Whether `trees` and `archives` hold what `source` holds, byte by byte.
pub(super) fn verify(
    target: BorrowedFd<'_>,
    source: &Path,
    trees: &[&str],
    archives: &[&Path],
) -> Result<(), Failure> {
    let expected = of_archive(source)?;
    let compare = |what: &str, found: Contents| {
        for (path, digest) in &expected {
            if found.get(path) != Some(digest) {
                let path = String::from_utf8_lossy(path);
                return Err(broken(what)(format!("{path} is missing or has other contents")));
            }
        }
        if found.len() != expected.len() {
            return Err(broken(what)(format!(
                "{} files instead of {}",
                found.len(),
                expected.len()
            )));
        }
        Ok(())
    };
    for tree in trees {
        compare(tree, of_tree(target, tree)?)?;
    }
    for archive in archives {
        compare(&archive.display().to_string(), of_archive(archive)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
