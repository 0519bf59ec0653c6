//! A study, read and checked.

use std::collections::BTreeMap;

use serde::Serialize;
use stack::Contender;
use units::Bytes;
use workload::Parameters;

use runner::WorkloadRequest;

use crate::{Direction, RowUnit, Statement};

/// A study: what was asked, what was published, what was concluded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Study {
    /// Its name, and its folder's.
    pub name: String,
    /// The title under which it was published.
    pub title: String,
    /// Who wrote it, as far as known.
    pub author: String,
    /// When.
    pub date: String,
    /// Where.
    pub published: String,
    /// The question it asks, in one sentence.
    pub question: String,
    /// What was done.
    pub summary: String,
    /// What is known of the original machine.
    pub machine: String,
    /// What the original got wrong, and how that is known.
    pub flaws: Vec<String>,
    /// The scale of a run if none is given: small, for a first try.
    pub scale: f64,
    /// Sizes worth running, as shares of the published one, the smallest first.
    pub sizes: Vec<f64>,
    /// A sentence by the study's author on whether to believe the page; empty if there is none.
    pub believe: String,
    /// The rows and claims whose figures show it, drawn first; empty for the first table.
    pub picture: Vec<String>,
    /// Why it is not run at full size; empty if it is.
    pub scale_reason: String,
    /// What size 1 is called where it is not the page's own: that of today's distribution, say;
    /// empty if it is the page's.
    pub full_size: String,
    /// Number of seeds for each cell if none is given.
    pub seeds: u32,
    /// Contenders × workloads, each on one machine.
    pub parts: Vec<Part>,
    /// Other machines, on which the verdicts should be the same.
    pub assumptions: Vec<Assumption>,
    /// The published tables.
    pub tables: Vec<Published>,
    /// What was concluded.
    pub claims: Vec<Claim>,
    /// Digest of what a run on the study's own machine rests on ([`Source::digest`]).
    ///
    /// [`Source::digest`]: crate::Source::digest
    pub digest: String,
}

/// Contenders × workloads on one machine: one run of the store.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// Its name within the study.
    pub id: String,
    /// For people.
    pub title: String,
    /// The machine: a shipped profile's name, or the file's beside `study.toml`.
    pub profile: String,
    /// The whole machine as TOML, where it is a file beside `study.toml`.
    #[serde(skip)]
    pub machine: Option<String>,
    /// What differs about the machine at larger sizes, the smallest first.
    pub at_size: Vec<LargerMachine>,
    /// The corpus of mails, as on the command line.
    pub mail: Option<String>,
    /// The source tree, as on the command line.
    pub source_tree: Option<String>,
    /// Size of each data disk.
    pub size: Option<Bytes>,
    /// Whether the disks have that size at every scale, such as the partition of a laptop.
    pub fixed_size: bool,
    /// Scale of this part where it is not the study's.
    pub scale: Option<f64>,
    /// The scale at which it is as large as the published test.
    pub published_scale: f64,
    /// Whether all workloads run one after the other on one filesystem.
    pub sequence: bool,
    /// Its contenders.
    pub contenders: Vec<NamedContender>,
    /// Its workloads.
    pub workloads: Vec<NamedWorkload>,
    /// Contenders of the original that are not available.
    pub absent: Vec<Absent>,
    /// Names of contenders and of workloads as written, including wrong ones, so that a mistake in
    /// one is reported only once.
    #[serde(skip)]
    pub(crate) written: [Vec<String>; 2],
}

/// A change to a part's machine that grows with the work, such as its memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LargerMachine {
    /// The share of the published size from which it applies, up to the next one's.
    pub from: f64,
    /// Keys of the profile and their values.
    pub changes: BTreeMap<String, String>,
}

/// A contender as written in the study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamedContender {
    /// As on the command line.
    pub written: String,
    /// What it says.
    pub contender: Contender,
}

/// A workload as written, with its name within the part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamedWorkload {
    /// Its name within the part.
    pub id: String,
    /// As on the command line.
    pub written: String,
    /// What it says.
    #[serde(skip)]
    pub request: WorkloadRequest,
    /// Its parameters at full scale.
    pub parameters: Parameters,
}

/// A contender that is not available.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Absent {
    /// Its name in the tables.
    pub contender: String,
    /// Why not.
    pub reason: String,
}

/// Another machine, on which a verdict must be the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assumption {
    /// Its name.
    pub id: String,
    /// What is assumed differently.
    pub text: String,
    /// The parts it concerns.
    pub parts: Vec<String>,
    /// Values of the part's machine profile that differ, by their keys with dots.
    pub changes: BTreeMap<String, String>,
    /// Contenders with other options, each of which replaces the part's contender of that name.
    pub contenders: Vec<NamedContender>,
    /// Digest of what a run under it rests on.
    pub digest: String,
}

/// A published table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Published {
    /// Its name within the study.
    pub id: String,
    /// The part whose contenders are its columns.
    pub part: String,
    /// For people.
    pub title: String,
    /// Contenders, present or absent.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// A row of a published table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Its name, unique in the study.
    pub id: String,
    /// For people.
    pub label: String,
    /// Its name in a sentence: its label, where the study gives no other.
    pub called: String,
    /// Its unit.
    pub unit: RowUnit,
    /// Which figures are good.
    pub better: Direction,
    /// One for each column.
    pub values: Vec<Cell>,
    /// Published standard deviations; empty where none were.
    pub spread: Vec<Option<f64>>,
    /// Published single runs; empty where none were.
    pub runs: Vec<Vec<f64>>,
    /// A remark.
    pub note: Option<String>,
    /// What is measured for it.
    pub measured: Measured,
}

