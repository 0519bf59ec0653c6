//! A tar of mails, generated while it is read: what `tar` would have packed, but no archive file
//! has to be read inside a clock.

use std::io::{self, Read};
use std::path::Path;

use super::MailCorpus;

/// Names, times and modes of a tar's entries.
pub trait TarEntries {
    /// How many entries there are.
    fn count(&self) -> u64;
    /// Writes the path of an entry, below 100 bytes, into `path`.
    fn path(&self, number: u64, path: &mut String);
    /// Modification time in seconds since 1970.
    fn mtime(&self, number: u64) -> u64;
}

const BLOCK: usize = 512;
/// GNU tar's record: 20 blocks, padded with zeros at the end.
const RECORD: u64 = 10240;

/// A ustar archive as a stream: entry `n` holds mail `n` of the corpus, from the start
/// again where the corpus is shorter.
pub struct MailTar<'a, E> {
    corpus: &'a MailCorpus,
    entries: E,
    owner: (u64, u64),
    next: u64,
    header: [u8; BLOCK],
    /// The part being read: header, contents or padding.
    part: Part<'a>,
    at: u64,
    path: String,
}

enum Part<'a> {
    Header { sent: usize, mail: &'a [u8] },
    Contents { rest: &'a [u8], padding: usize },
    Zeros { left: usize },
    End { left: u64 },
    Over,
}

impl<'a, E: TarEntries> MailTar<'a, E> {
    /// The archive; its files belong to the user and group of this process.
    pub fn new(corpus: &'a MailCorpus, entries: E) -> MailTar<'a, E> {
        let owner = (
            u64::from(rustix::process::geteuid().as_raw()),
            u64::from(rustix::process::getegid().as_raw()),
        );
        let mut tar = MailTar {
            corpus,
            entries,
            owner,
            next: 0,
            header: [0; BLOCK],
            part: Part::Over,
            at: 0,
            path: String::new(),
        };
        tar.begin_entry();
        tar
    }

    fn begin_entry(&mut self) {
        if self.next == self.entries.count() || self.corpus.is_empty() {
            // Two empty blocks end an archive; then the record is filled up.
            let end = (self.at + 2 * BLOCK as u64).div_ceil(RECORD) * RECORD;
            self.part = Part::End { left: end - self.at };
            return;
        }
        let mail = self.corpus.mail((self.next % self.corpus.len() as u64) as usize);
        self.path.clear();
        self.entries.path(self.next, &mut self.path);
        let mut header = tar::Header::new_ustar();
        // A path that does not fit (a defect of the entries) shows as a broken name when
        // the workload counts and verifies its files.
        let _ = header.set_path(Path::new(&self.path));
        header.set_size(mail.len() as u64);
        header.set_mode(0o644);
        header.set_uid(self.owner.0);
        header.set_gid(self.owner.1);
        header.set_mtime(self.entries.mtime(self.next));
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        self.header.copy_from_slice(header.as_bytes());
        self.part = Part::Header { sent: 0, mail };
        self.next += 1;
    }
}

impl<E: TarEntries> Read for MailTar<'_, E> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let free = &mut buffer[filled..];
            let took = match &mut self.part {
                Part::Header { sent, mail } => {
                    let took = free.len().min(BLOCK - *sent);
                    free[..took].copy_from_slice(&self.header[*sent..*sent + took]);
                    *sent += took;
                    if *sent == BLOCK {
                        let padding = mail.len().next_multiple_of(BLOCK) - mail.len();
                        self.part = Part::Contents { rest: mail, padding };
                    }
                    took
                }
                Part::Contents { rest, padding } => {
                    let took = free.len().min(rest.len());
                    free[..took].copy_from_slice(&rest[..took]);
                    *rest = &rest[took..];
                    if rest.is_empty() {
                        self.part = Part::Zeros { left: *padding };
                    }
                    took
                }
                Part::Zeros { left } => {
                    let took = free.len().min(*left);
                    free[..took].fill(0);
                    *left -= took;
                    if *left == 0 {
                        self.at += took as u64;
                        filled += took;
                        self.begin_entry();
                        continue;
                    }
                    took
                }
                Part::End { left } => {
                    let took = free.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    free[..took].fill(0);
                    *left -= took as u64;
                    if *left == 0 {
                        self.part = Part::Over;
                    }
                    took
                }
                Part::Over => break,
            };
            self.at += took as u64;
            filled += took;
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::super::PackWriter;
    use super::*;

    struct Numbered(u64);
    impl TarEntries for Numbered {
        fn count(&self) -> u64 {
            self.0
        }
        fn path(&self, number: u64, path: &mut String) {
            path.push_str(&format!("mail/{number}"));
        }
        fn mtime(&self, number: u64) -> u64 {
            1_000_000_000 + number
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
        #[test]
        fn any_reader_gets_the_mails_back(
            mails in proptest::collection::vec(proptest::collection::vec(0u8.., 0..2000), 1..8),
            count in 0u64..20,
            step in 1usize..20_000,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let pack = dir.path().join("p");
            let mut writer = PackWriter::create(&pack, [0; 32], false).unwrap();
            mails.iter().for_each(|mail| writer.add(mail).unwrap());
            writer.finish("").unwrap();
            let corpus = MailCorpus::open(&pack).unwrap();
            // Read in steps of any size, as a program with another buffer would.
            let mut stream = MailTar::new(&corpus, Numbered(count));
            let (mut bytes, mut buffer) = (Vec::new(), vec![0; step]);
            loop {
                let read = stream.read(&mut buffer).unwrap();
                if read == 0 { break; }
                bytes.extend_from_slice(&buffer[..read]);
            }
            proptest::prop_assert_eq!(bytes.len() % 10240, 0);
            let mut archive = tar::Archive::new(&bytes[..]);
            let mut seen = 0u64;
            for entry in archive.entries().unwrap() {
                let mut entry = entry.unwrap();
                proptest::prop_assert_eq!(entry.path().unwrap().to_str().unwrap().to_owned(), format!("mail/{seen}"));
                proptest::prop_assert_eq!(entry.header().mtime().unwrap(), 1_000_000_000 + seen);
                let mut mail = Vec::new();
                entry.read_to_end(&mut mail).unwrap();
                proptest::prop_assert_eq!(&mail, &mails[seen as usize % mails.len()]);
                seen += 1;
            }
            proptest::prop_assert_eq!(seen, count);
        }
    }
}
