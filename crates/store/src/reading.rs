//! Getting trials out.

use std::collections::BTreeMap;
use std::time::Duration;

use measure::{Course, CpuTime, DeviceUse, Latencies};
use rusqlite::{Row, params};
use serde::de::DeserializeOwned;
use trial::{OVERHEAD_SHARE, TrialRecord, TrialSpec};
use units::{Bytes, Nanos};
use workload::{NotComparable, PhaseResult};

use crate::error::Damage;
use crate::runs::Checked;
use crate::{Store, StoreError, StoredRun, StoredTrial, checksum};

impl Store {
    /// A run with everything measured so far; `latest` names the newest.
    ///
    /// # Errors
    /// When there is no such run or it is damaged. (A damaged trial is one that failed.)
    pub fn run(&self, id: &str) -> Result<StoredRun, StoreError> {
        let run = self.checked(id)?;
        Ok(StoredRun { header: self.header_of(&run)?, trials: self.trials(&run)? })
    }

    /// How much of the machine's time trials that ended well took, the newest first and at most
    /// `limit`, in runs on this testbed with the same values of these facts.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn durations(
        &self,
        testbed: &str,
        facts: &[(&str, Option<&str>)],
        limit: u32,
    ) -> Result<Vec<(TrialSpec, Duration)>, StoreError> {
        let failed = |error| self.failed(error);
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT spec, host_ns FROM trials JOIN runs ON runs.ordinal = trials.run
                 WHERE outcome = 'done' AND host_ns IS NOT NULL AND testbed = ?1
                 AND NOT EXISTS (SELECT 1 FROM json_each(?2) AS fact WHERE fact.value IS NOT
                    iif(json_valid(environment), environment ->> ('$.' || fact.key), NULL))
                 ORDER BY trials.id DESC LIMIT ?3",
            )
            .map_err(failed)?;
        let facts: BTreeMap<_, _> = facts.iter().copied().collect();
        let facts = serde_json::json!(facts).to_string();
        let rows = statement
            .query_map(params![testbed, facts, limit], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
            })
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(failed)?;
        // A spec that a later version wrote in another form is skipped: it only costs the estimate.
        let read = |(spec, ns): (String, i64)| {
            let took = Duration::from_nanos(u64::try_from(ns).ok()?);
            Some((serde_json::from_str(&spec).ok()?, took))
        };
        Ok(rows.into_iter().filter_map(read).collect())
    }

    /// The trials of a run that have no outcome yet, in order of execution.
    ///
    /// # Errors
    /// When there is no such run, or one of them is not what was planned.
    pub fn unfinished(&self, id: &str) -> Result<Vec<(u32, TrialSpec)>, StoreError> {
        let run = self.checked(id)?;
        let rows = self.query(
            "SELECT id, ordinal FROM trials WHERE run = ?1 AND outcome IS NULL ORDER BY ordinal",
            run.ordinal,
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?)),
        )?;
        rows.into_iter()
            .map(|(row, trial)| {
                if self.is_as_written(&run, row)? {
                    return Ok((trial, self.spec(row, trial)?));
                }
                let damage = Damage::Plan { run: format!("r{}", run.ordinal), trial };
                Err(StoreError::damaged(&self.path, damage))
            })
            .collect()
    }

    /// Trials that something outside of them ended before, and how often, by their place.
    ///
    /// # Errors
    /// When there is no such run.
    pub fn run_again(&self, id: &str) -> Result<BTreeMap<u32, u32>, StoreError> {
        let ordinal = self.run_ordinal(id)?;
        let rows = self.query(
            "SELECT ordinal, again FROM trials WHERE run = ?1 AND again > 0",
            ordinal,
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        Ok(rows.into_iter().collect())
    }

    /// Whether a trial's rows are what was written, in this run and at this place.
    pub(crate) fn is_as_written(&self, run: &Checked, trial: i64) -> Result<bool, StoreError> {
        let query = "SELECT checksum FROM trials WHERE id = ?1";
        let written = self.query(query, trial, |row| {
            Ok(row.get_ref(0)?.as_str().unwrap_or_default().to_owned())
        })?;
        let found = checksum::of_trial(&self.connection, &run.checksum, trial);
        Ok(written == [found.map_err(|error| self.failed(error))?])
    }

    fn spec(&self, row: i64, trial: u32) -> Result<TrialSpec, StoreError> {
        let query = "SELECT spec FROM trials WHERE id = ?1";
        let spec = self
            .query(query, row, |row| Ok(row.get_ref(0)?.as_str().unwrap_or_default().to_owned()))?;
        self.decode(&format!("the plan of trial {}", trial + 1), &spec.concat())
    }

    fn trials(&self, run: &Checked) -> Result<Vec<StoredTrial>, StoreError> {
        let rows = self.query(
            "SELECT id, ordinal FROM trials WHERE run = ?1 ORDER BY ordinal",
            run.ordinal,
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?)),
        )?;
        rows.into_iter()
            .map(|(row, ordinal)| {
                let spec = self.spec(row, ordinal)?;
                if !self.is_as_written(run, row)? {
                    return Ok(StoredTrial::damaged(ordinal, spec));
                }
                Ok(StoredTrial { ordinal, spec, record: self.record(row, ordinal)? })
            })
            .collect()
    }

    fn record(&self, row: i64, ordinal: u32) -> Result<TrialRecord, StoreError> {
        let what = |part: &str| format!("{part} of trial {}", ordinal + 1);
        let read = "SELECT outcome_doc, made, notes, space, host_ns FROM trials WHERE id = ?1";
        let (outcome, made, notes, space, host) = self
            .connection
            .prepare_cached(read)
            .and_then(|mut statement| {
                statement.query_row([row], |row| {
                    let text = |column| row.get::<_, Option<String>>(column);
                    Ok((text(0)?, text(1)?, text(2)?, text(3)?, row.get::<_, Option<i64>>(4)?))
                })
            })
            .map_err(|error| self.failed(error))?;
        Ok(TrialRecord {
            outcome: self.decode_optional(&what("the outcome"), outcome)?,
            made: self.decode_optional(&what("the environment"), made)?,
            space: self.decode_optional(&what("the space"), space)?,
            host: host.and_then(|ns| u64::try_from(ns).ok()).map(Duration::from_nanos),
            phases: self.phases(row)?,
            notes: self.decode_optional(&what("the notes"), notes)?.unwrap_or_default(),
        })
    }

    fn phases(&self, trial: i64) -> Result<Vec<PhaseResult>, StoreError> {
        let rows = self.query(
            "SELECT id, workload, phase, status, wall_ns, user_ns, sys_ns, machine_cpu_ns, ops,
             read_bytes, write_bytes, device_reads, device_read_bytes, device_writes,
             device_write_bytes, device_discards, device_flushes, device_busy_ns, cache, digest,
             not_comparable, notes FROM phases WHERE trial = ?1 ORDER BY ordinal",
            trial,
            read_phase,
        )?;
        rows.into_iter()
            .map(|row| {
                let what = |part: &str| format!("{part} of phase {}", row.result.phase);
                let mut result = row.result.clone();
                result.status = self.decode(&what("the status"), &row.status)?;
                result.cache = self.decode(&what("the cache state"), &row.cache)?;
                result.notes = self.decode(&what("the notes"), &row.notes)?;
                result.digest = u64::from_str_radix(&row.digest, 16)
                    .map_err(|error| self.unreadable(&what("the digest"), error))?;
                result.latencies = self.latencies(row.id)?;
                result.course = self.course(row.id, &what("the course"))?;
                result.figures = self
                    .query("SELECT name, value FROM figures WHERE phase = ?1", row.id, |row| {
                        Ok((row.get(0)?, row.get(1)?))
                    })?
                    .into_iter()
                    .collect();
                let why = row.not_comparable.as_deref();
                let read = |why: &str| match why.starts_with('{') {
                    true => self.decode(&what("why it is not comparable"), why),
                    false => Ok(in_words(why, &result)),
                };
                result.not_comparable = why.map(read).transpose()?;
                Ok(result)
            })
            .collect()
    }

    fn latencies(&self, phase: i64) -> Result<BTreeMap<String, Latencies>, StoreError> {
        let rows =
            self.query("SELECT op, histogram FROM latencies WHERE phase = ?1", phase, |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?))
            })?;
        rows.into_iter()
            .map(|(op, bytes)| {
                let latencies = Latencies::from_bytes(&bytes)
                    .map_err(|error| self.unreadable(&format!("the histogram of {op}"), error))?;
                Ok((op, latencies))
            })
            .collect()
    }

    fn course(&self, phase: i64, what: &str) -> Result<Option<Course>, StoreError> {
        let query = "SELECT course FROM courses WHERE phase = ?1";
        let text = self.query(query, phase, |row| row.get::<_, String>(0))?.pop();
        let course: Option<Course> = self.decode_optional(what, text)?;
        course.map(Course::checked).transpose().map_err(|error| self.unreadable(what, error))
    }

    pub(crate) fn query<T>(
        &self,
        sql: &str,
        parameter: i64,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let failed = |error| self.failed(error);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let rows = statement.query_map(params![parameter], read);
        rows.and_then(|rows| rows.collect()).map_err(failed)
    }

    pub(crate) fn decode<T: DeserializeOwned>(
        &self,
        what: &str,
        json: &str,
    ) -> Result<T, StoreError> {
        serde_json::from_str(json).map_err(|error| self.unreadable(what, error))
    }

    fn decode_optional<T: DeserializeOwned>(
        &self,
        what: &str,
        json: Option<String>,
    ) -> Result<Option<T>, StoreError> {
        json.map(|json| self.decode(what, &json)).transpose()
    }

    pub(crate) fn unreadable(&self, what: &str, error: impl std::fmt::Display) -> StoreError {
        let damage = Damage::Row { what: what.to_owned(), error: error.to_string() };
        StoreError::damaged(&self.path, damage)
    }
}

