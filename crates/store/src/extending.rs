//! Adding trials to a run that was written.

use rusqlite::params;
use trial::TrialSpec;

use crate::writing::{insert_trial, seal};
use crate::{Store, StoreError, checksum};

impl Store {
    /// Adds trials to a run behind those that it has; it has `repeats` of each then. A trial that
    /// was changed after it was written stays recognisable as such.
    ///
    /// # Errors
    /// When there is no such run, its row is damaged, or the store cannot be written.
    pub fn extend_run(
        &mut self,
        id: &str,
        repeats: u32,
        trials: &[TrialSpec],
    ) -> Result<(), StoreError> {
        let run = self.checked(id)?;
        let query = "SELECT id FROM trials WHERE run = ?1 ORDER BY ordinal";
        let mut whole: Vec<i64> = self.query(query, run.ordinal, |row| row.get(0))?;
        let mut damaged = Vec::new();
        for trial in &whole {
            if !self.is_as_written(&run, *trial)? {
                damaged.push(*trial);
            }
        }
        whole.retain(|trial| !damaged.contains(trial));
        let path = self.path.clone();
        let failed = |error| StoreError::from_sqlite(&path, error);
        let transaction = self.connection.transaction().map_err(failed)?;
        let all = run.trials as usize + trials.len();
        transaction
            .execute(
                "UPDATE runs SET repeats = ?2, trials = ?3 WHERE ordinal = ?1",
                params![run.ordinal, repeats, all as i64],
            )
            .map_err(failed)?;
        let sum = checksum::of_run(&transaction, run.ordinal).map_err(failed)?;
        transaction
            .execute("UPDATE runs SET checksum = ?2 WHERE ordinal = ?1", params![run.ordinal, sum])
            .map_err(failed)?;
        // The checksum of a trial covers that of its run.
        for trial in whole {
            seal(&transaction, &sum, trial).map_err(failed)?;
        }
        for (place, spec) in (run.trials as usize..).zip(trials) {
            insert_trial(&transaction, (run.ordinal, &sum), place, spec).map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }
}