/// A published cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// A figure.
    Value(f64),
    /// More than this: `>99999`.
    Above(f64),
    /// Less than this: `<1`.
    Below(f64),
    /// No figure: `failed: …`, `not published`.
    Text(String),
}

/// What is measured for a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// A metric of one phase, or of several summed.
    Metric {
        /// The workload's name within the part.
        workload: String,
        /// Phases.
        phases: Vec<String>,
        /// The metric, as the report's tables have it.
        metric: String,
    },
    /// Nothing, and why.
    Nothing(String),
}

/// A claim of the study's author.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// What was claimed.
    pub text: String,
    /// How it is tested.
    pub test: Test,
    /// How the test reads the claim, and what is odd about it by the page's own figures.
    pub remark: Option<String>,
    /// Why the measurement agrees or differs.
    pub explanation: Option<String>,
    /// Why it does not hold, if it does not.
    pub because: Option<Because>,
    /// Changes made after its results were known.
    pub revised: Vec<Revision>,
}

/// Why a claim does not hold as measured, with the evidence for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Because {
    /// The kind of reason.
    pub cause: Cause,
    /// The observation that shows it.
    pub evidence: String,
}

/// Kinds of reasons why what was published does not hold today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The filesystem's code has changed since.
    CodeChanged,
    /// What limits this run is not what limited the page's.
    AnotherLimit,
    /// The two measure different things.
    NotComparable,
}

impl Cause {
    /// Every kind with its words, as they are written in `claims.toml` and shown.
    pub(crate) const ALL: [(Cause, &'static str); 3] = [
        (Cause::CodeChanged, "the code has changed since"),
        (Cause::AnotherLimit, "something else is the limit here"),
        (Cause::NotComparable, "not comparable"),
    ];
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = Cause::ALL.iter().find(|(cause, _)| cause == self);
        f.write_str(words.map_or("", |(_, words)| words))
    }
}

/// A change to a claim or its test after its results were known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Revision {
    /// When.
    pub date: String,
    /// What was changed, and why.
    pub reason: String,
}

/// How a claim is tested.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// By statements, all of which must hold.
    Statements(Vec<Statement>),
    /// Not at all, and why.
    Untestable(String),
}

impl NamedWorkload {
    /// Its parameters at a scale; `None` if a value is out of range there.
    pub fn at_scale(&self, scale: f64) -> Option<Parameters> {
        let description = workload::find(&self.request.name)?.describe();
        Parameters::resolve(description, &self.request.parameters, scale).ok()
    }
}

impl Assumption {
    /// Which parts of the machine it changes, in words: `processor`, `array`, `processor and
    /// drive`.
    pub fn about(&self) -> String {
        let mut named: Vec<&str> = Vec::new();
        for key in self.changes.keys() {
            let of = match key.split('.').collect::<Vec<_>>()[..] {
                ["instruction_ns", ..] => "processor",
                ["ram" | "available", ..] => "memory",
                ["disk" | "journal", .., "battery" | "cache" | "raid"] => "array",
                ["disk" | "journal", ..] => "drive",
                _ => "machine",
            };
            if !named.contains(&of) {
                named.push(of);
            }
        }
        if !self.contenders.is_empty() && !named.contains(&"array") {
            named.push("array");
        }
        // The processor first, whatever the order of keys.
        named.sort_by_key(|of| *of != "processor");
        named.join(" and ")
    }
}

impl Study {
    /// Digest of what a run under this assumption rests on; `None` where there is no such assumption.
    pub(crate) fn digest_under(&self, assumption: Option<&str>) -> Option<&str> {
        let Some(id) = assumption else { return Some(&self.digest) };
        self.assumptions.iter().find(|it| it.id == id).map(|it| it.digest.as_str())
    }

    /// The part of this name.
    pub fn part(&self, id: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.id == id)
    }

    /// The row of this name and its table.
    pub fn row(&self, id: &str) -> Option<(&Published, &Row)> {
        self.tables
            .iter()
            .find_map(|table| table.rows.iter().find(|row| row.id == id).map(|row| (table, row)))
    }

    /// A row's name in a sentence.
    pub(crate) fn called<'a>(&'a self, row: &'a str) -> &'a str {
        self.row(row).map_or(row, |(_, found)| &found.called)
    }

    /// The assumptions that concern a part.
    pub fn assumptions_of(&self, part: &str) -> impl Iterator<Item = &Assumption> {
        self.assumptions.iter().filter(move |it| it.parts.iter().any(|known| known == part))
    }

    /// The scale of a part: that of the requested size, else its own, else the study's.
    pub fn scale_of(&self, part: &Part, size: Option<f64>) -> f64 {
        let asked = size.map(|size| size * part.published_scale);
        asked.or(part.scale).unwrap_or(self.scale)
    }

    /// What differs about a part's machine at this size.
    pub fn changes_at(&self, part: &Part, size: Option<f64>) -> BTreeMap<String, String> {
        let share = self.scale_of(part, size) / part.published_scale;
        // A size that is named exactly is not to be missed by rounding.
        let reached = part.at_size.iter().rfind(|it| it.from <= share * (1.0 + 1e-9));
        reached.map(|it| it.changes.clone()).unwrap_or_default()
    }
}
