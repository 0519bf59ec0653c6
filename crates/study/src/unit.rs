//! Units of published tables, and how measured figures are converted to them.

use std::fmt;

use report::Unit;
use serde::Serialize;

/// The unit of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum RowUnit {
    /// s
    #[serde(rename = "s")]
    Seconds,
    /// ms
    #[serde(rename = "ms")]
    Milliseconds,
    /// 10⁶ bytes a second
    #[serde(rename = "MB/s")]
    Megabytes,
    /// 2²⁰ bytes a second
    #[serde(rename = "MiB/s")]
    Mebibytes,
    /// 10³ bytes a second
    #[serde(rename = "KB/s")]
    Kilobytes,
    /// 2¹⁰ bytes a second
    #[serde(rename = "KiB/s")]
    Kibibytes,
    /// Operations a second
    #[serde(rename = "/s")]
    PerSecond,
    /// Reads and writes a second
    #[serde(rename = "io/s")]
    IoPerSecond,
    /// A number without a unit
    #[serde(rename = "")]
    Plain,
}

impl RowUnit {
    /// All of them.
    pub const ALL: [RowUnit; 9] = [
        RowUnit::Seconds,
        RowUnit::Milliseconds,
        RowUnit::Megabytes,
        RowUnit::Mebibytes,
        RowUnit::Kilobytes,
        RowUnit::Kibibytes,
        RowUnit::PerSecond,
        RowUnit::IoPerSecond,
        RowUnit::Plain,
    ];

    /// As written in `published.toml`.
    pub fn word(self) -> &'static str {
        match self {
            RowUnit::Seconds => "s",
            RowUnit::Milliseconds => "ms",
            RowUnit::Megabytes => "MB/s",
            RowUnit::Mebibytes => "MiB/s",
            RowUnit::Kilobytes => "KB/s",
            RowUnit::Kibibytes => "KiB/s",
            RowUnit::PerSecond => "/s",
            RowUnit::IoPerSecond => "io/s",
            RowUnit::Plain => "",
        }
    }

    /// The unit that is written like this.
    pub fn parse(text: &str) -> Option<RowUnit> {
        RowUnit::ALL.into_iter().find(|unit| unit.word() == text)
    }

    /// How many of this unit one of `measured` is; `None` if they measure different quantities.
    pub fn of(self, measured: Unit) -> Option<f64> {
        Some(match (self, measured) {
            (RowUnit::Seconds, Unit::Seconds) => 1.0,
            (RowUnit::Milliseconds, Unit::Seconds) => 1e3,
            (RowUnit::Megabytes, Unit::BytesPerSecond) => 1e-6,
            (RowUnit::Mebibytes, Unit::BytesPerSecond) => 1.0 / f64::from(1 << 20),
            (RowUnit::Kilobytes, Unit::BytesPerSecond) => 1e-3,
            (RowUnit::Kibibytes, Unit::BytesPerSecond) => 1.0 / 1024.0,
            (RowUnit::PerSecond | RowUnit::IoPerSecond, Unit::PerSecond) => 1.0,
            (RowUnit::Plain, Unit::Count | Unit::Bytes) => 1.0,
            // A workload's own figure has its unit in its name.
            (_, Unit::Named) => 1.0,
            _ => return None,
        })
    }

    /// Whether it is an amount of time, which a smaller scale changes.
    pub fn is_time(self) -> bool {
        matches!(self, RowUnit::Seconds | RowUnit::Milliseconds)
    }
}

impl fmt::Display for RowUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Which end of a row is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Direction {
    Lower,
    Higher,
    /// Neither end is better, and nothing can be ranked.
    Neither,
}

impl Direction {
    /// As written.
    pub const WORDS: [(&'static str, Direction); 3] = [
        ("lower", Direction::Lower),
        ("higher", Direction::Higher),
        ("neither", Direction::Neither),
    ];
}
