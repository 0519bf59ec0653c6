//! PostgreSQL, by its own benchmark.

use std::io::ErrorKind;
use std::path::Path;

use measure::{Latencies, ProcessCpu};
use rustix::fs::{Gid, Uid};
use rustix::process::Signal;
use units::{Bytes, Nanos};

use super::memory::MemoryDirectory;
use super::server::Server;
use super::steps::{Behind, Steps, in_directory};
use crate::typed::{Choice, ChoiceParameter, CountParameter, choice};
use crate::{
    Context, Description, Failure, Headline, InputFacts, InputKind, OpDescription, OpError,
    Parameters, PhaseDescription, PhaseResult, Preset, Program, Space, Workload,
};

/// pgbench against a server of its own.
pub(in crate::workloads) struct Postgresql;

const fn program(name: &'static str) -> Program {
    Program { name, package: "postgresql" }
}
const POSTGRES: Program = program("postgres");
const INITDB: Program = program("initdb");
const PGBENCH: Program = program("pgbench");
const AMCHECK: Program = program("pg_amcheck");
const DIRECTORY: &str = "postgresql";
/// Bytes of a new cluster, its first log included, and of tables for one unit of pgbench's scale.
const EMPTY: u64 = 80 << 20;
const UNIT: u64 = 20 << 20;
/// The size that the log may reach before a checkpoint shortens it.
const LOG: u64 = 256 << 20;
/// The most transactions whose latency pgbench logs: each is a line of some 45 bytes in memory,
/// and in the lab that memory is the guest's.
const LATENCIES: u64 = 100_000;

static INITDB_PHASE: PhaseDescription = PhaseDescription {
    name: "initdb",
    summary: "makes an empty database cluster",
    clock: "one initdb, from its start to its end, including its syncs",
    ops: &[],
    disk_bound: true,
};

static LOAD: PhaseDescription = PhaseDescription {
    name: "load",
    summary: "fills pgbench's tables, vacuums them and creates their keys",
    clock: "`pgbench -i`, from its start to its end; the server is already running",
    ops: &[],
    disk_bound: true,
};

static TRANSACTIONS: PhaseDescription = PhaseDescription {
    name: "transactions",
    summary: "pgbench's own transactions (TPC-B-like): three updates, a select, an insert",
    clock: "one pgbench with `clients` connections, from its start to its end",
    ops: &[OpDescription {
        name: "transaction",
        span: "from its first statement to the answer to its last, by pgbench's own log, in µs",
    }],
    disk_bound: true,
};

static STOP: PhaseDescription = PhaseDescription {
    name: "stop",
    summary: "stops the server, with a checkpoint of everything that changed",
    clock: "from the signal (a fast shutdown) until the server has ended",
    ops: &[],
    disk_bound: true,
};

static SELECT: PhaseDescription = PhaseDescription {
    name: "select",
    summary: "selects random rows by key, with an empty cache",
    clock: "one `pgbench -S`, from its start to its end; the server was started before",
    ops: &[OpDescription { name: "select", span: "as in the phase `transactions`" }],
    disk_bound: true,
};

const SCALE_FACTOR: CountParameter = CountParameter::new(
    "scale_factor",
    "pgbench's scale factor: each unit is 100,000 accounts, about 15 MB.",
    1,
    100_000,
    "10",
)
.scaled();
const NUMBER: CountParameter = CountParameter::new(
    "transactions",
    "Number of transactions, and of selects; rounded down to a multiple of `clients`.",
    1,
    1_000_000_000,
    "10000",
)
.scaled();
const CLIENTS: CountParameter =
    CountParameter::new("clients", "Connections at a time.", 1, 90, "4");
choice! {
    /// PostgreSQL's `synchronous_commit`.
    enum Commit {
        On = "on": "every transaction is on the disk before its client is answered",
        Off = "off": "a power failure may lose the last transactions",
    }
}
const COMMIT: ChoiceParameter<Commit> =
    ChoiceParameter::of("synchronous_commit", "PostgreSQL's setting of this name.", "on");

static DESCRIPTION: Description = Description {
    name: "postgresql",
    summary: "transactions of PostgreSQL: pgbench against a server on the filesystem",
    origin: "The programs of Debian's package postgresql. initdb and the server run as the user \
`postgres` where fstrial is root (as `nobody` where there is no such user), since they refuse \
root. The server has PostgreSQL's default settings except for those that are parameters here; it \
does not listen on the network. Processor time is that of pgbench and initdb, not of the server. \
As root, pgbench's log is written to memory; the latencies of single transactions come from it, \
above 100,000 transactions those of a sample. At the end `pg_amcheck` checks all tables and \
indexes. In the lab it needs `lab build --with postgresql`.",
    headline: Headline {
        question: "durable transactions of PostgreSQL",
        phase: "transactions",
        metric: "ops_rate",
        things: "transactions",
    },
    presets: &[Preset {
        name: "asynchronous",
        question: "transactions of PostgreSQL that do not wait for the disk",
        set: &[("synchronous_commit", "off")],
    }],
    inputs: &[
        InputKind::Program(POSTGRES),
        InputKind::Program(INITDB),
        InputKind::Program(PGBENCH),
        InputKind::Program(AMCHECK),
    ],
    parameters: &[SCALE_FACTOR.row, NUMBER.row, CLIENTS.row, COMMIT.row],
    phases: &[&INITDB_PHASE, &LOAD, &TRANSACTIONS, &STOP, &SELECT],
};

