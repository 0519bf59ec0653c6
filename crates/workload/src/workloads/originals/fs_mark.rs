//! The installed fs_mark.

use units::Bytes;

use super::running::{Invocation, Knowledge, Passed, Said, run, sweep};
use crate::typed::{Choice, ChoiceParameter, CountParameter, SizeParameter, choice};
use crate::{
    Context, Description, Failure, Headline, InputFacts, InputKind, Parameters, PhaseDescription,
    PhaseResult, Program,
};
use crate::{Space, Workload};

pub(super) struct OriginalFsMark;

const PROGRAM: Program = Program { name: "fs_mark", package: "fsmark" };

static RUN: PhaseDescription = PhaseDescription {
    name: "run",
    summary: "creates files and deletes them, loop after loop",
    clock: "the whole program by fstrial's clock, including its deletes. The program's own figures \
            cover the creates alone: `own_files_per_sec` is the mean of its loops, `own_…_us` the \
            mean latency of a system call",
    ops: &[],
    disk_bound: false,
};

const FILES: CountParameter =
    CountParameter::new("files", "Files of each thread and loop.", 1, 100_000_000, "1000").scaled();
const FILE_SIZE: SizeParameter =
    SizeParameter::new("file_size", "Size of a file.", Bytes(0), Bytes::from_gib(1), "51200");
choice! {
    /// Which syncs are issued.
    enum Method {
        None = "none": "no sync at all (-S 0)",
        File = "file": "fsync before each close (-S 1)",
        LateSync = "late-sync": "sync, then fsync one file, after all (-S 2)",
        LateReverse = "late-reverse": "fsync of each afterwards, in reverse (-S 3)",
        LateSyncReverse = "late-sync-reverse": "sync, then fsync of each in reverse (-S 4)",
        Late = "late": "fsync of each afterwards, in order (-S 5)",
        LateSyncOrder = "late-sync-order": "sync, then fsync of each in order (-S 6)",
    }
}
const SYNC: ChoiceParameter<Method> =
    ChoiceParameter::of("sync", "Which syncs are issued, and when.", "file");
const THREADS: CountParameter =
    CountParameter::new("threads", "Processes that do this at the same time.", 1, 1024, "1");
const DIRECTORIES: CountParameter = CountParameter::new(
    "directories",
    "Subdirectories, filled in turn; 0: none.",
    0,
    1_000_000,
    "0",
);
const LOOPS: CountParameter = CountParameter::new("loops", "Number of loops.", 1, 1_000_000, "1");

static DESCRIPTION: Description = Description {
    name: "original-fs-mark",
    summary: "the installed fs_mark: files created with a chosen kind of sync",
    origin: "The program of Debian's package fsmark (Ric Wheeler), run with `-v`. Its file names \
begin with the time, so no two runs do exactly the same.",
    headline: Headline {
        question: "creating small files, as fs_mark does it",
        phase: "run",
        metric: "wall",
        things: "",
    },
    presets: &[],
    inputs: &[InputKind::Program(PROGRAM)],
    parameters: &[FILES.row, FILE_SIZE.row, SYNC.row, THREADS.row, DIRECTORIES.row, LOOPS.row],
    phases: &[&RUN],
};

impl Workload for OriginalFsMark {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let files = parameters.get(&FILES) * parameters.get(&THREADS);
        let each = parameters.get(&FILE_SIZE).0.div_ceil(4096) * 4096;
        Space { bytes: Bytes(each) * files, inodes: files + parameters.get(&DIRECTORIES) + 1 }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let parameters = context.parameters();
        // By its name alone, from the target: fs_mark takes no path of 40 bytes or more.
        let mut arguments = vec![
            "-d".to_owned(),
            "fs_mark".to_owned(),
            "-l".to_owned(),
            "/dev/null".to_owned(),
            "-v".to_owned(),
        ];
        let mut add = |name: &str, value: u64| {
            arguments.extend([name.to_owned(), value.to_string()]);
        };
        add("-n", parameters.get(&FILES));
        add("-s", parameters.get(&FILE_SIZE).0);
        // The number of a method is its place among them.
        add("-S", parameters.get(&SYNC).place() as u64);
        add("-t", parameters.get(&THREADS));
        add("-L", parameters.get(&LOOPS));
        if parameters.get(&DIRECTORIES) > 0 {
            add("-D", parameters.get(&DIRECTORIES));
        }
        let files = parameters.get(&FILES) * parameters.get(&THREADS) * parameters.get(&LOOPS);
        let bytes = parameters.get(&FILE_SIZE) * files;
        let invocation = Invocation {
            program: PROGRAM,
            arguments: arguments.into_iter().map(Into::into).collect(),
            directory: context.target().to_owned(),
            input: String::new(),
        };
        let knowledge = Knowledge { signs: &[], complaint: |_| None, death: |_| None };
        run(context, &invocation, Some((&RUN, files)), &knowledge, |said, passed| {
            let Some(Passed { result, .. }) = passed.first_mut() else { return Ok(()) };
            (result.ops, result.write_bytes) = (files, bytes);
            read(said, result)
        })?;
        sweep(context, "fs_mark")
    }
}

