//! A mail server with one file a mail, after Filebench.

use super::filebench::{Action, CREATE, RUN, parameters, run};
use super::{Space, Workload};
use crate::{Context, Description, Failure, Headline, InputFacts, Parameters};

/// See the module's own words.
pub(super) struct VarMail;

static DESCRIPTION: Description = Description {
    name: "varmail",
    summary: "Filebench's varmail: a mail server that waits for its disk",
    origin: "Filebench's personality `varmail` (Sun Microsystems, 2005; version 1.4). Each of 16 \
threads deletes a mail; makes one, appends, fsync; opens one, reads it, appends, fsync; \
opens one and reads it.\n\n\
Departures: sizes are of the same gamma law by a table of its quantiles; places of the set \
are the names, and directories a regular tree of the mean width instead of one of random \
widths; draws come from the trial's seed, one stream for each thread; an op for which no file \
is free is left out and counted, where Filebench waits or ends; `loops` ends the phase after so \
many rounds of each thread instead of a time, which a digest then covers.",
    headline: Headline {
        question: "a mail server that syncs each mail (varmail)",
        phase: "run",
        metric: "ops_rate",
        things: "ops",
    },
    presets: &[],
    inputs: &[],
    parameters: &parameters("1000", "1_000_000", "16K", "16", "0.8"),
    phases: &[&CREATE, &RUN],
};

const LIST: &[Action] = &[
    Action::Delete,
    Action::Create,
    Action::Append,
    Action::Fsync,
    Action::Close,
    Action::Open,
    Action::ReadWhole,
    Action::Append,
    Action::Fsync,
    Action::Close,
    Action::Open,
    Action::ReadWhole,
    Action::Close,
];

impl Workload for VarMail {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        run::space(parameters)
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run::run(context, "varmail", LIST)
    }
}
