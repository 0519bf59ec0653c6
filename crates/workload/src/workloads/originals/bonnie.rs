//! The installed bonnie++ 2.00a.

mod line;

use std::ffi::OsString;

use units::{Bytes, Nanos};

use self::line::Line;
use super::super::bonnie::{check, figures, parameters};
use super::running::{Invocation, Knowledge, Meaning, Passed, Said, Sign, run};
use crate::typed::{FILE_MAX, SizeParameter, SwitchParameter};
use crate::{
    Context, Description, Failure, Headline, InputFacts, InputKind, Parameters, PhaseDescription,
    Program,
};
use crate::{Space, Workload};

pub(super) struct OriginalBonnie;

const PROGRAM: Program = Program { name: "bonnie++", package: "bonnie++" };

macro_rules! phase {
    ($name:ident, $text:literal, $summary:literal) => {
        static $name: PhaseDescription = PhaseDescription {
            name: $text,
            summary: $summary,
            clock: "from the program's message that the phase begins to its message that it ends, \
                    by fstrial's clock; includes the close and its fsync and, after creating or \
                    deleting files, a sync of the whole machine",
            ops: &[],
            disk_bound: false,
        };
    };
}

phase!(WRITE_CHAR, "write-char", "writes 3 MiB byte by byte");
phase!(WRITE_BLOCK, "write-block", "writes the whole file anew in chunks");
phase!(REWRITE, "rewrite", "reads each chunk, changes a byte, goes back and writes it");
phase!(READ_CHAR, "read-char", "reads 3 MiB byte by byte");
phase!(READ_BLOCK, "read-block", "reads the whole file in chunks");
phase!(SEEKS, "seeks", "five seekers read 8192 random chunks and rewrite a tenth of them");
phase!(
    CREATE_SEQUENTIAL,
    "create-sequential",
    "creates files whose names begin with a counter, with their directories"
);
phase!(STAT_SEQUENTIAL, "stat-sequential", "stats and reads each in the order of the listing");
phase!(DELETE_SEQUENTIAL, "delete-sequential", "deletes in the order of the listing");
phase!(
    CREATE_RANDOM,
    "create-random",
    "creates files whose names begin with random letters, with their directories"
);
phase!(STAT_RANDOM, "stat-random", "shuffles, then stats and reads each in random order");
phase!(DELETE_RANDOM, "delete-random", "shuffles, then deletes in another random order");

const SIZE: SizeParameter = SizeParameter::new(
    "size",
    "Size of the large file, rounded down to MiB; 0 leaves its phases out.",
    Bytes::from_mib(1),
    FILE_MAX,
    "2G",
)
.or_zero()
.scaled();
const FSYNC: SwitchParameter = SwitchParameter::new(
    "fsync",
    "As `-b`: fsync at each rewritten seek, created and deleted file.",
    "off",
);

static DESCRIPTION: Description = Description {
    name: "original-bonnie",
    summary: "the installed bonnie++ 2.00a, run as it is",
    origin: "The program of Debian's package bonnie++ (Russell Coker), for its own results, and as \
the reference for `bonnie` (`fstrial self crosscheck bonnie`). Phases are timed by fstrial's clock, \
read when the program announces that a phase begins or ends; the program's own figures are given \
beside as `own_k_per_sec`, `own_seeks_per_sec`, `own_files_per_sec` and `own_longest_us`. A figure \
that it shows as `+++++` (less than half a second) is missing, with a note. Ops and bytes are \
those requested, since it reports none. It syncs the whole machine after creating or deleting \
files.",
    headline: Headline {
        question: "one large file, as bonnie++ does it",
        phase: "write-block",
        metric: "wall",
        things: "",
    },
    presets: &[],
    inputs: &[InputKind::Program(PROGRAM)],
    parameters: &[
        SIZE.row,
        parameters::CHUNK.row,
        parameters::FAST.row,
        parameters::FILES.row,
        parameters::MAX_SIZE.row,
        parameters::MIN_SIZE.row,
        parameters::DIRECTORIES.row,
        FSYNC.row,
    ],
    phases: &[
        &WRITE_CHAR,
        &WRITE_BLOCK,
        &REWRITE,
        &READ_CHAR,
        &READ_BLOCK,
        &SEEKS,
        &CREATE_SEQUENTIAL,
        &STAT_SEQUENTIAL,
        &DELETE_SEQUENTIAL,
        &CREATE_RANDOM,
        &STAT_RANDOM,
        &DELETE_RANDOM,
    ],
};

