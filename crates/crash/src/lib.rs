//! What a power cut may leave on a disk, and whether a promise was kept.
//!
//! [`Log`] is what a disk saw: writes, flushes, and the moments at which a program was promised
//! something. [`explore`] derives the states the disk may be left in. A program of [`PROGRAMS`]
//! saves files and says what it may expect after each step; [`judge`] compares that with what is
//! there once the power is back. Nothing here knows a filesystem, a guest or a clock.
//!
//! The rules: a write that was completed before a flush was submitted is durable when that flush
//! completes; with force unit access, when it completes itself. Every other write that was
//! submitted may be there, be missing, or be there in part, cut at the unit that the disk writes at
//! once, independently of every other. What the disk held when recording began is durable.

mod alike;
mod content;
mod log;
mod programs;
mod promise;
mod states;
mod told;

pub use alike::{Image, Memory, Reads, Sector};
pub use content::Content;
pub use log::{Entry, Log, Write};
pub use programs::{PROGRAMS, Program, Run, program};
pub use promise::{Column, Expectation, Found, Lost, Seen, Version, in_force, judge};
pub use states::{Cache, Candidates, Part, Piece, State, explore, pieces};
pub use told::{Checked, How, Mounted, Plan, Problem, Recorded, Stage, Tape, Told, Tried};
