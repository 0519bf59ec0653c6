//! The lab: trials in a guest whose clock is virtual and whose disks are models.
//!
//! [`build`] gets kernel and tools, and compiles the emulator. [`Lab`] is the testbed made of them. It needs neither root nor KVM. Equal specification, seed and lab give figures that are
//! equal to the nanosecond. The lab refuses trials that do not fit into the host's memory, and
//! never reports emulation in real time as a measurement.

mod apt;
mod archive;
mod bench;
mod build;
mod building;
mod cache;
mod capabilities;
mod checkpoint;
mod contents;
mod cpio;
mod disks;
mod elf;
mod emulator;
mod error;
mod image;
mod inputs;
mod kernel_source;
mod lab;
mod lock;
mod machine;
mod memory;
mod modules;
mod names;
mod offer;
mod optional;
mod own_kernel;
pub mod own_program;
mod packages;
mod parts;
mod power;
mod profile;
mod program_digest;
mod progress;
mod pulse;
mod qmp;
mod record;
mod session;
mod software;
mod source_package;
mod system;
mod testbed;
mod tools;
mod transfer;
mod verify;
mod vm;
mod watched;

pub use apt::{Archives, Package};
pub use bench::{Bench, RATE_MIN, START_MAX, Start, Work, bench, rate};
pub use build::{BuildOptions, build};
pub use cache::{DEFAULT_LAB, cache_directory, open_cache};
pub use error::LabError;
pub use inputs::INPUTS_MAX;
pub use kernel_source::{KernelSource, SourceTree};
pub use lab::Lab;
pub use machine::{Emulator, Machine, Price};
pub use memory::Backing;
pub use names::{failed_parts, find, names, remove, sweep_labs};
pub use offer::Offer;
pub use optional::{OPTIONAL_PARTS, OptionalPart, PartDescription, Workshop, part, part_with};
pub use parts::Parts;
pub use profile::{ControllerProfile, DiskProfile, MachineProfile, PROFILES, THIS_MACHINE};
pub use program_digest::program_digest;
pub use progress::{BuildProgress, Holder, Transfer, Transferred};
pub use session::{Carried, Extras, PhaseSpent, PowerCuts};
pub use software::{Manifest, OwnKernel, Software};
pub use source_package::file_of_package;
pub use transfer::{export, import};
pub use verify::{Circumstances, Repeat, Verification, verify};
pub use vm::Spent;
