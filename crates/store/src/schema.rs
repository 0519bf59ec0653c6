//! The schema and its history.

use std::path::Path;

use rusqlite::Connection;

use crate::StoreError;

/// Marks a file as ours: "fstr" in ASCII.
const APPLICATION_ID: i64 = 0x6673_7472;

/// Step n brings schema n − 1 to n. Steps are never edited once released: a store made by
/// any earlier version must open.
const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE runs (
    ordinal         INTEGER PRIMARY KEY AUTOINCREMENT,
    created         TEXT NOT NULL,
    fstrial_version TEXT NOT NULL,
    testbed         TEXT NOT NULL,
    lab_id          TEXT,
    environment     TEXT NOT NULL,  -- JSON object of facts
    seed            TEXT NOT NULL,  -- 16 hexadecimal digits
    repeats         INTEGER NOT NULL,
    scale           REAL NOT NULL,
    request         TEXT NOT NULL   -- JSON: what was asked for, for --resume
);
CREATE TABLE trials (
    id          INTEGER PRIMARY KEY,
    run         INTEGER NOT NULL REFERENCES runs(ordinal),
    ordinal     INTEGER NOT NULL,   -- order of execution
    contender   TEXT NOT NULL,
    block       INTEGER NOT NULL,
    seed        TEXT NOT NULL,
    spec        TEXT NOT NULL,      -- JSON TrialSpec
    outcome     TEXT,               -- NULL until it has ended
    outcome_doc TEXT,               -- JSON Outcome
    made        TEXT,               -- JSON Made
    notes       TEXT,               -- JSON array
    ended       TEXT,
    UNIQUE (run, ordinal)
);
CREATE TABLE phases (
    id                 INTEGER PRIMARY KEY,
    trial              INTEGER NOT NULL REFERENCES trials(id),
    ordinal            INTEGER NOT NULL,
    workload           TEXT NOT NULL,
    phase              TEXT NOT NULL,
    status             TEXT NOT NULL,   -- JSON PhaseStatus
    wall_ns            INTEGER NOT NULL,
    user_ns            INTEGER NOT NULL,
    sys_ns             INTEGER NOT NULL,
    machine_cpu_ns     INTEGER,
    ops                INTEGER NOT NULL,
    read_bytes         INTEGER NOT NULL,
    write_bytes        INTEGER NOT NULL,
    device_reads       INTEGER,
    device_read_bytes  INTEGER,
    device_writes      INTEGER,
    device_write_bytes INTEGER,
    device_discards    INTEGER,
    device_flushes     INTEGER,
    device_busy_ns     INTEGER,
    cache              TEXT NOT NULL,   -- JSON Cache
    digest             TEXT NOT NULL,
    not_comparable     TEXT,
    notes              TEXT NOT NULL,   -- JSON array
    UNIQUE (trial, ordinal)
);
CREATE TABLE latencies (
    phase     INTEGER NOT NULL REFERENCES phases(id),
    op        TEXT NOT NULL,
    histogram BLOB NOT NULL,            -- HdrHistogram V2
    PRIMARY KEY (phase, op)
) WITHOUT ROWID;
CREATE TABLE figures (
    phase INTEGER NOT NULL REFERENCES phases(id),
    name  TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (phase, name)
) WITHOUT ROWID;
CREATE INDEX trials_of_run ON trials(run);
CREATE INDEX phases_of_trial ON phases(trial);
",
    "
ALTER TABLE trials ADD COLUMN space TEXT;  -- JSON SpaceUse; NULL where it was not taken
",
    "
-- What the trial took of this machine's time, from its start to its end; NULL where not taken.
ALTER TABLE trials ADD COLUMN host_ns INTEGER;
-- Of all that is stored of the trial; NULL while it has not ended, and in trials of before.
ALTER TABLE trials ADD COLUMN checksum TEXT;
",
    "
-- JSON array of names in the order asked for; NULL in runs of before.
ALTER TABLE runs ADD COLUMN contenders TEXT;
",
    "
-- How often it was run again because something outside of it had ended it.
ALTER TABLE trials ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
",
];

/// Brings the schema up to date, each step in a transaction of its own.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::from_sqlite(path, error);
    let pragma = |connection: &Connection, name: &str| {
        connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))
    };
    let found = pragma(connection, "user_version").map_err(failed)?;
    let application = pragma(connection, "application_id").map_err(failed)?;
    let known = MIGRATIONS.len() as i64;
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(failed)?;
    if application != APPLICATION_ID && tables > 0 {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    }
    if found < 0 {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    }
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    for step in found..known {
        let transaction = connection
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
            .map_err(failed)?;
        // Another process may have done this step while we waited for the lock.
        if pragma(&transaction, "user_version").map_err(failed)? != step {
            continue;
        }
        transaction.execute_batch(MIGRATIONS[step as usize]).map_err(failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
        transaction.pragma_update(None, "user_version", step + 1).map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}
