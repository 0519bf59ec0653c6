//! How a workload describes itself. Help, the catalogue in the docs and the report's
//! footnotes are generated from these tables and from nothing else.

/// Everything fixed about a workload.
#[derive(Debug)]
pub struct Description {
    /// Name on the command line, kebab-case.
    pub name: &'static str,
    /// One line for `fstrial list workloads`.
    pub summary: &'static str,
    /// Where it comes from, and where it departs from that original and why. Markdown.
    pub origin: &'static str,
    /// The question it answers, for a reader who wants to choose a filesystem.
    pub headline: Headline,
    /// Named parameter settings, each of which answers a different question.
    pub presets: &'static [Preset],
    /// The data it needs from outside the filesystem under test.
    pub inputs: &'static [InputKind],
    /// What can be set, in the order shown.
    pub parameters: &'static [Parameter],
    /// Its timed parts, in the order they run.
    pub phases: &'static [&'static PhaseDescription],
}

/// The question that a workload answers, and the figure that answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headline {
    /// Completes "For …:". No capital, no full stop.
    pub question: &'static str,
    /// The phase that matters; empty for the first one, where the phases are the user's own.
    pub phase: &'static str,
    /// The metric of the report's tables: `ops_rate`, `write_rate`, `read_rate` or `wall`.
    pub metric: &'static str,
    /// What is counted; empty for a time.
    pub things: &'static str,
}

/// A named setting of parameters: `maildir-write@dovecot`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name after the `@`, kebab-case.
    pub name: &'static str,
    /// Completes "For …:", in place of the workload's own.
    pub question: &'static str,
    /// The parameters it sets, by name, in the notation of the command line.
    pub set: &'static [(&'static str, &'static str)],
}

impl Description {
    /// The preset of this name.
    pub fn preset(&self, name: &str) -> Option<&'static Preset> {
        self.presets.iter().find(|preset| preset.name == name)
    }

    /// The programs it runs.
    pub fn programs(&self) -> impl Iterator<Item = Program> {
        self.inputs.iter().filter_map(|input| match input {
            InputKind::Program(program) => Some(*program),
            _ => None,
        })
    }
}

/// Data that comes from outside the filesystem under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// A corpus of mails, see [`crate::corpora`].
    Mail,
    /// A source tree as a tar file; without one the workload draws one of its own.
    SourceTree,
    /// A system to boot as a tar file; only the lab has one.
    System,
    /// The user's own program, with the files it needs; in the lab as a tar file.
    OwnProgram,
    /// A program that is run.
    Program(Program),
}

/// A program that a workload runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// Its file's name.
    pub name: &'static str,
    /// The Debian package it comes in.
    pub package: &'static str,
}

/// One thing that can be set, as `name=value` after the workload's name.
#[derive(Debug)]
pub struct Parameter {
    /// snake_case.
    pub name: &'static str,
    /// What it does, one or two sentences.
    pub help: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// The value it has when not set, in the notation of `kind`.
    pub default: &'static str,
    /// Whether `--scale` multiplies it.
    pub scales: bool,
}

/// The values of a parameter.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A whole number within bounds, both included.
    Count {
        /// Smallest accepted.
        min: u64,
        /// Largest accepted.
        max: u64,
    },
    /// A size such as `4K` or `2G`.
    Size(Limits),
    /// A time such as `60s`.
    Time(Limits),
    /// A number from 0 to 1.
    Fraction,
    /// `on` or `off`.
    Switch,
    /// One of these words, each with its meaning.
    Choice(&'static [(&'static str, &'static str)]),
    /// One or more of these words joined by `+`, or `all`.
    Words(&'static [(&'static str, &'static str)]),
    /// The text of a file; on the command line the file's path is given, and the text itself
    /// becomes part of the trial. Checked by [`crate::Workload::check`]. These words name
    /// documents that are shipped, each with its meaning.
    Document(&'static [(&'static str, &'static str)]),
    /// Free text (a path, a list).
    Text,
}

/// Which sizes, in bytes, or times, in nanoseconds, a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Smallest accepted.
    pub min: u64,
    /// Largest accepted.
    pub max: u64,
    /// It is a multiple of this.
    pub step: u64,
    /// Whether 0 is accepted, too.
    pub zero: bool,
}

impl Limits {
    /// Whether this value is accepted.
    pub(crate) fn take(self, value: u64) -> bool {
        let within = (self.min..=self.max).contains(&value) && value.is_multiple_of(self.step);
        within || self.zero && value == 0
    }

    /// An accepted value times `scale`, as an accepted value. What is not 0 never becomes 0, which
    /// often means that something is left out.
    pub(crate) fn scaled(self, value: u64, scale: f64) -> u64 {
        if value == 0 || scale == 1.0 {
            return value;
        }
        let scaled = (value as f64 * scale).round() as u64;
        let whole = scaled / self.step * self.step;
        whole.clamp(self.min.max(self.step), self.max)
    }
}

/// A timed part of a workload.
#[derive(Debug)]
pub struct PhaseDescription {
    /// Name in tables, kebab-case, unique within the workload.
    pub name: &'static str,
    /// What is done, one line.
    pub summary: &'static str,
    /// What is inside the clock: close, sync, cache state at the start.
    pub clock: &'static str,
    /// The kinds of op whose latencies are kept.
    pub ops: &'static [OpDescription],
    /// Whether it is meant to reach the device. A disk-bound phase that caused no device
    /// reads or writes is marked as not comparable.
    pub disk_bound: bool,
}

impl PhaseDescription {
    /// A phase that the user named. It is leaked, since a trial's process runs only a handful of
    /// phases.
    pub(crate) fn of_user(
        name: String,
        summary: &'static str,
        clock: &'static str,
    ) -> &'static PhaseDescription {
        let name = Box::leak(name.into_boxed_str());
        Box::leak(Box::new(PhaseDescription { name, summary, clock, ops: &[], disk_bound: false }))
    }
}

/// A kind of op within a phase.
#[derive(Debug)]
pub struct OpDescription {
    /// Name in tables, kebab-case.
    pub name: &'static str,
    /// Which system calls its latency spans.
    pub span: &'static str,
}
