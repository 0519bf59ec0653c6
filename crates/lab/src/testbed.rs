//! The lab as a testbed: what the runner asks of it.

use std::collections::BTreeSet;
use std::num::NonZero;

use stack::Refusal;
use store::Environment;
use testbed::{Share, Stop, Stopped, Testbed};
use trial::{Event, Outcome, Step, TrialSpec};
use workload::{InputKind, PhaseEvent};

use crate::disks;
use crate::error::LabError;
use crate::lab::Lab;
use crate::memory::{Peak, Room};
use crate::offer::{lacking, needs_part};
use crate::optional::SYSTEM_PART;
use crate::session::Extras;

impl Lab {
    fn peak(&self, spec: &TrialSpec) -> Result<Peak, LabError> {
        let disks = disks::of(self.profile(), spec)?;
        let inputs = self.inputs_size();
        Ok(Peak::of(self.machine(), inputs.0, spec, self.input_facts(), &disks))
    }

    fn refusal(&self, spec: &TrialSpec, room: Room) -> Option<Refusal> {
        let name = spec.contender.name.as_str();
        let filesystem = stack::filesystems::find(&spec.contender.filesystem)?.describe();
        if let Some(refusal) = self.offer().refusal(name, filesystem) {
            return Some(refusal);
        }
        if filesystem.needs_device {
            let layout = stack::layouts::find(&spec.contender.layout.name)?.describe();
            let mut needed = layout.programs.iter().chain(layout.modules);
            if let Some(what) = needed.find(|what| self.lacks(what)) {
                return Some(lacking(name, what));
            }
        }
        if let Some(refusal) = spec.size.and_then(|size| spec.contender.fits(size).err()) {
            return Some(refusal);
        }
        for choice in &spec.workloads {
            let description = workload::find(&choice.name)?.describe();
            if let Some(program) = description.programs().find(|p| !self.offer().has(p.name)) {
                return Some(lacking(&choice.name, program.name));
            }
            // No source tree is required: without one, a workload generates its own.
            if description.inputs.contains(&InputKind::Mail) && !self.has_mail() {
                return Some(Refusal::new(choice.name.as_str(), "it needs a corpus of mails"));
            }
            if description.inputs.contains(&InputKind::System) && !self.has_system() {
                return Some(needs_part(&choice.name, SYSTEM_PART));
            }
        }
        match self.peak(spec) {
            Err(error) => Some(Refusal::new(name, error.to_string())),
            Ok(peak) => peak.admit(name, room),
        }
    }
}

