//! A model of Filebench's own language: `filebench:file=PATH`.

mod behind;
mod course;
mod descriptors;
mod done;
mod files;
mod hand;
mod moving;
mod play;
mod verify;

use std::collections::BTreeMap;

use units::{Bytes, Nanos};

use super::model::{Does, Model, Quit};
use crate::engine::contents::{COMPRESSIBLE, DUPLICATE};
use crate::typed::{
    CountParameter, DocumentParameter, OPS_MAX, TIME_MAX, TextParameter, TimeParameter, buffers,
};
use crate::{
    Context, Description, Failure, Headline, InputFacts, OpDescription, Parameters,
    PhaseDescription, Space, Workload,
};

/// The workload.
pub(in crate::workloads) struct Filebench;

pub(super) const FILE: DocumentParameter =
    DocumentParameter::new("file", "The model, Filebench's `.f`: filebench:file=PATH.", &[], "");
const SET: TextParameter = TextParameter::new(
    "set",
    "Values of the model's variables in place of its own: `nfiles=100,filesize=1m`.",
    "",
);
const TIME: TimeParameter = TimeParameter::new(
    "time",
    "How long threads go on, in place of what the model's `run` says; 0 for that.",
    Nanos::from_millis(1),
    TIME_MAX,
    "0s",
)
.or_zero();
const LOOPS: CountParameter = CountParameter::new(
    "loops",
    "End after this many rounds of each thread instead; 0 for the time.",
    0,
    OPS_MAX,
    "0",
);
const PERMILLE: CountParameter = CountParameter::new(
    "permille",
    "How many thousandths of the model's files, of its time and of what it finishes on.",
    1,
    1_000_000,
    "1000",
)
.scaled();

/// What Filebench runs for where the model does not say.
const DEFAULT_SECONDS: u64 = 60;
/// What a set without deletes is assumed to grow by, a second.
const GROWTH: Bytes = Bytes::from_mib(20);

static CREATE: PhaseDescription = PhaseDescription {
    name: "create",
    summary: "creates the files that the model preallocates",
    clock: "create, writes of 1 MiB, close of each file, one after the other; at the end a sync. \
            Directories are made beforehand",
    ops: &[OpDescription { name: "file", span: "create to close of one file" }],
    disk_bound: false,
};
const CLOCK: &str = "from the moment all threads are released until each has ended its last \
flowop and the writes behind it; no cache drop before, no sync after. Waiting (delay, limits, \
semaphores) is in the time and in no flowop's latency";

static DESCRIPTION: Description = Description {
    name: "filebench",
    summary: "your own Filebench model: filebench:file=PATH, or PATH.f itself",
    origin: "Our own, for models in the language of Filebench 1.5 (Sun Microsystems; last changed \
2020), such as varmail, fileserver, webserver, webproxy, oltp and videoserver. The model's text is \
kept with the results. What is not known is refused with its line before anything is made; \
docs/howto/bring.md lists what is known.\n\n\
As in Filebench, files are taken in turn, may be open in several threads, and lie in a tree of \
drawn widths and depths; a model without `run` runs for 60 s; semaphores, the generator of events \
and its limits work as there; `aiowrite` is done by threads behind, one after the other for each \
descriptor, as by the C library.\n\n\
Departures: sets lie in the directory under test, whatever their `path`; all processes are threads \
of one; draws come from the trial's seed, one stream for each thread; files are made one after \
the other, also with `paralloc`; `reuse`, `trusttree`, `memsize` and `useism` have no effect; a \
flowop that finds no free file is left out and counted, unless the model ends by it (`set mode \
quit`), where Filebench ends with an error; a limit without a target counts its own thread's \
flowops; `finishoncount` and `finishonbytes` without a target count those of all processes; \
`opennext` goes round as many descriptors as the set has files, at most 128; `aiowait` waits for half of \
what is outstanding, as Filebench's manual says; a file that a flowop has to open first is opened \
outside of its latency. With `loops` threads that wait for a semaphore end with the others, and a \
digest covers the flowops of the others.",
    headline: Headline {
        question: "the given Filebench model",
        phase: "run",
        metric: "ops_rate",
        things: "ops",
    },
    presets: &[],
    inputs: &[],
    parameters: &[
        FILE.row,
        SET.row,
        TIME.row,
        LOOPS.row,
        PERMILLE.row,
        COMPRESSIBLE.row,
        DUPLICATE.row,
    ],
    // What the threads do comes from the model.
    phases: &[],
};

/// `nfiles=100,filesize=1m` as names and values.
fn values(text: &str) -> Result<BTreeMap<String, String>, String> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) => {
                let name = name.trim().trim_start_matches('$').to_owned();
                Ok((name, value.trim().to_owned()))
            }
            None => Err(format!("set={text}: `{pair}` is not of the form variable=value")),
        })
        .collect()
}

