//! Data that workloads write, and where it comes from: mails in a [`MailCorpus`].
//!
//! Whatever the source, a corpus reaches a trial as one *pack file*: index and contents in
//! one place, checked when opened and mapped read-only. The same file goes to a process of
//! this machine and into the lab's guest.

mod choice;
mod error;
mod mask;
pub mod own;
mod pack;
mod pack_writer;
pub mod spamassassin;
pub mod synthetic;
mod tar_stream;

pub use choice::CorpusChoice;
pub use error::CorpusError;
pub use pack::{Fingerprint, MailCorpus};
pub use pack_writer::PackWriter;
pub use tar_stream::{MailTar, TarEntries};
