//! A server of home directories, after Filebench.

use super::filebench::{Action, CREATE, RUN, parameters, run};
use super::{Space, Workload};
use crate::{Context, Description, Failure, Headline, InputFacts, Parameters};

/// See the module's own words.
pub(super) struct FileServer;

static DESCRIPTION: Description = Description {
    name: "fileserver",
    summary: "Filebench's fileserver: home directories of 50 users",
    origin: "Filebench's personality `fileserver` (Sun Microsystems, 2005; version 1.4). Each of \
50 threads makes and writes a file, appends to another, reads a third, deletes one, asks for \
the attributes of one.\n\n\
Departures: sizes are of the same gamma law by a table of its quantiles; places of the set \
are the names, and directories a regular tree of the mean width instead of one of random \
widths; draws come from the trial's seed, one stream for each thread; an op for which no file \
is free is left out and counted, where Filebench waits or ends; `loops` ends the phase after so \
many rounds of each thread instead of a time, which a digest then covers.",
    headline: Headline {
        question: "a file server with many users",
        phase: "run",
        metric: "ops_rate",
        things: "ops",
    },
    presets: &[],
    inputs: &[],
    parameters: &parameters("10_000", "20", "128K", "50", "0.8"),
    phases: &[&CREATE, &RUN],
};

const LIST: &[Action] = &[
    Action::Create,
    Action::WriteWhole,
    Action::Close,
    Action::Open,
    Action::Append,
    Action::Close,
    Action::Open,
    Action::ReadWhole,
    Action::Close,
    Action::Delete,
    Action::Stat,
];

impl Workload for FileServer {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        run::space(parameters)
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run::run(context, "fileserver", LIST)
    }
}