impl Testbed for Lab {
    fn name(&self) -> &'static str {
        "lab"
    }

    fn environment(&self) -> Environment {
        let mut facts = testbed::machine_facts();
        let profile = self.profile();
        let journal = profile.journal.as_ref().map(|disk| disk.model.clone());
        let journal_cache = profile.journal.as_ref().map(|disk| on_off(disk.write_cache));
        // Its modules lie in a directory named after its release.
        let named = [&self.parts().modules, &self.parts().kernel];
        let kernel = named.into_iter().find_map(|path| path.file_name());
        let kernel = kernel.map(|name| name.to_string_lossy().into_owned());
        let own = [
            ("lab_id", Some(self.id().to_owned())),
            ("lab_profile", Some(profile.name.clone())),
            ("lab_profile_source", Some(profile.source.clone())),
            ("lab_profile_poor", profile.poor.clone()),
            ("lab_ram", Some(profile.ram.to_string())),
            ("lab_ram_available", profile.available.map(|left| left.to_string())),
            ("lab_ram_with_tools", Some(self.machine().ram.to_string())),
            ("lab_processors", Some(self.machine().processors.to_string())),
            ("lab_instruction_ns", Some(profile.instruction_ns.to_string())),
            ("lab_disk", Some(profile.disk.model.clone())),
            ("lab_disk_write_cache", Some(on_off(profile.disk.write_cache))),
            ("lab_disk_depth", Some(profile.disk.depth.to_string())),
            ("lab_disk_scheduler", Some(profile.disk.scheduler.clone())),
            ("lab_front_end", Some(self.front_end().name().to_owned())),
            ("lab_journal_disk", journal),
            ("lab_journal_disk_write_cache", journal_cache),
            ("lab_controller", profile.controller.as_ref().map(|own| own.model.clone())),
            ("lab_data_scale", profile.data_scale.map(|scale| scale.to_string())),
            ("lab_kernel", kernel),
            ("lab_emulator", Some(self.emulator_version().to_owned())),
        ];
        for (key, value) in own {
            if let Some(value) = value {
                facts.0.insert(key.to_owned(), value);
            }
        }
        facts
    }

    fn lab_id(&self) -> Option<String> {
        Some(self.id().to_owned())
    }

    fn lanes(&self, specs: &[TrialSpec]) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let room = Room::now(self.cache());
        // Guests of one kind are of one size.
        let mut seen = BTreeSet::new();
        let kinds = specs.iter().filter(|spec| seen.insert(spec.kind()));
        let fit = kinds.filter_map(|spec| Some(self.peak(spec).ok()?.guests(room))).min();
        cores.min(fit.and_then(|fit| usize::try_from(fit).ok()).unwrap_or(cores)).max(1)
    }

    fn share(&self) -> Share {
        Share::Core
    }

    fn admit(&self, specs: &[TrialSpec]) -> Vec<(usize, Refusal)> {
        let room = Room::now(self.cache());
        let refused = |(nth, spec): (usize, &TrialSpec)| Some((nth, self.refusal(spec, room)?));
        specs.iter().enumerate().filter_map(refused).collect()
    }

    fn unwritten(&self) -> Option<String> {
        self.request_logs()?.unwritten()
    }

    fn run(
        &self,
        spec: &TrialSpec,
        stop: &Stop,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), Stopped> {
        let mut ended = None;
        let mut phases = Vec::new();
        // A filesystem that writes more than was predicted is stopped before the host runs out of
        // memory or disk space.
        let room = Room::now(self.cache());
        let peak = self.peak(spec).ok();
        let store_limit = peak.map(|peak| peak.store_limit(room));
        let backing = peak.and_then(|peak| peak.backing(room)).unwrap_or_default();
        let keep_requests = self.request_logs().is_some();
        let extras = Extras { store_limit, backing, keep_requests, ..Extras::default() };
        let carried = self.carry_out(spec, &extras, stop, &mut |event| {
            // `Ended` is sent only after the logs are written, so that a finished trial has them.
            match event {
                Event::Ended(outcome) => ended = Some(outcome),
                Event::Phase(PhaseEvent::Started { ref workload, ref phase, .. }) => {
                    phases.push(format!("{workload} {phase}"));
                    sink(event);
                }
                event => sink(event),
            }
        });
        let carried = carried.and_then(|carried| {
            sink(Event::Took(carried.whole.wall));
            if let Some(kept) = self.request_logs() {
                kept.write(spec, &carried.logs, &phases)?;
            }
            Ok(())
        });
        let outcome = match (carried, ended) {
            (Err(LabError::Stopped), _) => return Err(Stopped),
            (Ok(()), Some(outcome)) => outcome,
            (Err(error), Some(outcome)) => {
                sink(Event::Note(format!("its request log was not written: {error}")));
                outcome
            }
            // Without a kernel log, the guest did not end because of its own kernel.
            (Err(LabError::NoStart { reason, kernel_log }), None) if kernel_log.is_empty() => {
                Outcome::Lost { reason }
            }
            (Err(LabError::NoStart { reason, kernel_log }), None) => {
                Outcome::GuestDied { reason, kernel_log }
            }
            (Err(error), None) if error.is_full() => Outcome::Lost { reason: error.to_string() },
            (Err(error), None) => {
                Outcome::Failed { step: Step::Prepare, reason: error.to_string() }
            }
            // Cannot happen: watching a guest ends with an outcome or an error.
            (Ok(()), None) => {
                let reason = "it reported no outcome".to_owned();
                Outcome::GuestDied { reason, kernel_log: String::new() }
            }
        };
        sink(Event::Ended(outcome));
        Ok(())
    }
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}
