//! The steps of a workload that runs a real program: preparing before the clock, timing, checking.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use measure::{ProcessCpu, now};
use rustix::fs::Mode;
use units::Nanos;

use super::call::{Call, Done};
use crate::engine::file_io::open_target;
use crate::engine::walk;
use crate::{Context, Failure, OpError, PhaseDescription, PhaseResult, Program};

/// Longest first line of a script that is looked at, in bytes.
const LONGEST_LINE: u64 = 256;
/// Time after which a step is ended.
const LIMIT: Nanos = Nanos::from_secs(6 * 3600);

/// Makes a directory below the target, runs `work` in it, and removes it. Phases left undone after
/// a failure are reported as missing.
pub(super) fn in_directory(
    context: &mut Context<'_>,
    name: &str,
    work: impl FnOnce(&mut Context<'_>, PathBuf) -> Result<(), Failure>,
) -> Result<(), Failure> {
    in_directory_of(context, name, context.description().phases, work)
}

/// The same for a workload with these phases.
pub(super) fn in_directory_of(
    context: &mut Context<'_>,
    name: &str,
    phases: &[&'static PhaseDescription],
    work: impl FnOnce(&mut Context<'_>, PathBuf) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let outside = |error| Failure::Op { phase: "outside the phases", error };
    let target = open_target(context.target())?;
    rustix::fs::mkdirat(&target, name, Mode::from_raw_mode(0o755))
        .map_err(|error| outside(OpError::new("mkdir", name, error)))?;
    drop(target);
    let directory = context.target().join(name);
    let done = work(context, directory);
    if done.is_err() {
        context.skip_rest_of(phases, "the program failed");
    }
    let target = open_target(context.target())?;
    walk::remove(target.as_fd(), name, || ()).map_err(outside)?;
    done
}

/// What is inside a step's clock after the end of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// Nothing: the program itself makes sure that its data is on the disk.
    Nothing,
    /// One syncfs of the filesystem.
    Sync,
}

/// A real program and where it works.
pub(super) struct Steps<'h> {
    program: Program,
    path: PathBuf,
    search: &'h [PathBuf],
    pub(super) directory: PathBuf,
    environment: Vec<(String, String)>,
    /// The user that runs it, if not this one.
    user: Option<u32>,
    /// The interpreter that runs it, if it is a script.
    interpreter: Option<PathBuf>,
}

impl<'h> Steps<'h> {
    /// For a program in this directory.
    ///
    /// # Errors
    /// When it is not installed.
    pub(super) fn of(
        context: &Context<'h>,
        program: Program,
        directory: PathBuf,
        environment: &[(&str, &str)],
    ) -> Result<Steps<'h>, Failure> {
        let environment = environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Ok(Steps {
            program,
            path: context.program(program)?,
            search: context.programs(),
            directory,
            environment: environment.collect(),
            user: None,
            interpreter: None,
        })
    }

    /// The same, run by this user.
    pub(super) fn run_by(self, user: Option<u32>) -> Steps<'h> {
        Steps { user, ..self }
    }

    /// The user that runs it, if not this one.
    pub(super) fn user(&self) -> Option<u32> {
        self.user
    }

    /// The same; where it is a script for this interpreter, the interpreter is started itself: the
    /// script may name it by a path that a guest of the lab does not have.
    ///
    /// # Errors
    /// When the interpreter is not installed.
    pub(super) fn read_by(
        self,
        context: &Context<'h>,
        interpreter: Program,
    ) -> Result<Steps<'h>, Failure> {
        let mut first = String::new();
        // A file that cannot be read as text is not a script.
        let _ = std::fs::File::open(&self.path)
            .and_then(|file| BufReader::new(file.take(LONGEST_LINE)).read_line(&mut first));
        let named = first.trim_end().trim_start_matches("#!").rsplit(['/', ' ']).next();
        if !first.starts_with("#!") || named != Some(interpreter.name) {
            return Ok(self);
        }
        Ok(Steps { interpreter: Some(context.program(interpreter)?), ..self })
    }

    /// The same for another program that lies beside it.
    ///
    /// # Errors
    /// When it does not.
    pub(super) fn beside(&self, program: Program) -> Result<Steps<'h>, Failure> {
        // On some machines only one of them has a link on the path.
        let own = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let path = own.with_file_name(program.name);
        if !path.is_file() {
            return Err(Failure::Input(format!(
                "{} is not there; its Debian package is {}",
                path.display(),
                program.package
            )));
        }
        Ok(Steps {
            program,
            path,
            search: self.search,
            directory: self.directory.clone(),
            environment: self.environment.clone(),
            user: self.user,
            interpreter: None,
        })
    }

    /// A call of it.
    pub(super) fn call(&self, arguments: &[&str], input: &str) -> Call<'_> {
        let mut words: Vec<OsString> = self.interpreter.iter().map(OsString::from).collect();
        words.push(self.path.clone().into());
        words.extend(arguments.iter().map(OsString::from));
        Call {
            words,
            directory: &self.directory,
            environment: self.environment.clone(),
            search: self.search,
            root: None,
            input: input.to_owned(),
            user: self.user,
            limit: LIMIT,
        }
    }

    fn failed(&self, arguments: &[&str], why: &str) -> Failure {
        let command = arguments.first().map_or("", |word| word);
        let said = format!("`{} {command} …`: {why}", self.program.name);
        Failure::Program { program: self.program.name, said }
    }

    /// Runs it outside any clock; what it printed.
    ///
    /// # Errors
    /// When it does not succeed: with the last lines of its output.
    pub(super) fn run(&self, arguments: &[&str], input: &str) -> Result<String, Failure> {
        let done = self.call(arguments, input).succeed();
        done.map(|done| done.output).map_err(|why| self.failed(arguments, &why))
    }

    /// Runs it as a check of the data.
    ///
    /// # Errors
    /// What is wrong with the data.
    pub(super) fn check(&self, arguments: &[&str], input: &str) -> Result<String, Failure> {
        let done = self.call(arguments, input).succeed();
        let shown = text::shell_words(arguments);
        done.map(|done| done.output)
            .map_err(|why| Failure::Verify(format!("`{} {shown}`: {why}", self.program.name)))
    }

    /// Runs it as a phase of `ops` ops.
    ///
    /// # Errors
    /// When it does not succeed, or the target is lost.
    pub(super) fn time(
        &self,
        context: &mut Context<'_>,
        phase: &'static PhaseDescription,
        ops: u64,
        behind: Behind,
        arguments: &[&str],
        input: &str,
    ) -> Result<String, Failure> {
        let call = self.call(arguments, input);
        let body = |steps: &Self| {
            let done = call.succeed().map_err(|why| steps.failed(arguments, &why))?;
            let wall = done.end - done.start + steps.synced(behind)?;
            Ok((done, wall))
        };
        let ended = self.timed(context, phase, ops, body, |_| {});
        ended.map(|done| done.output)
    }

    /// Runs a phase whose body knows its own time and the program's last call. `annotate` adds
    /// to its result what the program left behind.
    ///
    /// # Errors
    /// That of the body, or that the target is lost.
    pub(super) fn timed(
        &self,
        context: &mut Context<'_>,
        phase: &'static PhaseDescription,
        ops: u64,
        body: impl FnOnce(&Self) -> Result<(Done, Nanos), Failure>,
        annotate: impl FnOnce(&mut PhaseResult),
    ) -> Result<Done, Failure> {
        let begun = context.begin(phase, ops)?;
        let before = ProcessCpu::read_children();
        let ended = body(self);
        let cpu = ProcessCpu::read_children().since(before);
        let mut result: PhaseResult = begun.result(context.description().name);
        result.cpu = cpu;
        if let Ok((done, wall)) = &ended {
            (result.wall, result.ops) = (*wall, ops);
            result.figures.insert("peak_memory_kib".to_owned(), done.memory as f64);
        }
        context.finish(begun, result, ended.map(|(done, _)| done), |_, result| annotate(result))
    }

    /// Runs it within a phase of [`Steps::timed`].
    ///
    /// # Errors
    /// When it does not succeed.
    pub(super) fn part(&self, arguments: &[&str]) -> Result<Done, Failure> {
        self.call(arguments, "").succeed().map_err(|why| self.failed(arguments, &why))
    }

    /// Writes what is left in memory; how long that took.
    pub(super) fn synced(&self, behind: Behind) -> Result<Nanos, Failure> {
        if behind == Behind::Nothing {
            return Ok(Nanos::ZERO);
        }
        let start = now();
        sync(&self.directory)?;
        Ok(now() - start)
    }
}

/// Writes out everything of a filesystem that is in memory.
pub(super) fn sync(directory: &Path) -> Result<(), Failure> {
    let synced = std::fs::File::open(directory)
        .map_err(OpError::at("open", directory))
        .and_then(|file| rustix::fs::syncfs(file).map_err(OpError::at("syncfs", directory)));
    synced.map_err(|error| Failure::Op { phase: "outside the phases", error })
}

/// Removes a tree as `rm -r` does, and writes that.
///
/// # Errors
/// When it cannot be opened or removed.
pub(super) fn remove_in(directory: &Path, name: &str) -> Result<(), OpError> {
    let opened = std::fs::File::open(directory).map_err(OpError::at("open", directory))?;
    walk::remove(opened.as_fd(), name, || ())?;
    rustix::fs::syncfs(&opened).map_err(OpError::at("syncfs", directory))
}
