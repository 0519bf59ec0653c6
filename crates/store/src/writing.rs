//! Putting runs and finished trials in.

use rusqlite::{Transaction, params};
use serde::Serialize;
use trial::{Outcome, TrialRecord, TrialSpec};
use units::Bytes;
use workload::PhaseResult;

use crate::{Environment, Store, StoreError, StoredRun, checksum};

/// A run about to begin.
#[derive(Debug)]
pub struct NewRun<'a> {
    /// The version of fstrial.
    pub fstrial_version: &'a str,
    /// The testbed's name.
    pub testbed: &'a str,
    /// The lab's id, in the lab.
    pub lab_id: Option<&'a str>,
    /// Where it takes place.
    pub environment: &'a Environment,
    /// The run's seed.
    pub seed: u64,
    /// The contenders' names in the order asked for.
    pub contenders: &'a [String],
    /// Repeats asked for.
    pub repeats: u32,
    /// Scale asked for.
    pub scale: f64,
    /// What was asked for, as JSON, so that the run can be resumed.
    pub request: &'a str,
    /// The trials in order of execution.
    pub trials: &'a [TrialSpec],
}

impl Store {
    /// Writes a run with all its planned trials; returns its id.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn create_run(&mut self, run: &NewRun<'_>) -> Result<String, StoreError> {
        self.insert_run(run, &now())
    }

    fn insert_run(&mut self, run: &NewRun<'_>, created: &str) -> Result<String, StoreError> {
        let path = self.path.clone();
        let failed = |error| StoreError::from_sqlite(&path, error);
        let transaction = self.connection.transaction().map_err(failed)?;
        let ordinal = insert_header(&transaction, run, created).map_err(failed)?;
        let sum = checksum::of_run(&transaction, ordinal).map_err(failed)?;
        transaction
            .execute("UPDATE runs SET checksum = ?2 WHERE ordinal = ?1", params![ordinal, sum])
            .map_err(failed)?;
        for (index, spec) in run.trials.iter().enumerate() {
            insert_trial(&transaction, (ordinal, &sum), index, spec).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        Ok(format!("r{ordinal}"))
    }

    /// Writes a run of another store, as it is there or redacted, with what was asked for as JSON.
    /// Returns its id here.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn copy_run(&mut self, run: &StoredRun, request: &str) -> Result<String, StoreError> {
        let header = &run.header;
        let specs: Vec<TrialSpec> = run.trials.iter().map(|trial| trial.spec.clone()).collect();
        let copy = NewRun {
            fstrial_version: &header.fstrial_version,
            testbed: &header.testbed,
            lab_id: header.lab_id.as_deref(),
            environment: &header.environment,
            seed: header.seed,
            contenders: &header.contenders,
            repeats: header.repeats,
            scale: header.scale,
            request,
            trials: &specs,
        };
        let id = self.insert_run(&copy, &header.created)?;
        self.finish_trials(&id, (0..).zip(run.trials.iter().map(|trial| &trial.record)))?;
        Ok(id)
    }

    /// Resets trials that something outside of them ended ([`Outcome::Lost`]) to "not run yet",
    /// each [`Store::AGAIN_MAX`] times at most. Returns their places in the run.
    ///
    /// # Errors
    /// When there is no such run, or the store cannot be written.
    pub fn run_lost_again(&mut self, run: &str) -> Result<Vec<u32>, StoreError> {
        let run = self.run_ordinal(run)?;
        let run_sum = self.row_checksum(run)?;
        let path = self.path.clone();
        let failed = |error| StoreError::from_sqlite(&path, error);
        let transaction = self.connection.transaction().map_err(failed)?;
        let lost = lost(&transaction, run).map_err(failed)?;
        for (trial, _) in &lost {
            for delete in [
                "DELETE FROM latencies WHERE phase IN (SELECT id FROM phases WHERE trial = ?1)",
                "DELETE FROM courses WHERE phase IN (SELECT id FROM phases WHERE trial = ?1)",
                "DELETE FROM figures WHERE phase IN (SELECT id FROM phases WHERE trial = ?1)",
                "DELETE FROM phases WHERE trial = ?1",
                "UPDATE trials SET outcome = NULL, outcome_doc = NULL, made = NULL, notes = NULL,
                 ended = NULL, space = NULL, host_ns = NULL, again = again + 1 WHERE id = ?1",
            ] {
                transaction.execute(delete, [trial]).map_err(failed)?;
            }
            seal(&transaction, &run_sum, *trial).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        Ok(lost.into_iter().map(|(_, ordinal)| ordinal).collect())
    }

    /// Writes a trial that has ended, whole or not at all. A trial that was written before is
    /// left as it is: finished trials do not change. A trial without an outcome has not ended and
    /// is not written.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn finish_trial(
        &mut self,
        run: &str,
        ordinal: u32,
        trial: &TrialRecord,
    ) -> Result<(), StoreError> {
        self.finish_trials(run, [(ordinal, trial)])
    }

    /// The same for many, all of them or none.
    ///
    /// # Errors
    /// As [`Store::finish_trial`].
    pub fn finish_trials<'t>(
        &mut self,
        run: &str,
        trials: impl IntoIterator<Item = (u32, &'t TrialRecord)>,
    ) -> Result<(), StoreError> {
        let run = self.run_ordinal(run)?;
        let run_sum = self.row_checksum(run)?;
        let path = self.path.clone();
        let failed = |error| StoreError::from_sqlite(&path, error);
        let transaction = self.connection.transaction().map_err(failed)?;
        for (ordinal, trial) in trials {
            finish(&transaction, (run, &run_sum), ordinal, trial).map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }
}

