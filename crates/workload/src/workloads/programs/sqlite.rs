//! SQLite, by its own shell.

use std::fmt::Write;

use units::Bytes;

use super::steps::{Behind, Steps, in_directory};
use super::text::words;
use crate::typed::{Choice, ChoiceParameter, CountParameter, choice};
use crate::{
    Context, Description, Failure, Headline, InputFacts, InputKind, Parameters, PhaseDescription,
    Preset, Program, Space, Workload,
};

/// Transactions of the sqlite3 shell.
pub(in crate::workloads) struct Sqlite;

const PROGRAM: Program = Program { name: "sqlite3", package: "sqlite3" };
const DIRECTORY: &str = "sqlite";
const DATABASE: &str = "shop.db";
/// A row without its payload, twice: in the table and in the index.
const OVERHEAD: u64 = 100;

static LOAD: PhaseDescription = PhaseDescription {
    name: "load",
    summary: "all rows in one transaction",
    clock: "one sqlite3, from its start to its end",
    ops: &[],
    disk_bound: true,
};

static INSERT: PhaseDescription = PhaseDescription {
    name: "insert",
    summary: "one new row per transaction",
    clock: "one sqlite3 that is given all statements, from its start to its end, including the \
checkpoint of its log",
    ops: &[],
    disk_bound: true,
};

static UPDATE: PhaseDescription = PhaseDescription {
    name: "update",
    summary: "one random row changed per transaction",
    clock: "as `insert`",
    ops: &[],
    disk_bound: true,
};

static READ: PhaseDescription = PhaseDescription {
    name: "read",
    summary: "selects random rows by key, with an empty cache",
    clock: "one sqlite3, from its start to its end",
    ops: &[],
    disk_bound: true,
};

const ROWS: CountParameter =
    CountParameter::new("rows", "Rows loaded first.", 1, 100_000_000, "10000").scaled();
const TRANSACTIONS: CountParameter = CountParameter::new(
    "transactions",
    "Number of transactions of `insert` and of `update`, and of reads.",
    1,
    10_000_000,
    "1000",
)
.scaled();
const PAYLOAD: CountParameter =
    CountParameter::new("payload", "Characters of a row's text.", 1, 1_000_000, "200");
choice! {
    /// SQLite's journal_mode.
    enum Journal {
        Wal = "wal": "a log beside the database",
        Delete = "delete": "a rollback journal that each transaction creates and removes",
        Truncate = "truncate": "a rollback journal that each transaction truncates to zero length",
        Persist = "persist": "a rollback journal whose header each transaction clears",
    }
}
const JOURNAL: ChoiceParameter<Journal> =
    ChoiceParameter::of("journal", "SQLite's journal_mode.", "wal");
choice! {
    /// SQLite's `synchronous`.
    enum Synchronous {
        Full = "full": "every transaction is on the disk before the next",
        Normal = "normal": "with journal=wal, only checkpoints wait for the disk",
        Off = "off": "nothing waits for the disk",
        Extra = "extra": "as full, and the directory too when a journal is removed",
    }
}
const SYNCHRONOUS: ChoiceParameter<Synchronous> =
    ChoiceParameter::of("synchronous", "SQLite's setting of this name.", "full");

static DESCRIPTION: Description = Description {
    name: "sqlite",
    summary: "transactions of SQLite: load, insert, update, read",
    origin: "The program of Debian's package sqlite3, which gets its statements through a pipe. \
The figures include the time to start it and to read the statements. After the last phase, `PRAGMA \
integrity_check` is run and the number of rows is compared. In the lab it needs `lab build --with \
programs`.",
    headline: Headline {
        question: "durable transactions of SQLite, one row each",
        phase: "insert",
        metric: "ops_rate",
        things: "transactions",
    },
    presets: &[Preset {
        name: "rollback-journal",
        question: "durable transactions of SQLite with a rollback journal, its default",
        set: &[("journal", "delete")],
    }],
    inputs: &[InputKind::Program(PROGRAM)],
    parameters: &[ROWS.row, TRANSACTIONS.row, PAYLOAD.row, JOURNAL.row, SYNCHRONOUS.row],
    phases: &[&LOAD, &INSERT, &UPDATE, &READ],
};

