//! Scripts that are shipped as workloads with their own names.

use super::{COMPRESSIBLE, DUPLICATE, OPS, PERMILLE, Scripted};
use crate::{Description, Headline, PhaseDescription};

/// The clock of a phase that ends with a sync.
const SYNCED: &str = "from the moment the threads are released until each has gone through its \
list and a sync has ended; no cache drop before";
const COLD: &str = "from the moment the threads are released until each has gone through its list; \
begins cold where that can be done; no sync";
const COLD_SYNCED: &str = "from the moment the threads are released until each has gone through \
its list and a sync has ended; begins cold where that can be done";
const WARM: &str = "from the moment the threads are released until each has gone through its list; \
no cache drop before; no sync";

const fn phase(
    name: &'static str,
    summary: &'static str,
    clock: &'static str,
    disk_bound: bool,
) -> PhaseDescription {
    PhaseDescription { name, summary, clock, ops: OPS, disk_bound }
}

/// Photos of a camera.
pub(in crate::workloads) static PHOTOS: Scripted = Scripted {
    description: &Description {
        name: "photos",
        summary: "a collection of photos: imported, viewed, removed",
        origin: "Our own, a script of the kind that `custom` runs. 200 photos of 2 to 12 MiB are \
imported from a camera, five per directory, in writes of 1 MiB. A viewer reads each once and \
writes a thumbnail, 24 KiB in the median. On another day directories are listed, files are statted \
and the first 64 KiB of files are read. Then everything is removed. The collection is 1.4 GB: a \
machine with more memory than that can hold all of it until the sync.",
        headline: Headline {
            question: "importing photos from a camera",
            phase: "import",
            metric: "ops_rate",
            things: "photos",
        },
        presets: &[],
        inputs: &[],
        parameters: &[PERMILLE.row, COMPRESSIBLE.row, DUPLICATE.row],
        phases: &[
            &phase("import", "writes the photos, five a directory", SYNCED, true),
            &phase("thumbnails", "reads each photo and writes a thumbnail", COLD_SYNCED, true),
            &phase("browse", "lists directories, reads the beginnings of files", COLD, true),
            &phase("delete", "removes photos and thumbnails", SYNCED, true),
        ],
    },
    shipped: Some(include_str!("shipped/photos.toml")),
};

/// A tree of sources that is compiled.
pub(in crate::workloads) static BUILD: Scripted = Scripted {
    description: &Description {
        name: "build",
        summary: "a build machine: sources created, compiled by four jobs, found up to date, \
                  cleaned",
        origin: "Our own, a script of the kind that `custom` runs: the file operations of a build, \
without the compiler. It creates 5,000 sources with a median of 5 KiB. For each of 2,000 objects \
it stats 20 files, reads 10 and writes one of 30 KiB in the median. It links ten programs of 4 to \
16 MiB from 100 files each, stats everything as on the next morning, and removes the objects. Each \
of the four jobs has its own files. The processor time of compilers is left out, so that only the \
filesystem's share of a build is compared.",
        headline: Headline {
            question: "the files of a build, compiled by four jobs",
            phase: "compile",
            metric: "wall",
            things: "",
        },
        presets: &[],
        inputs: &[],
        parameters: &[PERMILLE.row, COMPRESSIBLE.row, DUPLICATE.row],
        phases: &[
            &phase("checkout", "creates the sources", WARM, false),
            &phase("compile", "stats files, reads some, writes an object", COLD, true),
            &phase("link", "reads files and writes programs", SYNCED, true),
            &phase("up-to-date", "stats every file", COLD, true),
            &phase("clean", "removes the objects", WARM, false),
        ],
    },
    shipped: Some(include_str!("shipped/build.toml")),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::custom::script::Script;

    /// Each phase that is described is one of the script, says the same of cache and sync, and
    /// none is missing.
    #[test]
    fn descriptions_say_what_the_scripts_do() {
        for workload in [&PHOTOS, &BUILD] {
            let script = Script::read(workload.shipped.unwrap()).unwrap();
            let described = workload.description.phases;
            assert_eq!(script.phase.len(), described.len(), "{}", workload.description.name);
            for (phase, described) in script.phase.iter().zip(described) {
                assert_eq!(phase.name, described.name);
                assert_eq!(phase.cold, described.clock.contains("begins cold"), "{}", phase.name);
                let synced = described.clock.contains("a sync has ended");
                assert_eq!(phase.sync, synced, "{}", phase.name);
            }
        }
    }
}
