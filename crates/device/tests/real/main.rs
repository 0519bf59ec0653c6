//! The guard, loop files and the ledger on real loop devices. Needs root and the tools of
//! the filesystems; without root each test says that it was skipped.

mod changes;
mod fixtures;
mod in_use;
mod leftovers;
mod loop_files;
mod queues;
mod scratch;
mod signatures;
