//! Data that workloads write, and where it comes from: mails in a [`MailCorpus`], and source
//! trees.
//!
//! Whatever the source, a corpus of mails reaches a trial as one *pack file*: index and contents in
//! one place, checked when opened and mapped read-only. The same file goes to a process of
//! this machine and into the lab's guest.

pub(crate) mod archive;
mod choice;
mod error;
mod mask;
pub mod own;
mod pack;
mod pack_writer;
pub mod source_tree;
pub mod spamassassin;
pub mod synthetic;
mod tar_stream;
mod unpacked;

pub use choice::CorpusChoice;
pub use error::CorpusError;
pub use pack::{Fingerprint, MailCorpus};
pub use pack_writer::PackWriter;
pub use source_tree::{TreeChoice, TreeFacts};
pub use tar_stream::{MailTar, TarEntries};
