//! What is offered. One file a workload; [`WORKLOADS`] is the only list of them. What they are
//! made of is in `engine`.

mod age;
mod bigfile;
mod bonnie;
mod boot;
mod custom;
mod ffsb;
mod filebench;
mod fsync_append;
mod maildir_read;
mod maildir_write;
mod mongo;
mod null;
mod originals;
mod postmark;
mod programs;
mod randomio;
mod scale;
mod tree;
mod unpack;
mod upkeep;
mod video;

pub use self::bonnie::{BonnieCsv, bonnie_csv};
pub use self::boot::{PRELOAD_COMMAND, preload_main, prepare_system};
pub use self::originals::{ORIGINALS, original_of};
pub use self::programs::{Better, Job, Metric, PROGRAMS};

use crate::Workload;

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
    &filebench::personalities::VARMAIL,
    &filebench::personalities::FILESERVER,
    &filebench::personalities::WEBSERVER,
    &fsync_append::FsyncAppend,
    &scale::Scale,
    &boot::Boot,
    &age::Age,
    &upkeep::Upkeep,
    &custom::PHOTOS,
    &custom::BUILD,
    &custom::CUSTOM,
    &programs::OwnProgram,
    &null::Null,
];

/// Everything that can be done: our workloads, real programs, then the originals.
pub fn catalogue() -> impl Iterator<Item = &'static dyn Workload> {
    WORKLOADS.iter().chain(PROGRAMS).chain(ORIGINALS).copied()
}

/// The workload or original of this name.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    catalogue().find(|workload| workload.describe().name == name)
}
