//! Why a trial cannot run on the devices of this machine.

use ::device::ToolPath;
use stack::Refusal;
use stack::layouts::Role;
use trial::TrialSpec;

use super::{DeviceTestbed, NO_CONTROLLER, roles};
use crate::facts;
use crate::programs::missing_program;

impl DeviceTestbed {
    /// Why this trial cannot run here, if it cannot. Changes nothing.
    pub(super) fn objection(&self, spec: &TrialSpec) -> Option<Refusal> {
        if let Some(refusal) = facts::only_in_guest(spec) {
            return Some(refusal);
        }
        let name = &spec.contender.name;
        let Some(filesystem) = stack::filesystems::find(&spec.contender.filesystem) else {
            return Some(Refusal::new(name, "there is no such filesystem"));
        };
        if let Err(refusal) = spec.contender.validate() {
            return Some(refusal);
        }
        if let Some(refusal) = missing_program(spec, &self.tool_path) {
            return Some(refusal);
        }
        if spec.contender.filesystem == "zfs" {
            // After a killed trial, the kernel would keep holding the devices.
            let rule = "a pool outlives the process that made it";
            return Some(Refusal::new(name, rule).with_next(
                "run it in the lab: --testbed lab; or use zfs-fuse, a limited substitute",
            ));
        }
        let size = spec.size.filter(|_| self.uses_loops());
        if let Some(refusal) = size.and_then(|size| spec.contender.fits(size).err()) {
            return Some(refusal);
        }
        let description = filesystem.describe();
        if self.uses_loops()
            && description.needs_device
            && let Err(refusal) = ::device::check_loop_directory(&self.loop_directory)
        {
            return Some(refusal);
        }
        if !facts::kernel_has(description.kernel_type, description.module) {
            let rule = format!("this kernel has no {}", description.kernel_type);
            return Some(Refusal::new(name, rule));
        }
        if let Some(refusal) = self.missing(name, description.package, description.programs) {
            return Some(refusal);
        }
        if let Some(refusal) = self.layout_objection(spec).filter(|_| description.needs_device) {
            return Some(refusal);
        }
        if let Some(refusal) = facts::no_such_scheduler(&spec.contender) {
            return Some(refusal);
        }
        if !self.uses_loops() && description.needs_device {
            let roles = roles(spec);
            if roles.len() != self.devices.len() {
                let rule = format!(
                    "its layout takes {} devices, but {} are named",
                    roles.len(),
                    self.devices.len()
                );
                return Some(Refusal::new(name, rule).with_next("name each with --device"));
            }
            return self.too_small(spec);
        }
        let rule = facts::too_large_for_memory(description.name, self.room.bytes)?;
        Some(Refusal::new(name, rule).with_next(facts::to_need_less(spec)))
    }

    /// Why the devices that are named do not hold what the largest trial writes, if so.
    fn too_small(&self, spec: &TrialSpec) -> Option<Refusal> {
        let disks = roles(spec).into_iter().zip(&self.devices);
        let data = disks.filter(|(role, _)| matches!(role, Role::Data));
        let sizes = data.map(|(_, device)| facts::size_of_device(device));
        let smallest = sizes.collect::<Option<Vec<_>>>()?.into_iter().min()?;
        let layout = &spec.contender.layout;
        let room = layout.layout().ok()?.device_size(layout, smallest).ok()?;
        let (needed, name) = (self.room.bytes, &spec.contender.name);
        (room < needed).then(|| {
            Refusal::new(name, format!("{needed} are needed, {room} are there"))
                .with_next(facts::to_need_less(spec))
        })
    }

    /// The first of these programs that is not installed.
    fn missing(&self, name: &str, package: Option<&str>, programs: &[&str]) -> Option<Refusal> {
        let tools = ToolPath::of(self.tool_path.iter().cloned());
        let missing = programs.iter().find(|program| tools.find(program).is_none())?;
        let refusal = Refusal::new(name, format!("{missing} is not installed"));
        Some(match package {
            Some(package) => refusal.with_next(format!("install {package}")),
            None => refusal,
        })
    }

    /// Why the layout is not possible here, if it is not: it has a RAID controller, the kernel does
    /// not support it, or a tool is missing.
    fn layout_objection(&self, spec: &TrialSpec) -> Option<Refusal> {
        let contender = &spec.contender;
        let what = format!("{}: layout={}", contender.name, contender.layout);
        if roles(spec).iter().any(|role| matches!(role, Role::Controller(_))) {
            let next = "name that device with --device and leave the layout out, or use the lab";
            return Some(Refusal::new(what, NO_CONTROLLER).with_next(next));
        }
        let layout = stack::layouts::find(&contender.layout.name)?.describe();
        if let Some(module) = layout.modules.iter().find(|module| !facts::kernel_has_module(module))
        {
            let rule = format!("this kernel has no {module}");
            let next = "boot a kernel that has it, or use the lab, whose kernel does";
            return Some(Refusal::new(what, rule).with_next(next));
        }
        self.missing(&what, layout.package, layout.programs)
    }
}
