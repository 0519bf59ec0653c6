//! The guide: which filesystem for which use, on which machine, from runs of the lab that were made
//! beforehand and are carried in the binary. Uses and machines are data below `guide/`; what a run
//! found is kept as its own report has it, so that no verdict is made here.
//!
//! Nothing here runs a trial: `cargo xtask guide` does, and writes what this crate reads.
#![forbid(unsafe_code)]

mod cell;
mod definition;
mod features;
mod find;
mod overview;
mod page;
mod picture;
mod screen;
mod standing;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use cell::Cell;
pub use definition::{Contender, Lab, Machine, Use};
pub use find::{Found, NotFound};
pub use screen::Here;

/// Everything that is known: what was asked, and what was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guide {
    /// The lab that all runs need.
    pub lab: Lab,
    /// In the order in which they are shown.
    pub machines: Vec<Machine>,
    /// Likewise.
    pub uses: Vec<Use>,
    /// What was found, each for a use and a machine; what is missing was not run.
    pub cells: Vec<Cell>,
}

/// The figures that this program carries: what `guide/` had when it was built.
const SHIPPED: &str = include_str!("../../../guide/guide.json");

impl Guide {
    /// The guide in this program.
    ///
    /// # Errors
    /// When the file is not of its form, which a test would have found.
    pub fn shipped() -> Result<Guide, String> {
        serde_json::from_str(SHIPPED).map_err(|error| format!("guide.json: {error}"))
    }

    /// Reads a folder with `machines.toml`, `uses/*.toml` and `results/*.json`.
    ///
    /// # Errors
    /// With the file that cannot be read or is not of its form, and why.
    pub fn of_folder(folder: &Path) -> Result<Guide, String> {
        let (lab, machines) = definition::machines(&folder.join("machines.toml"))?;
        let uses = definition::uses(&folder.join("uses"))?;
        let mut cells = Vec::new();
        for used in &uses {
            for machine in &machines {
                cells.extend(Cell::read(&folder.join("results"), used, machine)?);
            }
        }
        Ok(Guide { lab, machines, uses, cells })
    }

    /// As it is carried in the program: a line for each cell, without the single figures.
    ///
    /// # Panics
    /// Never: every map has texts as keys and every number is finite.
    pub fn carried(&self) -> String {
        let mut carried = self.clone();
        for cell in &mut carried.cells {
            cell.figures.clear();
        }
        let mut text = serde_json::to_string(&carried).expect("plain data");
        text = text.replace("},{\"use\"", "},\n{\"use\"");
        text.push('\n');
        text
    }

    /// The machines on which any use was run, and the others.
    pub(crate) fn machines_by_run(&self) -> (Vec<&Machine>, Vec<&Machine>) {
        let was_run = |machine: &&Machine| self.cells.iter().any(|cell| cell.machine == machine.id);
        self.machines.iter().partition(was_run)
    }

    /// What was found for this use on this machine.
    pub fn cell(&self, used: &Use, machine: &Machine) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.used == used.id && cell.machine == machine.id)
    }
}
