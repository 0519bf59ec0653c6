//! Reads random mails.

use std::os::fd::{AsFd, BorrowedFd};

use crate::engine::file_io::open_target;
use crate::engine::maildir::deliver::{Courier, Manner, Source};
use crate::engine::maildir::inventory::Inventory;
use crate::engine::maildir::names::{Names, Tree};
use crate::engine::maildir::parameters::{self as p, Pool, Relist, tree};
use crate::engine::maildir::plan::{Plan, Terms};
use crate::engine::maildir::retrieve::{Reader, Stored};
use crate::engine::maildir::run::{self, Kinds, Ops};
use crate::{
    Context, Description, Failure, Headline, InputFacts, InputKind, Op, OpDescription, Parameters,
    PhaseDescription, Preset,
};
use crate::{Space, Workload};

pub(super) struct MaildirRead;

static POPULATE: PhaseDescription = PhaseDescription {
    name: "populate",
    summary: "with pool=maildirs, delivers mails if the maildirs are empty",
    clock: "deliveries from memory by create, write and rename; no fsync",
    ops: &[OpDescription { name: "deliver", span: "stat, create, write, close, rename" }],
    disk_bound: false,
};
static IO: PhaseDescription = PhaseDescription {
    name: "io",
    summary: "reads random mails to their end, in one process",
    clock: "all ops from the first to the last, with open, close and directory listings. Where the \
            testbed can, the cache is emptied beforehand, outside the clock; otherwise the phase \
            is labelled warm",
    ops: &[
        OpDescription { name: "read", span: "open, reads of 4096 bytes to the end, close" },
        OpDescription {
            name: "list",
            span: "opening, reading and closing the directory an op draws from; a part of the \
                   op that is not in its latency, and not counted as an op",
        },
        OpDescription {
            name: "mark",
            span: "rename from new to cur after the first read, with mark_seen=on; also a part of \
                   the op that is not in its latency",
        },
    ],
    disk_bound: true,
};
const DELIVER: Op = Op(0);
// Nothing is delivered in `io`: its plan has a write share of 0.
const KINDS: Kinds = Kinds { deliver: Op(0), read: Op(0), list: Op(1), mark: Op(2) };
const POPULATE_KINDS: Kinds =
    Kinds { deliver: DELIVER, read: DELIVER, list: DELIVER, mark: DELIVER };

static DESCRIPTION: Description = Description {
    name: "maildir-read",
    summary: "read 10,000 random mails with a cold cache",
    origin: "The read test of the Maildir study of 2004: the setup of its write test, then 10,000 \
reads of random mails. Its times (7 to 14 ms a read on one disk) show that the mails did not fit \
into memory. Reads therefore come from the directory of 77,133 mails, listed once; `pool=maildirs` \
reads delivered mails instead, `pool=read_src` those of the small directory.\n\n\
Departures: where the testbed can, the cache is emptied beforehand (the original was cold because \
its data exceeded its memory); the mails read depend on the seed and not on the order of the \
filesystem's listing; with `pool=maildirs` the stored mails are listed before the cache is \
emptied, outside the clock, and empty maildirs are populated first; no Perl.",
    headline: Headline {
        question: "reading mail",
        phase: "io",
        metric: "ops_rate",
        things: "mails",
    },
    presets: &[Preset {
        name: "imap",
        question: "reading mail in the mailboxes it was delivered to, each once marked as seen",
        set: &[("pool", "maildirs"), ("mark_seen", "on")],
    }],
    inputs: &[InputKind::Mail],
    parameters: &[
        p::MAILS.row,
        p::READ_MAILS.row,
        p::MAILDIRS.row,
        p::MAILDIRS_PER_BASE.row,
        p::OPS.row,
        p::RELIST_ONCE.row,
        p::POOL_WRITE_SRC.row,
        p::POPULATE.row,
        p::MARK_SEEN.row,
    ],
    phases: &[&run::UNPACK, &run::SETUP, &POPULATE, &IO],
};

