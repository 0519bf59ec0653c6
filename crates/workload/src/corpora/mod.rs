//! Data that workloads write: mails, source trees.

mod mail;

pub use mail::MailCorpus;