const SEEKS_DONE: u64 = 8192;
const SEEKERS: usize = 5;
/// Its default size of a read or write.
const CHUNK: u64 = 8192;
/// Bytes of the phases that go byte by byte.
const CHARS: u64 = 3 << 20;

impl Workload for OriginalBonnie {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let files = parameters.get(&parameters::FILES) * 1024;
        let directories = parameters.get(&parameters::DIRECTORIES);
        let each = parameters.get(&parameters::MAX_SIZE).0.div_ceil(4096) * 4096;
        let small = Bytes(each) * files + Bytes(4096) * directories;
        let bytes = parameters.get(&SIZE).max(small);
        Space { bytes, inodes: files + directories + 2 }
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        check(parameters)?;
        Asked::of(parameters).map(drop)
    }

    fn counterpart(&self) -> Option<&'static str> {
        Some("bonnie")
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let asked = Asked::of(context.parameters()).map_err(Failure::Input)?;
        let invocation = Invocation {
            program: PROGRAM,
            arguments: asked.arguments(context),
            directory: context.target().to_owned(),
            input: String::new(),
        };
        let knowledge = Knowledge { signs: &asked.signs(), complaint: |_| None, death };
        run(context, &invocation, None, &knowledge, |said, passed| asked.read(said, passed))
    }
}

fn death(signal: i32) -> Option<&'static str> {
    (signal == libc::SIGABRT).then_some(
        "2.00a dies like this when a large file and small ones are asked for with another chunk \
         than 8192; ask for one of them (size=0 or files=0)",
    )
}

/// The settings for the program.
#[derive(Debug, Clone)]
struct Asked {
    size: u64,
    chunk: u64,
    fast: bool,
    files: u64,
    max: u64,
    min: u64,
    directories: u64,
    fsync: bool,
}

impl Asked {
    fn of(parameters: &Parameters) -> Result<Asked, String> {
        let asked = Asked {
            size: parameters.get(&SIZE).0 >> 20 << 20,
            chunk: parameters.get(&parameters::CHUNK).0,
            fast: parameters.get(&parameters::FAST),
            files: parameters.get(&parameters::FILES),
            max: parameters.get(&parameters::MAX_SIZE).0,
            min: parameters.get(&parameters::MIN_SIZE).0,
            directories: parameters.get(&parameters::DIRECTORIES),
            fsync: parameters.get(&FSYNC),
        };
        if asked.size == 0 && parameters.get(&SIZE).0 > 0 {
            return Err("size is below 1 MiB, the unit in which bonnie++ takes it".to_owned());
        }
        if asked.size > 0 && !asked.fast && asked.size < CHARS {
            return Err(
                "size is below the 3 MiB that go byte by byte; fast=on leaves them out".to_owned()
            );
        }
        Ok(asked)
    }

    fn arguments(&self, context: &Context<'_>) -> Vec<OsString> {
        let mut arguments: Vec<OsString> =
            vec!["-d".into(), context.target().into(), "-r".into(), "0".into()];
        let mut add = |name: &str, value: String| {
            arguments.extend([OsString::from(name), value.into()]);
        };
        add("-m", "fstrial".to_owned());
        add("-z", (context.seed().stream("bonnie++").below(1 << 31)).to_string());
        match self.size >> 20 {
            0 => add("-s", "0".to_owned()),
            mib => add("-s", format!("{mib}:{}", self.chunk)),
        }
        let mut small = format!("{}:{}:{}:{}", self.files, self.max, self.min, self.directories);
        // 2.00a dies when given this option together with a large file; 8192 is its own default.
        if self.chunk != CHUNK {
            small += &format!(":{}", self.chunk);
        }
        add("-n", if self.files == 0 { "0".to_owned() } else { small });
        if rustix::process::geteuid().is_root() {
            add("-u", "0:0".to_owned());
        }
        arguments.extend(self.fast.then(|| OsString::from("-f")));
        arguments.extend(self.fsync.then(|| OsString::from("-b")));
        arguments
    }

