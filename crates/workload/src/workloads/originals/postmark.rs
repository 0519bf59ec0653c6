//! The installed PostMark.

use units::Bytes;

use super::super::postmark::{LARGEST, Totals, check, space};
use super::running::{Invocation, Knowledge, Meaning, Passed, Said, Sign, run};
use crate::typed::{CountParameter, SizeParameter, SwitchParameter};
use crate::{
    Context, Description, Failure, Headline, InputFacts, InputKind, Parameters, PhaseDescription,
    Program,
};
use crate::{Space, Workload};

pub(super) struct OriginalPostMark;

const PROGRAM: Program = Program { name: "postmark", package: "postmark" };
/// Depending on its version, PostMark says so or dies of a division by zero.
const NO_FILE_LEFT: &str = "no file is left; ask for more files (number) or fewer transactions";
/// Like our workload, it works in a directory of its own.
const DIRECTORY: &str = "postmark";

static CREATE: PhaseDescription = PhaseDescription {
    name: "create",
    summary: "creates the initial files",
    clock: "from the program's message `Creating files` to `Performing transactions`, by fstrial's \
            clock",
    ops: &[],
    disk_bound: false,
};
static TRANSACTIONS: PhaseDescription = PhaseDescription {
    name: "transactions",
    summary: "each transaction reads or appends to a file, then creates or deletes one",
    clock: "from `Performing transactions` to `Deleting files`, by fstrial's clock",
    ops: &[],
    disk_bound: false,
};
static DELETE: PhaseDescription = PhaseDescription {
    name: "delete",
    summary: "deletes the files that are left",
    clock: "from `Deleting files` to the program's end, by fstrial's clock, including the removal \
            of subdirectories and its report. The program's own figures are given here",
    ops: &[],
    disk_bound: false,
};

const NUMBER: CountParameter =
    CountParameter::new("number", "Files created at the beginning.", 1, 100_000_000, "500")
        .scaled();
const TRANSACTION_COUNT: CountParameter =
    CountParameter::new("transactions", "Transactions, each of two ops.", 1, 100_000_000, "500")
        .scaled();
const SUBDIRECTORIES: CountParameter = CountParameter::new(
    "subdirectories",
    "Directories over which files are spread.",
    0,
    1_000_000,
    "0",
);
const SIZE_LOW: SizeParameter =
    SizeParameter::new("size_low", "Smallest size of a new file.", Bytes(1), LARGEST, "500");
const SIZE_HIGH: SizeParameter =
    SizeParameter::new("size_high", "Largest size of a file.", Bytes(1), LARGEST, "10000");
const READ_BLOCK: SizeParameter =
    SizeParameter::new("read_block", "Size of a read when unbuffered.", Bytes(1), LARGEST, "512");
const WRITE_BLOCK: SizeParameter =
    SizeParameter::new("write_block", "Size of a write when unbuffered.", Bytes(1), LARGEST, "512");
const BIAS_READ: CountParameter =
    CountParameter::new("bias_read", "Tenths of the transactions that read.", 0, 10, "5");
const BIAS_CREATE: CountParameter =
    CountParameter::new("bias_create", "Tenths of the transactions that create.", 0, 10, "5");
const PM_SEED: CountParameter =
    CountParameter::new("pm_seed", "PostMark's own seed.", 1, u32::MAX as u64, "42");
const BUFFERED: SwitchParameter = SwitchParameter::new(
    "buffered",
    "Whether reads and writes go through the C library's buffer.",
    "on",
);

static DESCRIPTION: Description = Description {
    name: "original-postmark",
    summary: "the installed PostMark 1.51 (Debian's 1.53), run as it is",
    origin: "The program of Debian's package postmark, for its own results, and as the reference \
for `postmark` (`fstrial self crosscheck postmark`). Phases are timed by fstrial's clock, read when the \
program announces that a phase begins, since its own clock counts whole seconds only. Its own \
figures are those of `postmark`, in the phase `delete`.\n\n\
PostMark prints errors and still exits successfully (on a full filesystem: thousands of lines, \
then its usual report), it does not check the result of a write, and it crashes or gives up when \
no file is left. Each of these is a failure here, reported with the program's message. If the \
filesystem is full at the end of a phase, the phase has failed.",
    headline: Headline {
        question: "a mail server's small files, as PostMark does it",
        phase: "transactions",
        metric: "wall",
        things: "",
    },
    presets: &[],
    inputs: &[InputKind::Program(PROGRAM)],
    parameters: &[
        NUMBER.row,
        TRANSACTION_COUNT.row,
        SUBDIRECTORIES.row,
        SIZE_LOW.row,
        SIZE_HIGH.row,
        READ_BLOCK.row,
        WRITE_BLOCK.row,
        BIAS_READ.row,
        BIAS_CREATE.row,
        BUFFERED.row,
        PM_SEED.row,
    ],
    phases: &[&CREATE, &TRANSACTIONS, &DELETE],
};

