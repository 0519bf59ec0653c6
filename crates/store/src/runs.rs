//! Getting runs out: what is known of each, whether it is what was written.

use rusqlite::{OptionalExtension, Row, params};

use crate::error::Damage;
use crate::{RunHeader, RunState, Store, StoreError, checksum};

/// A run that was checked.
pub(crate) struct Checked {
    pub(crate) ordinal: i64,
    /// The checksum of its row, which is part of those of its trials.
    pub(crate) checksum: String,
    /// How many trials it has.
    pub(crate) trials: u32,
}

impl Store {
    /// Headers of all runs, newest first.
    ///
    /// # Errors
    /// When the store cannot be read or one of them is damaged.
    pub fn runs(&self) -> Result<Vec<RunHeader>, StoreError> {
        let ordinals = self.ordinals()?;
        ordinals.into_iter().map(|ordinal| self.header_of(&self.check(ordinal)?)).collect()
    }

    /// The header of each run, newest first, or what damaged it; runs that are missing among them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn each_run(&self) -> Result<Vec<Result<RunHeader, StoreError>>, StoreError> {
        let newest = "SELECT max(seq) FROM sqlite_sequence WHERE name = 'runs'";
        let newest: Option<i64> = self
            .connection
            .query_row(newest, [], |row| row.get(0))
            .map_err(|error| self.failed(error))?;
        let mut runs = Vec::new();
        let mut expected = newest.unwrap_or_default();
        let missing = |from: i64, to: i64| {
            let damage = Damage::Runs { first: format!("r{from}"), last: format!("r{to}") };
            (from <= to).then(|| Err(StoreError::damaged(&self.path, damage)))
        };
        for ordinal in self.ordinals()? {
            runs.extend(missing(ordinal.saturating_add(1), expected));
            runs.push(self.check(ordinal).and_then(|run| self.header_of(&run)));
            expected = ordinal.saturating_sub(1);
        }
        runs.extend(missing(1, expected));
        Ok(runs)
    }

    /// What is known of a run beside its trials; `latest` names the newest.
    ///
    /// # Errors
    /// When there is no such run or it is damaged.
    pub fn run_header(&self, id: &str) -> Result<RunHeader, StoreError> {
        self.header_of(&self.checked(id)?)
    }

    /// How many trials a run has, ended or not.
    ///
    /// # Errors
    /// When there is no such run or it is damaged.
    pub fn trial_count(&self, id: &str) -> Result<usize, StoreError> {
        Ok(self.checked(id)?.trials as usize)
    }

    /// How many of a run's trials ended well.
    ///
    /// # Errors
    /// When there is no such run.
    pub fn done_count(&self, id: &str) -> Result<usize, StoreError> {
        let query = "SELECT count(*) FROM trials WHERE run = ?1 AND outcome = 'done'";
        let done: u32 = self
            .connection
            .query_row(query, [self.run_ordinal(id)?], |row| row.get(0))
            .map_err(|error| self.failed(error))?;
        Ok(done as usize)
    }

    /// What was asked for when the run was made, as JSON.
    ///
    /// # Errors
    /// When there is no such run or its row is damaged.
    pub fn request(&self, id: &str) -> Result<String, StoreError> {
        let ordinal = self.run_ordinal(id)?;
        self.row_checksum(ordinal)?;
        self.unchecked_request(ordinal)
    }

    /// What the store holds of each run's request, newest first, whether or not it is what was
    /// written: to find out whose runs there are.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn unchecked_requests(&self) -> Result<Vec<(String, String)>, StoreError> {
        let ordinals = self.ordinals()?.into_iter();
        let read = |ordinal| Ok((id_of(ordinal), self.unchecked_request(ordinal)?));
        ordinals.map(read).collect()
    }

    fn unchecked_request(&self, ordinal: i64) -> Result<String, StoreError> {
        let query = "SELECT request FROM runs WHERE ordinal = ?1";
        self.connection
            .query_row(query, [ordinal], |row| {
                Ok(row.get_ref(0)?.as_str().unwrap_or_default().to_owned())
            })
            .map_err(|error| self.failed(error))
    }

    /// All runs, newest first.
    fn ordinals(&self) -> Result<Vec<i64>, StoreError> {
        self.connection
            .prepare_cached("SELECT ordinal FROM runs ORDER BY ordinal DESC")
            .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
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
                let known: Vec<_> = self.ordinals()?.into_iter().take(20).map(id_of).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Err(StoreError::NoSuchRun { id: id.to_owned(), known, path: self.path.clone() })
            }
        }
    }

    /// The checksum of a run's row, which is what was written.
    pub(crate) fn row_checksum(&self, ordinal: i64) -> Result<String, StoreError> {
        let written = self
            .connection
            .query_row("SELECT checksum FROM runs WHERE ordinal = ?1", [ordinal], |row| {
                Ok(row.get_ref(0)?.as_str().unwrap_or_default().to_owned())
            })
            .map_err(|error| self.failed(error))?;
        let found = checksum::of_run(&self.connection, ordinal);
        if found.map_err(|error| self.failed(error))? == written {
            return Ok(written);
        }
        let (trials, _) = self.count(ordinal, i64::MAX)?;
        let damage = Damage::Run { run: id_of(ordinal), trials };
        Err(StoreError::damaged(&self.path, damage))
    }

    /// A run whose row is what was written, and which has exactly the trials that were planned.
    pub(crate) fn checked(&self, id: &str) -> Result<Checked, StoreError> {
        self.check(self.run_ordinal(id)?)
    }

    fn check(&self, ordinal: i64) -> Result<Checked, StoreError> {
        let checksum = self.row_checksum(ordinal)?;
        let planned: u32 = self
            .connection
            .query_row("SELECT trials FROM runs WHERE ordinal = ?1", [ordinal], |row| row.get(0))
            .map_err(|error| self.failed(error))?;
        let (there, more) = self.count(ordinal, i64::from(planned))?;
        if (there, more) == (planned, 0) {
            return Ok(Checked { ordinal, checksum, trials: planned });
        }
        let damage = Damage::Trials { run: id_of(ordinal), planned, there, more };
        Err(StoreError::damaged(&self.path, damage))
    }

    /// How many trials of a run have a place below this one, and how many have another.
    fn count(&self, run: i64, planned: i64) -> Result<(u32, u32), StoreError> {
        let query = "SELECT count(*) FILTER (WHERE ordinal >= 0 AND ordinal < ?2), count(*)
             FROM trials WHERE run = ?1";
        let (there, all): (u32, u32) = self
            .connection
            .prepare_cached(query)
            .and_then(|mut it| it.query_row([run, planned], |row| Ok((row.get(0)?, row.get(1)?))))
            .map_err(|error| self.failed(error))?;
        Ok((there, all - there))
    }

    pub(crate) fn header_of(&self, run: &Checked) -> Result<RunHeader, StoreError> {
        let row = self
            .connection
            .prepare_cached(HEADER)
            .and_then(|mut statement| statement.query_row(params![run.ordinal], read_header))
            .map_err(|error| self.failed(error))?;
        self.header(row)
    }

    fn header(&self, row: HeaderRow) -> Result<RunHeader, StoreError> {
        let id = row.header.id.clone();
        let environment = self.decode(&format!("the environment of {id}"), &row.environment)?;
        let seed = u64::from_str_radix(&row.seed, 16)
            .map_err(|error| self.unreadable(&format!("the seed of {id}"), error))?;
        let contenders = self.decode(&format!("the contenders of {id}"), &row.contenders)?;
        let workloads = self.decode(&format!("the workloads of {id}"), &row.workloads)?;
        let until = row.until.as_deref();
        let until = until.map(|it| self.decode(&format!("the repeats of {id}"), it)).transpose()?;
        Ok(RunHeader { environment, seed, contenders, workloads, until, ..row.header })
    }
}

