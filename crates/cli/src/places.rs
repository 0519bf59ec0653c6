//! Where trials run and what they read, for [`runner::Session`].

use std::path::PathBuf;

use device::Ledger;
use runner::{Inputs, Places, Request, Session, SessionError, TestbedRequest};
use store::Store;
use testbed::{Lanes, Testbed};
use trial::InputFiles;
use workload::{InputKind, Space};

use crate::arguments::StoreArgument;
use crate::ending::{stop_on_signals, tell_of_removals};
use crate::exit::{Exit, Failure};
use crate::files::private_cache;
use crate::surroundings;
use crate::testbeds::{self, OpenWith};

/// This machine, and the lab.
pub(crate) struct Here {
    ledger: Ledger,
}

impl Here {
    /// Opens the ledger and removes what interrupted runs left behind.
    pub(crate) fn open() -> Result<Here, Failure> {
        surroundings::proc_and_dev()?;
        surroundings::here_in_utf8()?;
        let ledger = testbed::open_ledger()
            .map_err(|refusal| Failure::new(Exit::Refused, refusal.to_string()))?;
        tell_of_removals();
        crate::commands::clean::sweep_at_start(&ledger)?;
        if let Ok(cache) = lab::cache_directory() {
            lab::sweep_labs(&cache);
        }
        Ok(Here { ledger })
    }

    /// The ledger, which records what is made on this machine.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// A session with the user's store, stopped by signals.
    pub(crate) fn session(&self, store: &StoreArgument) -> Result<Session<'_>, Failure> {
        let path = store.path.clone().unwrap_or_else(Store::default_path);
        let path = crate::files::store_path(&path)?;
        let machine = Lanes::open(&private_cache()?.join("lanes"));
        let machine = machine.map_err(Failure::from(Exit::Refused))?;
        let session = Session::open(&path, self, stop_on_signals()?, command_line())?;
        Ok(session.sharing(machine))
    }
}

impl Places for Here {
    fn inputs(&self, request: &Request, kinds: &[InputKind]) -> Result<Inputs, SessionError> {
        let testbed = testbeds::read(&request.testbed)?;
        let in_guest = testbeds::describe(&request.testbed)?.in_guest;
        let mut inputs = Inputs::default();
        for kind in kinds {
            match kind {
                InputKind::Mail => {
                    if in_guest {
                        crate::commands::corpus::fits_lab(&request.mail)?;
                    }
                    let (path, mails) = crate::commands::corpus::open(&request.mail)?;
                    inputs.files.mail = Some(path);
                    inputs.facts.mean_mail = mails.mean_size();
                }
                InputKind::SourceTree => {
                    let tree =
                        crate::commands::corpus::open_tree(&request.source_tree, request.scale)?;
                    if let Some((path, tree)) = tree {
                        inputs.files.source_tree = Some(path);
                        inputs.facts.source_tree = Some(tree);
                    }
                }
                InputKind::System => {
                    if let Some(lab) = testbed.lab() {
                        inputs.files.system = crate::labs::system(Some(lab))?;
                    }
                }
                InputKind::OwnProgram => {
                    inputs.files.program = own_program(request, in_guest)?;
                    inputs.program = crate::commands::run::program::digest(request)?;
                }
                InputKind::Program(_) => {}
            }
        }
        Ok(inputs)
    }

    fn makes_filesystems(&self, request: &TestbedRequest) -> Result<bool, SessionError> {
        Ok(testbeds::describe(request)?.makes_filesystems)
    }

    fn resumed(
        &self,
        stored: &TestbedRequest,
        devices: &[PathBuf],
    ) -> Result<TestbedRequest, SessionError> {
        Ok(testbeds::read(stored)?.allowing(stored, devices)?)
    }

    fn testbed(
        &self,
        request: &TestbedRequest,
        inputs: InputFiles,
        room: Space,
    ) -> Result<Box<dyn Testbed>, SessionError> {
        let with = OpenWith { ledger: self.ledger.clone(), inputs, room };
        Ok(testbeds::read(request)?.open(with)?)
    }
}

/// Checks the user's own programs; for the lab, returns the archive with what they need.
fn own_program(request: &Request, in_guest: bool) -> Result<Option<PathBuf>, SessionError> {
    use crate::commands::run::program::{archive, jobs, look};
    let jobs = jobs(&request.workloads)?;
    if !in_guest {
        jobs.iter().try_for_each(look)?;
    }
    match &jobs[..] {
        [job] if in_guest => Ok(Some(archive(job)?)),
        [_, _, ..] if in_guest => Err(SessionError::Request(
            "the lab takes one program of your own per run; run the others separately".to_owned(),
        )),
        _ => Ok(None),
    }
}

/// The command as one would type it again.
fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    stack::Command::new("fstrial", words).to_string()
}
