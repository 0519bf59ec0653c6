//! What filesystems can do, tried in a guest.

use stack::Contender;
use stack::filesystems::Description;
use testbed::Stop;
use trial::capabilities::{Found, TriedFilesystem};
use trial::{Event, Outcome, TrialSpec};
use units::{Bytes, Nanos};
use workload::Seed;

use crate::error::LabError;
use crate::lab::Lab;
use crate::session::Extras;

/// A disk on which the largest filesystem of the attempts fits.
const DISK: Bytes = Bytes::from_mib(640);

impl Lab {
    /// Tries everything of [`trial::capabilities::CAPABILITIES`] on a contender.
    ///
    /// # Errors
    /// When it cannot be made here, or the guest ends before all was tried.
    pub fn try_capabilities(
        &self,
        contender: &Contender,
        stop: &Stop,
    ) -> Result<TriedFilesystem, LabError> {
        self.made_here(contender)?;
        let spec = without_workloads(contender, DISK, Nanos::from_secs(1800));
        let mut tried = TriedFilesystem::of(&contender.name);
        let mut outcome = Outcome::Done;
        let extras = Extras { capabilities: true, ..Extras::default() };
        self.carry_out(&spec, &extras, stop, &mut |event| match event {
            Event::Found(Found::Of { kernel, tools }) => {
                tried.kernel = kernel;
                tried.tools = tools.into_iter().map(|(_, said)| said).collect();
            }
            Event::Found(Found::Capability { name, finding }) => tried.take(name, finding),
            Event::Ended(ended) => outcome = ended,
            _ => {}
        })?;
        match outcome {
            Outcome::Done => Ok(tried),
            other => Err(LabError::value(contender.name.as_str(), other.to_string())),
        }
    }

    /// The filesystem of a contender that can be made here.
    pub(crate) fn made_here(
        &self,
        contender: &Contender,
    ) -> Result<&'static Description, LabError> {
        let failed = |why: String| LabError::value(contender.name.as_str(), why);
        let filesystem = stack::filesystems::find(&contender.filesystem)
            .ok_or_else(|| failed("there is no such filesystem".to_owned()))?
            .describe();
        contender.validate().map_err(|refusal| failed(refusal.to_string()))?;
        match self.offer().refusal(&contender.name, filesystem) {
            Some(refusal) => Err(failed(refusal.to_string())),
            None => Ok(filesystem),
        }
    }
}

/// A trial of something else than workloads.
pub(crate) fn without_workloads(contender: &Contender, size: Bytes, timeout: Nanos) -> TrialSpec {
    TrialSpec {
        contender: contender.clone(),
        workloads: Vec::new(),
        seed: Seed(1),
        block: 0,
        size: Some(size),
        verify: false,
        timeout,
    }
}
