//! The workloads. Each is one file, or a folder if it has parts; [`WORKLOADS`] is the only list of
//! them. Their building blocks are in `engine`.

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
pub(crate) use self::filebench::{filebench_model, is_filebench_model};
pub use self::originals::{ORIGINALS, original_of};
pub use self::programs::{
    Better, FioSurroundings, Job, JobPhase, Metric, PROGRAMS, Promising, fio_job_text,
};

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
    &filebench::own::Filebench,
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

/// Everything that can be run: our workloads, real programs, then the originals.
pub fn catalogue() -> impl Iterator<Item = &'static dyn Workload> {
    WORKLOADS.iter().chain(PROGRAMS).chain(ORIGINALS).copied()
}

/// The workload or original of this name.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    catalogue().find(|workload| workload.describe().name == name)
}

/// A name that no workload has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no workload `{name}`; {meant}")]
pub struct UnknownWorkload {
    /// The name.
    pub name: String,
    /// What was probably meant, as a question, or all that there are.
    pub meant: String,
}

/// The workload or original of this name.
///
/// # Errors
/// When there is none. If a preset has this name, the error suggests it.
pub fn named(name: &str) -> Result<&'static dyn Workload, UnknownWorkload> {
    find(name).ok_or_else(|| {
        let presets = catalogue().flat_map(|workload| {
            let of = workload.describe();
            of.presets.iter().map(|preset| (preset.name, format!("{}@{}", of.name, preset.name)))
        });
        let whole: Vec<String> = presets
            .filter(|(preset, _)| name.strip_suffix('s').unwrap_or(name) == *preset)
            .map(|(_, whole)| whole)
            .collect();
        let known = || catalogue().map(|workload| workload.describe().name);
        let meant = match &whole[..] {
            [] => match runs(name) {
                Some(known) => format!("did you mean `{known}`?"),
                None => text::meant(name, known()).unwrap_or_default(),
            },
            [one] => format!("did you mean `{one}`?"),
            several => format!("did you mean one of {}?", several.join(", ")),
        };
        UnknownWorkload { name: name.to_owned(), meant }
    })
}

/// The workload that is or runs the program of this name.
fn runs(program: &str) -> Option<&'static str> {
    let original = format!("original-{}", program.replace(['_', '+'], "-"));
    let original = original.trim_end_matches('-');
    let names_it = |summary: &str| {
        summary.split(|c: char| !c.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case(program))
    };
    let descriptions = || catalogue().map(|workload| workload.describe());
    descriptions()
        .find(|known| known.name == original)
        .or_else(|| PROGRAMS.iter().map(|it| it.describe()).find(|it| names_it(it.summary)))
        .map(|known| known.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_alone_is_answered_with_its_workload() {
        let meant = |name| named(name).err().map(|error| error.meant).unwrap_or_default();
        assert_eq!(meant("backup"), "did you mean `rsync@backup`?");
        assert_eq!(meant("vm-images"), "did you mean `randomio@vm-image`?");
        assert_eq!(meant("photo"), "did you mean `photos`?");
        assert_eq!(meant("fs_mark"), "did you mean `original-fs-mark`?");
        assert_eq!(meant("pgbench"), "did you mean `postgresql`?");
        assert!(named("postmark").is_ok());
    }
}
