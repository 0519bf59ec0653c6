//! Unpacks a tar of mails into one flat directory.

use std::os::fd::AsFd;

use crate::engine::file_io::open_target;
use crate::engine::maildir::parameters::{self, write_sources};
use crate::engine::maildir::run;
use crate::{Context, Description, Failure, Headline, InputFacts, InputKind, Parameters};
use crate::{Space, Workload};

pub(super) struct Unpack;

static DESCRIPTION: Description = Description {
    name: "unpack",
    summary: "unpack a tar of mails into one flat directory",
    origin: "The first step of the Maildir study of 2004: `tar xzf` of 77,133 mails into one \
directory, reported in whole seconds. The directory is called `write_src`, and the Maildir \
workloads of a sequence use it.\n\n\
System calls per file are those of GNU tar 1.34. Departures: the archive is made in memory from \
the corpus, so that neither gzip nor reading an archive from another disk is timed with the \
filesystem; entries come in the order of their names, since the order of the original archive is \
not known; the names have the form that Maildir prescribes; a corpus with fewer than `mails` mails \
is repeated under new names. A separate phase `sync` follows, which the original does not have.",
    headline: Headline {
        question: "unpacking an archive of mails",
        phase: "unpack",
        metric: "wall",
        things: "",
    },
    presets: &[],
    inputs: &[InputKind::Mail],
    parameters: &[parameters::MAILS.row],
    phases: &[&run::UNPACK, &run::SYNC],
};

impl Workload for Unpack {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, inputs: &InputFacts) -> Space {
        run::room(parameters.get(&parameters::MAILS), inputs.mean_mail, 1)
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let sources = write_sources(context.parameters());
        let target = open_target(context.target())?;
        run::unpack(context, target.as_fd(), &[sources])
            .inspect_err(|_| context.skip_rest("unpack failed"))?;
        run::sync(context, target.as_fd())?;
        if context.verify() {
            sources.verify(target.as_fd(), context.mail()?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
