//! Writes a pack of mails so that it exists whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::CorpusError;
use super::pack::{
    FLAG_MASKED, Fingerprint, HEADER_LEN, LABEL_MAX, MAGIC, MailCorpus, SUMMED_LEN, VERSION,
};

/// A pack being written: add mails, then [`PackWriter::finish`]. Until then it has another
/// name; dropped or killed before, it leaves no pack. Readable by its owner alone.
#[derive(Debug)]
pub struct PackWriter {
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
    fingerprint: Fingerprint,
    masked: bool,
    contents: Sha256,
    /// Where each mail begins, and the end of the last.
    places: Vec<u64>,
    finished: bool,
}

impl PackWriter {
    /// Begins a pack that will be called `path`; missing directories are made. Leftovers of
    /// writers that were killed are removed.
    ///
    /// # Errors
    /// When the directory cannot be made or written.
    pub fn create(
        path: &Path,
        fingerprint: Fingerprint,
        masked: bool,
    ) -> Result<PackWriter, CorpusError> {
        let directory = directory_of(path);
        fs::create_dir_all(directory).map_err(CorpusError::at("create", directory))?;
        let mut partial = OsString::from(".");
        partial.push(path.file_name().unwrap_or_default());
        partial.push(".partial-");
        remove_abandoned(directory, &partial);
        partial.push(std::process::id().to_string());
        let partial = directory.join(partial);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&partial)
            .map_err(CorpusError::at("create", &partial))?;
        // The lock distinguishes the file of a living writer from that of a killed one.
        flock(&file, FlockOperation::LockExclusive).map_err(CorpusError::at("lock", &partial))?;
        let mut writer = PackWriter {
            path: path.to_owned(),
            partial,
            file: BufWriter::with_capacity(1 << 20, file),
            fingerprint,
            masked,
            contents: Sha256::new(),
            places: vec![HEADER_LEN as u64],
            finished: false,
        };
        writer.put(&[0; HEADER_LEN])?;
        Ok(writer)
    }

    /// Adds a mail.
    ///
    /// # Errors
    /// When writing fails, for instance for lack of room.
    pub fn add(&mut self, mail: &[u8]) -> Result<(), CorpusError> {
        self.put(mail)?;
        self.contents.update(mail);
        self.places.push(self.end() + mail.len() as u64);
        Ok(())
    }

    /// How many mails were added.
    pub fn count(&self) -> usize {
        self.places.len() - 1
    }

    /// Writes index and header, makes the file durable and gives it its name.
    ///
    /// # Errors
    /// When writing fails; then there is no pack of this name, or still the previous one.
    ///
    /// # Panics
    /// When the label is longer than 4096 bytes.
    pub fn finish(mut self, label: &str) -> Result<(), CorpusError> {
        assert!(label.len() <= LABEL_MAX, "a label is a line, not {} bytes", label.len());
        let index_at = self.end();
        let index: Vec<u8> = self.places.iter().flat_map(|place| place.to_le_bytes()).collect();
        self.put(&index)?;
        self.put(label.as_bytes())?;
        let file_len = index_at + index.len() as u64 + label.len() as u64;

        let mut header = Vec::with_capacity(HEADER_LEN);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&(if self.masked { FLAG_MASKED } else { 0 }).to_le_bytes());
        header.extend_from_slice(&(self.count() as u64).to_le_bytes());
        header.extend_from_slice(&index_at.to_le_bytes());
        header.extend_from_slice(&file_len.to_le_bytes());
        header.extend_from_slice(&self.fingerprint);
        header.extend_from_slice(&self.contents.clone().finalize());
        header.extend_from_slice(&(label.len() as u32).to_le_bytes());
        header.extend_from_slice(&0u32.to_le_bytes());
        debug_assert_eq!(header.len(), SUMMED_LEN);
        let mut sum = Sha256::new();
        sum.update(&header);
        sum.update(&index);
        sum.update(label.as_bytes());
        header.extend_from_slice(&sum.finalize());

        let write = CorpusError::at("write", &self.partial);
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(&header))
            .and_then(|()| self.file.flush())
            .and_then(|()| self.file.get_ref().sync_all())
            .map_err(write)?;
        fs::rename(&self.partial, &self.path).map_err(CorpusError::at("rename", &self.partial))?;
        self.finished = true;
        let directory = directory_of(&self.path);
        File::open(directory)
            .and_then(|opened| opened.sync_all())
            .map_err(CorpusError::at("sync", directory))
    }

    fn end(&self) -> u64 {
        self.places.last().copied().unwrap_or(HEADER_LEN as u64)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), CorpusError> {
        self.file.write_all(bytes).map_err(CorpusError::at("write", &self.partial))
    }
}

