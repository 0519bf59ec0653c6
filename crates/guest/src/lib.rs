//! PID 1 of the lab's guest: loads modules, makes block devices of simulated disks, runs one
//! trial and tells the host what happened.
//!
//! A separate program, so that a change elsewhere in fstrial changes no figure. After loading
//! modules it stops at a checkpoint; from there, as often as the host likes, it reads an [`Order`]
//! from the [`region`] it shares with the host, and runs it. It decides nothing: no defaults, no
//! retries, no clean-up, since the machine ends with the trial.

mod channel;
mod configure;
mod front;
mod held;
mod init;
mod inputs;
mod kernel_log;
mod late;
pub mod models;
mod modules;
mod nbd;
mod order;
mod output;
mod port;
mod priority;
mod random;
pub mod region;
mod requests;
mod sabotage;
pub mod server;
#[cfg(test)]
mod server_tests;
mod service;
pub mod store;
pub mod tape;
mod transport;
mod ublk;
mod working;

pub use init::{REGION_OPTION, WHOLE_FILE};
pub use modules::MODULES_DIRECTORY;
pub use order::{
    ArrayOrder, DiskOrder, FrontEndKind, Input, MOUNT_POINT, Order, QueueOrder, Sabotage,
};
pub use port::DOORBELL;

/// Whether this process is PID 1 of a guest of the lab. Looks at nothing outside one.
pub fn is_guest() -> bool {
    std::process::id() == 1
        && !std::path::Path::new("/proc/self").exists()
        && std::path::Path::new(modules::MODULES_DIRECTORY).is_dir()
}

/// Runs the guest. Never returns: the host ends the machine.
pub fn run() -> ! {
    init::run()
}
