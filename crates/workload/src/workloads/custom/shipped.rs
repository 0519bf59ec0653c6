//! Scripts that answer questions of their own, under names of their own.

use super::{COMPRESSIBLE, DUPLICATE, OPS, PERMILLE, Scripted};
use crate::{Description, Headline, PhaseDescription};

/// What a clock covers that a sync ends.
const SYNCED: &str = "from the moment the threads are let go until each has gone through its list \
and a sync has ended; no cache drop before";
const COLD: &str = "from the moment the threads are let go until each has gone through its list; \
begins cold where that can be done; no sync";
const COLD_SYNCED: &str = "from the moment the threads are let go until each has gone through its \
list and a sync has ended; begins cold where that can be done";
const WARM: &str = "from the moment the threads are let go until each has gone through its list; \
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
        summary: "a collection of photos: taken over, looked at, removed",
        origin: "Our own, a script as `custom` runs them. 200 photos of 2 to 12 MiB come from a \
camera, five a directory, in writes of 1 MiB; a viewer reads each once and writes a thumbnail of \
24 KiB in the middle; on another day directories are listed, attributes asked for and the first \
64 KiB of files read; then all is removed. The collection is 1.4 GB: machines with more memory \
than that hold it until the sync.",
        headline: Headline {
            question: "taking over photos from a camera",
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
        summary: "a build box: sources laid out, compiled by four jobs, found up to date, cleaned",
        origin: "Our own, a script as `custom` runs them: what a build asks of a filesystem, \
without the compiler. 5,000 sources with a median of 5 KiB; 2,000 objects, for each of which 20 \
files are asked for, 10 read and one of 30 KiB in the middle written; ten programs of 4 to 16 MiB \
linked from 100 files each; attributes of everything asked for on the next morning; objects \
removed. Each of the four jobs has files of its own. What compilers take of the processor is left \
out: the share of a build that the filesystem decides is what is compared.",
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
            &phase("checkout", "lays the sources out", WARM, false),
            &phase("compile", "asks for files, reads some, writes an object", COLD, true),
            &phase("link", "reads files and writes programs", SYNCED, true),
            &phase("up-to-date", "asks for the attributes of everything", COLD, true),
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
