//! Source trees for the workload `tree`: the user's own archive or Debian's kernel source,
//! prepared as a plain tar in the cache, whole or a share of it. A trial gets that file.

mod names;
mod packing;

use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sha2::{Digest, Sha256};

use self::names::Names;
use super::CorpusError;
use super::archive::{ArchiveError, Kind, Member, PlainFile, Reader};
use super::unpacked::Packing;

/// The Debian package [`TreeChoice::Linux`] comes from.
pub const LINUX_PACKAGE: &str = "linux-source-6.1";

/// A source tree by name: `synthetic`, `linux-6.1`, `linux-6.1:share=0.1`, `own:PATH`.
#[derive(Debug, Clone, PartialEq)]
pub enum TreeChoice {
    /// Drawn by the workload itself, with the statistics of Linux 2.6.22.
    Synthetic,
    /// Linux 6.1 as Debian packages it: 79,000 files, 1.2 GiB.
    Linux {
        /// How much of it, above 0 and at most 1.
        share: f64,
    },
    /// An archive of the user's: a tar, as it is or compressed.
    Own(PathBuf),
}

/// The contents of a tree, in figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeFacts {
    /// Files, links and directories named.
    pub entries: u64,
    /// Files and links.
    pub files: u64,
    /// Contents of files, in bytes.
    pub bytes: u64,
}

impl FromStr for TreeChoice {
    type Err = CorpusError;

    fn from_str(text: &str) -> Result<TreeChoice, CorpusError> {
        let wrong = |problem: &str| CorpusError::TreeChoice {
            text: text.to_owned(),
            problem: problem.to_owned(),
        };
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        match (name, rest) {
            ("synthetic", None) => Ok(TreeChoice::Synthetic),
            // The second name is that of the package, which `corpus fetch` accepts too.
            ("linux-6.1" | "linux-source", None) => Ok(TreeChoice::Linux { share: 1.0 }),
            ("linux-6.1" | "linux-source", Some(rest)) => {
                let share = rest.strip_prefix("share=").and_then(|share| share.parse().ok());
                match share {
                    Some(share) if share > 0.0 && share <= 1.0 => Ok(TreeChoice::Linux { share }),
                    _ => Err(wrong("share is a number above 0 and at most 1")),
                }
            }
            ("own", Some(path)) if !path.is_empty() => Ok(TreeChoice::Own(path.into())),
            ("own", _) => Err(wrong("write own:PATH, a tar, as it is or compressed")),
            _ => Err(wrong("use synthetic, linux-6.1, linux-6.1:share=X or own:PATH")),
        }
    }
}

impl fmt::Display for TreeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeChoice::Synthetic => f.write_str("synthetic"),
            TreeChoice::Linux { share: 1.0 } => f.write_str("linux-6.1"),
            TreeChoice::Linux { share } => write!(f, "linux-6.1:share={share}"),
            TreeChoice::Own(path) => write!(f, "own:{}", path.display()),
        }
    }
}

/// The plain tar of a share of `archive` in `cache_dir`, made unless it is there. If the archive
/// has changed, it is made again. A whole plain tar is used where it lies. Which files a share
/// keeps depends on their paths alone.
///
/// # Errors
/// When the archive is missing or damaged, a share leaves nothing of it, a program that unpacks it
/// is not installed, or the cache has no room.
pub fn ensure(cache_dir: &Path, archive: &Path, share: f64) -> Result<PathBuf, CorpusError> {
    let real = fs::canonicalize(archive).map_err(CorpusError::at("open", archive))?;
    let packing = packing::packing_of(&real)?;
    if share >= 1.0 && packing == Packing::Plain {
        return Ok(real);
    }
    let metadata = fs::metadata(&real).map_err(CorpusError::at("open", &real))?;
    let facts =
        [metadata.len() as i64, metadata.mtime(), metadata.mtime_nsec(), metadata.ino() as i64];
    let mut sum = Sha256::new();
    sum.update("source tree, method 2\0");
    sum.update(real.as_os_str().as_encoded_bytes());
    let of_path = hex(&sum.clone().finalize());
    facts.iter().for_each(|fact| sum.update(fact.to_le_bytes()));
    let family = format!("{of_path}-{share}-");
    let made = cache_dir.join(format!("{family}{}.tar", hex(&sum.finalize())));
    fs::create_dir_all(cache_dir).map_err(CorpusError::at("create", cache_dir))?;
    // One writer at a time. The kernel drops the lock with its owner, and the next writer removes
    // what a killed one left unfinished.
    let lock_path = cache_dir.join(".lock");
    let lock = File::create(&lock_path).map_err(CorpusError::at("create", &lock_path))?;
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)
        .map_err(CorpusError::at("lock", &lock_path))?;
    for entry in fs::read_dir(cache_dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let outdated = name.starts_with(family.as_bytes()) && entry.path() != made;
        if outdated || name.ends_with(b".unfinished") {
            let _ = fs::remove_file(entry.path());
        }
    }
    if !made.exists() {
        let partial = made.with_extension("tar.unfinished");
        let written = packing::unpack(packing, &real, share, &partial).and_then(|()| {
            facts_of(&partial, archive)?;
            fs::rename(&partial, &made).map_err(CorpusError::at("rename", &partial))
        });
        if written.is_err() {
            let _ = fs::remove_file(&partial);
        }
        written?;
    }
    Ok(made)
}

fn hex(digest: &[u8]) -> String {
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a plain tar holds.
///
/// # Errors
/// When it cannot be read as a plain tar, holds no file, or a member that GNU tar would not unpack.
pub fn facts(path: &Path) -> Result<TreeFacts, CorpusError> {
    facts_of(path, path)
}

/// As [`facts`]; errors name `shown`.
fn facts_of(path: &Path, shown: &Path) -> Result<TreeFacts, CorpusError> {
    let facts = read_through(path).map_err(|error| not_a_tree(shown, error.to_string()))?;
    match facts.files {
        0 => Err(not_a_tree(shown, "it holds no file (of a small share none may be left)")),
        _ => Ok(facts),
    }
}

fn read_through(path: &Path) -> Result<TreeFacts, ArchiveError> {
    let mut reader = Reader::new(PlainFile::open(path)?);
    let (mut names, mut member) = (Names::default(), Member::default());
    let mut facts = TreeFacts::default();
    while reader.next(&mut member)? {
        let above = names.add(&member).map_err(|why| reader.refuse(why))?;
        facts.entries += 1 + above;
        facts.files += u64::from(member.kind != Kind::Directory);
        if member.kind == Kind::File {
            facts.bytes = facts.bytes.saturating_add(member.size);
        }
    }
    Ok(facts)
}

fn not_a_tree(path: &Path, why: impl Into<String>) -> CorpusError {
    CorpusError::NotATree { path: path.to_owned(), why: why.into() }
}

#[cfg(test)]
mod tests;
