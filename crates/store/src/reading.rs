//! Getting runs and trials out.

use std::collections::BTreeMap;
use std::time::Duration;

use measure::{CpuTime, DeviceUse, Latencies};
use rusqlite::{OptionalExtension, Row, params};
use serde::de::DeserializeOwned;
use trial::{TrialRecord, TrialSpec};
use units::{Bytes, Nanos};
use workload::PhaseResult;

use crate::{RunHeader, RunState, Store, StoreError, StoredRun, StoredTrial, checksum};

impl Store {
    /// Headers of all runs, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs(&self) -> Result<Vec<RunHeader>, StoreError> {
        let mut statement = self
            .connection
            .prepare(&format!("{HEADER} ORDER BY runs.ordinal DESC"))
            .map_err(|error| self.failed(error))?;
        let rows = statement
            .query_map([], read_header)
            .map_err(|error| self.failed(error))?
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| self.failed(error))?;
        rows.into_iter().map(|row| self.header(row)).collect()
    }

    /// A run with everything measured so far; `latest` names the newest.
    ///
    /// # Errors
    /// When there is no such run or a row is damaged.
    pub fn run(&self, id: &str) -> Result<StoredRun, StoreError> {
        let ordinal = self.run_ordinal(id)?;
        Ok(StoredRun { header: self.header_of(ordinal)?, trials: self.trials(ordinal)? })
    }

    /// What is known of a run beside its trials; `latest` names the newest.
    ///
    /// # Errors
    /// When there is no such run or its row is damaged.
    pub fn run_header(&self, id: &str) -> Result<RunHeader, StoreError> {
        self.header_of(self.run_ordinal(id)?)
    }

    /// How many trials a run has, ended or not.
    ///
    /// # Errors
    /// When there is no such run.
    pub fn trial_count(&self, id: &str) -> Result<usize, StoreError> {
        let ordinal = self.run_ordinal(id)?;
        let counted = self.query("SELECT count(*) FROM trials WHERE run = ?1", ordinal, |row| {
            row.get::<_, u32>(0)
        })?;
        Ok(counted.into_iter().next().unwrap_or_default() as usize)
    }

    /// How much of the machine's time trials that ended well took, the newest first and at most
    /// `limit`, in runs on this testbed and machine profile (none outside the lab).
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn durations(
        &self,
        testbed: &str,
        profile: Option<&str>,
        limit: u32,
    ) -> Result<Vec<(TrialSpec, Duration)>, StoreError> {
        let failed = |error| self.failed(error);
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT spec, host_ns FROM trials JOIN runs ON runs.ordinal = trials.run
                 WHERE outcome = 'done' AND host_ns IS NOT NULL AND testbed = ?1
                 AND json_extract(environment, '$.lab_profile') IS ?2
                 ORDER BY trials.id DESC LIMIT ?3",
            )
            .map_err(failed)?;
        let rows = statement
            .query_map(params![testbed, profile, limit], |row| {
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

    fn header_of(&self, ordinal: i64) -> Result<RunHeader, StoreError> {
        let row = self
            .connection
            .query_row(&format!("{HEADER} WHERE runs.ordinal = ?1"), [ordinal], read_header)
            .map_err(|error| self.failed(error))?;
        self.header(row)
    }

    /// The trials of a run that have no outcome yet, in order of execution.
    ///
    /// # Errors
    /// When there is no such run or a spec is damaged.
    pub fn unfinished(&self, id: &str) -> Result<Vec<(u32, TrialSpec)>, StoreError> {
        let ordinal = self.run_ordinal(id)?;
        let rows = self.query(
            "SELECT ordinal, spec FROM trials WHERE run = ?1 AND outcome IS NULL ORDER BY ordinal",
            ordinal,
            |row| Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?)),
        )?;
        rows.into_iter()
            .map(|(ordinal, spec)| {
                Ok((ordinal, self.decode(&format!("the spec of trial {ordinal}"), &spec)?))
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

    /// What was asked for when the run was made, as JSON.
    ///
    /// # Errors
    /// When there is no such run.
    pub fn request(&self, id: &str) -> Result<String, StoreError> {
        let ordinal = self.run_ordinal(id)?;
        self.connection
            .query_row("SELECT request FROM runs WHERE ordinal = ?1", [ordinal], |row| row.get(0))
            .map_err(|error| self.failed(error))
    }

    /// The row of a run's id: `r7`, `7` or `latest`.
    pub(crate) fn run_ordinal(&self, id: &str) -> Result<i64, StoreError> {
        let found: Option<i64> = match id {
            "latest" => self
                .connection
                .query_row("SELECT max(ordinal) FROM runs", [], |row| row.get(0))
                .map_err(|error| self.failed(error))?,
            _ => match id.strip_prefix('r').unwrap_or(id).parse::<i64>() {
                Err(_) => None,
                Ok(ordinal) => self
                    .connection
                    .query_row("SELECT ordinal FROM runs WHERE ordinal = ?1", [ordinal], |row| {
                        row.get(0)
                    })
                    .optional()
                    .map_err(|error| self.failed(error))?,
            },
        };
        match found {
            Some(ordinal) => Ok(ordinal),
            None => {
                let known: Vec<_> = self.runs()?.into_iter().take(20).map(|run| run.id).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Err(StoreError::NoSuchRun { id: id.to_owned(), known, path: self.path.clone() })
            }
        }
    }

    fn trials(&self, run: i64) -> Result<Vec<StoredTrial>, StoreError> {
        let rows = self.query(
            "SELECT id, ordinal, spec, outcome_doc, made, notes, space, host_ns, checksum FROM trials
             WHERE run = ?1 ORDER BY ordinal",
            run,
            |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, u32>(1)?,
                    row.get::<_, String>(2)?,
                    row.get::<_, Option<String>>(3)?,
                    row.get::<_, Option<String>>(4)?,
                    row.get::<_, Option<String>>(5)?,
                    row.get::<_, Option<String>>(6)?,
                    row.get::<_, Option<i64>>(7)?,
                    row.get::<_, Option<String>>(8)?,
                ))
            },
        )?;
        let mut trials = Vec::with_capacity(rows.len());
        for (id, ordinal, spec, outcome, made, notes, space, host, checksum) in rows {
            let what = |part: &str| format!("{part} of trial {ordinal}");
            let spec: TrialSpec = self.decode(&what("the spec"), &spec)?;
            if let Some(written) = checksum {
                let found = checksum::of_trial(&self.connection, id);
                if found.map_err(|error| self.failed(error))? != written {
                    trials.push(StoredTrial::damaged(ordinal, spec));
                    continue;
                }
            }
            let record = TrialRecord {
                outcome: self.decode_optional(&what("the outcome"), outcome)?,
                made: self.decode_optional(&what("the environment"), made)?,
                space: self.decode_optional(&what("the space"), space)?,
                host: host.and_then(|ns| u64::try_from(ns).ok()).map(Duration::from_nanos),
                phases: self.phases(id)?,
                notes: self.decode_optional(&what("the notes"), notes)?.unwrap_or_default(),
            };
            trials.push(StoredTrial { ordinal, spec, record });
        }
        Ok(trials)
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
                    .map_err(|error| self.damaged(&what("the digest"), error))?;
                result.latencies = self.latencies(row.id)?;
                result.figures = self
                    .query("SELECT name, value FROM figures WHERE phase = ?1", row.id, |row| {
                        Ok((row.get(0)?, row.get(1)?))
                    })?
                    .into_iter()
                    .collect();
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
                    .map_err(|error| self.damaged(&format!("the histogram of {op}"), error))?;
                Ok((op, latencies))
            })
            .collect()
    }

    fn header(&self, row: HeaderRow) -> Result<RunHeader, StoreError> {
        let id = row.header.id.clone();
        let environment = self.decode(&format!("the environment of {id}"), &row.environment)?;
        let seed = u64::from_str_radix(&row.seed, 16)
            .map_err(|error| self.damaged(&format!("the seed of {id}"), error))?;
        let names = |what: &str, names| {
            self.decode_optional(&format!("the {what} of {id}"), names)
                .map(Option::unwrap_or_default)
        };
        let contenders = names("contenders", row.contenders)?;
        let workloads = names("workloads", row.workloads)?;
        Ok(RunHeader { environment, seed, contenders, workloads, ..row.header })
    }

    fn query<T>(
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

    fn decode<T: DeserializeOwned>(&self, what: &str, json: &str) -> Result<T, StoreError> {
        serde_json::from_str(json).map_err(|error| self.damaged(what, error))
    }

    fn decode_optional<T: DeserializeOwned>(
        &self,
        what: &str,
        json: Option<String>,
    ) -> Result<Option<T>, StoreError> {
        json.map(|json| self.decode(what, &json)).transpose()
    }

    fn damaged(&self, what: &str, error: impl std::fmt::Display) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            what: what.to_owned(),
            error: error.to_string(),
        }
    }
}

