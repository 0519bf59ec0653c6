//! The benchmark programs that people have run for years, run as they are installed. Each is a
//! workload: fstrial's clock times its phases, and its own figures are given beside them.
//! [`ORIGINALS`] is the only list of them; to add one, add a file here and a line there.

mod bonnie;
mod dbench;
mod fio;
mod fs_mark;
mod postmark;
mod running;

use crate::Workload;

/// Every original, in the order `fstrial list workloads` shows.
pub static ORIGINALS: &[&dyn Workload] = &[
    &bonnie::OriginalBonnie,
    &postmark::OriginalPostMark,
    &fs_mark::OriginalFsMark,
    &dbench::OriginalDbench,
    &fio::OriginalFio,
];

/// The original that does the same as a workload of this name.
pub fn original_of(name: &str) -> Option<&'static dyn Workload> {
    ORIGINALS.iter().copied().find(|original| original.counterpart() == Some(name))
}
