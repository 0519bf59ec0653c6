//! Layouts: how disks become the device a filesystem sits on. One file a layout;
//! [`LAYOUTS`] is the only list of them.

mod single;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Command, LayoutChoice, Refusal};

/// Every layout.
pub static LAYOUTS: &[&dyn Layout] = &[&single::Single];

/// The layout of this name.
pub fn find(name: &str) -> Option<&'static dyn Layout> {
    LAYOUTS.iter().copied().find(|layout| layout.describe().name == name)
}

/// A layout: returns what is to be done and does nothing.
pub trait Layout: Sync {
    /// What is fixed about it.
    fn describe(&self) -> &'static Description;

    /// The disks it needs, in the order [`Layout::plan`] takes them.
    ///
    /// # Errors
    /// When a parameter is unknown or breaks a rule (RAID 5 of two disks).
    fn disks(&self, choice: &LayoutChoice) -> Result<Vec<Role>, Refusal>;

    /// How to assemble and dismantle it from these devices.
    ///
    /// # Errors
    /// As [`Layout::disks`].
    fn plan(&self, choice: &LayoutChoice, disks: &[PathBuf]) -> Result<Plan, Refusal>;
}

/// What is fixed about a layout.
#[derive(Debug)]
pub struct Description {
    /// Name on the command line and in TOML.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
}

/// What a disk is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Holds the filesystem, alone or as a member.
    Data,
    /// Holds an external journal or log.
    Journal,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Commands that assemble it.
    pub assemble: Vec<Command>,
    /// The device the filesystem is made on.
    pub data: PathBuf,
    /// The device of its journal, if external.
    pub journal: Option<PathBuf>,
    /// Commands that take it apart, in order.
    pub dismantle: Vec<Command>,
    /// Commands that print what was made, for the record.
    pub inspect: Vec<Command>,
}
