//! A model in Filebench's language: sets of files, and threads that go through lists of flowops.

mod attributes;
mod checked;
mod definitions;
mod kinds;
mod law;
mod lexer;
mod text;
mod variables;
mod words;

use std::collections::BTreeMap;
use std::fmt;

pub(super) use self::kinds::{Does, KINDS};
pub(super) use self::law::{Law, gamma};

/// The most descriptors that a thread has; numbers are below it.
pub(super) const DESCRIPTORS: usize = 128;

/// What is wrong with a model, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::workloads) struct Problem {
    pub(in crate::workloads) line: usize,
    pub(in crate::workloads) what: String,
}

impl Problem {
    fn at(line: usize, what: impl Into<String>) -> Problem {
        Problem { line, what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// A whole model.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::workloads) struct Model {
    pub(super) sets: Vec<FileSet>,
    pub(super) threads: Vec<Thread>,
    /// Events a second of the one generator; `None` where nothing is limited.
    pub(super) rate: Option<u64>,
    /// Seconds that `run` asks for.
    pub(super) seconds: Option<u64>,
    pub(super) quit: Quit,
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quit {
    /// When its time is over.
    Timeout,
    /// When a thread has nothing left to do.
    FirstDone,
    /// When all threads have.
    AllDone,
}

/// A set of files, or a single one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileSet {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) entries: u64,
    pub(super) size: Law,
    /// Mean entries of a directory.
    pub(super) width: u64,
    /// Shape of the law of widths and depths, in thousandths; 0 for the means themselves.
    pub(super) gamma: u64,
    /// Percent of the files that are made beforehand.
    pub(super) percent: u64,
    pub(super) access: Access,
}

/// How files of a set are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    ReadWrite,
    ReadOnly,
    WriteOnly,
}

/// Threads with the same list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Thread {
    pub(super) line: usize,
    pub(super) name: String,
    /// Of all instances of the process together.
    pub(super) instances: u64,
    pub(super) list: Vec<Flowop>,
}

/// One entry of a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Flowop {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) does: Does,
    /// Its set, by its place in the model.
    pub(super) set: Option<usize>,
    pub(super) fd: usize,
    pub(super) srcfd: usize,
    pub(super) iosize: Law,
    pub(super) iters: Law,
    pub(super) value: Law,
    pub(super) workingset: u64,
    pub(super) random: bool,
    /// Whether it goes from one descriptor to the next.
    pub(super) opennext: bool,
    pub(super) dsync: bool,
    pub(super) direct: bool,
    pub(super) no_readahead: bool,
    pub(super) blocking: bool,
    pub(super) highwater: u64,
    pub(super) target: Target,
}

/// The flowops that another one is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    None,
    /// By name, as written.
    Named(String),
    /// In the list of the same thread.
    Here(usize),
    /// Those of this name everywhere: thread and place in its list.
    Everywhere(Vec<(usize, usize)>),
}

impl Model {
    /// Reads a model; `given` are values of its variables in place of its own.
    ///
    /// # Errors
    /// What is wrong or not known, with its line.
    pub(in crate::workloads) fn read(
        text: &str,
        given: &BTreeMap<String, String>,
    ) -> Result<Model, Problem> {
        let model = text::read(text, given)?;
        checked::resolved(model)
    }

    /// How many threads there are.
    pub(super) fn thread_count(&self) -> u64 {
        self.threads.iter().fold(0, |sum: u64, thread| sum.saturating_add(thread.instances))
    }

    /// All flowops.
    pub(super) fn flowops(&self) -> impl Iterator<Item = &Flowop> {
        self.threads.iter().flat_map(|thread| &thread.list)
    }
}

/// Whether a text is of this language: a line defines files or a process.
pub(crate) fn is_model(text: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split_whitespace();
        let defined = ["fileset", "file", "process", "processes", "filesets", "randvar", "flowop"];
        words.next() == Some("define") && words.next().is_some_and(|word| defined.contains(&word))
    })
}

#[cfg(test)]
mod tests;
