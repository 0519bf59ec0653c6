//! The catalogue. One file a workload; [`WORKLOADS`] is the only list of them.

mod age;
mod bigfile;
mod bonnie;
mod boot;
mod cold;
mod contents;
mod copying;
mod course;
mod crew;
mod custom;
mod direct;
mod extents;
mod ffsb;
mod filebench;
mod fileserver;
mod fsync_append;
mod lacking;
mod maildir;
mod maildir_read;
mod maildir_write;
mod mongo;
mod null;
mod originals;
mod postmark;
mod randomio;
mod scale;
mod tree;
mod unpack;
mod varmail;
mod video;
mod walk;
mod webserver;

pub use self::bonnie::{BonnieCsv, bonnie_csv};
pub use self::boot::{PRELOAD_COMMAND, preload_main, prepare_system};
pub use self::originals::{ORIGINALS, original_of};
use units::Bytes;

use crate::{Context, Description, Failure, InputFacts, Parameters};

/// Something to do on a filesystem.
pub trait Workload: Sync {
    /// Its fixed description.
    fn describe(&self) -> &'static Description;

    /// Whether parameters that are each of their kind make sense, before anything runs.
    ///
    /// # Errors
    /// What is wrong and what is accepted.
    fn check(&self, _parameters: &Parameters) -> Result<(), String> {
        Ok(())
    }

    /// Room it needs on the filesystem under test, before the filesystem's own overhead.
    fn space(&self, parameters: &Parameters, inputs: &InputFacts) -> Space;

    /// Why it must not run on a machine of the user's, if so: the lab's guest alone takes it.
    fn only_in_guest(&self) -> Option<&'static str> {
        None
    }

    /// Does the work in `context.target()`. State that an earlier workload of a sequence
    /// left there is used, not destroyed.
    ///
    /// # Errors
    /// When it could not go on. Phases report their own failures; a workload whose later
    /// phases do not depend on a failed one goes on and returns the first failure at its end.
    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure>;

    /// For an original: the workload of ours that does the same.
    fn counterpart(&self) -> Option<&'static str> {
        None
    }
}

/// Room a workload needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// File contents.
    pub bytes: Bytes,
    /// Files and directories.
    pub inodes: u64,
}

/// Every workload, in the order `fstrial list workloads` shows.
pub static WORKLOADS: &[&dyn Workload] = &[
    &maildir_write::MaildirWrite,
    &maildir_read::MaildirRead,
    &unpack::Unpack,
    &postmark::PostMark,
    &tree::Tree,
    &bigfile::BigFile,
    &randomio::RandomIo,
    &video::Video,
    &bonnie::Bonnie,
    &mongo::Mongo,
    &ffsb::Ffsb,
    &varmail::VarMail,
    &fileserver::FileServer,
    &webserver::WebServer,
    &fsync_append::FsyncAppend,
    &scale::Scale,
    &boot::Boot,
    &age::Age,
    &custom::Custom,
    &null::Null,
];

/// Everything that can be done: our workloads, then the originals.
pub fn catalogue() -> impl Iterator<Item = &'static dyn Workload> {
    WORKLOADS.iter().chain(ORIGINALS).copied()
}

/// The workload or original of this name.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    catalogue().find(|workload| workload.describe().name == name)
}
