//! Delivers mails into Maildirs, and reads some.

use std::os::fd::{AsFd, BorrowedFd};

use crate::engine::cold_cache::{COLD, reopen_cold};
use crate::engine::file_io::open_target;
use crate::engine::maildir::deliver::{Courier, Manner, Source};
use crate::engine::maildir::inventory::Inventory;
use crate::engine::maildir::names::{Names, Tree};
use crate::engine::maildir::parameters::{self as p, Pool, tree, write_sources};
use crate::engine::maildir::plan::{Plan, Terms};
use crate::engine::maildir::retrieve::{Reader, Stored};
use crate::engine::maildir::run::{self, Kinds, Ops};
use crate::engine::maildir::sources::Sources;
use crate::engine::maildir::verify::verify;
use crate::engine::path_buffer::PathBuffer;
use crate::{
    Context, Description, Failure, Headline, InputFacts, InputKind, Op, OpDescription, Parameters,
    PhaseDescription, Preset,
};
use crate::{Space, Workload};

pub(super) struct MaildirWrite;

static IO: PhaseDescription = PhaseDescription {
    name: "io",
    summary: "deliveries and reads, drawn one by one, in one process",
    clock: "all ops from the first to the last, with every open, close and directory listing; \
            fsync only where `fsync` asks for it. No sync at the end, no cache drop before \
            unless `cold` asks for it: the directories were unpacked and set up just before",
    ops: &[
        OpDescription {
            name: "deliver",
            span: "opening the source (copy_from=write_src); creating the file in tmp, copying, \
                   closing, moving it to new, and the fsyncs; with delivery=classic or rename also \
                   the stat before",
        },
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
    disk_bound: false,
};
const KINDS: Kinds = Kinds { deliver: Op(0), read: Op(1), list: Op(2), mark: Op(3) };

static DESCRIPTION: Description = Description {
    name: "maildir-write",
    summary: "deliver mails into 10,100 Maildirs, 80 % deliveries and 20 % reads",
    origin: "The write test of the Maildir study of 2004, a Perl script. The script is lost; its \
parameters, its output and its times are known. 10,100 Maildirs, 77,133 mails to copy from, 1,177 \
to read; each of 10,000 ops is a delivery with probability 0.8, drawn independently. A delivery \
copies a random mail line by line into a new file of a random Maildir; a read takes a random mail \
of the small directory. `setup` and `io` are the original's *maildir setup* and *writes and \
reads*, `unpack` its `tar`.\n\n\
Inferred, and therefore parameters: `relist=per-op` (the CPU time of the original fits a listing \
of all 77,133 names for each op), `delivery`, `fsync=none` (no sign of fsync), \
`copy_from=write_src`. With `flush=per-line` each line is one write(2), as in the single-disk \
study; the RAID study did not flush.\n\n\
Departures: no Perl, so that user time is far below the original's 37 ms an op; which mail is \
drawn depends on the seed and not on the order in which the filesystem lists names, so that \
contenders do the same work; names come from the seed and not from the clock; paths are resolved \
from the target directory and not from the root; a `settle` outside the clocks precedes io unless \
switched off; a separate phase `sync` follows. `cold=on` begins io with an empty cache, as if the \
mails had not fit into memory: a scaled-down run needs it where the original's mails did not fit. \
With `pool=maildirs`, a read drawn before anything was delivered becomes a delivery.",
    headline: Headline {
        question: "delivering mail",
        phase: "io",
        metric: "ops_rate",
        things: "mails",
    },
    presets: &[Preset {
        name: "dovecot",
        question: "delivering mail as Dovecot does, durable before it is acknowledged",
        set: &[
            ("delivery", "rename"),
            ("fsync", "file+dir"),
            ("relist", "once"),
            ("copy_from", "memory"),
            ("flush", "buffered"),
            ("pool", "maildirs"),
            ("mark_seen", "on"),
        ],
    }],
    inputs: &[InputKind::Mail],
    parameters: &[
        p::MAILS.row,
        p::READ_MAILS.row,
        p::MAILDIRS.row,
        p::MAILDIRS_PER_BASE.row,
        p::OPS.row,
        p::WRITE_SHARE.row,
        p::FLUSH.row,
        p::RELIST.row,
        p::DELIVERY.row,
        p::FSYNC.row,
        p::COPY_FROM.row,
        p::POOL.row,
        p::MARK_SEEN.row,
        p::SETTLE.row,
        COLD.row,
    ],
    phases: &[&run::UNPACK, &run::SETUP, &IO, &run::SYNC],
};

/// The flat directories that ops use, each once.
fn wanted(parameters: &Parameters) -> Vec<Sources> {
    let copied = copied(parameters);
    let pool = (parameters.get(&p::WRITE_SHARE) < 1.0)
        .then(|| parameters.get(&p::POOL).sources(parameters))
        .flatten()
        .filter(|pool| Some(*pool) != copied);
    copied.into_iter().chain(pool).collect()
}

fn copied(parameters: &Parameters) -> Option<Sources> {
    (parameters.get(&p::COPY_FROM) == p::CopyFrom::WriteSrc).then(|| write_sources(parameters))
}

impl Workload for MaildirWrite {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, inputs: &InputFacts) -> Space {
        let sources = wanted(parameters);
        let copied: u64 = sources.iter().map(|sources| u64::from(sources.count)).sum();
        // As many deliveries as ops: the share is a probability.
        let directories = run::directories(tree(parameters)) + sources.len() as u64;
        run::room(copied + parameters.get(&p::OPS), inputs.mean_mail, directories)
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
    let mark_seen = parameters.get(&p::MARK_SEEN);

    let opened = open_target(context.target())?;
    run::unpack(context, opened.as_fd(), &wanted(parameters))?;
    let kept = run::set_up(context, opened.as_fd(), tree)?;

    // Only now, outside any clock, list the mails in maildirs of an earlier workload.
    let found = if kept && (pool == Pool::Maildirs || context.verify()) {
        Inventory::take(opened.as_fd(), tree)?
    } else {
        Inventory::default()
    };
    let plan = Plan::draw(
        context.seed(),
        Terms {
            ops: parameters.get(&p::OPS),
            write_share: parameters.get(&p::WRITE_SHARE),
            tree,
            mails: parameters.get(&p::MAILS) as u32,
            pool,
            pool_mails: pool.sources(parameters).map_or(0, |pool| pool.count),
            found: found.len(),
            mark_seen,
        },
    );
    let names = unused_names(context, opened.as_fd(), tree, &plan)?;
    if parameters.get(&p::SETTLE) {
        run::settle(opened.as_fd())?;
    }
    let opened = if parameters.get(&COLD) { reopen_cold(context, opened)? } else { opened };
    let target = opened.as_fd();
    let stored = Stored { tree, names, found: &found, deliveries: &plan.deliveries };
    let copied = copied(parameters);
    let source = copied.map_or(Source::Memory(corpus), Source::Files);
    let mut courier = Courier::new(target, tree, names, source, Manner::of(parameters));
    let mut reader = Reader::new(target);
    let ops = Ops {
        target,
        plan: &plan,
        stored,
        copied,
        pool: pool.sources(parameters).filter(|_| parameters.get(&p::WRITE_SHARE) < 1.0),
        relist: parameters.get(&p::RELIST),
        mark_seen,
        kinds: KINDS,
    };
    corpus.prefault();
    context.phase_with(
        &IO,
        plan.ops.len() as u64,
        |recorder| ops.perform(&mut courier, &mut reader, recorder),
        |counts, result| {
            result.figures.insert("writes".to_owned(), counts.writes as f64);
            result.figures.insert("reads".to_owned(), counts.reads as f64);
        },
    )?;
    run::sync(context, target)?;
    if context.verify() {
        for sources in wanted(parameters) {
            sources.verify(target, corpus)?;
        }
        verify(&plan, stored, target, corpus)?;
    }
    Ok(())
}

/// Names that no earlier workload of this seed has used in these maildirs.
fn unused_names(
    context: &Context<'_>,
    target: BorrowedFd<'_>,
    tree: Tree,
    plan: &Plan,
) -> Result<Names, Failure> {
    let empty = Inventory::default();
    let mut generation = 0;
    loop {
        let names = Names::new(context.seed(), generation);
        let stored = Stored { tree, names, found: &empty, deliveries: &plan.deliveries };
        let mut path = PathBuffer::new();
        let used = !plan.deliveries.is_empty()
            && [false, true].into_iter().any(|seen| {
                stored.path(0, seen, &mut path);
                let access = rustix::fs::Access::EXISTS;
                let flags = rustix::fs::AtFlags::empty();
                rustix::fs::accessat(target, path.c_str(), access, flags).is_ok()
            });
        if !used {
            return Ok(names);
        }
        generation += 1;
    }
}