fn model(parameters: &Parameters) -> Result<Model, String> {
    let text = parameters.get(&FILE);
    if text.trim().is_empty() {
        return Err(
            "no model is given: filebench:file=PATH, or its path as the workload; without \
                    a file: varmail, fileserver, webserver"
                .to_owned(),
        );
    }
    let values = values(parameters.get(&SET))?;
    Model::read(text, &values).map_err(|problem| problem.to_string())
}

/// How many files a set has.
fn entries(set: &super::model::FileSet, parameters: &Parameters) -> u64 {
    let scaled = u128::from(set.entries) * u128::from(parameters.get(&PERMILLE)) / 1000;
    u64::try_from(scaled).unwrap_or(u64::MAX).clamp(1, 10_000_000)
}

/// How long threads go on; without an end where the model ends by itself.
fn time(model: &Model, parameters: &Parameters) -> Option<Nanos> {
    if parameters.get(&LOOPS) > 0 {
        return None;
    }
    let given = parameters.get(&TIME);
    if given > Nanos::ZERO {
        return Some(given);
    }
    let seconds = match (model.seconds, model.quit) {
        (Some(seconds), _) => seconds,
        (None, Quit::Timeout) => DEFAULT_SECONDS,
        (None, Quit::FirstDone | Quit::AllDone) => return None,
    };
    let millis = u128::from(seconds) * u128::from(parameters.get(&PERMILLE));
    let millis = u64::try_from(millis).unwrap_or(u64::MAX).clamp(1, TIME_MAX.0 / 1_000_000);
    Some(Nanos::from_millis(millis))
}

/// The largest read or write of a list, which its thread has a buffer for.
fn buffer_of(model: &Model, list: &[super::model::Flowop]) -> u64 {
    const MOST: u64 = 64 << 20;
    let each = list.iter().map(|flowop| {
        let whole = matches!(flowop.does, Does::ReadWhole | Does::WriteWhole);
        match (whole && flowop.iosize.fixed() == Some(0), flowop.iosize.large()) {
            (true, _) => model.sets.iter().map(|set| set.size.large()).max().unwrap_or(0),
            (false, size) => size,
        }
    });
    each.max().unwrap_or(0).clamp(4096, MOST)
}

impl Workload for Filebench {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        let model = model(parameters)?;
        let all = model.threads.iter().fold(Bytes::ZERO, |sum, thread| {
            sum + Bytes(buffer_of(&model, &thread.list)) * thread.instances
        });
        buffers(1, all).map_err(|_| {
            format!(
                "the buffers of {} threads take {all} of memory, and 1 GiB is the most; \
                 choose a smaller iosize or fewer threads, by set=NAME=VALUE",
                model.thread_count()
            )
        })
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let Ok(model) = model(parameters) else { return Space::default() };
        let seconds = time(&model, parameters).unwrap_or(Nanos::ZERO).0.div_ceil(1_000_000_000);
        let loops = parameters.get(&LOOPS);
        let mut space = Space { bytes: Bytes::from_mib(1), inodes: 10 };
        for (number, set) in model.sets.iter().enumerate() {
            let files = entries(set, parameters);
            let of_set = |does: &[Does]| {
                model.flowops().any(|it| it.set == Some(number) && does.contains(&it.does))
            };
            let each = Bytes(set.size.mean() as u64) + Bytes(8192);
            space.bytes += each * files + Bytes(set.size.large());
            space.inodes = space.inodes.saturating_add(files.saturating_mul(2));
            // Appends name their set or the descriptor by which it was opened.
            let appends: u64 = model.threads.iter().fold(0, |sum: u64, thread| {
                let does = |it: &&super::model::Flowop| {
                    matches!(it.does, Does::Append | Does::AppendRandom | Does::Write)
                };
                let size: u64 = thread.list.iter().filter(does).map(|it| it.iosize.large()).sum();
                sum.saturating_add(size.saturating_mul(thread.instances))
            });
            if appends == 0 {
                continue;
            }
            space.bytes += match (of_set(&[Does::Delete]), loops) {
                // Files that live long reach twice their size.
                (true, _) => each * files + Bytes(appends),
                (false, 0) => GROWTH * seconds,
                (false, loops) => Bytes(appends.saturating_mul(loops)),
            };
        }
        space
    }

    fn runs_for(&self, parameters: &Parameters) -> Option<Nanos> {
        time(&model(parameters).ok()?, parameters)
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let model = model(context.parameters()).map_err(Failure::Input)?;
        play::run(context, &model)
    }
}
