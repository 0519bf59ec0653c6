//! The personalities: what each is about, its defaults and its list of actions.

use super::Action::{
    self, Append, Close, Create, Delete, Fsync, Log, Open, ReadWhole, Stat, WriteWhole,
};
use super::{CREATE, RUN, parameters, run};
use crate::{Context, Description, Failure, Headline, InputFacts, Parameters, Space, Workload};

/// One of Filebench's personalities.
pub(in crate::workloads) struct Personality {
    description: &'static Description,
    list: &'static [Action],
}

impl Workload for Personality {
    fn describe(&self) -> &'static Description {
        self.description
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        run::check(parameters)
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        run::space(parameters)
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run::run(context, self.description.name, self.list)
    }
}

/// The origin text: the words on one personality, then how all of them depart from Filebench.
macro_rules! origin {
    ($words:literal) => {
        concat!(
            "Filebench's personality ",
            $words,
            "\n\n\
             Departures: sizes follow the same gamma distribution, by a table of its quantiles; \
             files are named after their slots in the set, and directories form a regular tree of \
             the mean width instead of one of random widths; draws come from the trial's seed, one \
             stream for each thread; an op that finds no free file is left out and counted, where \
             Filebench waits or ends; `loops` ends the phase after this many rounds of each thread \
             instead of after a time, and a digest then covers the ops."
        )
    };
}

/// The figure that all of them are about.
const fn headline(question: &'static str) -> Headline {
    Headline { question, phase: "run", metric: "ops_rate", things: "ops" }
}

/// A mail server with one file a mail.
pub(in crate::workloads) static VARMAIL: Personality = Personality {
    description: &Description {
        name: "varmail",
        summary: "Filebench's varmail: a mail server that waits for its disk",
        origin: origin!(
            "`varmail` (Sun Microsystems, 2005; version 1.4). Each of 16 threads deletes a mail; \
         creates one, appends to it and calls fsync; opens one, reads it, appends to it and calls \
         fsync; opens one and reads it."
        ),
        headline: headline("a mail server that syncs each mail (varmail)"),
        presets: &[],
        inputs: &[],
        parameters: &parameters("1000", "1_000_000", "16K", "16", "0.8"),
        phases: &[&CREATE, &RUN],
    },
    list: &[
        Delete, Create, Append, Fsync, Close, Open, ReadWhole, Append, Fsync, Close, Open,
        ReadWhole, Close,
    ],
};

/// A server of home directories.
pub(in crate::workloads) static FILESERVER: Personality = Personality {
    description: &Description {
        name: "fileserver",
        summary: "Filebench's fileserver: home directories of 50 users",
        origin: origin!(
            "`fileserver` (Sun Microsystems, 2005; version 1.4). Each of 50 threads creates and \
         writes a file, appends to another, reads a third, deletes one and stats one."
        ),
        headline: headline("a file server with many users"),
        presets: &[],
        inputs: &[],
        parameters: &parameters("10_000", "20", "128K", "50", "0.8"),
        phases: &[&CREATE, &RUN],
    },
    list: &[Create, WriteWhole, Close, Open, Append, Close, Open, ReadWhole, Close, Delete, Stat],
};

/// A web server.
pub(in crate::workloads) static WEBSERVER: Personality = Personality {
    description: &Description {
        name: "webserver",
        summary: "Filebench's webserver: reads of whole files, one log",
        origin: origin!(
            "`webserver` (Sun Microsystems, 2005; version 1.4). Each of 100 threads reads ten whole \
         files and appends to the log that all share."
        ),
        headline: headline("serving small files of a web server"),
        presets: &[],
        inputs: &[],
        parameters: &parameters("1000", "20", "16K", "100", "1"),
        phases: &[&CREATE, &RUN],
    },
    list: &[
        Open, ReadWhole, Close, Open, ReadWhole, Close, Open, ReadWhole, Close, Open, ReadWhole,
        Close, Open, ReadWhole, Close, Open, ReadWhole, Close, Open, ReadWhole, Close, Open,
        ReadWhole, Close, Open, ReadWhole, Close, Open, ReadWhole, Close, Log,
    ],
};
