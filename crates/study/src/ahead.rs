//! What an execution would run now, without running it.

use runner::{Prepared, Session, SessionError};
use trial::TrialSpec;

use crate::execution::{Added, Execution, not_among, stored_requests, stored_runs};
use crate::matrix::Planned;

/// Why trials are ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    /// They were begun, or put into the store, and have not ended.
    Unfinished,
    /// They are planned and not in the store.
    Planned,
    /// Their seeds are added to runs that are in the store.
    Added(Added),
}

impl Execution<'_> {
    /// Calls `each` with the trials of each run that would be executed now, in their order. The
    /// seeds that are added to decide something, or in place of trials that are lost only then, are
    /// not known before. Nothing is put into the store.
    ///
    /// # Errors
    /// When the store or a testbed cannot be used.
    pub fn each_ahead(
        &self,
        session: &mut Session<'_>,
        planned: &[Planned],
        each: &mut dyn FnMut(&Session<'_>, Ahead, Prepared),
    ) -> Result<(), SessionError> {
        for (id, _) in stored_requests(&session.store, &self.key)? {
            let pending = session.store.unfinished(&id)?;
            if !pending.is_empty() {
                let header = session.store.run_header(&id)?;
                let mut prepared = session.reopen(&header, &self.limits.destroy)?;
                prepared.retain(|_| pending.into_iter().map(|(_, spec)| spec).collect());
                each(session, Ahead::Unfinished, prepared);
            }
        }
        let known = stored_runs(&session.store, &self.key)?;
        for one in planned {
            if let Some(missing) = not_among(session, one, &known)? {
                each(session, Ahead::Planned, missing);
            }
        }
        // The same seed may be called for by both.
        let mut added: Vec<TrialSpec> = Vec::new();
        for why in [Added::InPlaceOfLost, Added::AskedFor] {
            self.each_called_for(session, why, &mut |session, mut prepared| {
                prepared.retain(|mut trials| {
                    trials.retain(|spec| !added.contains(spec));
                    trials
                });
                if !prepared.trials.is_empty() {
                    added.extend(prepared.trials.iter().cloned());
                    each(session, Ahead::Added(why), prepared);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
