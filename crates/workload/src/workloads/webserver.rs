//! A web server, after Filebench.

use super::filebench::{Action, CREATE, RUN, parameters, run};
use super::{Space, Workload};
use crate::{Context, Description, Failure, Headline, InputFacts, Parameters};

/// See the module's own words.
pub(super) struct WebServer;

static DESCRIPTION: Description = Description {
    name: "webserver",
    summary: "Filebench's webserver: reads of whole files, one log",
    origin: "Filebench's personality `webserver` (Sun Microsystems, 2005; version 1.4). Each of \
100 threads reads ten whole files and appends to the log that all share.\n\n\
Departures: sizes are of the same gamma law by a table of its quantiles; places of the set \
are the names, and directories a regular tree of the mean width instead of one of random \
widths; draws come from the trial's seed, one stream for each thread; an op for which no file \
is free is left out and counted, where Filebench waits or ends; `loops` ends the phase after so \
many rounds of each thread instead of a time, which a digest then covers.",
    headline: Headline {
        question: "serving small files of a web server",
        phase: "run",
        metric: "ops_rate",
        things: "ops",
    },
    presets: &[],
    inputs: &[],
    parameters: &parameters("1000", "20", "16K", "100", "1"),
    phases: &[&CREATE, &RUN],
};

const LIST: &[Action] = &[
    Action::Open,
    Action::ReadWhole,
    Action::Close,
    Action::Open,
    Action::ReadWhole,
    Action::Close,
    Action::Open,
    Action::ReadWhole,
    Action::Close,
    Action::Open,
    Action::ReadWhole,
    Action::Close,
    Action::Open,
    Action::ReadWhole,
    Action::Close,
    Action::Open,
    Action::ReadWhole,
    Action::Close,
    Action::Open,
    Action::ReadWhole,
    Action::Close,
    Action::Open,
    Action::ReadWhole,
    Action::Close,
    Action::Open,
    Action::ReadWhole,
    Action::Close,
    Action::Open,
    Action::ReadWhole,
    Action::Close,
    Action::Log,
];

impl Workload for WebServer {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        run::space(parameters)
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run::run(context, "webserver", LIST)
    }
}