impl Drop for PackWriter {
    fn drop(&mut self) {
        if !self.finished {
            // Best effort: the next writer removes what stays behind.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// The pack at `path` if it is whole and made from the source of this fingerprint.
pub(super) fn existing(path: &Path, fingerprint: &Fingerprint) -> Option<MailCorpus> {
    MailCorpus::open(path).ok().filter(|pack| pack.fingerprint() == *fingerprint)
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Removes partial packs that no living process holds locked.
fn remove_abandoned(directory: &Path, stem: &OsStr) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if !entry.file_name().as_encoded_bytes().starts_with(stem.as_encoded_bytes()) {
            continue;
        }
        let abandoned = File::open(entry.path()).is_ok_and(|file| {
            flock(&file, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
        });
        if abandoned {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn pack(directory: &Path, mails: &[Vec<u8>], label: &str) -> PathBuf {
        let path = directory.join("a.pack");
        let mut writer = PackWriter::create(&path, [7; 32], true).unwrap();
        mails.iter().for_each(|mail| writer.add(mail).unwrap());
        writer.finish(label).unwrap();
        path
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(32))]
        #[test]
        fn what_goes_in_comes_out(
            mails in proptest::collection::vec(proptest::collection::vec(0u8.., 0..3000), 0..40),
            label in "[ -~]{0,80}",
        ) {
            let dir = tempfile::tempdir().unwrap();
            let corpus = MailCorpus::open(&pack(dir.path(), &mails, &label)).unwrap();
            proptest::prop_assert_eq!(corpus.len(), mails.len());
            for (index, mail) in mails.iter().enumerate() {
                proptest::prop_assert_eq!(corpus.mail(index), &mail[..]);
            }
            proptest::prop_assert_eq!(corpus.label(), label);
            proptest::prop_assert_eq!(corpus.fingerprint(), [7; 32]);
            proptest::prop_assert!(corpus.is_masked());
            corpus.prefault();
            corpus.check_contents().unwrap();
        }

        #[test]
        fn cut_off_anywhere_or_one_byte_changed_is_an_error(cut in 0.0f64..1.0, flip in 0.0f64..1.0) {
            let dir = tempfile::tempdir().unwrap();
            let mails = [vec![b'a'; 500], vec![b'b'; 300]];
            let path = pack(dir.path(), &mails, "label");
            let whole = fs::read(&path).unwrap();
            let part = &whole[..(whole.len() as f64 * cut) as usize];
            fs::write(&path, part).unwrap();
            let message = MailCorpus::open(&path).unwrap_err().to_string();
            proptest::prop_assert!(message.contains("a.pack is not a usable pack"), "{}", message);

            let mut changed = whole.clone();
            changed[(whole.len() as f64 * flip) as usize] ^= 0x20;
            fs::write(&path, changed).unwrap();
            let found = MailCorpus::open(&path).and_then(|corpus| corpus.check_contents());
            proptest::prop_assert!(found.is_err());
        }
    }

    #[test]
    fn a_pack_is_private_and_leftovers_of_killed_writers_go() {
        let dir = tempfile::tempdir().unwrap();
        let abandoned = dir.path().join(".a.pack.partial-999999999");
        fs::write(&abandoned, "half").unwrap();
        let path = pack(dir.path(), &[vec![1]], "");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!abandoned.exists());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_unfinished_pack_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = PackWriter::create(&dir.path().join("b.pack"), [0; 32], false).unwrap();
        writer.add(b"mail").unwrap();
        drop(writer);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_foreign_file_is_named_as_such() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("letter.txt");
        fs::write(&path, "x".repeat(500)).unwrap();
        let message = MailCorpus::open(&path).unwrap_err().to_string();
        assert!(message.contains("it does not begin like one"), "{message}");
        let message = MailCorpus::open(&dir.path().join("none")).unwrap_err().to_string();
        assert!(message.contains("cannot open") && message.contains("none"), "{message}");
    }
}