impl Workload for OriginalPostMark {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        space(parameters)
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        check(parameters)
    }

    fn counterpart(&self) -> Option<&'static str> {
        Some("postmark")
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let directory = context.target().join(DIRECTORY);
        let cannot = |what: &str, error: std::io::Error| {
            Failure::Input(format!("{what} {}: {error}", directory.display()))
        };
        std::fs::create_dir(&directory).map_err(|error| cannot("make", error))?;
        let input = commands(context.parameters());
        let invocation = Invocation {
            program: PROGRAM,
            arguments: Vec::new(),
            directory: directory.clone(),
            input,
        };
        let transactions = context.parameters().get(&TRANSACTION_COUNT);
        let number = context.parameters().get(&NUMBER);
        let begins = |text, phase, ops| Sign { text, meaning: Meaning::Begins(phase, ops) };
        let knowledge = Knowledge {
            signs: &[
                begins("Creating files", &CREATE, number),
                begins("Performing transactions", &TRANSACTIONS, transactions * 2),
                begins("Deleting files", &DELETE, 0),
            ],
            complaint,
            death: |signal| (signal == libc::SIGFPE).then_some(NO_FILE_LEFT),
        };
        run(context, &invocation, None, &knowledge, read)?;
        std::fs::remove_dir(&directory).map_err(|error| cannot("remove", error))
    }
}

fn commands(parameters: &Parameters) -> String {
    let bytes = |size: &SizeParameter| parameters.get(size).0;
    let settings = [
        format!("size {} {}", bytes(&SIZE_LOW), bytes(&SIZE_HIGH)),
        format!("number {}", parameters.get(&NUMBER)),
        format!("seed {}", parameters.get(&PM_SEED)),
        format!("transactions {}", parameters.get(&TRANSACTION_COUNT)),
        format!("read {}", bytes(&READ_BLOCK)),
        format!("write {}", bytes(&WRITE_BLOCK)),
        format!("buffering {}", parameters.get(&BUFFERED)),
        format!("bias read {}", parameters.get(&BIAS_READ)),
        format!("bias create {}", parameters.get(&BIAS_CREATE)),
    ];
    // PostMark does not accept 0, which is its default.
    let subdirectories = Some(parameters.get(&SUBDIRECTORIES))
        .filter(|number| *number > 0)
        .map(|number| format!("subdirectories {number}"));
    let settings = settings.iter().chain(&subdirectories);
    let lines: Vec<_> = settings.map(|setting| format!("set {setting}\n")).collect();
    lines.concat() + "run\nquit\n"
}

/// The first of its errors, and how many more there are.
fn complaint(said: &str) -> Option<String> {
    if said.contains("out of files!") {
        return Some(NO_FILE_LEFT.to_owned());
    }
    let place = said.find("Error: ")?;
    let first = said[place..].lines().next().unwrap_or_default();
    match said.matches("Error: ").count() {
        1 => Some(format!("it went on after `{first}`")),
        many => Some(format!("it went on after {many} errors, the first: `{first}`")),
    }
}

/// Reads its report into the results.
fn read(said: &Said, passed: &mut [Passed]) -> Result<(), String> {
    let report = Report::of(&said.output)?;
    for passed in passed {
        let result = &mut passed.result;
        match passed.phase.name {
            "create" => result.ops = report.created_alone,
            "transactions" => {
                result.ops = report.created_mixed
                    + report.totals.read
                    + report.totals.appended
                    + report.deleted_mixed;
            }
            _ => {
                result.ops = report.deleted_alone;
                report.totals.figures(&mut result.figures);
                let mut figure = |name: &str, value: f64| {
                    result.figures.insert(name.to_owned(), value);
                };
                figure("original_total_s", report.total_s);
                figure("original_transactions_s", report.transactions_s);
                figure("original_read_mb_per_s", report.read_mb_per_s);
                figure("original_write_mb_per_s", report.write_mb_per_s);
            }
        }
    }
    Ok(())
}

/// Its report, verbose.
#[derive(Debug, PartialEq)]
struct Report {
    total_s: f64,
    transactions_s: f64,
    created_alone: u64,
    created_mixed: u64,
    deleted_alone: u64,
    deleted_mixed: u64,
    totals: Totals,
    read_mb_per_s: f64,
    write_mb_per_s: f64,
}

