//! A phase between its beginning and its end.

use measure::{DeviceCounters, DeviceUse, MachineCpu};
use units::DeviceNumber;

use crate::{Cache, PhaseDescription, PhaseResult};

/// A phase that has begun, with what was counted then.
pub(crate) struct Begun {
    pub(crate) phase: &'static PhaseDescription,
    cache: Cache,
    devices: Vec<DeviceNumber>,
    device_before: Vec<Option<DeviceCounters>>,
    machine_before: Option<MachineCpu>,
}

impl Begun {
    /// Begins now; everything these devices do from now on belongs to the phase.
    pub(crate) fn now(
        phase: &'static PhaseDescription,
        cache: Cache,
        devices: Vec<DeviceNumber>,
    ) -> Begun {
        let device_before = read_devices(&devices);
        Begun { phase, cache, devices, device_before, machine_before: MachineCpu::read() }
    }

    /// A result with what the machine and the devices did since then; the caller fills in the
    /// rest.
    pub(crate) fn result(&self, workload: &str) -> PhaseResult {
        let mut result = PhaseResult::empty(workload, self.phase.name, self.cache.clone());
        result.machine_cpu =
            MachineCpu::read().zip(self.machine_before).map(|(after, before)| after.since(before));
        result.device = device_use(&self.device_before, &read_devices(&self.devices));
        result
    }
}

fn read_devices(devices: &[DeviceNumber]) -> Vec<Option<DeviceCounters>> {
    devices.iter().map(|device| DeviceCounters::read(*device)).collect()
}

fn device_use(
    before: &[Option<DeviceCounters>],
    after: &[Option<DeviceCounters>],
) -> Option<DeviceUse> {
    before
        .iter()
        .zip(after)
        .map(|(before, after)| Some((*after)?.since((*before)?)))
        .reduce(|sum, one| Some(sum?.plus(one?)))
        .flatten()
}
