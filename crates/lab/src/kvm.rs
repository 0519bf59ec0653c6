//! Tests whether KVM works here. Only booting a guest can tell: on many cloud and CI machines the
//! device exists but does not work.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use testbed::Stop;

use crate::checkpoint;
use crate::error::LabError;
use crate::lab::Lab;
use crate::machine::Use;
use crate::memory::Backing;
use crate::vm::{Happening, Vm};

/// How long a guest may take to boot.
const BOOT_LIMIT: Duration = Duration::from_secs(30);

/// What the probe found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kvm {
    /// A guest booted under KVM.
    Works {
        /// Wall time from the start to the guest's checkpoint.
        boot: Duration,
    },
    /// KVM is not usable. Trials in real time in the lab are refused with this reason.
    Unusable {
        /// Why.
        reason: String,
    },
}

impl Lab {
    /// Boots this lab's guest under KVM.
    ///
    /// # Errors
    /// When it was asked to stop. A KVM that does not work is not an error.
    pub fn probe_kvm(&self, stop: &Stop) -> Result<Kvm, LabError> {
        let unusable = |reason: String| Ok(Kvm::Unusable { reason });
        let device = Path::new("/dev/kvm");
        if let Err(error) = std::fs::File::options().read(true).write(true).open(device) {
            return unusable(format!("/dev/kvm: {error}"));
        }
        let began = Instant::now();
        let ram = checkpoint::empty_ram(self.machine())?;
        let region = Backing::Memory.region(Path::new("/"));
        let (machine, software) = (self.machine(), self.software());
        let mut vm = match Vm::start(machine, software, Use::RealTime, &ram, None, region) {
            Ok(vm) => vm,
            Err(error) => return unusable(error.to_string()),
        };
        match vm.wait(began + BOOT_LIMIT, stop)? {
            Happening::Stopped if vm.kernel_log().is_empty() => {
                Ok(Kvm::Works { boot: began.elapsed() })
            }
            Happening::Stopped => unusable("the guest's kernel panicked".to_owned()),
            Happening::Rang => unusable("the guest said something unexpected".to_owned()),
            Happening::Gone(said) => unusable(format!("the emulator ended: {said}")),
            Happening::Nothing => {
                let state = vm.command("query-status", Value::Null);
                let state = state.ok().and_then(|state| {
                    state.get("status").and_then(Value::as_str).map(str::to_owned)
                });
                unusable(format!(
                    "/dev/kvm is there, but a guest did not boot within {} s (its state: {}): {}",
                    BOOT_LIMIT.as_secs(),
                    state.unwrap_or_else(|| "unknown".to_owned()),
                    vm.said_text()
                ))
            }
        }
    }
}