impl Workload for Postgresql {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let tables = parameters.get(&SCALE_FACTOR) * UNIT;
        // A whole page of 8 KiB or more a transaction goes into the log.
        let log = (parameters.get(&NUMBER) * (32 << 10) + 2 * tables).min(LOG);
        Space { bytes: Bytes(EMPTY + 2 * tables + log), inodes: 2000 }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        in_directory(context, DIRECTORY, |context, directory| {
            let user = own_user()?;
            if let Some(user) = user {
                let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
                rustix::fs::chown(&directory, Some(uid), Some(gid))
                    .map_err(OpError::at("chown", &directory))
                    .map_err(|error| Failure::Op { phase: "outside the phases", error })?;
            }
            let host = format!("@fstrial-{}", std::process::id());
            let environment =
                [("PGHOST", host.as_str()), ("PGDATABASE", "postgres"), ("TZ", "GMT")];
            let postgres = Steps::of(context, POSTGRES, directory, &environment)?.run_by(user);
            Cluster { host, seed: context.seed().stream("postgresql").below(1 << 31), postgres }
                .work(context)
        })
    }
}

/// A database cluster below the target.
struct Cluster<'h> {
    /// The name of the socket that it listens on. It is not a file, so that the filesystem need
    /// not support sockets.
    host: String,
    seed: u64,
    postgres: Steps<'h>,
}

const ARGUMENTS: [&str; 2] = ["-D", "data"];
const READY: &str = "database system is ready to accept connections";

impl Cluster<'_> {
    fn work(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let parameters = context.parameters();
        let (clients, scale) = (parameters.get(&CLIENTS), parameters.get(&SCALE_FACTOR));
        let each = (parameters.get(&NUMBER) / clients).max(1);
        let commit = format!("synchronous_commit={}", parameters.get(&COMMIT).word());

        let initdb = self.postgres.beside(INITDB)?;
        // Nobody else on this machine can connect: the user must be the same.
        let arguments = ["--locale=C", "--encoding=UTF8", "--auth=peer", "data"];
        initdb.time(context, &INITDB_PHASE, 0, Behind::Nothing, &arguments, "")?;

        let server = self.start(&commit)?;
        let pgbench = self.postgres.beside(PGBENCH)?;
        let scale = scale.to_string();
        pgbench.time(context, &LOAD, 0, Behind::Nothing, &["-i", "-q", "-s", &scale], "")?;
        let numbers = [clients, each, self.seed].map(|number| number.to_string());
        let [connections, number, seed] = &numbers;
        let seed = format!("--random-seed={seed}");
        let arguments = ["-n", "-c", connections, "-j", "1", "-t", number, &seed];
        measured(context, &pgbench, &TRANSACTIONS, clients * each, &arguments)?;
        self.stop(context, server)?;

        context.make_cold();
        let server = self.start(&commit)?;
        let arguments = ["-S", "-n", "-c", connections, "-j", "1", "-t", number, &seed];
        measured(context, &pgbench, &SELECT, clients * each, &arguments)?;
        let check = self.postgres.beside(AMCHECK)?;
        let arguments = ["--install-missing", "--heapallindexed", "--database=postgres"];
        check.check(&arguments, "")?;
        server.stop(Signal::INT).map(drop).map_err(|why| self.failed(&why))
    }

    fn start(&self, commit: &str) -> Result<Server, Failure> {
        let sockets = format!("unix_socket_directories={}", self.host);
        let mut arguments = ARGUMENTS.to_vec();
        arguments.extend(["-c", &sockets, "-c", "listen_addresses=", "-c", commit]);
        Server::start(&self.postgres.call(&arguments, ""), READY).map_err(|why| self.failed(&why))
    }

    /// Ends the server as a phase.
    fn stop(&self, context: &mut Context<'_>, server: Server) -> Result<(), Failure> {
        let begun = context.begin(&STOP, 0)?;
        let before = ProcessCpu::read();
        let ended: Result<Nanos, _> = server.stop(Signal::INT).map_err(|why| self.failed(&why));
        let mut result = begun.result(context.description().name);
        result.cpu = ProcessCpu::read().since(before);
        if let Ok(took) = &ended {
            result.wall = *took;
        }
        context.finish(begun, result, ended, |_, _| {}).map(drop)
    }

    fn failed(&self, why: &str) -> Failure {
        Failure::Program { program: POSTGRES.name, said: why.to_owned() }
    }
}

