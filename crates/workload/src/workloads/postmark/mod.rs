//! PostMark: a mail or news server's many small short-lived files.

mod description;
mod plan;
mod runner;
mod times;
mod totals;
mod twister;

#[cfg(test)]
mod tests;

use std::os::fd::{AsFd, BorrowedFd};

use measure::now;
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;
use units::Bytes;

pub(super) use self::description::LARGEST;
use self::description::{
    BIAS_CREATE, BIAS_READ, CREATE, DELETE, DESCRIPTION, NUMBER, PM_SEED, SIZE_HIGH, SIZE_LOW,
    SUBDIRECTORIES, TRANSACTIONS, TRANSACTIONS_PARAMETER,
};
use self::plan::{Plan, Settings, Step};
use self::runner::{Runner, name};
use self::times::Times;
pub(super) use self::totals::Totals;
use crate::engine::file_io::{holds, open_target};
use crate::engine::path_buffer::PathBuffer;
use crate::{Context, Description, Failure, InputFacts, Op, OpError, Parameters};
use crate::{Space, Workload};

pub(super) struct PostMark;

/// Everything is below this directory of the target.
const DIRECTORY: &str = "postmark";

impl Workload for PostMark {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        space(parameters)
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        check(parameters)
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run(context).inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

/// Room for the files of a run, of our workload or of the original.
pub(super) fn space(parameters: &Parameters) -> Space {
    // The table has twice as many places as there are files at the beginning, but
    // creates and deletes balance unless they are biased.
    let number = parameters.get(&NUMBER);
    let grown =
        number + parameters.get(&TRANSACTIONS_PARAMETER) * parameters.get(&BIAS_CREATE) / 10;
    let files = grown.min(2 * number);
    let directories = parameters.get(&SUBDIRECTORIES) + 1;
    Space {
        bytes: Bytes(parameters.get(&SIZE_HIGH).0.div_ceil(4096) * 4096) * files
            + Bytes(4096) * directories,
        inodes: files + directories,
    }
}

/// Whether the sizes fit each other, and files are left for every transaction.
///
/// # Errors
/// With a sentence that names what does not.
pub(super) fn check(parameters: &Parameters) -> Result<(), String> {
    let (low, high) = (parameters.get(&SIZE_LOW), parameters.get(&SIZE_HIGH));
    if low > high {
        return Err(format!("size_low={low} is above size_high={high}"));
    }
    let transactions = parameters.get(&TRANSACTIONS_PARAMETER);
    // Drawing more takes longer than a refusal later; a seed of the trial's own is not known yet.
    let seed = parameters.get(&PM_SEED) as u32;
    if transactions > FORESEEN_MAX || parameters.get(&NUMBER) > FORESEEN_MAX || seed == 0 {
        return Ok(());
    }
    let done = u64::from(Plan::draw(settings(parameters, seed)).transactions_done);
    match done < transactions {
        true => Err(no_file_left(done)),
        false => Ok(()),
    }
}

/// Most files and transactions that are drawn before a run to see whether files are left.
const FORESEEN_MAX: u64 = 1_000_000;

fn no_file_left(transactions: u64) -> String {
    format!(
        "no file is left after {transactions} transactions; ask for more files (number) or fewer \
         transactions"
    )
}

fn settings(parameters: &Parameters, seed: u32) -> Settings {
    Settings {
        seed,
        number: parameters.get(&NUMBER) as u32,
        transactions: parameters.get(&TRANSACTIONS_PARAMETER) as u32,
        subdirectories: parameters.get(&SUBDIRECTORIES) as u32,
        size_low: parameters.get(&SIZE_LOW).0 as u32,
        size_high: parameters.get(&SIZE_HIGH).0 as u32,
        bias_read: parameters.get(&BIAS_READ) as u32,
        bias_create: parameters.get(&BIAS_CREATE) as u32,
    }
}

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let seed = match context.parameters().get(&PM_SEED) {
        0 => context.seed().stream("postmark").bits() as u32,
        seed => seed as u32,
    };
    let settings = settings(context.parameters(), seed);
    let plan = Plan::draw(settings);
    let root = open_target(context.target())?;
    rustix::fs::mkdirat(&root, DIRECTORY, Mode::RWXU)
        .map_err(|error| not_made(DIRECTORY, error))?;
    let target = open_target(&context.target().join(DIRECTORY))?;
    let subdirectories = Subdirectories {
        target: target.as_fd(),
        count: if settings.subdirectories > 1 { settings.subdirectories } else { 0 },
    };
    subdirectories.make()?;
    let in_subdirectories = subdirectories.count > 0;

