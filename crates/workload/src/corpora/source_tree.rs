//! Source trees for the workload `tree`: the user's own archive or Debian's kernel source,
//! prepared as a plain tar in the cache, whole or a share of it. A trial gets that file.

mod packing;

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sha2::{Digest, Sha256};

use self::packing::Packing;
use super::CorpusError;

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
    /// An archive of the user's: `.tar`, `.tar.gz` or `.tar.xz`.
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
            ("own", _) => Err(wrong("write own:PATH, a .tar, .tar.gz or .tar.xz")),
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
/// When the archive is missing or damaged, a share leaves nothing of it, xz is needed and not
/// installed, or the cache has no room.
pub fn ensure(cache_dir: &Path, archive: &Path, share: f64) -> Result<PathBuf, CorpusError> {
    let real = fs::canonicalize(archive).map_err(CorpusError::at("open", archive))?;
    let packing = Packing::of(&real)?;
    if share >= 1.0 && packing == Packing::Plain {
        return Ok(real);
    }
    let metadata = fs::metadata(&real).map_err(CorpusError::at("open", &real))?;
    let facts =
        [metadata.len() as i64, metadata.mtime(), metadata.mtime_nsec(), metadata.ino() as i64];
    let mut sum = Sha256::new();
    sum.update("source tree, method 1\0");
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
        let name = entry.file_name().to_string_lossy().into_owned();
        let outdated = name.starts_with(&family) && entry.path() != made;
        if outdated || name.ends_with(".unfinished") {
            let _ = fs::remove_file(entry.path());
        }
    }
    if !made.exists() {
        let partial = made.with_extension("tar.unfinished");
        let written = packing.unpack(&real, share, &partial).and_then(|()| {
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
/// When it cannot be read as a plain tar, holds no file, or a path that leads out of it.
pub fn facts(path: &Path) -> Result<TreeFacts, CorpusError> {
    facts_of(path, path)
}

/// As [`facts`]; errors name `shown`.
fn facts_of(path: &Path, shown: &Path) -> Result<TreeFacts, CorpusError> {
    let problem = |why: String| not_a_tree(shown, why);
    let file = File::open(path).map_err(|error| problem(error.to_string()))?;
    let mut archive = tar::Archive::new(file);
    let mut facts = TreeFacts::default();
    let mut symlinks: HashSet<Vec<u8>> = HashSet::new();
    let entries = archive.entries_with_seek().map_err(|error| problem(error.to_string()))?;
    for entry in entries {
        let entry = entry.map_err(|error| problem(format!("{error}; is it a tar?")))?;
        let kind = entry.header().entry_type();
        if is_remark(kind) {
            continue;
        }
        let name = entry.path_bytes();
        let shown = String::from_utf8_lossy(&name).into_owned();
        let inside = |name: &[u8]| {
            !name.starts_with(b"/")
                && !name.contains(&0)
                && name.split(|byte| *byte == b'/').all(|part| part != b"..")
        };
        if !inside(&name) || name.len() > 3000 {
            return Err(problem(format!("{shown} leads out of the directory")));
        }
        for (at, _) in name.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            if symlinks.contains(&name[..at]) {
                return Err(problem(format!("{shown} lies behind a symbolic link")));
            }
        }
        facts.entries += 1;
        match kind {
            tar::EntryType::Directory => continue,
            tar::EntryType::Regular | tar::EntryType::Continuous => facts.bytes += entry.size(),
            tar::EntryType::Symlink => {
                symlinks.insert(name.into_owned());
            }
            tar::EntryType::Link => {
                let to = entry.link_name_bytes().unwrap_or_default();
                if !inside(&to) {
                    return Err(problem(format!("{shown} links to outside")));
                }
            }
            other => return Err(problem(format!("{shown} is of a kind not known ({other:?})"))),
        }
        facts.files += 1;
    }
    if facts.files == 0 {
        return Err(problem("it holds no file (of a small share none may be left)".to_owned()));
    }
    Ok(facts)
}

/// Whether an entry is no file but describes other entries or the archive.
pub(crate) fn is_remark(kind: tar::EntryType) -> bool {
    matches!(kind, tar::EntryType::XGlobalHeader | tar::EntryType::XHeader)
}

fn not_a_tree(path: &Path, why: impl Into<String>) -> CorpusError {
    CorpusError::NotATree { path: path.to_owned(), why: why.into() }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn archive(entries: &[(&str, tar::EntryType, &str)]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut builder = tar::Builder::new(file.reopen().unwrap());
        for (name, kind, link) in entries {
            let mut header = tar::Header::new_gnu();
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(0);
            header.set_cksum();
            builder.append(&header, &[][..]).unwrap();
        }
        builder.finish().unwrap();
        file
    }

    #[test]
    fn an_archive_that_writes_outside_is_refused() {
        use tar::EntryType::{Directory, Link, Regular, Symlink};
        let refused = |entries: &[(&str, tar::EntryType, &str)]| {
            facts(archive(entries).path()).unwrap_err().to_string()
        };
        assert!(refused(&[("a/../../x", Regular, "")]).contains("leads out"));
        assert!(refused(&[("/etc/x", Regular, "")]).contains("leads out"));
        assert!(refused(&[("a", Symlink, "/"), ("a/x", Regular, "")]).contains("behind"));
        assert!(refused(&[("a", Link, "../x")]).contains("links to outside"));
        assert!(refused(&[("a/", Directory, "")]).contains("no file"));
        let fine = archive(&[("a/", Directory, ""), ("a/x", Regular, ""), ("l", Symlink, "a")]);
        assert_eq!(facts(fine.path()).unwrap(), TreeFacts { entries: 3, files: 2, bytes: 0 });
    }

    #[test]
    fn names_are_read_and_shown_alike() {
        for text in ["synthetic", "linux-6.1", "linux-6.1:share=0.25", "own:/a/b.tar.gz"] {
            assert_eq!(text.parse::<TreeChoice>().unwrap().to_string(), text);
        }
        let message = |text: &str| text.parse::<TreeChoice>().unwrap_err().to_string();
        assert!(message("linux-6.1:share=0").contains("above 0"));
        assert!(message("linux-5").contains("use synthetic, linux-6.1"));
        assert!(message("own").contains("own:PATH"));
    }

    /// A tree with long names, links and 300 files, packed by GNU tar with this option.
    fn packed(directory: &Path, option: &str, name: &str) -> PathBuf {
        let deep = directory.join("src").join("d".repeat(90)).join("e".repeat(90));
        fs::create_dir_all(&deep).unwrap();
        for number in 0..300 {
            fs::write(deep.join(format!("file{number}")), vec![7u8; number * 10]).unwrap();
        }
        let _ = std::os::unix::fs::symlink("file1", deep.join("link"));
        let archive = directory.join(name);
        let status = Command::new("tar")
            .arg(option)
            .arg("-f")
            .arg(&archive)
            .arg("-C")
            .arg(directory)
            .arg("src")
            .status();
        assert!(status.unwrap().success());
        archive
    }

    #[test]
    fn archives_of_each_kind_give_the_same_tree() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        let whole = TreeFacts { entries: 304, files: 301, bytes: 448_500 };
        for (option, name) in [("-c", "a.tar"), ("-cz", "a.tar.gz"), ("-cJ", "a.tar.xz")] {
            let archive = packed(home.path(), option, name);
            let made = ensure(&cache, &archive, 1.0).unwrap();
            assert_eq!(facts(&made).unwrap(), whole, "{name}");
            assert_eq!(made == fs::canonicalize(&archive).unwrap(), name == "a.tar");
            let half = ensure(&cache, &archive, 0.5).unwrap();
            let of_half = facts(&half).unwrap();
            assert!((100..200).contains(&of_half.files), "{of_half:?}");
            assert_eq!(of_half.entries, of_half.files + 3, "with the directories they are in");
            assert_eq!(ensure(&cache, &archive, 0.5).unwrap(), half, "made once");
        }
        let damaged = home.path().join("b.tar.xz");
        let bytes = fs::read(home.path().join("a.tar.xz")).unwrap();
        fs::write(&damaged, &bytes[..bytes.len() / 2]).unwrap();
        let message = ensure(&cache, &damaged, 1.0).unwrap_err().to_string();
        assert!(message.contains("b.tar.xz") && message.contains("damaged"), "{message}");
        let left = fs::read_dir(&cache).unwrap().flatten();
        assert!(left.filter(|e| e.path().extension() == Some("unfinished".as_ref())).count() == 0);
    }
}