fn finish(
    transaction: &Transaction<'_>,
    (run, run_sum): (i64, &str),
    ordinal: u32,
    trial: &TrialRecord,
) -> rusqlite::Result<()> {
    let Some(outcome) = &trial.outcome else { return Ok(()) };
    let updated = transaction
        .prepare_cached(
            "UPDATE trials SET outcome = ?3, outcome_doc = ?4, made = ?5, notes = ?6, ended = ?7,
             space = ?8, host_ns = ?9
             WHERE run = ?1 AND ordinal = ?2 AND outcome IS NULL",
        )?
        .execute(params![
            run,
            ordinal,
            outcome.word(),
            json(outcome),
            trial.made.as_ref().map(json),
            json(&trial.notes),
            now(),
            trial.space.as_ref().map(json),
            trial.host.and_then(|host| i64::try_from(host.as_nanos()).ok())
        ])?;
    if updated == 0 {
        return Ok(());
    }
    let id: i64 = transaction
        .prepare_cached("SELECT id FROM trials WHERE run = ?1 AND ordinal = ?2")?
        .query_row(params![run, ordinal], |row| row.get(0))?;
    for (index, phase) in trial.phases.iter().enumerate() {
        insert_phase(transaction, id, index, phase)?;
    }
    seal(transaction, run_sum, id)
}

fn insert_header(
    transaction: &Transaction<'_>,
    run: &NewRun<'_>,
    created: &str,
) -> rusqlite::Result<i64> {
    transaction.execute(
        "INSERT INTO runs (created, fstrial_version, testbed, lab_id, environment, seed, repeats,
         scale, request, contenders, trials, checksum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, '')",
        params![
            created,
            run.fstrial_version,
            run.testbed,
            run.lab_id,
            json(run.environment),
            hex(run.seed),
            run.repeats,
            run.scale,
            run.request,
            json(run.contenders),
            run.trials.len() as i64,
        ],
    )?;
    Ok(transaction.last_insert_rowid())
}