impl Workload for Sqlite {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let (rows, transactions) = (parameters.get(&ROWS), parameters.get(&TRANSACTIONS));
        let row = parameters.get(&PAYLOAD) + OVERHEAD;
        // The log holds changed pages: three of 4 KiB a transaction until its checkpoint.
        let log = transactions.min(2000) * (3 << 12);
        let bytes = 2 * (rows + transactions) * row + log + (1 << 20);
        Space { bytes: Bytes(bytes), inodes: 10 }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        in_directory(context, DIRECTORY, |context, directory| {
            let shell = Steps::of(context, PROGRAM, directory, &[])?;
            transact(context, &shell)
        })
    }
}

fn transact(context: &mut Context<'_>, shell: &Steps<'_>) -> Result<(), Failure> {
    let parameters = context.parameters();
    let (rows, transactions) = (parameters.get(&ROWS), parameters.get(&TRANSACTIONS));
    let length = usize::try_from(parameters.get(&PAYLOAD)).unwrap_or(usize::MAX);
    let mode = parameters.get(&JOURNAL).word();
    let settings = format!("PRAGMA synchronous={};\n", parameters.get(&SYNCHRONOUS).word());
    // The database file remembers the mode only where it is `wal`.
    let settings = format!("PRAGMA journal_mode={mode};\n{settings}");
    let mut draw = context.seed().stream("sqlite");

    let table = "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, payload TEXT);\n\
                 CREATE INDEX item_name ON item (name);\n";
    let took = shell.run(&ARGUMENTS, &format!("{settings}{table}"))?;
    if took.trim() != mode {
        let said = format!("it was asked for journal_mode={mode} and took {}", took.trim());
        return Err(Failure::Program { program: PROGRAM.name, said });
    }
    let insert = |id: u64, draw: &mut crate::Draw| {
        let (name, payload) = (draw.bits(), words(draw, length));
        format!("INSERT INTO item VALUES ({id}, '{name:016x}', '{payload}');\n")
    };

    let mut script = format!("{settings}BEGIN;\n");
    (1..=rows).for_each(|id| script += &insert(id, &mut draw));
    script += "COMMIT;\n";
    shell.time(context, &LOAD, rows, Behind::Nothing, &ARGUMENTS, &script)?;

    let mut script = settings.clone();
    (1..=transactions).for_each(|nth| script += &insert(rows + nth, &mut draw));
    shell.time(context, &INSERT, transactions, Behind::Nothing, &ARGUMENTS, &script)?;

    let mut script = settings.clone();
    for _ in 0..transactions {
        let (id, payload) = (1 + draw.below(rows), words(&mut draw, length));
        let _ = writeln!(script, "UPDATE item SET payload='{payload}' WHERE id={id};");
    }
    shell.time(context, &UPDATE, transactions, Behind::Nothing, &ARGUMENTS, &script)?;

    let mut script = String::new();
    for _ in 0..transactions {
        let id = 1 + draw.below(rows);
        let _ = writeln!(script, "SELECT length(payload) FROM item WHERE id={id};");
    }
    context.make_cold();
    let found = shell.time(context, &READ, transactions, Behind::Nothing, &ARGUMENTS, &script)?;
    let wrong = found.lines().filter(|line| *line != length.to_string()).count();
    if wrong > 0 {
        return Err(Failure::Verify(format!("{wrong} rows were read with another length")));
    }

    let script = "PRAGMA integrity_check;\nSELECT count(*) FROM item;\n";
    let said = shell.check(&ARGUMENTS, script)?;
    let expected = format!("ok\n{}", rows + transactions);
    match said.trim() == expected {
        true => Ok(()),
        false => Err(Failure::Verify(format!("integrity_check and count say: {}", said.trim()))),
    }
}

/// Ends at the first error, and prints nothing that was not asked for.
const ARGUMENTS: [&str; 3] = ["-batch", "-bail", DATABASE];
