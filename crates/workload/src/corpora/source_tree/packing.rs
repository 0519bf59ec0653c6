//! Unpacking an archive to a plain tar, whole or a share of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use sha2::{Digest, Sha256};

use super::super::CorpusError;
use super::{is_remark, not_a_tree};

/// How an archive is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Xz,
}

impl Packing {
    /// By its first bytes, since a name proves nothing.
    pub(super) fn of(path: &Path) -> Result<Packing, CorpusError> {
        let mut file = File::open(path).map_err(CorpusError::at("open", path))?;
        let mut first = [0; 6];
        match file.read_exact(&mut first) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(not_a_tree(path, "it is shorter than any archive"));
            }
            Err(error) => return Err(CorpusError::at("read", path)(error)),
        }
        Ok(match first {
            [0x1f, 0x8b, ..] => Packing::Gzip,
            [0xfd, b'7', b'z', b'X', b'Z', 0] => Packing::Xz,
            _ => Packing::Plain,
        })
    }

    pub(super) fn unpack(self, archive: &Path, share: f64, to: &Path) -> Result<(), CorpusError> {
        let file = File::open(archive).map_err(CorpusError::at("open", archive))?;
        let mut xz = None;
        let reader: Box<dyn Read> = match self {
            Packing::Plain => Box::new(BufReader::with_capacity(1 << 20, file)),
            Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(file)),
            Packing::Xz => {
                let mut child = start_xz(archive, file)?;
                let output = child.stdout.take();
                xz = Some(child);
                Box::new(output.ok_or_else(|| not_a_tree(archive, "xz gave nothing"))?)
            }
        };
        let made = File::create(to).map_err(CorpusError::at("create", to))?;
        let mut writer = BufWriter::with_capacity(1 << 20, made);
        let copied = if share >= 1.0 {
            let mut reader = reader;
            io::copy(&mut reader, &mut writer).map(drop)
        } else {
            take_share(reader, share, &mut writer)
        };
        if let Some(mut xz) = xz {
            // Reading may have stopped early; xz then ends by itself, since its pipe is closed.
            let ended = xz.wait().map_err(CorpusError::at("run xz on", archive))?;
            if !ended.success() && copied.is_ok() {
                return Err(not_a_tree(archive, "xz finds it damaged"));
            }
        }
        copied.map_err(CorpusError::at("unpack", archive))?;
        writer.flush().map_err(CorpusError::at("write", to))
    }
}

fn start_xz(archive: &Path, file: File) -> Result<Child, CorpusError> {
    let started = Command::new("xz")
        .args(["--decompress", "--stdout"])
        .stdin(Stdio::from(file))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    started.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => not_a_tree(
            archive,
            "it is compressed with xz, and there is no xz to unpack it; install it (Debian: \
             apt-get install xz-utils)",
        ),
        _ => CorpusError::at("run xz on", archive)(error),
    })
}

/// Whether a share of a tree contains this path; the whole contains every path.
fn keeps(path: &[u8], share: f64) -> bool {
    let digest = Sha256::digest(path);
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    (u64::from_be_bytes(first) as f64) < share * 2f64.powi(64)
}

/// Copies a share of an archive's files, and the directories these are in.
fn take_share(reader: impl Read, share: f64, writer: impl Write) -> io::Result<()> {
    let mut archive = tar::Archive::new(reader);
    let mut builder = tar::Builder::new(writer);
    let mut directories: BTreeMap<Vec<u8>, tar::Header> = BTreeMap::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if is_remark(kind) {
            continue;
        }
        let mut header = entry.header().clone();
        let path = entry.path_bytes().into_owned();
        let bare = path.strip_suffix(b"/").unwrap_or(&path);
        if kind == tar::EntryType::Directory {
            directories.insert(bare.to_owned(), header);
            continue;
        }
        let link = entry.link_name_bytes().map(std::borrow::Cow::into_owned);
        let first = link.as_deref().filter(|_| kind == tar::EntryType::Link);
        if !keeps(&path, share) || first.is_some_and(|first| !keeps(first, share)) {
            continue;
        }
        for end in (0..bare.len()).filter(|at| bare[*at] == b'/') {
            if let Some(mut header) = directories.remove(&bare[..end]) {
                let name = String::from_utf8_lossy(&bare[..end]).into_owned();
                header.set_size(0);
                builder.append_data(&mut header, format!("{name}/"), io::empty())?;
            }
        }
        let shown = String::from_utf8_lossy(&path).into_owned();
        match link {
            Some(link) => {
                let link = String::from_utf8_lossy(&link).into_owned();
                builder.append_link(&mut header, shown, link)?;
            }
            None => builder.append_data(&mut header, shown, &mut entry)?,
        }
    }
    builder.finish()
}
