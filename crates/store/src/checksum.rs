//! Checksums of what is stored, computed when it is written and compared when it is read. A run's
//! covers its own row; a trial's covers its rows and the run's checksum, so that neither a row of
//! another run nor one of another place counts as its own. Which trials there have to be, the
//! run's row says.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, params};
use sha2::{Digest, Sha256};

const RUN: &str = "SELECT ordinal, created, fstrial_version, testbed, lab_id, environment, seed,
     repeats, scale, request, contenders, trials FROM runs WHERE ordinal = ?1";

/// The rows of a trial, each kind of which counts even where there is none.
const TRIAL: [&str; 4] = [
    "SELECT run, ordinal, contender, block, seed, spec, outcome, outcome_doc, made, notes, ended,
     space, host_ns, again FROM trials WHERE id = ?1",
    "SELECT ordinal, workload, phase, status, wall_ns, user_ns, sys_ns, machine_cpu_ns, ops,
     read_bytes, write_bytes, device_reads, device_read_bytes, device_writes, device_write_bytes,
     device_discards, device_flushes, device_busy_ns, cache, digest, not_comparable, notes
     FROM phases WHERE trial = ?1 ORDER BY ordinal",
    "SELECT phases.ordinal, op, histogram FROM latencies JOIN phases ON phases.id = latencies.phase
     WHERE phases.trial = ?1 ORDER BY phases.ordinal, op",
    "SELECT phases.ordinal, name, value FROM figures JOIN phases ON phases.id = figures.phase
     WHERE phases.trial = ?1 ORDER BY phases.ordinal, name",
];

/// Those that stores of an earlier schema lack: a trial without any has the checksum that it had.
const ADDED: [&str; 1] =
    ["SELECT phases.ordinal, course FROM courses JOIN phases ON phases.id = courses.phase
     WHERE phases.trial = ?1 ORDER BY phases.ordinal"];

/// The checksum of a run's row, in hexadecimal digits.
pub(crate) fn of_run(connection: &Connection, ordinal: i64) -> rusqlite::Result<String> {
    let mut sum = Sha256::new();
    add_rows(&mut sum, connection, RUN, params![ordinal])?;
    sum.update([END]);
    Ok(hex(sum))
}

/// The checksum of a trial of the run that has this checksum.
pub(crate) fn of_trial(
    connection: &Connection,
    run_checksum: &str,
    trial: i64,
) -> rusqlite::Result<String> {
    let mut sum = Sha256::new();
    sum.update(run_checksum);
    for query in TRIAL {
        add_rows(&mut sum, connection, query, params![trial])?;
        sum.update([END]);
    }
    for query in ADDED {
        if add_rows(&mut sum, connection, query, params![trial])? > 0 {
            sum.update([END]);
        }
    }
    Ok(hex(sum))
}

/// After the last row of a kind.
const END: u8 = 0xfe;

/// Adds the rows; returns how many there are.
fn add_rows(
    sum: &mut Sha256,
    connection: &Connection,
    query: &str,
    parameters: impl Params,
) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached(query)?;
    let columns = statement.column_count();
    let (mut rows, mut count) = (statement.query(parameters)?, 0);
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            let mut add = |kind: u8, bytes: &[u8]| {
                sum.update([kind]);
                sum.update((bytes.len() as u64).to_le_bytes());
                sum.update(bytes);
            };
            match row.get_ref(column)? {
                ValueRef::Null => add(0, &[]),
                ValueRef::Integer(number) => add(1, &number.to_le_bytes()),
                ValueRef::Real(number) => add(2, &number.to_bits().to_le_bytes()),
                ValueRef::Text(text) => add(3, text),
                ValueRef::Blob(bytes) => add(4, bytes),
            }
        }
        sum.update([0xff]);
        count += 1;
    }
    Ok(count)
}

fn hex(sum: Sha256) -> String {
    sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
