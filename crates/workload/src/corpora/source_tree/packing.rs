//! Unpacking an archive to a plain tar, whole or a share of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use units::Bytes;

use super::super::CorpusError;
use super::super::archive::{ArchiveError, Kind, Member, Reader};
use super::super::unpacked::{self, Packing};
use super::not_a_tree;

/// How an archive is compressed.
pub(super) fn packing_of(path: &Path) -> Result<Packing, CorpusError> {
    let metadata = std::fs::metadata(path).map_err(CorpusError::at("open", path))?;
    if metadata.is_dir() {
        return Err(not_a_tree(path, "it is a directory; pack it first: tar -cf TREE.tar DIR"));
    }
    if !metadata.is_file() {
        return Err(not_a_tree(path, "it is a pipe or a device; name a file"));
    }
    let file = unpacked::open_file(path).map_err(CorpusError::at("open", path))?;
    let mut first = Vec::new();
    file.take(6).read_to_end(&mut first).map_err(CorpusError::at("read", path))?;
    match first.is_empty() {
        true => Err(not_a_tree(path, "it is empty")),
        false => Ok(Packing::of(&first)),
    }
}

/// Unpacks a share of `archive` to `to`.
pub(super) fn unpack(
    packing: Packing,
    archive: &Path,
    share: f64,
    to: &Path,
) -> Result<(), CorpusError> {
    let directory = to.parent().unwrap_or(Path::new("."));
    let room = rustix::fs::statvfs(directory);
    let room = room.map_err(CorpusError::at("stat", directory))?;
    let most = room.f_bavail.saturating_mul(room.f_frsize) / 2;
    let mut stream = BufReader::with_capacity(1 << 20, unpacked::open(archive, packing)?);
    let made = File::create(to).map_err(CorpusError::at("create", to))?;
    let made = Bounded { file: made, most, left: most };
    let mut writer = BufWriter::with_capacity(1 << 20, made);
    let written = match share >= 1.0 {
        true => whole(&mut stream, &mut writer),
        false => take_share(&mut stream, share, &mut writer),
    };
    let written = written.map_err(|error| not_a_tree(archive, error.to_string()))?;
    written.and_then(|()| writer.flush()).map_err(CorpusError::at("write", to))
}

/// A file that takes so many bytes: a small archive may unpack to any size.
struct Bounded {
    file: File,
    most: u64,
    left: u64,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            let most = Bytes(self.most);
            let why = format!("it unpacks to more than {most}, half of what is free there");
            return Err(io::Error::other(why));
        }
        let count = self.file.write(bytes)?;
        self.left -= count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Copies everything. The inner error is that of `to`.
fn whole(stream: &mut impl BufRead, to: &mut impl Write) -> Result<io::Result<()>, ArchiveError> {
    loop {
        let piece = stream.fill_buf()?;
        let (length, written) = (piece.len(), to.write_all(piece));
        stream.consume(length);
        if length == 0 || written.is_err() {
            return Ok(written);
        }
    }
}

/// Whether a share of a tree contains this path; the whole contains every path.
fn keeps(path: &[u8], share: f64) -> bool {
    let digest = Sha256::digest(path);
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    (u64::from_be_bytes(first) as f64) < share * 2f64.powi(64)
}

/// Copies a share of an archive's files as they stand, and the directories these are in. The inner
/// error is that of `to`.
fn take_share(
    stream: &mut BufReader<Box<dyn Read>>,
    share: f64,
    to: &mut impl Write,
) -> Result<io::Result<()>, ArchiveError> {
    let mut reader = Reader::new(&mut *stream).keeping_headers();
    let mut member = Member::default();
    let mut directories: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    while reader.next(&mut member)? {
        let mut headers = reader.take_headers();
        let mut written = to.write_all(&headers.global);
        if member.kind == Kind::Directory {
            // With the list of what is in it, where it has one.
            let _ = reader.copy_contents(&mut headers.own)?;
            directories.insert(member.path.clone(), headers.own);
        } else if keeps(&member.path, share)
            && (member.kind != Kind::HardLink || keeps(&member.link, share))
        {
            let path = &member.path;
            for end in (0..path.len()).filter(|at| path[*at] == b'/') {
                if let Some(headers) = directories.remove(&path[..end]) {
                    written = written.and_then(|()| to.write_all(&headers));
                }
            }
            written = written.and_then(|()| to.write_all(&headers.own));
            if written.is_ok() {
                written = reader.copy_contents(to)?;
            }
        }
        if written.is_err() {
            return Ok(written);
        }
    }
    // What is left unread may be damaged too.
    io::copy(stream, &mut io::sink())?;
    // Two empty blocks.
    Ok(to.write_all(&[0; 1024]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_written_than_there_is_room_for() {
        let file = tempfile::tempfile().unwrap();
        let mut bounded = Bounded { file: file.try_clone().unwrap(), most: 10 << 20, left: 3 };
        bounded.write_all(b"abc").unwrap();
        let error = bounded.write_all(b"d").unwrap_err().to_string();
        assert_eq!(error, "it unpacks to more than 10 MiB, half of what is free there");
        assert_eq!(file.metadata().unwrap().len(), 3);
    }
}
