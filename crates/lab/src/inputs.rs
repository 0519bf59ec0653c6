//! Passes input files to a guest: they are put into the shared region, and the guest copies them
//! into memory that its machine has for them in addition to the profile's.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use guest::Input;
use guest::region::{INPUTS_AT, INPUTS_BYTES, Region};
use trial::InputFiles;
use units::Bytes;
use workload::InputFacts;
use workload::corpora::MailCorpus;

use crate::error::LabError;

/// RAM is added for inputs in steps of this size, so that pack files of similar size share a
/// checkpoint.
const RAM_STEP: u64 = 64 << 20;
const PAGE: u64 = 4096;

/// The largest total size of a guest's input files.
pub const INPUTS_MAX: Bytes = Bytes(INPUTS_BYTES);

/// The inputs of a lab's trials.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    files: InputFiles,
    /// Their paths in the guest.
    in_guest: InputFiles,
    placed: Vec<(PathBuf, Input)>,
    facts: InputFacts,
}

impl Inputs {
    /// Looks at the files.
    ///
    /// # Errors
    /// When one cannot be read, or together they are too large.
    pub(crate) fn of(files: &InputFiles) -> Result<Inputs, LabError> {
        let mut at = 0;
        let mut placed = Vec::new();
        let in_guest = files.placed(|from, name| {
            let len = std::fs::metadata(from).map_err(LabError::at("read", from))?.len();
            let path = Path::new("/inputs").join(name);
            placed.push((from.to_owned(), Input { path: path.clone(), at, len }));
            at += len.next_multiple_of(PAGE);
            Ok::<PathBuf, LabError>(path)
        })?;
        let facts = InputFacts::default();
        let mut inputs = Inputs { files: files.clone(), in_guest, placed, facts };
        if let Some(mail) = &files.mail {
            let corpus = MailCorpus::open(mail)
                .map_err(|error| LabError::value("the corpus of mails", error.to_string()))?;
            inputs.facts.mean_mail = corpus.mean_size();
        }
        if let Some(tree) = &files.source_tree {
            let facts = workload::corpora::source_tree::facts(tree)
                .map_err(|error| LabError::value("the source tree", error.to_string()))?;
            inputs.facts.source_tree = Some(facts);
        }
        if Bytes(at) > INPUTS_MAX {
            let problem = format!("{} in all, but a guest takes at most {INPUTS_MAX}", Bytes(at));
            return Err(LabError::value("input files", problem));
        }
        Ok(inputs)
    }

    /// Bytes of RAM they take in the guest, rounded up.
    pub(crate) fn resident(&self) -> u64 {
        let bytes: u64 =
            self.placed.iter().map(|(_, input)| input.len.next_multiple_of(PAGE)).sum();
        // A program's files are unpacked there too.
        let unpacked = self.files.program.as_ref().map_or(0, |program| self.len_of(program));
        (bytes + unpacked).next_multiple_of(RAM_STEP)
    }

    fn len_of(&self, file: &Path) -> u64 {
        let placed = self.placed.iter().find(|(from, _)| from == file);
        placed.map_or(0, |(_, input)| input.len.next_multiple_of(PAGE))
    }

    /// Their size together.
    pub(crate) fn size(&self) -> Bytes {
        Bytes(self.placed.iter().map(|(_, input)| input.len).sum())
    }

    /// Facts about them.
    pub(crate) fn facts(&self) -> &InputFacts {
        &self.facts
    }

    /// Whether there are mails.
    pub(crate) fn has_mail(&self) -> bool {
        self.files.mail.is_some()
    }

    /// Whether there is a system to boot.
    pub(crate) fn has_system(&self) -> bool {
        self.files.system.is_some()
    }

    /// The inputs as the guest's order describes them.
    pub(crate) fn orders(&self) -> Vec<Input> {
        self.placed.iter().map(|(_, input)| input.clone()).collect()
    }

    /// Their paths in the guest.
    pub(crate) fn in_guest(&self) -> InputFiles {
        self.in_guest.clone()
    }

    /// Copies the files into a region.
    ///
    /// # Errors
    /// When one cannot be read or has changed its length.
    pub(crate) fn put(&self, region: &Region) -> Result<(), LabError> {
        for (from, input) in &self.placed {
            let mut file = File::open(from).map_err(LabError::at("open", from))?;
            let mut buffer = vec![0; 1 << 20];
            let mut done = 0;
            loop {
                let count = file.read(&mut buffer).map_err(LabError::at("read", from))?;
                if count == 0 {
                    break;
                }
                region
                    .file()
                    .write_all_at(&buffer[..count], INPUTS_AT + input.at + done)
                    .map_err(LabError::at("copy", from))?;
                done += count as u64;
                if done > input.len {
                    break;
                }
            }
            if done != input.len {
                let problem = format!("it had {} bytes and now has {done}", input.len);
                return Err(LabError::value(from.display().to_string(), problem));
            }
        }
        Ok(())
    }
}
