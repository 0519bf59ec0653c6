//! The installed fio.

use serde_json::Value;
use units::Bytes;

use super::running::{Invocation, Knowledge, Passed, Said, run, sweep};
use crate::typed::{
    Choice, ChoiceParameter, CountParameter, FILE_MAX, SizeParameter, SwitchParameter, buffers,
    choice,
};
use crate::{
    Context, Description, Failure, Headline, InputFacts, InputKind, Parameters, PhaseDescription,
    PhaseResult, Program,
};
use crate::{Space, Workload};

pub(super) struct OriginalFio;

const PROGRAM: Program = Program { name: "fio", package: "fio" };

static RUN: PhaseDescription = PhaseDescription {
    name: "run",
    summary: "jobs read or write files",
    clock: "the whole program by fstrial's clock, including the creation of the files that are \
            read. The program's own figures leave that out: `own_read_iops`, \
            `own_read_kb_per_sec`, `own_read_p50_us`, `own_read_p99_us`, and the same for writes",
    ops: &[],
    disk_bound: false,
};

choice! {
    /// What each job does.
    enum Direction {
        Read = "read": "reads in order",
        Write = "write": "writes in order",
        RandomRead = "randread": "reads at random",
        RandomWrite = "randwrite": "writes at random",
        RandomBoth = "randrw": "both at random, half each",
    }
}
const RW: ChoiceParameter<Direction> = ChoiceParameter::of("rw", "What each job does.", "randread");
const SIZE: SizeParameter =
    SizeParameter::new("size", "Size of each job's file.", Bytes::from_kib(4), FILE_MAX, "1G")
        .scaled();
const BLOCK: SizeParameter =
    SizeParameter::new("block", "Bytes of a read or write.", Bytes(512), Bytes::from_mib(64), "4K");
const JOBS: CountParameter =
    CountParameter::new("jobs", "Jobs at the same time, a file each.", 1, 1024, "1");
choice! {
    /// An I/O interface.
    enum Engine {
        Psync = "psync": "pread and pwrite",
        Sync = "sync": "lseek, read and write",
        Libaio = "libaio": "Linux's older asynchronous calls",
        IoUring = "io_uring": "Linux's newer asynchronous calls",
    }
}
const ENGINE: ChoiceParameter<Engine> =
    ChoiceParameter::of("engine", "The I/O interface that it uses.", "psync");
const DEPTH: CountParameter = CountParameter::new(
    "depth",
    "Queue depth: requests in flight at once, for the asynchronous engines.",
    1,
    4096,
    "1",
);
const DIRECT: SwitchParameter =
    SwitchParameter::new("direct", "Whether the page cache is bypassed (O_DIRECT).", "off");
const FSYNC: CountParameter = CountParameter::new(
    "fsync",
    "Number of writes after which a file is synced; 0: never.",
    0,
    1_000_000_000,
    "0",
);

static DESCRIPTION: Description = Description {
    name: "original-fio",
    summary: "the installed fio: one job of the common kinds",
    origin: "The program of Debian's package fio (Jens Axboe), run with JSON output. Ops and bytes \
are those of its report. For options that are not offered here, run fio itself.",
    headline: Headline { question: "the given fio jobs", phase: "run", metric: "wall", things: "" },
    presets: &[],
    inputs: &[InputKind::Program(PROGRAM)],
    parameters: &[
        RW.row, SIZE.row, BLOCK.row, JOBS.row, ENGINE.row, DEPTH.row, DIRECT.row, FSYNC.row,
    ],
    phases: &[&RUN],
};