/// A reason not to compare a phase, of a run whose reasons were stored as words alone.
fn in_words(why: &str, result: &PhaseResult) -> NotComparable {
    match why.starts_with("the simulation's own transport took ") {
        true => NotComparable::Transport {
            share: result.figures.get(OVERHEAD_SHARE).copied().unwrap_or(1.0),
            limit: 0.05,
            idle_known: result.machine_cpu.is_some(),
        },
        false => NotComparable::Other { why: why.to_owned() },
    }
}

/// A phase with the columns still to be decoded.
struct PhaseRow {
    id: i64,
    result: PhaseResult,
    status: String,
    cache: String,
    digest: String,
    notes: String,
    not_comparable: Option<String>,
}

fn read_phase(row: &Row<'_>) -> rusqlite::Result<PhaseRow> {
    let nanos = |index: usize| row.get::<_, i64>(index).map(|value| Nanos(value as u64));
    let bytes = |index: usize| row.get::<_, i64>(index).map(|value| Bytes(value as u64));
    let optional = |index: usize| row.get::<_, Option<i64>>(index);
    let device = match optional(11)? {
        None => None,
        Some(reads) => Some(DeviceUse {
            reads: reads as u64,
            read_bytes: bytes(12)?,
            writes: row.get::<_, i64>(13)? as u64,
            write_bytes: bytes(14)?,
            discards: row.get::<_, i64>(15)? as u64,
            flushes: optional(16)?.map(|flushes| flushes as u64),
            busy: nanos(17)?,
        }),
    };
    Ok(PhaseRow {
        id: row.get(0)?,
        result: PhaseResult {
            workload: row.get(1)?,
            phase: row.get(2)?,
            status: workload::PhaseStatus::Completed,
            wall: nanos(4)?,
            cpu: CpuTime { user: nanos(5)?, sys: nanos(6)? },
            machine_cpu: optional(7)?.map(|value| Nanos(value as u64)),
            ops: row.get::<_, i64>(8)? as u64,
            read_bytes: bytes(9)?,
            write_bytes: bytes(10)?,
            device,
            cache: workload::Cache::Warm { why: String::new() },
            latencies: BTreeMap::new(),
            course: None,
            figures: BTreeMap::new(),
            digest: 0,
            not_comparable: None,
            notes: Vec::new(),
        },
        status: row.get(3)?,
        cache: row.get(18)?,
        digest: row.get(19)?,
        notes: row.get(21)?,
        not_comparable: row.get(20)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_stored_as_words_are_read_as_what_they_say() {
        let json = r#"{"workload": "w", "phase": "p", "status": {"status": "completed"}, "wall": 1,
            "cpu": {"user": 0, "sys": 0}, "machine_cpu": 3, "ops": 0, "read_bytes": 0,
            "write_bytes": 0, "device": null, "cache": {"state": "warm", "why": ""},
            "latencies": {}, "figures": {"transport_tax_fraction": 0.07}, "digest": 0,
            "not_comparable": null, "notes": []}"#;
        let result: PhaseResult = serde_json::from_str(json).unwrap();
        let old = "the simulation's own transport took 7.0 % of its time (limit 5 %)";
        let transport = NotComparable::Transport { share: 0.07, limit: 0.05, idle_known: true };
        assert_eq!(in_words(old, &result), transport);
        let why = "no device reads".to_owned();
        assert_eq!(in_words(&why, &result), NotComparable::Other { why: why.clone() });
    }
}
