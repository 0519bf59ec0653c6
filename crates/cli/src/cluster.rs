//! Handing a prepared run to a cluster: what the nodes need is copied to a directory they share.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use runner::{Prepared, SessionError, TestbedRequest};
use slurm::{Options, Order, SlurmError, SlurmTestbed, Spool};
use study::Spreading;

use crate::arguments::ClusterArguments;
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::testbeds;

/// How a run is handed to a cluster, if it is.
pub(crate) struct Spread {
    options: Options,
    /// Where the spools of the store's runs are, or links to them.
    beside: PathBuf,
    /// Where this run's spool is to be, if elsewhere.
    elsewhere: Option<PathBuf>,
    wanted: bool,
}

impl Spread {
    /// Checks the options before anything is begun.
    pub(crate) fn new(arguments: &ClusterArguments, store: &Path) -> Result<Spread, Failure> {
        let options = arguments.options();
        options.check().map_err(Failure::from(Exit::Usage))?;
        let mut beside = store.as_os_str().to_owned();
        beside.push(".slurm");
        let absolute = |path: &Path| std::path::absolute(path).map_err(Failure::from(Exit::Usage));
        Ok(Spread {
            options,
            beside: absolute(Path::new(&beside))?,
            elsewhere: arguments.spool.as_deref().map(absolute).transpose()?,
            wanted: arguments.on.is_some(),
        })
    }

    /// Refuses a testbed that a cluster cannot share, before a run is created.
    pub(crate) fn check(&self, testbed: &TestbedRequest) -> Result<(), Failure> {
        if self.wanted && !testbeds::describe(testbed)?.simulated {
            let message = format!(
                "--on slurm runs trials of --testbed {}: directories and disks of one node are not \
                 those of another, so their figures could not be compared",
                testbeds::names(|known| known.simulated)
            );
            return Err(Failure::new(Exit::Usage, message));
        }
        Ok(())
    }

    /// The spool of a run: where it was put before, or is to be put.
    fn spool(&self, run: &str) -> Spool {
        let beside = self.beside.join(run);
        match &self.elsewhere {
            Some(base) if !beside.exists() => Spool::at(&base.join(run)),
            _ => Spool::at(&beside),
        }
    }

    /// Hands a run to the cluster if that was asked for, now or when the run was begun.
    pub(crate) fn over(&self, mut prepared: Prepared, run: &str) -> Result<Prepared, Failure> {
        let spool = self.spool(run);
        if !self.wanted && !spool.exists() {
            return Ok(prepared);
        }
        self.check(&prepared.request.testbed)?;
        // What a cluster runs is planned as a whole.
        prepared.request.until = None;
        let order = match spool.exists() {
            true => self.known(&spool)?,
            false => self.fill(&spool, &prepared, run)?,
        };
        let tell = Box::new(|said| say!("{said}"));
        prepared.testbed = Box::new(SlurmTestbed::new(prepared.testbed, spool, order, tell));
        Ok(prepared)
    }

    /// Removes the spool of a run that is complete.
    pub(crate) fn done(&self, run: &str) {
        let spool = self.spool(run);
        if spool.exists() {
            let real = std::fs::canonicalize(spool.directory());
            spool.remove();
            if let Ok(real) = real {
                Spool::at(&real).remove();
            }
            let _ = std::fs::remove_file(self.beside.join(run));
            let _ = std::fs::remove_dir(&self.beside);
        }
    }

    /// The order of a run that was submitted before; its options may be given anew.
    fn known(&self, spool: &Spool) -> Result<Order, Failure> {
        // The order is trusted, so nobody else may have been able to write it.
        spool.make().map_err(|error| Failure::new(Exit::Refused, error.to_string()))?;
        let mut order = spool.order().map_err(Failure::from(Exit::Input))?;
        if self.wanted {
            order.options = self.options.clone();
        }
        Ok(order)
    }

    /// Puts everything a task needs into the spool.
    fn fill(&self, spool: &Spool, prepared: &Prepared, run: &str) -> Result<Order, Failure> {
        let failed = |error: SlurmError| Failure::new(Exit::Refused, error.to_string());
        spool.make().map_err(failed)?;
        self.link(spool, run)?;
        let program = std::env::current_exe().map_err(Failure::from(Exit::Refused))?;
        spool.take(&program, "fstrial").map_err(failed)?;
        let inputs = spool.take_inputs(&prepared.inputs).map_err(failed)?;
        let configured = testbeds::read(&prepared.request.testbed)?;
        let lab_software = match configured.lab() {
            Some(lab) => {
                say!("slurm: packing the lab for the nodes");
                Some(crate::labs::export_to(Some(lab), &spool.lab())?)
            }
            None => None,
        };
        let testbed = serde_json::to_value(&prepared.request.testbed);
        Ok(Order {
            token: token(run),
            options: self.options.clone(),
            testbed: testbed.map_err(Failure::from(Exit::Usage))?,
            inputs,
            room: prepared.room.bytes.0,
            inodes: prepared.room.inodes,
            lab_id: prepared.testbed.lab_id(),
            lab_software,
        })
    }

    /// Leaves a link beside the store to a spool elsewhere, so that `--resume` finds it.
    fn link(&self, spool: &Spool, run: &str) -> Result<(), Failure> {
        if self.elsewhere.is_none() {
            return Ok(());
        }
        ::files::private_directory(&self.beside).map_err(Failure::from(Exit::Refused))?;
        std::os::unix::fs::symlink(spool.directory(), self.beside.join(run))
            .map_err(Failure::from(Exit::Refused))
    }
}

impl Spreading for Spread {
    fn over(&self, prepared: Prepared, run: &str) -> Result<Prepared, SessionError> {
        Ok(Spread::over(self, prepared, run)?)
    }

    fn done(&self, run: &str) {
        Spread::done(self, run);
    }
}

/// A name for the jobs of a run that no other run has.
fn token(run: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("fstrial-{run}-{:x}{:x}", now.as_nanos(), std::process::id())
}
