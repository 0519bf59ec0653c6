//! Exit codes. Documented in `fstrial --help` and the man page from this one table.

use std::fmt::Display;
use std::process::ExitCode;

use runner::SessionError;

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything asked for was done.
    Done = 0,
    /// The run is complete, but some trial did not end well.
    SomeFailed = 1,
    /// The command line asks for something that does not exist or contradicts itself.
    Usage = 2,
    /// Nothing was begun: a safety rule, a missing tool, too little room.
    Refused = 3,
    /// The store cannot be used.
    Store = 4,
    /// An input (a mail corpus, a TOML file) cannot be used.
    Input = 5,
    /// An output file cannot be written; the results are in the store.
    Output = 6,
    /// A crosscheck found a departure from the original, or could not decide.
    Departs = 7,
    /// No memory was left; finished trials are in the store.
    Memory = 8,
    /// A run is slower than the one it is compared with, by more than was allowed.
    Slower = 9,
    /// Two runs differ in something beside what they are compared for.
    NotAlike = 10,
    /// A gate can show neither that a run is slower nor that it is not.
    NotShown = 11,
    /// After a power cut a promise was lost, or a filesystem damaged.
    Loses = 12,
    /// Stopped by a signal; `--resume` goes on.
    Stopped = 130,
}

/// The table for help and man page.
pub(crate) const EXIT_CODES: &str = "Exit codes:
  0    everything asked for was done
  1    the run is complete, but some trial failed, was refused, timed out or died
  2    the command line is wrong
  3    refused before anything was begun: a safety rule, a missing tool, too little room
  4    the store cannot be used (locked, of a newer schema, not writable)
  5    an input cannot be used (a corpus that is empty or unreadable, a damaged file)
  6    an output file cannot be written; the results are in the store
  7    a crosscheck found that ours departs from the original, or could not decide
  8    no memory was left; finished trials are in the store, `--resume` goes on
  9    `compare --fail-over`: something is shown to take longer or to ask more of the disk
  10   `compare`: the runs are not alike in something that no contender is to blame for
  11   `compare --fail-over`: neither slower nor `not slower by that share` is shown
  12   `crash`: a promise was lost, or a filesystem damaged or not to be mounted
  130  stopped by a signal; `fstrial run --resume RUN` goes on";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// A command that could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the process ends.
    pub(crate) exit: Exit,
    /// What, why, and the next step.
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, message: message.into() }
    }

    /// For `map_err`: any error under this exit code.
    pub(crate) fn from<E: Display>(exit: Exit) -> impl Fn(E) -> Failure {
        move |error| Failure::new(exit, error.to_string())
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Failure {
        let exit = match error {
            SessionError::Request(_) => Exit::Usage,
            SessionError::Refused(_) => Exit::Refused,
            SessionError::Input(_) => Exit::Input,
            SessionError::Store(_) => Exit::Store,
            SessionError::Stopped(_) | SessionError::StoppedBefore => Exit::Stopped,
        };
        Failure::new(exit, error.to_string())
    }
}

/// Converts the failure of a place (an input or a testbed) to open, for the session.
impl From<Failure> for SessionError {
    fn from(failure: Failure) -> SessionError {
        match failure.exit {
            Exit::Usage => SessionError::Request(failure.message),
            Exit::Input => SessionError::Input(failure.message),
            Exit::Stopped => SessionError::StoppedBefore,
            _ => SessionError::Refused(failure.message),
        }
    }
}

/// What every command returns.
pub(crate) type Ended = Result<Exit, Failure>;