const HEADER: &str = "SELECT ordinal, created, fstrial_version, testbed, lab_id, environment, seed,
    repeats, scale, (SELECT count(*) FROM trials WHERE trials.run = runs.ordinal
     AND (outcome IS NULL OR outcome = 'lost' AND again < 3)), contenders,
    (SELECT json_group_array(coalesce(value ->> '$.name', ''))
     FROM json_each(iif(json_valid(request), request, '{}'), '$.workloads')) FROM runs";

struct HeaderRow {
    header: RunHeader,
    contenders: Option<String>,
    workloads: Option<String>,
    environment: String,
    seed: String,
}

fn read_header(row: &Row<'_>) -> rusqlite::Result<HeaderRow> {
    let unfinished: i64 = row.get(9)?;
    Ok(HeaderRow {
        header: RunHeader {
            id: format!("r{}", row.get::<_, i64>(0)?),
            created: row.get(1)?,
            fstrial_version: row.get(2)?,
            testbed: row.get(3)?,
            lab_id: row.get(4)?,
            environment: Default::default(),
            seed: 0,
            contenders: Vec::new(),
            workloads: Vec::new(),
            repeats: row.get(7)?,
            scale: row.get(8)?,
            state: if unfinished == 0 { RunState::Complete } else { RunState::Open },
        },
        environment: row.get(5)?,
        seed: row.get(6)?,
        contenders: row.get(10)?,
        workloads: row.get(11)?,
    })
}

/// A phase with the columns still to be decoded.
struct PhaseRow {
    id: i64,
    result: PhaseResult,
    status: String,
    cache: String,
    digest: String,
    notes: String,
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
            figures: BTreeMap::new(),
            digest: 0,
            not_comparable: row.get(20)?,
            notes: Vec::new(),
        },
        status: row.get(3)?,
        cache: row.get(18)?,
        digest: row.get(19)?,
        notes: row.get(21)?,
    })
}
