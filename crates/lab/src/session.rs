//! Carries out one order in one guest: hands it over, passes its events on, and ensures that the
//! guest ends.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use disk::{RECORD_BYTES, Record, RequestLog};
use guest::region::{
    EVENTS_AT, EVENTS_BYTES, MAGIC, ORDER_AT, ORDER_BYTES, PLAN_AT, PLAN_BYTES, REQUESTS_AT,
    Region, STORE_AT, Word, Words,
};
use guest::{Order, Sabotage};
use sha2::{Digest, Sha256};
use testbed::Stop;
use trial::{CrashTask, Event, Outcome, Step, protocol};
use units::{Bytes, Nanos};
use workload::PhaseEvent;

use crate::error::LabError;
use crate::memory::Backing;
use crate::pulse::{PATIENCE, Pulse, Sign};
use crate::vm::{Happening, Spent, Vm};

/// How often a guest that sends nothing is checked.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// How long a kernel may take to write its log.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Options of a single trial in addition to its specification.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extras {
    /// How much its disks may hold together; where `None`, as much as the region has room for.
    pub store_limit: Option<Bytes>,
    /// Where the contents of its disks are kept.
    pub backing: Backing,
    /// Virtual time after which the trial is ended; a week where `None`.
    pub virtual_limit: Option<Nanos>,
    /// Instructions that its kernel may execute without scheduling before it counts as hung, in
    /// addition to those of two virtual seconds; 2 × 10¹⁰ where `None`.
    pub patience: Option<u64>,
    /// Returns the request log of each disk.
    pub keep_requests: bool,
    /// Instead of the trial: makes a bootable system from the packages given as input, and writes
    /// its archive to this file.
    pub prepare_system: Option<PathBuf>,
    /// Instead of the trial: tries what its filesystem can do.
    pub capabilities: bool,
    /// Instead of the trial: runs a program and tries states that a power cut may leave.
    pub crash: Option<PowerCuts>,
    /// Makes the trial fail on purpose, for tests.
    pub sabotage: Option<Sabotage>,
}

/// A program, and the states that are tried after it.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerCuts {
    /// The program.
    pub task: CrashTask,
    /// The states.
    pub plan: crash::Plan,
}

/// Facts about an order that was carried out, in addition to its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// Until the guest resumed from its checkpoint.
    pub to_guest: Spent,
    /// Until each step began, in order.
    pub steps: Vec<(Step, Spent)>,
    /// Time that each phase took on the host, in order.
    pub phases: Vec<PhaseSpent>,
    /// Time that the whole order took on the host.
    pub whole: Spent,
    /// Plain text output of the guest, such as error messages.
    pub said: String,
    /// Size of the output that [`Extras::prepare_system`] asked for.
    pub output: Option<Bytes>,
    /// Requests the disks served.
    pub requests: u64,
    /// SHA-256 of the request log.
    pub log_digest: String,
    /// The request log of each disk, where [`crate::Extras::keep_requests`] asked for it.
    pub logs: Vec<RequestLog>,
    /// Time that the path to the simulated disk adds to a request that waits for its disk.
    pub lead: Nanos,
    /// Time that it adds to a request that does not wait.
    pub floor: Nanos,
}

/// Time that a phase took on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseSpent {
    /// The phase.
    pub phase: String,
    /// From the trial's beginning to the phase's.
    pub began: Spent,
    /// From the phase's beginning to its end.
    pub spent: Spent,
}

/// Carries out an order in a stopped guest. `sink` gets its events, [`Event::Ended`] last and
/// once.
///
/// # Errors
/// When asked to stop: no `Ended` was sent then.
pub(crate) fn carry_out(
    mut vm: Vm,
    order: &Order,
    stop: &Stop,
    sink: &mut dyn FnMut(Event),
    began: Instant,
    extras: &Extras,
) -> Result<Carried, LabError> {
    let words = hand_over(vm.region(), order, extras)?;
    let mut passing = Passing {
        read: 0,
        step: Step::Prepare,
        ended: false,
        steps: Vec::new(),
        phases: Vec::new(),
        phase_began: Spent::default(),
        began,
        store_full: false,
    };
    vm.go_on()?;
    let to_guest = vm.spent(began);
    let patience = extras.patience.unwrap_or(PATIENCE);
    let outcome = watch(&mut vm, &words, order, patience, stop, &mut passing, sink)?;
    if let Some(outcome) = outcome {
        sink(Event::Ended(outcome));
    }
    Ok(Carried {
        to_guest,
        steps: passing.steps,
        phases: passing.phases,
        whole: vm.spent(began),
        said: vm.said_text(),
        output: output(vm.region(), &words, extras)?,
        requests: words.get(Word::Requests),
        logs: if extras.keep_requests {
            request_logs(vm.region(), &words, order.disks.len())?
        } else {
            Vec::new()
        },
        log_digest: log_digest(vm.region(), words.get(Word::Requests))?,
        lead: Nanos(words.get(Word::Lead)),
        floor: Nanos(words.get(Word::Floor)),
    })
}

