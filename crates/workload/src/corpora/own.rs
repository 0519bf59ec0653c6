//! The user's own mail: a Maildir, a directory of mails (MH or flat) or an mbox file.
//!
//! Always masked (see the module `mask`): private text reaches neither a pack, nor a test
//! device, nor a report. Only sizes, line lengths and punctuation stay.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::mask::Mask;
use super::pack_writer::existing;
use super::{CorpusError, PackWriter};

/// The pack of the mail at `source`, in `cache_dir`. Built again when a file of the source
/// was added, removed or changed.
///
/// # Errors
/// When the source is missing, unreadable or empty, or the pack cannot be written.
pub fn ensure(cache_dir: &Path, source: &Path) -> Result<PathBuf, CorpusError> {
    let real = fs::canonicalize(source).map_err(CorpusError::at("open", source))?;
    let name = Sha256::digest(real.as_os_str().as_encoded_bytes());
    let name: String = name[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let pack = cache_dir.join(format!("own-{name}.mailpack"));
    let found = Source::find(&real)?;
    if existing(&pack, &found.fingerprint).is_none() {
        found.pack(&real, &pack)?;
    }
    Ok(pack)
}

/// Makes a pack of the mail at `source`.
///
/// # Errors
/// As [`ensure`].
pub fn build(source: &Path, pack: &Path) -> Result<(), CorpusError> {
    Source::find(source)?.pack(source, pack)
}

/// Bytes of the mail at `source`, before any is read.
///
/// # Errors
/// When the source is missing or cannot be listed.
pub fn total_size(source: &Path) -> Result<u64, CorpusError> {
    Ok(Source::find(source)?.bytes)
}

/// The files of a source, before any is read.
struct Source {
    files: Vec<PathBuf>,
    bytes: u64,
    mbox: bool,
    fingerprint: [u8; 32],
}

impl Source {
    fn find(path: &Path) -> Result<Source, CorpusError> {
        let metadata = fs::metadata(path).map_err(CorpusError::at("open", path))?;
        let mut files = Vec::new();
        if metadata.is_dir() {
            walk(path, &mut files)?;
            files.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        } else if metadata.is_file() {
            files.push((path.to_owned(), metadata.clone()));
        } else {
            let why = "it is a pipe or a device; name a directory or an mbox file".to_owned();
            return Err(CorpusError::NotMail { path: path.to_owned(), why });
        }
        let mut sum = Sha256::new();
        sum.update("own mail, method 1\0");
        for (file, metadata) in &files {
            sum.update(file.as_os_str().as_encoded_bytes());
            let facts = [
                metadata.len() as i64,
                metadata.mtime(),
                metadata.mtime_nsec(),
                metadata.ino() as i64,
            ];
            facts.iter().for_each(|fact| sum.update(fact.to_le_bytes()));
        }
        Ok(Source {
            bytes: files.iter().map(|(_, metadata)| metadata.len()).sum(),
            files: files.into_iter().map(|(file, _)| file).collect(),
            mbox: !metadata.is_dir(),
            fingerprint: sum.finalize().into(),
        })
    }

    fn pack(&self, source: &Path, pack: &Path) -> Result<(), CorpusError> {
        let mut writer = PackWriter::create(pack, self.fingerprint, true)?;
        let mut mask = Mask::new()?;
        let mut add = |mut mail: Vec<u8>| {
            mask.apply(&mut mail);
            writer.add(&mail)
        };
        for file in &self.files {
            if self.mbox {
                mbox(file, &mut add)?;
                continue;
            }
            match File::open(file).and_then(bounded) {
                Ok(mail) if mail.is_empty() => {}
                Ok(mail) if mail.len() as u64 > MAIL_MAX => return Err(too_large(file)),
                Ok(mail) => add(mail)?,
                // A mail reader has moved or deleted it since the directory was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(CorpusError::at("read", file)(error)),
            }
        }
        let count = writer.count();
        if count == 0 {
            let why = if self.mbox {
                "an mbox file begins with a line `From …`"
            } else {
                "looked for files in cur and new of Maildirs, and for plain files elsewhere"
            };
            return Err(CorpusError::Empty { path: source.to_owned(), why });
        }
        writer.finish(&format!("own mail, masked, {count} mails"))
    }
}

/// The largest mail that is taken: mail servers refuse far smaller ones, and each is held in
/// memory.
const MAIL_MAX: u64 = 64 << 20;

/// All of a file, or one byte more than a mail may have.
fn bounded(file: File) -> io::Result<Vec<u8>> {
    let mut mail = Vec::new();
    file.take(MAIL_MAX + 1).read_to_end(&mut mail)?;
    Ok(mail)
}

fn too_large(path: &Path) -> CorpusError {
    let why = format!("it holds a mail of more than {} MiB", MAIL_MAX >> 20);
    CorpusError::NotMail { path: path.to_owned(), why }
}

/// Collects the mails below a directory. In a Maildir these are the files in `cur` and `new`
/// (`tmp` holds unfinished ones, and files beside them are indexes); elsewhere every file
/// whose name does not begin with a dot. Symbolic links are not followed.
fn walk(directory: &Path, files: &mut Vec<(PathBuf, Metadata)>) -> Result<(), CorpusError> {
    let is_maildir = directory.join("cur").is_dir() && directory.join("new").is_dir();
    let within = [OsStr::new("cur"), OsStr::new("new")];
    let is_part = directory.file_name().is_some_and(|name| within.contains(&name));
    for entry in fs::read_dir(directory).map_err(CorpusError::at("read", directory))? {
        let entry = entry.map_err(CorpusError::at("read", directory))?;
        let path = entry.path();
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(CorpusError::at("stat", &path)(error)),
        };
        if metadata.is_dir() && !(is_maildir && entry.file_name() == "tmp") {
            walk(&path, files)?;
        } else if metadata.is_file()
            && !is_maildir
            && (is_part || !entry.file_name().as_encoded_bytes().starts_with(b"."))
        {
            files.push((path, metadata));
        }
    }
    Ok(())
}