impl Workload for OriginalFio {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let jobs = parameters.get(&JOBS);
        Space { bytes: parameters.get(&SIZE) * jobs, inodes: jobs + 1 }
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        let (size, block) = (parameters.get(&SIZE), parameters.get(&BLOCK));
        if size < block {
            return Err(format!("size={size} is below block={block}"));
        }
        buffers(parameters.get(&JOBS) * parameters.get(&DEPTH), block)
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let parameters = context.parameters();
        let settings = [
            "--name=fstrial".to_owned(),
            "--output-format=json".to_owned(),
            "--group_reporting".to_owned(),
            "--thread".to_owned(),
            format!("--directory={}", context.target().display()),
            format!("--rw={}", parameters.get(&RW).word()),
            format!("--size={}", parameters.get(&SIZE).0),
            format!("--bs={}", parameters.get(&BLOCK).0),
            format!("--numjobs={}", parameters.get(&JOBS)),
            format!("--ioengine={}", parameters.get(&ENGINE).word()),
            format!("--iodepth={}", parameters.get(&DEPTH)),
            format!("--direct={}", u8::from(parameters.get(&DIRECT))),
            format!("--fsync={}", parameters.get(&FSYNC)),
            format!("--randseed={}", context.seed().stream("fio").below(1 << 31)),
        ];
        let invocation = Invocation {
            program: PROGRAM,
            arguments: settings.map(Into::into).into(),
            directory: context.target().to_owned(),
            input: String::new(),
        };
        let knowledge = Knowledge { signs: &[], complaint: |_| None, death: |_| None };
        run(context, &invocation, Some((&RUN, 0)), &knowledge, |said, passed| {
            let Some(Passed { result, .. }) = passed.first_mut() else { return Ok(()) };
            read(said, result)
        })?;
        (0..context.parameters().get(&JOBS))
            .try_for_each(|job| sweep(context, &format!("fstrial.{job}.0")))
    }
}

/// Reads its JSON, which other lines may precede.
fn read(said: &Said, result: &mut PhaseResult) -> Result<(), String> {
    let start = said.output.find('{').ok_or("it printed no JSON")?;
    let json: Value = serde_json::from_str(&said.output[start..])
        .map_err(|error| format!("its JSON cannot be read: {error}"))?;
    let job = &json["jobs"][0];
    match job["error"].as_i64() {
        Some(0) => {}
        Some(error) => {
            let error = std::io::Error::from_raw_os_error(error as i32);
            return Err(format!("a job failed: {error}"));
        }
        None => return Err("its JSON has no job".to_owned()),
    }
    let number = |value: &Value| value.as_f64();
    for way in ["read", "write"] {
        let part = &job[way];
        let ops = part["total_ios"].as_u64().unwrap_or(0);
        if ops == 0 {
            continue;
        }
        let bytes = Bytes(part["io_bytes"].as_u64().ok_or("its JSON lacks io_bytes")?);
        result.ops = result.ops.saturating_add(ops);
        if way == "read" {
            result.read_bytes = bytes;
        } else {
            result.write_bytes = bytes;
        }
        let percentiles = &part["clat_ns"]["percentile"];
        let figures = [
            ("iops", number(&part["iops"])),
            ("kb_per_sec", number(&part["bw"])),
            ("p50_us", number(&percentiles["50.000000"]).map(|nanos| nanos / 1e3)),
            ("p99_us", number(&percentiles["99.000000"]).map(|nanos| nanos / 1e3)),
        ];
        for (name, value) in figures {
            if let Some(value) = value {
                result.figures.insert(format!("own_{way}_{name}"), value);
            }
        }
    }
    if result.ops == 0 { Err("it did nothing".to_owned()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cache;

    fn read_text(output: &str) -> Result<PhaseResult, String> {
        let cache = Cache::Warm { why: String::new() };
        let mut result = PhaseResult::empty("original-fio", "run", cache);
        let said = Said { output: output.to_owned(), errors: String::new() };
        read(&said, &mut result).map(|()| result)
    }

    #[test]
    fn a_real_run() {
        let result = read_text(include_str!("../../../tests/originals/fio_randread.json")).unwrap();
        assert_eq!((result.ops, result.read_bytes.0), (34_917, 143_020_032));
        assert_eq!(result.write_bytes.0, 0);
        assert_eq!(result.figures["own_read_kb_per_sec"], 69_799.0);
        assert_eq!(result.figures["own_read_p50_us"], 55.04);
        assert_eq!(result.figures["own_read_p99_us"], 88.576);
        assert!(!result.figures.contains_key("own_write_iops"), "what was not done is missing");
    }

    #[test]
    fn a_job_that_failed_is_a_failure_though_it_has_figures() {
        let error =
            read_text(include_str!("../../../tests/originals/fio_ENOSPC.json")).unwrap_err();
        assert!(error.contains("No space left on device"), "{error}");
        assert!(read_text("fio: unknown option").unwrap_err().contains("no JSON"));
        assert!(read_text("{\"jobs\": []}").unwrap_err().contains("no job"));
    }

    #[test]
    fn any_output_is_read_or_refused() {
        let seeds = [
            include_bytes!("../../../tests/originals/fio_randread.json").to_vec(),
            include_bytes!("../../../tests/originals/fio_ENOSPC.json").to_vec(),
        ];
        fuzz::run("fio", &seeds, |input| drop(read_text(&String::from_utf8_lossy(input))));
    }
}
