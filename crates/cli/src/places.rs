//! Where trials run and what they read, for [`runner::Session`]: the table of testbeds.

use device::Ledger;
use runner::{Inputs, Places, Request, Session, SessionError, TestbedRequest};
use store::Store;
use testbed::{DeviceTestbed, DirectoryTestbed, Lanes, Testbed};
use trial::InputFiles;
use units::Bytes;
use workload::InputKind;

use crate::arguments::StoreArgument;
use crate::ending::{stop_on_signals, tell_of_removals};
use crate::exit::{Exit, Failure};
use crate::files::{private_cache, tool_path};

/// This machine, and the lab.
pub(crate) struct Here {
    ledger: Ledger,
}

impl Here {
    /// Opens the ledger and removes what interrupted runs left behind.
    pub(crate) fn open() -> Result<Here, Failure> {
        let ledger = testbed::open_ledger()
            .map_err(|refusal| Failure::new(Exit::Refused, refusal.to_string()))?;
        tell_of_removals();
        crate::commands::clean::sweep_at_start(&ledger)?;
        Ok(Here { ledger })
    }

    /// A session with the user's store, stopped by signals.
    pub(crate) fn session(&self, store: &StoreArgument) -> Result<Session<'_>, Failure> {
        let path = store.path.clone().unwrap_or_else(Store::default_path);
        crate::files::check_store(&path)?;
        let machine = Lanes::open(&private_cache()?.join("lanes"));
        let machine = machine.map_err(Failure::from(Exit::Refused))?;
        let session = Session::open(&path, self, stop_on_signals()?, command_line())?;
        Ok(session.sharing(machine))
    }
}

impl Places for Here {
    fn inputs(&self, request: &Request, kinds: &[InputKind]) -> Result<Inputs, SessionError> {
        let mut inputs = Inputs::default();
        for kind in kinds {
            match kind {
                InputKind::Mail => {
                    if request.testbed.is_lab() {
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
                    if let TestbedRequest::Lab { name, .. } = &request.testbed {
                        inputs.files.system = crate::labs::system(name.as_deref())?;
                    }
                }
                InputKind::OwnProgram => inputs.files.program = own_program(request)?,
                InputKind::Program(_) => {}
            }
        }
        Ok(inputs)
    }

    fn testbed(
        &self,
        request: &TestbedRequest,
        inputs: InputFiles,
        room: Bytes,
    ) -> Result<Box<dyn Testbed>, SessionError> {
        let ledger = self.ledger.clone();
        Ok(match request {
            TestbedRequest::Dir { directories, names, drop_caches } => {
                Box::new(DirectoryTestbed::new(
                    ledger,
                    directories,
                    names,
                    *drop_caches,
                    inputs,
                    tool_path(),
                    room,
                ))
            }
            TestbedRequest::Device { devices, destroy, loop_directory } => Box::new(
                DeviceTestbed::new(ledger, devices, destroy, loop_directory, inputs, tool_path()),
            ),
            TestbedRequest::Lab { name, profile, disk, changes, request_log } => {
                let disk = disk.as_deref();
                let mut lab = crate::labs::open(name.as_deref(), profile, disk, changes, &inputs)?;
                if let Some(directory) = request_log {
                    lab.keep_request_logs(directory.clone());
                }
                Box::new(lab)
            }
        })
    }
}

/// Looks at the programs of the user's own; in the lab, the archive with what they need.
fn own_program(request: &Request) -> Result<Option<std::path::PathBuf>, SessionError> {
    use crate::commands::run::program::{archive, jobs, look};
    let jobs = jobs(&request.workloads)?;
    if !request.testbed.is_lab() {
        jobs.iter().try_for_each(look)?;
    }
    match &jobs[..] {
        [job] if request.testbed.is_lab() => Ok(Some(archive(job)?)),
        [_, _, ..] if request.testbed.is_lab() => Err(SessionError::Request(
            "the lab takes one program of your own a run; run the others apart".to_owned(),
        )),
        _ => Ok(None),
    }
}

/// The command as one would type it again.
fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    stack::Command::new("fstrial", words).to_string()
}
