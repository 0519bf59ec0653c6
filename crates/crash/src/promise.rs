//! What a program may expect after a power cut, and whether it was so.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Content, State};

/// Who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// The manual pages of fsync(2), fdatasync(2) and rename(2).
    Promised,
    /// Nobody, but programs rely on it.
    Relied,
}

/// What a file may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// Not there.
    Absent,
    /// Exactly this.
    Is(Content),
    /// The first bytes of this, at least so many; zeroes may follow.
    Begins(Content, u64),
    /// Each sector of 512 bytes is of one of these, which are of one length.
    Mixed(Content, Content),
    /// Anything: the program is at it.
    Anything,
    /// What the program's own check accepts.
    Accepted,
}

/// From a moment on, a file is one of these versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// Who says so.
    pub column: Column,
    /// The file, below the program's directory.
    pub path: String,
    /// What it may be.
    pub allowed: Vec<Version>,
    /// Why, in words.
    pub because: String,
}

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Nothing.
    Absent,
    /// This.
    Bytes(Vec<u8>),
    /// It cannot be read.
    Unreadable(String),
    /// The program's own check ended with 0.
    Accepted,
    /// It did not, and how.
    Refused(String),
}

/// What was found instead.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// No such file.
    Missing,
    /// It should not be there, and is.
    Present,
    /// Reading it fails.
    Unreadable(String),
    /// It is empty.
    Empty,
    /// It has so many bytes, all right.
    Short(u64),
    /// Zeroes from this byte on.
    Zeroes(u64),
    /// Another version of it, whole.
    Version,
    /// From this byte on it is none of its versions.
    Other(u64),
    /// What the program's own check said.
    Refused(String),
}

impl Found {
    /// Whether the filesystem gave out contents that are not the file's without an error.
    pub fn is_wrong_contents(&self) -> bool {
        matches!(self, Found::Other(_))
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Found::Missing => f.write_str("it is not there"),
            Found::Present => f.write_str("it is there"),
            Found::Unreadable(error) => write!(f, "it cannot be read: {error}"),
            Found::Empty => f.write_str("it is empty"),
            Found::Short(len) => write!(f, "only its first {len} bytes are there"),
            Found::Zeroes(at) => write!(f, "zeroes from byte {at} on"),
            Found::Version => f.write_str("it is another version, whole"),
            Found::Other(at) => write!(f, "not its contents from byte {at} on"),
            Found::Refused(why) => f.write_str(why),
        }
    }
}

/// An expectation that was not met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Which.
    pub expectation: Expectation,
    /// The state: the first, where several moments leave the same disk.
    pub state: State,
    /// What is there.
    pub found: Found,
}

/// Those that hold when the program has so many: the last for each file and column.
pub fn in_force(expectations: &[Expectation], count: usize) -> Vec<&Expectation> {
    let mut last = BTreeMap::new();
    for expectation in expectations.iter().take(count) {
        last.insert((&expectation.path, expectation.column), expectation);
    }
    last.into_values().collect()
}

/// What is wrong with a file; `None` where it is as expected. Another of the versions that it has
/// among all expectations is told from contents that it never had.
pub fn judge(expectation: &Expectation, all: &[Expectation], seen: &Seen) -> Option<Found> {
    let found = nearest(expectation, seen)?;
    let mut versions = all.iter().filter(|one| one.path == expectation.path);
    let is_whole =
        |version: &Version| matches!(version, Version::Is(_)) && compare(version, seen).is_none();
    match found {
        Found::Other(_) if versions.any(|one| one.allowed.iter().any(is_whole)) => {
            Some(Found::Version)
        }
        found => Some(found),
    }
}

fn nearest(expectation: &Expectation, seen: &Seen) -> Option<Found> {
    let mut best: Option<Found> = None;
    for version in &expectation.allowed {
        let found = compare(version, seen)?;
        best = Some(match best.take() {
            // The version it comes nearest to is the one that says what is wrong.
            Some(before) if progress(&before) >= progress(&found) => before,
            _ => found,
        });
    }
    best
}

fn progress(found: &Found) -> u64 {
    match found {
        Found::Present => 0,
        Found::Short(at) | Found::Zeroes(at) | Found::Other(at) => *at + 2,
        _ => 1,
    }
}

fn compare(version: &Version, seen: &Seen) -> Option<Found> {
    let bytes = match (version, seen) {
        (Version::Anything, _) | (Version::Absent, Seen::Absent) | (_, Seen::Accepted) => {
            return None;
        }
        (_, Seen::Refused(why)) => return Some(Found::Refused(why.clone())),
        (_, Seen::Unreadable(error)) => return Some(Found::Unreadable(error.clone())),
        (Version::Begins(_, 0), Seen::Absent) => return None,
        (_, Seen::Absent) => return Some(Found::Missing),
        (_, Seen::Bytes(bytes)) => bytes,
    };
    match version {
        Version::Anything | Version::Accepted => None,
        Version::Absent => Some(Found::Present),
        Version::Is(content) => differs(bytes, &content.bytes()),
        Version::Begins(content, least) => {
            let whole = content.bytes();
            match differs(bytes, &whole) {
                Some(Found::Empty) if *least == 0 => None,
                Some(Found::Short(len) | Found::Zeroes(len)) if len >= *least => None,
                found => found,
            }
        }
        Version::Mixed(one, other) => {
            let (one, other) = (one.bytes(), other.bytes());
            let mut nearest = one.clone();
            for (at, sector) in other.chunks(512).enumerate() {
                let from = at * 512;
                if bytes.get(from..from + sector.len()) == Some(sector) {
                    nearest[from..from + sector.len()].copy_from_slice(sector);
                }
            }
            differs(bytes, &nearest)
        }
    }
}

fn differs(bytes: &[u8], expected: &[u8]) -> Option<Found> {
    if bytes == expected {
        return None;
    }
    if bytes.is_empty() {
        return Some(Found::Empty);
    }
    let same = bytes.iter().zip(expected).take_while(|(one, other)| one == other).count();
    Some(match same {
        same if same == bytes.len() => Found::Short(same as u64),
        same if bytes[same..].iter().all(|byte| *byte == 0) => Found::Zeroes(same as u64),
        same => Found::Other(same as u64),
    })
}

#[cfg(test)]
#[path = "promise_tests.rs"]
mod tests;