    let mut runner = Runner::new(context.parameters(), &plan, target.as_fd(), in_subdirectories);
    let start = now();
    let creates = [Op(0); 4];
    context.phase(&CREATE, plan.creates.len() as u64, |recorder| {
        plan.creates.iter().try_for_each(|step| runner.perform(*step, creates, recorder))
    })?;
    let transactions_start = now();
    let kinds = [Op(0), Op(1), Op(2), Op(3)];
    context.phase_with(
        &TRANSACTIONS,
        plan.transactions.len() as u64,
        |recorder| {
            plan.transactions.iter().try_for_each(|step| runner.perform(*step, kinds, recorder))?;
            if plan.transactions_done < settings.transactions {
                let reason = no_file_left(plan.transactions_done.into());
                return Err(OpError::new("go on in", DIRECTORY, std::io::Error::other(reason)));
            }
            Ok(())
        },
        |(), result| {
            result.figures.insert("transactions".to_owned(), f64::from(settings.transactions));
        },
    )?;
    let transactions_end = now();
    if context.verify() {
        verify(&plan, target.as_fd(), in_subdirectories)?;
    }
    let delete_start = now();
    let deletes = [Op(0); 4];
    let totals = runner.totals();
    context.phase_with(
        &DELETE,
        plan.left.len() as u64,
        |recorder| {
            plan.left.iter().try_for_each(|(file, _)| {
                runner.perform(Step::Delete { file: *file }, deletes, recorder)
            })
        },
        |(), result| {
            let end = now();
            let times = Times { start, transactions_start, transactions_end, delete_start, end };
            result.figures.extend(times.figures(totals));
            Totals::of(&plan).figures(&mut result.figures);
        },
    )?;
    subdirectories.remove();
    rustix::fs::unlinkat(&root, DIRECTORY, AtFlags::REMOVEDIR).map_err(|error| {
        Failure::Verify(format!("{DIRECTORY} should be empty when all files are deleted: {error}"))
    })
}

/// A directory that could not be made before the phases.
fn not_made(path: &str, error: Errno) -> Failure {
    Failure::before(OpError::new("mkdir", path, error))
}

/// The directories over which files are spread; none for fewer than two.
struct Subdirectories<'a> {
    target: BorrowedFd<'a>,
    count: u32,
}

impl Subdirectories<'_> {
    fn path(subdirectory: u32, path: &mut PathBuffer) {
        path.clear().text("s").number(u64::from(subdirectory), 1);
    }

    fn make(&self) -> Result<(), Failure> {
        let mut path = PathBuffer::new();
        for subdirectory in 0..self.count {
            Self::path(subdirectory, &mut path);
            rustix::fs::mkdirat(self.target, path.c_str(), Mode::RWXU)
                .map_err(|error| not_made(&path.to_string(), error))?;
        }
        Ok(())
    }

    fn remove(&self) {
        let mut path = PathBuffer::new();
        for subdirectory in 0..self.count {
            Self::path(subdirectory, &mut path);
            // A directory that is not empty shows in the next mkdir or in verification.
            let _ = rustix::fs::unlinkat(self.target, path.c_str(), AtFlags::REMOVEDIR);
        }
    }
}

/// Compares every file that is left with the pieces it was written in.
fn verify(plan: &Plan, target: BorrowedFd<'_>, in_subdirectories: bool) -> Result<(), Failure> {
    let mut path = PathBuffer::new();
    let mut expected = Vec::new();
    for (file, pieces) in &plan.left {
        expected.clear();
        for piece in pieces {
            expected.extend_from_slice(&plan.text[..*piece as usize]);
        }
        name(*file, in_subdirectories, &mut path);
        match holds(target, path.c_str(), &expected) {
            Ok(true) => {}
            Ok(false) => {
                return Err(Failure::Verify(format!("{path} has other contents than written")));
            }
            Err(error) => return Err(Failure::Verify(format!("{path}: {error}"))),
        }
    }
    Ok(())
}