fn id_of(ordinal: i64) -> String {
    format!("r{ordinal}")
}

const HEADER: &str = "SELECT ordinal, created, fstrial_version, testbed, lab_id, environment, seed,
    repeats, scale, (SELECT count(*) FROM trials WHERE trials.run = runs.ordinal
     AND (outcome IS NULL OR outcome = 'lost' AND again < 3)), contenders,
    (SELECT json_group_array(coalesce(value ->> '$.name', ''))
     FROM json_each(iif(json_valid(request), request, '{}'), '$.workloads')),
    json_extract(iif(json_valid(request), request, '{}'), '$.until')
    FROM runs WHERE ordinal = ?1";

struct HeaderRow {
    header: RunHeader,
    contenders: String,
    workloads: String,
    until: Option<String>,
    environment: String,
    seed: String,
}

fn read_header(row: &Row<'_>) -> rusqlite::Result<HeaderRow> {
    let unfinished: i64 = row.get(9)?;
    Ok(HeaderRow {
        header: RunHeader {
            id: id_of(row.get(0)?),
            created: row.get(1)?,
            fstrial_version: row.get(2)?,
            testbed: row.get(3)?,
            lab_id: row.get(4)?,
            environment: Default::default(),
            seed: 0,
            contenders: Vec::new(),
            workloads: Vec::new(),
            repeats: row.get(7)?,
            until: None,
            scale: row.get(8)?,
            state: if unfinished == 0 { RunState::Complete } else { RunState::Open },
        },
        environment: row.get(5)?,
        seed: row.get(6)?,
        contenders: row.get(10)?,
        workloads: row.get(11)?,
        until: row.get(12)?,
    })
}