/// Copies the guest's output to the file that was asked for.
fn output(region: &Region, words: &Words, extras: &Extras) -> Result<Option<Bytes>, LabError> {
    let Some(path) = &extras.prepare_system else { return Ok(None) };
    let length = words.get(Word::OutputBytes);
    if length == 0 {
        return Ok(None);
    }
    let mut to = File::create(path).map_err(LabError::at("create", path))?;
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    while done < length {
        let now = (length - done).min(1 << 20) as usize;
        region
            .file()
            .read_exact_at(&mut buffer[..now], STORE_AT + done)
            .and_then(|()| to.write_all(&buffer[..now]))
            .map_err(LabError::at("write", path))?;
        done += now as u64;
    }
    Ok(Some(Bytes(length)))
}

fn region_error(error: std::io::Error) -> LabError {
    LabError::NoStart { reason: format!("the shared region: {error}"), kernel_log: String::new() }
}

fn hand_over(region: &Region, order: &Order, extras: &Extras) -> Result<Words, LabError> {
    let put = |text: serde_json::Result<Vec<u8>>, what: &str, at: u64, room: u64| {
        let text = text.map_err(|error| LabError::value(what, error.to_string()))?;
        let mut area = region.map(at, room).map_err(region_error)?;
        let place = area
            .bytes_mut()
            .get_mut(..text.len())
            .ok_or_else(|| LabError::value(what, format!("it is larger than {}", Bytes(room))))?;
        place.copy_from_slice(&text);
        Ok::<u64, LabError>(text.len() as u64)
    };
    let words = region.words().map_err(region_error)?;
    let len = put(serde_json::to_vec(order), "the order", ORDER_AT, ORDER_BYTES)?;
    words.set(Word::OrderBytes, len);
    if let Some(cuts) = &extras.crash {
        let len = put(serde_json::to_vec(&cuts.plan), "the plan of states", PLAN_AT, PLAN_BYTES)?;
        words.set(Word::PlanBytes, len);
    }
    words.set(Word::StoreLimit, extras.store_limit.map_or(u64::MAX, |limit| limit.0));
    words.set(Word::Magic, MAGIC);
    Ok(words)
}

/// The state of passing events on.
struct Passing {
    read: usize,
    step: Step,
    ended: bool,
    steps: Vec<(Step, Spent)>,
    phases: Vec<PhaseSpent>,
    phase_began: Spent,
    began: Instant,
    store_full: bool,
}

/// Watches the guest until its end. Returns an outcome if the guest could not report one itself.
fn watch(
    vm: &mut Vm,
    words: &Words,
    order: &Order,
    patience: u64,
    stop: &Stop,
    passing: &mut Passing,
    sink: &mut dyn FnMut(Event),
) -> Result<Option<Outcome>, LabError> {
    let timeout = order.job.spec.timeout;
    let wall_end = passing.began + Duration::from(timeout).min(Duration::from_secs(1 << 31));
    let mut pulse = Pulse::new(vm.machine(), patience);
    loop {
        let happening = vm.wait(wall_end.min(Instant::now() + CHECK_EVERY), stop)?;
        passing.take_events(vm, words, sink)?;
        if passing.ended {
            return Ok(None);
        }
        match happening {
            Happening::Rang => {}
            // The guest is past its checkpoint, so only a panic can stop it now.
            Happening::Stopped => return Ok(Some(died(vm, "its kernel panicked".to_owned()))),
            Happening::Gone(said) if vm.kernel_log().is_empty() => {
                let reason = format!("the emulator ended: {said}");
                return Ok(Some(match vm.was_killed() {
                    true => Outcome::Lost { reason },
                    false => died(vm, reason),
                }));
            }
            Happening::Gone(_) => return Ok(Some(died(vm, "its kernel panicked".to_owned()))),
            Happening::Nothing if Instant::now() >= wall_end => {
                return Ok(Some(Outcome::TimedOut { step: passing.step, after: timeout }));
            }
            Happening::Nothing => {}
        }
        if let Sign::None(why) = pulse.check(words.get(Word::Heartbeat), vm) {
            vm.shake();
            let _ = vm.wait(Instant::now() + LAST_WORDS, stop)?;
            return Ok(Some(died(vm, format!("it hung at {}: {why}", passing.step))));
        }
    }
}

