//! The schema and its history.

use std::path::Path;

use rusqlite::Connection;

use crate::StoreError;
use crate::error::Damage;

/// Marks a file as ours: "fstr" in ASCII.
const APPLICATION_ID: i64 = 0x6673_7472;

/// The schema that the first of [`STEPS`] makes. Those before it were never released.
const FIRST: i64 = 6;

/// Each brings a store from one schema to the next, the first makes it. They are never edited
/// once released: a store made by any earlier version must open.
const STEPS: &[&str] = &[
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
    request         TEXT NOT NULL,  -- JSON: what was asked for, for --resume
    contenders      TEXT NOT NULL,  -- JSON array of names in the order asked for
    trials          INTEGER NOT NULL,   -- how many were planned
    checksum        TEXT NOT NULL   -- of all of this row
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
    space       TEXT,               -- JSON SpaceUse; NULL where it was not taken
    host_ns     INTEGER,            -- this machine's time from start to end; NULL where not taken
    again       INTEGER NOT NULL DEFAULT 0, -- how often something outside of it had ended it
    checksum    TEXT NOT NULL,      -- of all that is stored of it
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
CREATE INDEX phases_of_trial ON phases(trial);
",
    "
CREATE TABLE courses (
    phase  INTEGER PRIMARY KEY REFERENCES phases(id),
    course TEXT NOT NULL                -- JSON Course
);
",
];

/// Makes the schema where there is none, or brings it up to date, each step in a transaction of its own. Then the
/// tables are those that this program would make: nothing was added to them, no trigger, no view.
pub(crate) fn migrate(
    connection: &mut Connection,
    path: &Path,
    is_to_be_made: bool,
) -> Result<(), StoreError> {
    let failed = |error| StoreError::from_sqlite(path, error);
    let pragma = |connection: &Connection, name: &str| {
        connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))
    };
    let state = |connection: &Connection| -> rusqlite::Result<i64> {
        Ok(match pragma(connection, "user_version")? {
            0 if tables(connection)?.is_empty() => FIRST - 1,
            found => found,
        })
    };
    let found = state(connection).map_err(failed)?;
    let application = pragma(connection, "application_id").map_err(failed)?;
    let known = FIRST + STEPS.len() as i64 - 1;
    let is_new = found == FIRST - 1 && tables(connection).map_err(failed)?.is_empty();
    if found < 0 || (application != APPLICATION_ID && !is_new) || (is_new && !is_to_be_made) {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    }
    if found < FIRST && !is_new {
        return Err(StoreError::Unreleased { path: path.to_owned(), found });
    }
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    for (schema, step) in (FIRST..).zip(STEPS).skip_while(|(schema, _)| *schema <= found) {
        let transaction = connection
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
            .map_err(failed)?;
        // Another process may have done this step while we waited for the lock.
        if state(&transaction).map_err(failed)? != schema - 1 {
            continue;
        }
        transaction.execute_batch(step).map_err(failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
        transaction.pragma_update(None, "user_version", schema).map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    let fresh = Connection::open_in_memory().map_err(failed)?;
    STEPS.iter().try_for_each(|step| fresh.execute_batch(step)).map_err(failed)?;
    if tables(connection).map_err(failed)? != tables(&fresh).map_err(failed)? {
        return Err(StoreError::damaged(path, Damage::Tables));
    }
    Ok(())
}

/// The definitions of all tables, indexes, views and triggers. (SQLite's own statistics, which
/// `ANALYZE` adds, decide nothing but speed.)
fn tables(connection: &Connection) -> rusqlite::Result<Vec<(String, Option<String>)>> {
    connection
        .prepare(
            "SELECT type || ' ' || name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'
             ORDER BY 1",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}
