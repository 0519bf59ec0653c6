//! What was changed after it was written.

use std::path::{Path, PathBuf};

use store::{Damage, Store, StoreError};
use trial::Outcome;

use crate::{create, finish, spec};

/// A store of two runs; the first has two finished trials and one that has yet to run.
struct Stored {
    directory: tempfile::TempDir,
    original: Vec<u8>,
}

impl Stored {
    fn new() -> Stored {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.db");
        let mut store = Store::open(&path).unwrap();
        for _ in 0..2 {
            let run = create(&mut store, &[spec("a", 0), spec("b", 0), spec("c", 0)]);
            finish(&mut store, &run, 0, &Outcome::Done);
            finish(&mut store, &run, 1, &Outcome::Done);
        }
        drop(store);
        Stored { original: std::fs::read(&path).unwrap(), directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("results.db")
    }

    /// The store after this change to what was written; `None` where SQLite refuses the change.
    fn changed(&self, sql: &str) -> Option<Store> {
        std::fs::write(self.path(), &self.original).unwrap();
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.pragma_update(None, "foreign_keys", false).unwrap();
        connection.pragma_update(None, "synchronous", false).unwrap();
        connection.execute_batch(sql).ok()?;
        drop(connection);
        Some(Store::open_existing(&self.path()).unwrap())
    }
}

/// The damage, for which no trial of the run is read.
fn refused(store: &Store, run: &str) -> Damage {
    let told = store.run(run);
    let Err(StoreError::Damaged { damage, .. }) = told else { panic!("{told:?}") };
    damage
}

fn columns(path: &Path, table: &str) -> Vec<String> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut statement = connection.prepare(&format!("PRAGMA table_info({table})")).unwrap();
    statement.query_map([], |row| row.get(1)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// A change of one column in the first of a table's rows, in each of several ways.
fn changes(table: &str, column: &str) -> Vec<String> {
    let first = match table {
        "runs" => "ordinal = 1",
        "trials" => "id = 1",
        "phases" => "id = 1",
        _ => "phase = 1",
    };
    let little = format!(
        "CASE typeof({column})
           WHEN 'integer' THEN {column} + 100
           WHEN 'real' THEN {column} * 1.0000001
           WHEN 'text' THEN substr({column}, 1, length({column}) - 1)
             || char(unicode(substr({column}, -1)) + 1)
           WHEN 'blob' THEN CAST(substr({column}, 1, length({column}) - 1) || x'55' AS BLOB)
           ELSE 7 END"
    );
    [little.as_str(), "NULL", "''", "x'00ff'", "-1", "9e999"]
        .map(|value| format!("UPDATE OR FAIL {table} SET {column} = {value} WHERE {first}"))
        .into()
}

/// Every column of every table: a changed run is refused, a changed trial has no figure, and what
/// was not changed is as it was.
#[test]
fn any_changed_column_is_noticed() {
    let stored = Stored::new();
    let mut tried = 0;
    for table in ["runs", "trials", "phases", "latencies", "figures", "courses"] {
        for column in columns(&stored.path(), table) {
            for change in changes(table, &column) {
                let Some(store) = stored.changed(&change) else { continue };
                if stored.changed_nothing() {
                    continue;
                }
                tried += 1;
                if (table, column.as_str()) == ("trials", "id") {
                    // Its phases are no longer its own.
                    assert_first_is_damaged(&store, &change);
                    continue;
                }
                match store.run("r1") {
                    Err(StoreError::Damaged { .. } | StoreError::NoSuchRun { .. }) => {}
                    Err(other) => panic!("{change}: {other}"),
                    Ok(_) => assert_first_is_damaged(&store, &change),
                }
                if table == "runs" && column != "ordinal" {
                    assert!(matches!(refused(&store, "r1"), Damage::Run { trials: 3, .. }));
                    assert!(store.request("r1").is_err(), "{change}");
                    assert!(store.unfinished("r1").is_err(), "{change}");
                }
                let each = store.each_run().unwrap();
                assert!(each.iter().flatten().any(|run| run.id == "r2"), "{change}");
                let second = store.run("r2").unwrap_or_else(|error| panic!("{change}: {error}"));
                assert_eq!(second.trials[0].outcome, Some(Outcome::Done), "{change}");
            }
        }
    }
    assert!(tried >= 200, "{tried}");
}

impl Stored {
    fn changed_nothing(&self) -> bool {
        std::fs::read(self.path()).unwrap() == self.original
    }
}

fn assert_first_is_damaged(store: &Store, change: &str) {
    let told = |outcome: &Option<Outcome>| matches!(outcome, Some(Outcome::Failed { reason, .. }) if reason.contains("changed"));
    let read = store.run("r1").unwrap();
    let [first, second, third] = &read.trials[..] else { panic!("three trials") };
    assert!(told(&first.outcome), "{change}: {:?}", first.outcome);
    assert!(first.phases.is_empty(), "{change}");
    assert_eq!(second.phases.len(), 1, "{change}: the other is as it was");
    assert_eq!(third.outcome, None, "{change}: and one that has not run");
}

/// A trial that is missing, one more, and one of elsewhere in its place.
#[test]
fn a_run_has_the_trials_that_were_planned() {
    let stored = Stored::new();
    let missing = stored.changed("DELETE FROM trials WHERE id = 2").unwrap();
    let run = || "r1".to_owned();
    let damage = Damage::Trials { run: run(), planned: 3, there: 2, more: 0 };
    assert_eq!(refused(&missing, "r1"), damage);
    let words = damage.to_string();
    assert!(words.contains("planned with 3 trials: 1 are missing"), "{words}");
    assert!(words.contains("run --like r1"), "{words}");
    assert!(missing.request("r1").is_ok(), "which needs what was asked for");
    assert!(missing.unfinished("r1").is_err(), "and it is not gone on with");

    let copy = "INSERT INTO trials SELECT 99, run, 3, contender, block, seed, spec, outcome,
        outcome_doc, made, notes, ended, space, host_ns, again, checksum FROM trials WHERE id = 2";
    let more = stored.changed(copy).unwrap();
    assert_eq!(refused(&more, "r1"), Damage::Trials { run: run(), planned: 3, there: 3, more: 1 });
    let elsewhere = stored.changed("UPDATE trials SET ordinal = 7 WHERE id = 2").unwrap();
    let damage = Damage::Trials { run: run(), planned: 3, there: 2, more: 1 };
    assert_eq!(refused(&elsewhere, "r1"), damage);

    // Two of one run in each other's place, and one of another run with all its figures.
    let swapped = "UPDATE trials SET ordinal = 8 WHERE id = 1;
        UPDATE trials SET ordinal = 0 WHERE id = 2; UPDATE trials SET ordinal = 1 WHERE id = 1";
    let of_another = "UPDATE trials SET run = 9 WHERE id = 1;
        UPDATE trials SET run = 1 WHERE id = 4; UPDATE trials SET run = 2 WHERE id = 1";
    for (change, damaged) in [(swapped, 2), (of_another, 1)] {
        let read = stored.changed(change).unwrap().run("r1").unwrap();
        let failed =
            |trial: &&store::StoredTrial| matches!(trial.outcome, Some(Outcome::Failed { .. }));
        assert_eq!(read.trials.iter().filter(failed).count(), damaged, "{change}");
    }
}

/// What has yet to run is what was planned, or is not run.
#[test]
fn a_changed_plan_is_not_run() {
    let stored = Stored::new();
    for change in [
        "UPDATE trials SET spec = replace(spec, '\"c\"', '\"d\"') WHERE id = 3",
        "UPDATE trials SET outcome = NULL, outcome_doc = NULL WHERE id = 1",
    ] {
        let error = stored.changed(change).unwrap().unfinished("r1").unwrap_err();
        assert!(
            matches!(error, StoreError::Damaged { damage: Damage::Plan { .. }, .. }),
            "{error}"
        );
    }
}

#[test]
fn a_run_that_was_removed_is_missed() {
    let stored = Stored::new();
    let lost = |sql: &str| {
        let each = stored.changed(sql).unwrap().each_run().unwrap();
        each.into_iter()
            .filter_map(Result::err)
            .map(|error| match error {
                StoreError::Damaged { damage: Damage::Runs { first, last }, .. } => (first, last),
                other => panic!("{other}"),
            })
            .collect::<Vec<_>>()
    };
    let of = |first: &str, last: &str| vec![(first.to_owned(), last.to_owned())];
    let remove = |run: u32| {
        format!("DELETE FROM trials WHERE run = {run}; DELETE FROM runs WHERE ordinal = {run}")
    };
    assert_eq!(lost(&remove(1)), of("r1", "r1"));
    assert_eq!(lost(&remove(2)), of("r2", "r2"));
    assert_eq!(lost("DELETE FROM trials; DELETE FROM runs"), of("r1", "r2"));
}

/// Tables that are not what fstrial makes: a constraint gone, a trigger, a view.
#[test]
fn changed_tables_are_refused() {
    let stored = Stored::new();
    for change in [
        "CREATE TRIGGER t AFTER INSERT ON trials BEGIN DELETE FROM phases; END",
        "ALTER TABLE phases RENAME TO real; CREATE VIEW phases AS SELECT * FROM real",
        "ALTER TABLE figures ADD COLUMN more TEXT",
        "DROP TABLE latencies",
        "DROP INDEX phases_of_trial",
        "CREATE TABLE more (x)",
    ] {
        std::fs::write(stored.path(), &stored.original).unwrap();
        rusqlite::Connection::open(stored.path()).unwrap().execute_batch(change).unwrap();
        for opened in [Store::open(&stored.path()), Store::open_existing(&stored.path())] {
            let error = opened.unwrap_err();
            let damage = matches!(error, StoreError::Damaged { damage: Damage::Tables, .. });
            assert!(damage, "{change}: {error}");
        }
    }
}

/// Parts of the file that are gone or overwritten: an error in words, or what is left.
#[test]
fn a_file_that_is_cut_off_says_so() {
    let stored = Stored::new();
    let cut = &stored.original[..stored.original.len() / 2];
    std::fs::write(stored.path(), cut).unwrap();
    let told = Store::open_existing(&stored.path()).and_then(|store| store.run("r1").map(drop));
    let error = told.unwrap_err();
    let damage = matches!(error, StoreError::Damaged { damage: Damage::File { .. }, .. });
    assert!(damage, "{error}");
    assert!(error.to_string().contains("restore the file from a copy"), "{error}");
}

/// A compressed store is read as it is; one that is cut off or changed says so.
#[test]
fn a_compressed_store_is_read() {
    let stored = Stored::new();
    let plain = Store::open_existing(&stored.path()).unwrap().run("r1").unwrap();
    let bytes = store::compress(&stored.original).unwrap();
    assert!(bytes.len() < stored.original.len() / 4);
    std::fs::write(stored.path(), &bytes).unwrap();
    assert_eq!(Store::open_existing(&stored.path()).unwrap().run("r1").unwrap(), plain);
    assert!(matches!(Store::open(&stored.path()), Err(StoreError::Compressed { .. })));
    assert_eq!(std::fs::read(stored.path()).unwrap(), bytes, "left as it was");

    let mut changed = bytes.clone();
    changed[bytes.len() / 2] ^= 1;
    let other = store::compress(&[0; 10_000]).unwrap();
    for bad in [&bytes[..bytes.len() / 2], &changed, &other[..], b"\xfd7zXZ\0"] {
        std::fs::write(stored.path(), bad).unwrap();
        let error = Store::open_existing(&stored.path()).unwrap_err();
        let told = matches!(
            error,
            StoreError::NotAStore { .. } | StoreError::Damaged { damage: Damage::File { .. }, .. }
        );
        assert!(told, "{error}");
    }
}

/// What never ends or is not to be read is refused at once, and nothing is made.
#[test]
fn what_is_no_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    for path in [fifo.as_path(), Path::new("/dev/zero"), directory.path()] {
        for opened in [Store::open(path), Store::open_existing(path)] {
            assert!(matches!(opened, Err(StoreError::Io { .. })), "{}", path.display());
        }
    }
    let none = directory.path().join("none.db");
    assert!(matches!(Store::open_existing(&none), Err(StoreError::Missing { .. })));
    assert!(!none.exists());
    // An empty file is a store about to be made, where one is made, and none where one is read.
    std::fs::write(&none, "").unwrap();
    assert!(matches!(Store::open_existing(&none), Err(StoreError::NotAStore { .. })));
    assert_eq!(std::fs::metadata(&none).unwrap().len(), 0);
    Store::open(&none).unwrap();
}
