//! Adding repeats to a run until its figures decide.

use std::time::Duration;

use stats::{FirstPlace, Look};
use store::{RunState, StoredRun};

use crate::admission::admit;
use crate::{Limit, Prepared, Request, RunEnd, RunEvent, Session, SessionError, plan};

impl Session<'_> {
    /// Executes a run to its end. One that was asked for with [`Request::until`] gets further repeats
    /// as long as `first_place` leaves it open who is first and the budget lasts. Both depend on
    /// what is stored alone, so an interrupted run goes on as if it had not been.
    ///
    /// # Errors
    /// As [`Session::execute`].
    pub fn execute_until_decided(
        &mut self,
        id: &str,
        prepared: &Prepared,
        first_place: &dyn Fn(&StoredRun) -> FirstPlace,
        observer: &mut (dyn FnMut(RunEvent<'_>) + Send),
    ) -> Result<RunEnd, SessionError> {
        loop {
            let ended = self.execute(id, prepared.testbed.as_ref(), Limit::NONE, observer)?;
            let Some(until) = prepared.request.until else { return Ok(ended) };
            if matches!(ended, RunEnd::Stopped | RunEnd::Hopeless) {
                return Ok(ended);
            }
            let run = self.store.run(id)?;
            // Trials that something outside of them ended come again first.
            if run.header.state == RunState::Open {
                return Ok(ended);
            }
            let (repeats, budget) = (run.header.repeats, Duration::from_nanos(until.budget.0));
            match stats::look(repeats, first_place(&run), run.host_time(), budget) {
                Look::Enough(_) => return Ok(ended),
                Look::Further(to) => {
                    observer(RunEvent::Further { from: repeats, to });
                    self.extend(id, prepared, repeats, to, observer)?;
                }
            }
        }
    }

    /// Plans the repeats from one number to another.
    fn extend(
        &mut self,
        id: &str,
        prepared: &Prepared,
        from: u32,
        to: u32,
        observer: &mut dyn FnMut(RunEvent<'_>),
    ) -> Result<(), SessionError> {
        let request = Request { repeats: to, ..prepared.request.clone() };
        let size = prepared.trials.first().and_then(|spec| spec.size);
        let mut trials =
            plan(&request, size).map_err(|error| SessionError::Request(error.to_string()))?;
        trials.retain(|spec| spec.block >= from);
        let has = self.store.trial_count(id)?;
        self.store.extend_run(id, to, &trials)?;
        let refused = admit(prepared.testbed.as_ref(), &trials, &prepared.facts);
        self.leave_out(id, has, &refused, observer)
    }
}