pub(crate) fn insert_trial(
    transaction: &Transaction<'_>,
    (run, run_sum): (i64, &str),
    ordinal: usize,
    spec: &TrialSpec,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO trials (run, ordinal, contender, block, seed, spec, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, '')",
        )?
        .execute(params![
            run,
            ordinal as i64,
            spec.contender.name,
            spec.block,
            hex(spec.seed.0),
            json(spec)
        ])?;
    seal(transaction, run_sum, transaction.last_insert_rowid())
}

/// Writes a trial's checksum; the last step of every change.
pub(crate) fn seal(
    transaction: &Transaction<'_>,
    run_sum: &str,
    trial: i64,
) -> rusqlite::Result<()> {
    let sum = checksum::of_trial(transaction, run_sum, trial)?;
    transaction
        .prepare_cached("UPDATE trials SET checksum = ?2 WHERE id = ?1")?
        .execute(params![trial, sum])
        .map(drop)
}

/// Ids and places of trials that are to be run again.
fn lost(transaction: &Transaction<'_>, run: i64) -> rusqlite::Result<Vec<(i64, u32)>> {
    let mut statement = transaction.prepare(
        "SELECT id, ordinal FROM trials WHERE run = ?1 AND outcome = ?2 AND again < ?3
         ORDER BY ordinal",
    )?;
    let rows = statement.query_map(params![run, Outcome::LOST, Store::AGAIN_MAX], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    rows.collect()
}

fn insert_phase(
    transaction: &Transaction<'_>,
    trial: i64,
    ordinal: usize,
    phase: &PhaseResult,
) -> rusqlite::Result<()> {
    let device = phase.device;
    let bytes = |size: Bytes| size.0 as i64;
    transaction.execute(
        "INSERT INTO phases (trial, ordinal, workload, phase, status, wall_ns, user_ns, sys_ns,
         machine_cpu_ns, ops, read_bytes, write_bytes, device_reads, device_read_bytes,
         device_writes, device_write_bytes, device_discards, device_flushes, device_busy_ns,
         cache, digest, not_comparable, notes)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
         ?18, ?19, ?20, ?21, ?22, ?23)",
        params![
            trial,
            ordinal as i64,
            phase.workload,
            phase.phase,
            json(&phase.status),
            phase.wall.0 as i64,
            phase.cpu.user.0 as i64,
            phase.cpu.sys.0 as i64,
            phase.machine_cpu.map(|cpu| cpu.0 as i64),
            phase.ops as i64,
            bytes(phase.read_bytes),
            bytes(phase.write_bytes),
            device.map(|device| device.reads as i64),
            device.map(|device| bytes(device.read_bytes)),
            device.map(|device| device.writes as i64),
            device.map(|device| bytes(device.write_bytes)),
            device.map(|device| device.discards as i64),
            device.and_then(|device| device.flushes.map(|flushes| flushes as i64)),
            device.map(|device| device.busy.0 as i64),
            json(&phase.cache),
            hex(phase.digest),
            phase.not_comparable.as_ref().map(json),
            json(&phase.notes),
        ],
    )?;
    let id = transaction.last_insert_rowid();
    for (op, latencies) in &phase.latencies {
        transaction.execute(
            "INSERT INTO latencies (phase, op, histogram) VALUES (?1, ?2, ?3)",
            params![id, op, latencies.to_bytes()],
        )?;
    }
    if let Some(course) = &phase.course {
        transaction.execute(
            "INSERT INTO courses (phase, course) VALUES (?1, ?2)",
            params![id, json(course)],
        )?;
    }
    for (name, value) in phase.figures.iter().filter(|(_, value)| value.is_finite()) {
        transaction.execute(
            "INSERT INTO figures (phase, name, value) VALUES (?1, ?2, ?3)",
            params![id, name, value],
        )?;
    }
    Ok(())
}

fn now() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

fn hex(value: u64) -> String {
    format!("{value:016x}")
}

/// Our own types have string keys and no failing serializers; their JSON always exists.
fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}