/// Splits an mbox file: a mail begins after a line `From …` that is the first or follows an
/// empty one. The separating lines are not part of the mails; `>From` stays as it is.
fn mbox(
    path: &Path,
    add: &mut impl FnMut(Vec<u8>) -> Result<(), CorpusError>,
) -> Result<(), CorpusError> {
    let file = File::open(path).map_err(CorpusError::at("open", path))?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut mail: Option<Vec<u8>> = None;
    let mut line = Vec::new();
    let mut after_empty = true;
    loop {
        line.clear();
        let mut bounded = reader.by_ref().take(MAIL_MAX + 1);
        let read = bounded.read_until(b'\n', &mut line).map_err(CorpusError::at("read", path))?;
        let so_far = mail.as_ref().map_or(0, Vec::len) + line.len();
        if so_far as u64 > MAIL_MAX {
            return Err(too_large(path));
        }
        let separates = after_empty && line.starts_with(b"From ");
        if read == 0 || separates {
            if let Some(mut whole) = mail.take() {
                if whole.ends_with(b"\n\n") || whole == b"\n" {
                    whole.pop();
                }
                if !whole.is_empty() {
                    add(whole)?;
                }
            }
            if read == 0 {
                return Ok(());
            }
            mail = Some(Vec::new());
        } else if let Some(mail) = &mut mail {
            mail.extend_from_slice(&line);
        } else {
            // Text before the first separator: not an mbox.
            return Ok(());
        }
        after_empty = line == b"\n" || line == b"\r\n";
    }
}

#[cfg(test)]
mod tests {
    use super::super::MailCorpus;
    use super::*;

    fn sizes(corpus: &MailCorpus) -> Vec<usize> {
        (0..corpus.len()).map(|index| corpus.mail(index).len()).collect()
    }

    fn built(source: &Path) -> Result<MailCorpus, CorpusError> {
        let out = tempfile::tempdir().unwrap();
        let pack = out.path().join("p");
        build(source, &pack)?;
        MailCorpus::open(&pack)
    }

