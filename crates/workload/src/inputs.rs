//! Data from outside the filesystem under test.

use std::path::PathBuf;

use crate::corpora::{MailCorpus, TreeFacts};

/// Data from outside the filesystem under test, opened before any clock starts.
#[derive(Debug, Default)]
pub struct Inputs {
    /// The mails, for workloads that declare [`crate::InputKind::Mail`].
    pub mail: Option<MailCorpus>,
    /// A source tree as a tar file, for [`crate::InputKind::SourceTree`].
    pub source_tree: Option<PathBuf>,
    /// Directories in which programs are looked up, for [`crate::InputKind::Program`].
    pub programs: Vec<PathBuf>,
    /// A system to boot as a tar file, for [`crate::InputKind::System`].
    pub system: Option<PathBuf>,
    /// The tree that holds everything the user's own program needs, for
    /// [`crate::InputKind::OwnProgram`]; `None` where it uses the machine's files.
    pub program_tree: Option<PathBuf>,
}

/// What is known of the inputs before any trial: how much room they will take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InputFacts {
    /// Mean size of a mail; 0 without a corpus.
    pub mean_mail: units::Bytes,
    /// The source tree, where one is given.
    pub source_tree: Option<TreeFacts>,
}