/// Runs pgbench as a phase of so many ops. The latency of each is read from its log, which is in
/// memory: on the filesystem under test it would be part of what is measured.
fn measured(
    context: &mut Context<'_>,
    pgbench: &Steps<'_>,
    phase: &'static PhaseDescription,
    ops: u64,
    arguments: &[&str],
) -> Result<(), Failure> {
    let log = match MemoryDirectory::new(pgbench.user()) {
        Ok(log) => Some(log),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => None,
        Err(error) => return Err(Failure::Input(format!("pgbench's log, in memory: {error}"))),
    };
    let prefix = log.as_ref().map(|log| format!("--log-prefix={}/log", log.path_inside()));
    let sample = format!("--sampling-rate={}", LATENCIES as f64 / ops as f64);
    let mut arguments = arguments.to_vec();
    if let Some(prefix) = &prefix {
        arguments.extend(["--log", prefix]);
        arguments.extend((ops > LATENCIES).then_some(sample.as_str()));
    }
    let body = |steps: &Steps<'_>| {
        let done = steps.part(&arguments)?;
        let wall = done.end - done.start;
        Ok((done, wall))
    };
    let done = pgbench.timed(context, phase, ops, body, |result| {
        match log.as_ref().map(MemoryDirectory::text) {
            Some(Ok(text)) => add_latencies(&text, phase, result),
            Some(Err(error)) => result.notes.push(format!("no latencies: pgbench's log: {error}")),
            None => result.notes.push(
                "no latencies of single ops: only root can have pgbench's log in memory".to_owned(),
            ),
        }
    })?;
    all_processed(&done.output, ops)
}

/// Puts what pgbench's log says into a phase's result, under its kind of op.
fn add_latencies(log: &str, phase: &PhaseDescription, result: &mut PhaseResult) {
    let mut latencies = Latencies::new();
    let micros = |line: &str| line.split(' ').nth(2)?.parse().ok();
    log.lines().filter_map(micros).for_each(|time| latencies.record(Nanos::from_micros(time)));
    if let Some(op) = phase.ops.first().filter(|_| latencies.count() > 0) {
        result.latencies.insert(op.name.to_owned(), latencies);
    }
}

/// Checks that pgbench did as many as requested: after some kinds of error it still exits
/// successfully.
fn all_processed(said: &str, expected: u64) -> Result<(), Failure> {
    let line = said.lines().find(|line| line.contains("transactions actually processed"));
    let wanted = format!(" {expected}/{expected}");
    match line {
        Some(line) if line.ends_with(&wanted) => Ok(()),
        other => {
            let said = format!("of {expected} transactions it says: {}", other.unwrap_or(said));
            Err(Failure::Program { program: PGBENCH.name, said })
        }
    }
}

/// The user that PostgreSQL runs as, where this one is root.
fn own_user() -> Result<Option<u32>, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let users = std::fs::read_to_string(Path::new("/etc/passwd")).unwrap_or_default();
    let found = ["postgres", "nobody"].iter().find_map(|name| user_id(&users, name));
    let why = "PostgreSQL refuses to run as root, and there is neither a user `postgres` nor \
               `nobody`; install Debian's package postgresql, or be another user";
    found.map(Some).ok_or_else(|| Failure::Input(why.to_owned()))
}

/// A user's number in the text of `/etc/passwd`.
fn user_id(users: &str, name: &str) -> Option<u32> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then(|| fields.nth(1)?.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_the_whole_name() {
        let users = "root:x:0:0::/root:/bin/sh\npostgres2:x:7:7::/:/\npostgres:x:101:104::/:/\n";
        assert_eq!(user_id(users, "postgres"), Some(101));
        assert_eq!(user_id(users, "nobody"), None);
    }

    #[test]
    fn latencies_are_those_of_the_log() {
        // Client, its transaction, µs, script, seconds and µs since 1970; one that failed.
        let log = "0 1 2000 0 1764110000 123\n1 1 4000 0 1764110000 456\n0 2 failed 0 1 2\n";
        let cache = crate::Cache::Cold { how: String::new() };
        let mut result = PhaseResult::empty("postgresql", "select", cache);
        add_latencies(log, &SELECT, &mut result);
        let found = &result.latencies["select"];
        assert_eq!(found.count(), 2);
        let longest = found.quantile(1.0);
        assert!(longest >= Nanos::from_micros(3900) && longest <= Nanos::from_micros(4100));
    }

    #[test]
    fn fewer_transactions_than_asked_for_are_a_failure() {
        let said = |words: &str| format!("scale: 1\nnumber of {words}\ntps = 7\n");
        assert!(all_processed(&said("transactions actually processed: 40/40"), 40).is_ok());
        assert!(all_processed(&said("transactions actually processed: 39/40"), 40).is_err());
        assert!(all_processed("", 40).is_err());
    }
}