    #[test]
    fn a_maildir_with_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        for part in ["cur", "new", "tmp", ".Sent/cur", ".Sent/new", ".Sent/tmp"] {
            fs::create_dir_all(dir.path().join(part)).unwrap();
        }
        let put = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        put("cur/1:2,S", "Subject: secret plans\n");
        put("new/2", "Subject: b\n\nhello\n");
        put("tmp/3", "unfinished");
        put("dovecot.index", "not a mail");
        put(".Sent/cur/.4", "Subject: c\n");
        let corpus = built(dir.path()).unwrap();
        assert_eq!(sizes(&corpus), [11, 22, 18]);
        assert!(corpus.is_masked());
        for index in 0..corpus.len() {
            let mail = String::from_utf8_lossy(corpus.mail(index));
            assert!(!mail.contains("secret") && !mail.contains("Subject"), "{mail}");
        }
        assert_eq!(corpus.label(), "own mail, masked, 3 mails");
    }

    #[test]
    fn an_mh_directory_and_an_mbox_file() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("1"), "a: b\n").unwrap();
        fs::write(dir.path().join("2"), "c: d\n\ne\n").unwrap();
        fs::write(dir.path().join(".mh_sequences"), "unseen: 1\n").unwrap();
        assert_eq!(sizes(&built(dir.path()).unwrap()), [5, 8]);

        let mbox = dir.path().join("box");
        fs::write(&mbox, "From a@b Mon\nS: 1\n\nFrom here on\n\nFrom c@d Tue\nS: 2\n\n>From x\n")
            .unwrap();
        // A line `From …` after an empty line separates mails, even if it is part of the text.
        assert_eq!(sizes(&built(&mbox).unwrap()), [5, 14]);
    }

    #[test]
    fn empty_missing_or_foreign_sources_are_named_with_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        let message = |path: &Path| built(path).unwrap_err().to_string();
        let shown = dir.path().display().to_string();
        assert!(message(dir.path()).starts_with(&format!("{shown} holds no mail: looked for")));
        let none = dir.path().join("none");
        assert!(message(&none).contains("none: No such file"), "{}", message(&none));
        fs::write(&none, "just text\n").unwrap();
        assert!(message(&none).contains("begins with a line `From"), "{}", message(&none));
    }

    #[test]
    fn a_pack_is_kept_until_the_mail_changes() {
        let (mail, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(mail.path().join("1"), "Subject: abc\n").unwrap();
        let identity = || {
            let pack = ensure(cache.path(), mail.path()).unwrap();
            MailCorpus::open(&pack).unwrap().identity()
        };
        let first = identity();
        assert_eq!(identity(), first);
        fs::write(mail.path().join("2"), "Subject: def\n").unwrap();
        assert_ne!(identity(), first);
    }

    #[test]
    fn what_is_endless_or_too_large_is_refused_by_name() {
        let home = tempfile::tempdir().unwrap();
        let pack = home.path().join("pack");
        for endless in ["/dev/zero", "/dev/null"] {
            let error = build(Path::new(endless), &pack).unwrap_err().to_string();
            assert!(error.contains(endless) && error.contains("pipe or a device"), "{error}");
        }
        let mails = home.path().join("mails");
        fs::create_dir(&mails).unwrap();
        File::create(mails.join("huge")).unwrap().set_len(MAIL_MAX + 1).unwrap();
        let error = build(&mails, &pack).unwrap_err().to_string();
        assert!(error.contains("huge") && error.contains("64 MiB"), "{error}");
        // An mbox without a line's end.
        let mbox = home.path().join("mbox");
        fs::write(&mbox, "From a\n").unwrap();
        File::options().write(true).open(&mbox).unwrap().set_len(MAIL_MAX + 100).unwrap();
        let error = build(&mbox, &pack).unwrap_err().to_string();
        assert!(error.contains("mbox") && error.contains("64 MiB"), "{error}");
    }
}