impl Workload for MaildirRead {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, inputs: &InputFacts) -> Space {
        let pool = parameters.get(&p::POOL).sources(parameters);
        let files = pool.map_or_else(|| parameters.get(&p::POPULATE), |pool| u64::from(pool.count));
        run::room(files, inputs.mean_mail, run::directories(tree(parameters)) + 1)
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run(context).inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let parameters = context.parameters().clone();
    let parameters = &parameters;
    let corpus = context.mail()?;
    let (tree, pool) = (tree(parameters), parameters.get(&p::POOL));
    let flat = pool.sources(parameters);
    let mark_seen = parameters.get(&p::MARK_SEEN);

    // Every descriptor is closed again before the cache is emptied.
    let found = {
        let target = open_target(context.target())?;
        let target = target.as_fd();
        run::unpack(context, target, flat.as_slice())?;
        let kept = run::set_up(context, target, tree)?;
        if pool == Pool::Maildirs {
            populate(context, target, tree, kept)?
        } else {
            context.skip(&POPULATE, "reads do not go to the maildirs");
            Inventory::default()
        }
    };
    let plan = Plan::draw(
        context.seed(),
        Terms {
            ops: parameters.get(&p::OPS),
            write_share: 0.0,
            tree,
            mails: parameters.get(&p::MAILS) as u32,
            pool,
            pool_mails: flat.map_or(0, |pool| pool.count),
            found: found.len(),
            mark_seen,
        },
    );
    context.make_cold();
    let target = open_target(context.target())?;
    let target = target.as_fd();
    let names = Names::new(context.seed(), 0);
    let ops = Ops {
        target,
        plan: &plan,
        stored: Stored { tree, names, found: &found, deliveries: &plan.deliveries },
        copied: None,
        pool: flat,
        relist: parameters.get(&p::RELIST),
        mark_seen,
        kinds: KINDS,
    };
    let mut courier = Courier::new(target, tree, names, Source::Memory(corpus), Manner::PLAIN);
    let mut reader = Reader::new(target);
    context.phase_with(
        &IO,
        plan.ops.len() as u64,
        |recorder| ops.perform(&mut courier, &mut reader, recorder),
        |counts, result| {
            result.figures.insert("reads".to_owned(), counts.reads as f64);
        },
    )?;
    match flat {
        Some(sources) if context.verify() => sources.verify(target, corpus),
        _ => Ok(()),
    }
}

/// The mails in the maildirs; delivers some when there are none.
fn populate(
    context: &mut Context<'_>,
    target: BorrowedFd<'_>,
    tree: Tree,
    kept: bool,
) -> Result<Inventory, Failure> {
    if kept {
        let found = Inventory::take(target, tree)?;
        if found.len() > 0 {
            context.skip(&POPULATE, "an earlier workload has delivered mails");
            return Ok(found);
        }
    }
    let corpus = context.mail()?;
    let count = context.parameters().get(&p::POPULATE);
    let plan = Plan::draw(
        context.seed().derive("populate"),
        Terms {
            ops: count,
            write_share: 1.0,
            tree,
            mails: context.parameters().get(&p::MAILS) as u32,
            pool: Pool::Maildirs,
            pool_mails: 0,
            found: 0,
            mark_seen: false,
        },
    );
    let names = Names::new(context.seed(), 0);
    let none = Inventory::default();
    let ops = Ops {
        target,
        plan: &plan,
        stored: Stored { tree, names, found: &none, deliveries: &plan.deliveries },
        copied: None,
        pool: None,
        relist: Relist::Once,
        mark_seen: false,
        kinds: POPULATE_KINDS,
    };
    let mut courier = Courier::new(target, tree, names, Source::Memory(corpus), Manner::PLAIN);
    let mut reader = Reader::new(target);
    corpus.prefault();
    context.phase(&POPULATE, count, |recorder| ops.perform(&mut courier, &mut reader, recorder))?;
    Inventory::take(target, tree)
}
