//! A checksum of each trial that has ended, over the contents of its rows: computed when they are
//! written, checked when they are read. If a bit has changed since, the trial counts as damaged and
//! none of its figures is used.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};

/// What the checksum covers, in order: queries for the rows of one trial. Columns of later schemas
/// must not be added here, since the checksums of earlier trials do not cover them.
const COVERED: [&str; 4] = [
    "SELECT ordinal, contender, block, seed, spec, outcome, outcome_doc, made, notes, ended, space,
     host_ns FROM trials WHERE id = ?1",
    "SELECT ordinal, workload, phase, status, wall_ns, user_ns, sys_ns, machine_cpu_ns, ops,
     read_bytes, write_bytes, device_reads, device_read_bytes, device_writes, device_write_bytes,
     device_discards, device_flushes, device_busy_ns, cache, digest, not_comparable, notes
     FROM phases WHERE trial = ?1 ORDER BY ordinal",
    "SELECT phases.ordinal, op, histogram FROM latencies JOIN phases ON phases.id = latencies.phase
     WHERE phases.trial = ?1 ORDER BY phases.ordinal, op",
    "SELECT phases.ordinal, name, value FROM figures JOIN phases ON phases.id = figures.phase
     WHERE phases.trial = ?1 ORDER BY phases.ordinal, name",
];

/// The checksum of what the store holds of this trial, in hexadecimal digits.
pub(crate) fn of_trial(connection: &Connection, trial: i64) -> rusqlite::Result<String> {
    let mut sum = Sha256::new();
    for query in COVERED {
        let mut statement = connection.prepare_cached(query)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params![trial])?;
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
        }
        sum.update([0xfe]);
    }
    Ok(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
