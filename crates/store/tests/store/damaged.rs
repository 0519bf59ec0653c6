//! Bits that changed after they were written.

use std::path::Path;

use store::{Store, StoreError};
use trial::Outcome;

use crate::{create, finish, spec};

/// The columns of a table whose change must be noticed: all but those that say which row
/// belongs to which, where another row would only be missing its own.
fn columns(path: &Path, table: &str) -> Vec<String> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut statement = connection.prepare(&format!("PRAGMA table_info({table})")).unwrap();
    let all: Vec<String> =
        statement.query_map([], |row| row.get(1)).unwrap().collect::<Result<_, _>>().unwrap();
    let belongs = match table {
        "phases" => ["id", "trial"].as_slice(),
        // How often it was run again says nothing of what was measured.
        "trials" => ["id", "run", "again"].as_slice(),
        _ => ["id", "run", "trial", "phase"].as_slice(),
    };
    all.into_iter().filter(|column| !belongs.contains(&column.as_str())).collect()
}

/// Changes a column of the first trial: a number by one, a text or blob in its last place.
fn change(path: &Path, table: &str, column: &str) -> rusqlite::Result<()> {
    let of_first = match table {
        "trials" => "ordinal = 0",
        "phases" => "trial = 1",
        _ => "phase IN (SELECT id FROM phases WHERE trial = 1)",
    };
    rusqlite::Connection::open(path)?.execute_batch(&format!(
        "UPDATE {table} SET {column} = CASE typeof({column})
           WHEN 'integer' THEN {column} + 1
           WHEN 'real' THEN {column} * 1.0000001
           WHEN 'text' THEN substr({column}, 1, length({column}) - 1)
             || char(unicode(substr({column}, -1)) + 1)
           WHEN 'blob' THEN CAST(substr({column}, 1, length({column}) - 1) || x'55' AS BLOB)
           ELSE 7 END
         WHERE {of_first}"
    ))
}

#[test]
fn a_changed_bit_is_a_damaged_trial_and_never_a_figure() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    let run = {
        let mut store = Store::open(&path).unwrap();
        let run = create(&mut store, &[spec("a", 0), spec("b", 0)]);
        finish(&mut store, &run, 0, &Outcome::Done);
        finish(&mut store, &run, 1, &Outcome::Done);
        run
    };
    let original = std::fs::read(&path).unwrap();
    let mut tried = 0;
    for table in ["trials", "phases", "latencies", "figures"] {
        for column in columns(&path, table) {
            std::fs::write(&path, &original).unwrap();
            // A key forbids some changes.
            if change(&path, table, &column).is_err() {
                continue;
            }
            tried += 1;
            let read = match Store::open(&path).unwrap().run(&run) {
                // Not to be read at all: named, and no figure.
                Err(StoreError::Damaged { .. } | StoreError::Sqlite { .. }) => continue,
                read => read.unwrap_or_else(|other| panic!("{table}.{column}: {other}")),
            };
            let told = |outcome: &Option<Outcome>| matches!(outcome, Some(Outcome::Failed { reason, .. }) if reason.contains("changed"));
            let [first, second] = &read.trials[..] else { panic!("two trials") };
            assert!(told(&first.outcome), "{table}.{column}: {:?}", first.outcome);
            assert!(first.phases.is_empty(), "{table}.{column}");
            assert_eq!(second.phases.len(), 1, "the other is as it was");
        }
    }
    assert!(tried >= 30, "{tried}");
}