    fn signs(&self) -> Vec<Sign> {
        let mut signs = Vec::new();
        let mut add = |text, meaning| signs.push(Sign { text, meaning });
        let chunks = self.size / self.chunk.max(1);
        if self.size > 0 {
            let large: [(&'static str, &'static PhaseDescription, u64); 5] = [
                ("Writing a byte at a time...", &WRITE_CHAR, CHARS),
                ("Writing intelligently...", &WRITE_BLOCK, chunks),
                ("Rewriting...", &REWRITE, chunks),
                ("Reading a byte at a time...", &READ_CHAR, CHARS),
                ("Reading intelligently...", &READ_BLOCK, chunks),
            ];
            for (text, phase, ops) in large {
                if self.fast && ops == CHARS && text.contains("byte") {
                    continue;
                }
                add(text, Meaning::Begins(phase, ops));
                add("done", Meaning::Ends);
            }
            add("start 'em...", Meaning::Begins(&SEEKS, SEEKS_DONE));
            for _ in 1..SEEKERS {
                add("done...", Meaning::Nothing);
            }
            add("done...", Meaning::Ends);
        }
        if self.files > 0 {
            let small: [(&'static str, &'static PhaseDescription); 6] = [
                ("Create files in sequential order...", &CREATE_SEQUENTIAL),
                ("Stat files in sequential order...", &STAT_SEQUENTIAL),
                ("Delete files in sequential order...", &DELETE_SEQUENTIAL),
                ("Create files in random order...", &CREATE_RANDOM),
                ("Stat files in random order...", &STAT_RANDOM),
                ("Delete files in random order...", &DELETE_RANDOM),
            ];
            for (text, phase) in small {
                add(text, Meaning::Begins(phase, self.files * 1024));
                add("done.", Meaning::Ends);
            }
        }
        signs
    }

    /// Fills in the requested numbers and the figures that the program gives for each phase.
    fn read(&self, said: &Said, passed: &mut [Passed]) -> Result<(), String> {
        let line = Line::find(&said.output)?;
        for passed in passed {
            let name = passed.phase.name;
            let result = &mut passed.result;
            let (unit, count) = match name {
                "write-char" => {
                    (result.ops, result.write_bytes) = (CHARS, Bytes(CHARS));
                    ("k_per_sec", CHARS as f64 / 1024.0)
                }
                "read-char" => {
                    (result.ops, result.read_bytes) = (CHARS, Bytes(CHARS));
                    ("k_per_sec", CHARS as f64 / 1024.0)
                }
                "seeks" => {
                    result.ops = SEEKS_DONE;
                    result.read_bytes = Bytes(SEEKS_DONE * self.chunk);
                    ("seeks_per_sec", SEEKS_DONE as f64)
                }
                "write-block" | "rewrite" | "read-block" => {
                    result.ops = self.size / self.chunk.max(1);
                    let bytes = Bytes(self.size);
                    if name != "read-block" {
                        result.write_bytes = bytes;
                    }
                    if name != "write-block" {
                        result.read_bytes = bytes;
                    }
                    ("k_per_sec", self.size as f64 / 1024.0)
                }
                _ => {
                    result.ops = self.files * 1024;
                    ("files_per_sec", result.ops as f64)
                }
            };
            if result.wall > Nanos::ZERO {
                figures(result, unit, count);
            }
            let told = line.phase(name)?;
            match told.rate {
                Some(rate) => {
                    result.figures.insert(format!("own_{unit}"), rate);
                }
                None => result.notes.push(
                    "bonnie++ gives no figure of its own: it took less than half a second"
                        .to_owned(),
                ),
            }
            if let Some(longest) = told.longest_us {
                result.figures.insert("own_longest_us".to_owned(), longest);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_come_in_the_order_of_a_real_run() {
        let said = include_str!("../../../tests/originals/bonnie_n64_noquiet.err");
        let given = [("size", "0"), ("files", "64")];
        let given = given.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let parameters = Parameters::resolve(&DESCRIPTION, &given, 1.0).unwrap();
        let mut rest = said;
        for sign in Asked::of(&parameters).unwrap().signs() {
            let place = rest.find(sign.text);
            rest = &rest[place.unwrap_or_else(|| panic!("{} in {rest}", sign.text))..];
            rest = &rest[sign.text.len()..];
        }
        assert_eq!(rest.trim(), "");
    }
}