/// Its columns of three: least, mean and longest latency of a system call.
const CALLS: [&str; 6] = ["create", "write", "fsync", "sync", "close", "unlink"];

fn read(said: &Said, result: &mut PhaseResult) -> Result<(), String> {
    let rows = rows(&said.output)?;
    let mean = |column: usize| -> Option<f64> {
        let values: Option<Vec<f64>> = rows.iter().map(|row| row.get(column).copied()).collect();
        let values = values?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    };
    let names = ["own_files_per_sec", "own_overhead_us"].map(str::to_owned).into_iter();
    let names = names
        .zip(3..)
        .chain(CALLS.iter().zip(0..).map(|(call, at)| (format!("own_{call}_us"), 5 + 3 * at + 1)));
    for (name, column) in names {
        if let Some(value) = mean(column) {
            result.figures.insert(name, value);
        }
    }
    Ok(())
}

/// The rows of its table, a loop each.
fn rows(output: &str) -> Result<Vec<Vec<f64>>, String> {
    let lines = output.lines().skip_while(|line| !line.starts_with("FSUse%")).skip(1);
    let rows: Vec<Vec<f64>> = lines
        .map(|line| line.split_whitespace().map_while(|word| word.parse().ok()).collect())
        .filter(|row: &Vec<f64>| row.len() >= 5)
        .collect();
    if rows.is_empty() { Err("it printed no row of figures".to_owned()) } else { Ok(rows) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cache;

    fn figures(output: &str) -> std::collections::BTreeMap<String, f64> {
        let cache = Cache::Warm { why: String::new() };
        let mut result = PhaseResult::empty("original-fs-mark", "run", cache);
        let said = Said { output: output.to_owned(), errors: String::new() };
        read(&said, &mut result).unwrap();
        result.figures
    }

    #[test]
    fn tables_of_real_runs() {
        let plain = figures(include_str!("../../../tests/originals/fs_mark_S1.txt"));
        assert_eq!(plain["own_files_per_sec"], 2111.4);
        assert_eq!(plain.len(), 2, "without -v there are no latencies: {plain:?}");
        for (text, rate) in [
            (include_str!("../../../tests/originals/fs_mark_S0.txt"), 47694.0),
            (include_str!("../../../tests/originals/fs_mark_S5.txt"), 2166.9),
        ] {
            assert_eq!(figures(text)["own_files_per_sec"], rate);
        }
        let threads = figures(include_str!("../../../tests/originals/fs_mark_t4_verbose.txt"));
        assert_eq!(threads["own_fsync_us"], 563.0);
        assert_eq!(threads["own_unlink_us"], 21.0);
        let loops = figures(include_str!("../../../tests/originals/fs_mark_L5.log"));
        let mean = (3201.7 + 3195.8 + 3071.2 + 2897.0 + 2922.3) / 5.0;
        assert!((loops["own_files_per_sec"] - mean).abs() < 1e-9);
    }

    #[test]
    fn a_full_filesystem_leaves_no_row() {
        let full = include_str!("../../../tests/originals/fs_mark_ENOSPC.txt");
        assert!(rows(full).unwrap_err().contains("no row"));
    }

    #[test]
    fn any_output_is_read_or_refused() {
        let seeds = [
            include_bytes!("../../../tests/originals/fs_mark_S1.txt").to_vec(),
            include_bytes!("../../../tests/originals/fs_mark_t4_verbose.txt").to_vec(),
        ];
        fuzz::run("fs_mark", &seeds, |input| drop(rows(&String::from_utf8_lossy(input))));
    }
}