fn died(vm: &Vm, reason: String) -> Outcome {
    let said = vm.said_text();
    let reason = if said.is_empty() { reason } else { format!("{reason}; it said: {said}") };
    Outcome::GuestDied { reason, kernel_log: vm.kernel_log() }
}

impl Passing {
    fn take_events(
        &mut self,
        vm: &Vm,
        words: &Words,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), LabError> {
        let (region, spent) = (vm.region(), vm.spent(self.began));
        self.store_full = words.get(Word::StoreFull) != 0;
        let written = (words.get(Word::EventBytes) as usize).min(EVENTS_BYTES as usize);
        if written <= self.read {
            return Ok(());
        }
        let area = region.map(EVENTS_AT, EVENTS_BYTES).map_err(region_error)?;
        let new = &area.bytes()[self.read..written];
        self.read = written;
        for line in new.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let event = std::str::from_utf8(line)
                .map_err(|error| error.to_string())
                .and_then(|line| protocol::decode_event(line).map_err(|error| error.to_string()))
                .map_err(|error| LabError::value("an event of the guest", error))?;
            self.pass(event, spent, sink);
        }
        Ok(())
    }

    fn pass(&mut self, event: Event, spent: Spent, sink: &mut dyn FnMut(Event)) {
        if self.ended {
            return;
        }
        let event = match event {
            Event::Step(step) => {
                self.step = step;
                self.steps.push((step, spent));
                event
            }
            Event::Phase(PhaseEvent::Started { .. }) => {
                self.phase_began = spent;
                event
            }
            Event::Phase(PhaseEvent::Finished(ref result)) => {
                self.phases.push(PhaseSpent {
                    phase: format!("{} {}", result.workload, result.phase),
                    began: self.phase_began,
                    spent: spent.since(self.phase_began),
                });
                event
            }
            Event::Ended(Outcome::TimedOut { after, .. }) => {
                Event::Ended(Outcome::TimedOut { step: self.step, after })
            }
            Event::Ended(Outcome::Failed { step, reason }) if self.store_full => {
                let room = "the simulated disks have filled the memory that was admitted for them";
                Event::Ended(Outcome::Failed { step, reason: format!("{room}; then: {reason}") })
            }
            event => event,
        };
        self.ended = matches!(event, Event::Ended(_));
        sink(event);
    }
}

/// The request log of a guest that has ended.
///
/// # Errors
/// When the region cannot be mapped.
fn log_bytes<T>(
    region: &Region,
    count: u64,
    mut each: impl FnMut(&[u8]) -> T,
) -> Result<(), LabError> {
    const RECORDS_AT_ONCE: u64 = 65_536;
    let mut done = 0;
    while done < count {
        let now = (count - done).min(RECORDS_AT_ONCE);
        let at = REQUESTS_AT + done * RECORD_BYTES as u64;
        let window = region.map(at, RECORDS_AT_ONCE * RECORD_BYTES as u64).map_err(region_error)?;
        each(&window.bytes()[..(now * RECORD_BYTES as u64) as usize]);
        done += now;
    }
    Ok(())
}

fn log_digest(region: &Region, count: u64) -> Result<String, LabError> {
    let mut digest = Sha256::new();
    log_bytes(region, count, |bytes| digest.update(bytes))?;
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The request log of each of `disks` disks, in order of submission.
///
/// # Errors
/// When the region cannot be mapped.
fn request_logs(region: &Region, words: &Words, disks: usize) -> Result<Vec<RequestLog>, LabError> {
    let dropped = words.get(Word::RequestsLost);
    let mut logs = vec![RequestLog { records: Vec::new(), dropped }; disks];
    let mut read = 0;
    log_bytes(region, words.get(Word::Requests), |bytes| {
        for bytes in bytes.as_chunks::<RECORD_BYTES>().0 {
            let nth = read;
            read += 1;
            // Invalid records are left out: the guest may have died while it wrote one.
            let Ok(record) = Record::decode(bytes, nth) else { continue };
            if let Some(log) = logs.get_mut(usize::from(record.disk)) {
                log.records.push(record);
            }
        }
    })?;
    for log in &mut logs {
        log.records.sort_by_key(|record| record.submitted);
    }
    Ok(logs)
}