impl Report {
    fn of(output: &str) -> Result<Report, String> {
        let start = output.rfind("Time:").ok_or("it printed no report")?;
        let lines: Vec<&str> = output[start..].lines().map(str::trim).collect();
        let missing = |what: &str| format!("its report has no line `{what}`");
        // The line whose count is followed by these words, after the line that begins the section.
        let find = |part: &str, words: &str| -> Result<Vec<f64>, String> {
            let at = lines.iter().position(|line| line.contains(part));
            let at = at.ok_or_else(|| missing(part))?;
            let line = lines[at..].iter().find(|line| line.contains(words));
            Ok(numbers(line.ok_or_else(|| missing(words))?))
        };
        let first = |part: &str, words: &str| -> Result<f64, String> {
            find(part, words)?.first().copied().ok_or_else(|| missing(words))
        };
        let count = |part: &str, words: &str| first(part, words).map(|number| number as u64);
        let data = |words: &str| -> Result<(f64, f64), String> {
            let line =
                lines.iter().find(|line| line.contains(words)).ok_or_else(|| missing(words))?;
            megabytes(line).ok_or_else(|| format!("`{line}` is no line of data"))
        };
        let (read_mb, read_mb_per_s) = data("bytes read (")?;
        let (written_mb, write_mb_per_s) = data("bytes written (")?;
        Ok(Report {
            total_s: first("Time:", "seconds total")?,
            transactions_s: first("Time:", "seconds of transactions")?,
            created_alone: count("Files:", "Creation alone")?,
            created_mixed: count("Creation alone", "Mixed with")?,
            deleted_alone: count("Files:", "Deletion alone")?,
            deleted_mixed: count("Deletion alone", "Mixed with")?,
            totals: Totals {
                created: count("Files:", "created (")?,
                read: count("Files:", "read (")?,
                appended: count("Files:", "appended (")?,
                deleted: count("Files:", "deleted (")?,
                read_mb,
                written_mb,
            },
            read_mb_per_s,
            write_mb_per_s,
        })
    }
}

/// The numbers of a line, in their order.
fn numbers(line: &str) -> Vec<f64> {
    line.split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// Amount and rate of `303.46 megabytes read (75.86 megabytes per second)`, in MB.
fn megabytes(line: &str) -> Option<(f64, f64)> {
    let mut words = line.split([' ', '(']).filter(|word| !word.is_empty());
    let mut next = || {
        let number: f64 = words.next()?.parse().ok()?;
        let factor = match words.next()? {
            "bytes" => 1.0 / 1_048_576.0,
            "kilobytes" => 1.0 / 1024.0,
            "megabytes" => 1.0,
            "gigabytes" => 1024.0,
            _ => return None,
        };
        words.next();
        Some(number * factor)
    };
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_real_runs() {
        let report =
            Report::of(include_str!("../../../tests/originals/postmark_20000_100000.txt")).unwrap();
        let expected = Report {
            total_s: 4.0,
            transactions_s: 3.0,
            created_alone: 20_000,
            created_mixed: 50_128,
            deleted_alone: 20_256,
            deleted_mixed: 49_872,
            totals: Totals {
                created: 70_128,
                read: 49_656,
                appended: 50_199,
                deleted: 70_128,
                read_mb: 303.46,
                written_mb: 436.18,
            },
            read_mb_per_s: 75.86,
            write_mb_per_s: 109.05,
        };
        assert_eq!(report, expected);
        for (text, created, appended, written) in [
            (include_str!("../../../tests/originals/postmark_5000_10000.txt"), 9991, 4952, 59.04),
            (include_str!("../../../tests/originals/postmark_500_500.txt"), 764, 257, 4.45),
        ] {
            let totals = Report::of(text).unwrap().totals;
            assert_eq!((totals.created, totals.appended), (created, appended));
            assert_eq!(totals.written_mb, written);
        }
    }

    #[test]
    fn errors_are_found_where_it_goes_on() {
        let full = include_str!("../../../tests/originals/postmark_ENOSPC_head.txt");
        let complaint = complaint(full).unwrap();
        assert!(complaint.contains("errors, the first: `Error: cannot open"), "{complaint}");
        assert!(complaint.contains("800"), "{complaint}");
        let good = include_str!("../../../tests/originals/postmark_500_500.txt");
        assert_eq!(super::complaint(good), None);
        assert_eq!(Report::of(full).unwrap_err(), "it printed no report");
    }

    #[test]
    fn units_of_data_follow_their_size() {
        let line = "162.97 kilobytes read (1.50 gigabytes per second)";
        assert_eq!(megabytes(line), Some((162.97 / 1024.0, 1536.0)));
        assert_eq!(megabytes("12.00 parsecs read (1.00 bytes per second)"), None);
    }

    #[test]
    fn any_output_is_read_or_refused() {
        let seeds = [
            include_bytes!("../../../tests/originals/postmark_500_500.txt").to_vec(),
            include_bytes!("../../../tests/originals/postmark_ENOSPC_head.txt").to_vec(),
        ];
        fuzz::run("postmark", &seeds, |input| {
            let text = String::from_utf8_lossy(input);
            let _ = (complaint(&text), Report::of(&text).is_ok());
        });
    }
}
