//! The user's own mail: a Maildir, a directory of mails (MH or flat) or of mailboxes, an mbox file.
//!
//! Always masked (see the module `mask`): private text reaches neither a pack, nor a test
//! device, nor a report. Only sizes, line lengths and punctuation stay.

mod mailbox;

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use self::mailbox::Split;
use super::mask::Mask;
use super::pack_writer::existing;
use super::unpacked::{self, Packing};
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
        sum.update("own mail, method 3\0");
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
        let mut left_out = 0;
        let mut why = "looked for files in cur and new of Maildirs, and for plain files elsewhere";
        for file in &self.files {
            if self.mbox || is_mailbox(file)? {
                match mailbox(file, &mut add)? {
                    Split::LeftOut(count) => left_out += count,
                    Split::NoMailbox => why = no_mailbox(file)?,
                }
                continue;
            }
            match unpacked::open_file(file).and_then(bounded) {
                Ok(mail) if mail.is_empty() => {}
                Ok(mail) if mail.len() as u64 > MAIL_MAX => left_out += 1,
                Ok(mail) => add(mail)?,
                // A mail reader has moved or deleted it since the directory was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(CorpusError::at("read", file)(error)),
            }
        }
        let count = writer.count();
        let mails = if count == 1 { "1 mail".to_owned() } else { format!("{count} mails") };
        let large = format!("of more than {} MiB", MAIL_MAX >> 20);
        match (count, left_out) {
            (0, 0) => Err(CorpusError::Empty { path: source.to_owned(), why }),
            (0, _) => {
                let why = format!("it holds only mails {large}, {left_out} of them");
                Err(CorpusError::NotMail { path: source.to_owned(), why })
            }
            (_, 0) => writer.finish(&format!("own mail, letters replaced, {mails}")),
            _ => {
                let without = format!("without {left_out} {large}");
                writer.finish(&format!("own mail, letters replaced, {mails}, {without}"))
            }
        }
    }
}

/// The largest mail that is taken: mail servers refuse far smaller ones, and each is held in
/// memory.
const MAIL_MAX: u64 = 64 << 20;

/// Whether a file of a directory is a mailbox, as mutt and Thunderbird keep them, and not one mail.
fn is_mailbox(path: &Path) -> Result<bool, CorpusError> {
    let text = unpacked::open_file(path).and_then(|mut file| {
        let mut first = [0; 5];
        let read = file.read(&mut first)?;
        if !mailbox::may_begin(&first[..read]) {
            return Ok(Vec::new());
        }
        file.seek(SeekFrom::Start(0))?;
        bounded(file)
    });
    match text {
        Ok(text) => Ok(mailbox::has_several(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(CorpusError::at("read", path)(error)),
    }
}

/// All of a file, or one byte more than a mail may have.
fn bounded(file: File) -> io::Result<Vec<u8>> {
    let mut mail = Vec::new();
    file.take(MAIL_MAX + 1).read_to_end(&mut mail)?;
    Ok(mail)
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

/// Splits a mailbox in one file, which may be compressed.
fn mailbox(
    path: &Path,
    add: &mut impl FnMut(Vec<u8>) -> Result<(), CorpusError>,
) -> Result<Split, CorpusError> {
    /// An error of the file, or one of the pack.
    enum Failed {
        Read(io::Error),
        Added(CorpusError),
    }
    impl From<io::Error> for Failed {
        fn from(error: io::Error) -> Failed {
            Failed::Read(error)
        }
    }
    let stream = unpacked::open(path, Packing::of(&beginning(path)?))?;
    let mut reader = BufReader::with_capacity(1 << 20, stream);
    mailbox::split(&mut reader, MAIL_MAX as usize, &mut |mail| add(mail).map_err(Failed::Added))
        .map_err(|failed| match failed {
            Failed::Read(error) => CorpusError::at("read", path)(error),
            Failed::Added(error) => error,
        })
}

/// The first bytes of a file.
fn beginning(path: &Path) -> Result<Vec<u8>, CorpusError> {
    let mut first = Vec::new();
    let file = unpacked::open_file(path).map_err(CorpusError::at("open", path))?;
    file.take(512).read_to_end(&mut first).map_err(CorpusError::at("read", path))?;
    Ok(first)
}

/// Why a file is no mailbox.
fn no_mailbox(path: &Path) -> Result<&'static str, CorpusError> {
    let first = beginning(path)?;
    Ok(mailbox::name_of(&first).unwrap_or("an mbox file begins with a line `From …`"))
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
    fn what_took_a_mails_place_is_not_read_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mail");
        fs::write(&path, "Subject: x\n").unwrap();
        let found = Source::find(dir.path()).unwrap();
        let pack = dir.path().join("pack");
        for place in ["pipe", "link"] {
            fs::remove_file(&path).unwrap();
            if place == "pipe" {
                let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
                rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
            } else {
                std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
            }
            let message = found.pack(dir.path(), &pack).unwrap_err().to_string();
            assert!(message.contains("mail"), "{place}: {message}");
        }
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
        assert_eq!(corpus.label(), "own mail, letters replaced, 3 mails");
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
    fn what_is_endless_is_refused_and_what_is_too_large_left_out() {
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
        assert!(error.contains("only mails of more than 64 MiB, 1 of them"), "{error}");
        // Beside others it is left out.
        fs::write(mails.join("small"), "a: b\n").unwrap();
        let corpus = built(&mails).unwrap();
        assert_eq!(sizes(&corpus), [5]);
        assert_eq!(
            corpus.label(),
            "own mail, letters replaced, 1 mail, without 1 of more than 64 MiB"
        );
        // An mbox without a line's end.
        let mbox = home.path().join("mbox");
        fs::write(&mbox, "From a\n").unwrap();
        File::options().write(true).open(&mbox).unwrap().set_len(MAIL_MAX + 100).unwrap();
        let error = build(&mbox, &pack).unwrap_err().to_string();
        assert!(error.contains("mbox") && error.contains("64 MiB"), "{error}");
    }

    #[test]
    fn a_compressed_mailbox_is_read() {
        let home = tempfile::tempdir().unwrap();
        let plain = home.path().join("mbox");
        fs::write(&plain, "From a\nS: 1\n\nFrom b\nS: 22\n").unwrap();
        for program in ["gzip", "xz"] {
            let output =
                std::process::Command::new(program).arg("-c").arg(&plain).output().unwrap();
            let packed = home.path().join(program);
            fs::write(&packed, &output.stdout).unwrap();
            assert_eq!(sizes(&built(&packed).unwrap()), [5, 6]);
            fs::write(&packed, &output.stdout[..output.stdout.len() - 9]).unwrap();
            let error = built(&packed).unwrap_err().to_string();
            assert!(error.contains("it is cut off or damaged"), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_no_mailbox_is_named_for_what_it_is() {
        let home = tempfile::tempdir().unwrap();
        let message = |contents: &str| {
            let path = home.path().join("given");
            fs::write(&path, contents).unwrap();
            built(&path).unwrap_err().to_string()
        };
        assert!(message("Received: by x\n\nhello\n").contains("it is a single mail"));
        assert!(message("!BDN").contains("a mailbox of Outlook"));
        assert!(message("").contains("begins with a line `From"));
    }
}
