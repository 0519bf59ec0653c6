//! The process of the trial: [`trial::execute`], with the transport's overhead added to what it
//! reports.

use measure::ProgramCpu;
use trial::{Event, Outcome, Step, Unguarded};
use workload::PhaseEvent;

use crate::channel::Channel;
use crate::order::{FrontEndKind, Order};
use crate::region::{Region, Word, Words};
use crate::tape::{SharedTape, TapeOfOrder};
use crate::transport::{Reading, unknown_share};
use crate::{held, models, output, port, sabotage};

/// Note for a phase during which an array's rebuild ended.
const FILLED: &str = "the array's rebuild was complete before this phase ended: the rest of the \
phase ran without it";

/// Sends the host a single event, the last one.
pub(crate) fn tell(region: &Region, event: &Event) {
    let told = Channel::open(region).and_then(|mut channel| channel.send(event));
    if let Err(error) = told {
        port::say(&format!("events: {error}"));
    }
}

/// Executes the order's job; the last event it sends is [`Event::Ended`].
pub(crate) fn work(
    order: &Order,
    region: &Region,
    server: Option<ProgramCpu>,
    tape: Option<SharedTape>,
) {
    let (mut channel, words) = match (Channel::open(region), region.words()) {
        (Ok(channel), Ok(words)) => (channel, words),
        (Err(error), _) | (_, Err(error)) => {
            port::say(&format!("events: {error}"));
            return;
        }
    };
    if order.prepare_system {
        let ended = match output::prepare(order, region, &words) {
            Ok(()) => Outcome::Done,
            Err(reason) => Outcome::Failed { step: Step::Work, reason },
        };
        if let Err(error) = channel.send(&Event::Ended(ended)) {
            port::say(&format!("events: {error}"));
        }
        return;
    }
    if order.capabilities {
        trial::capabilities::try_capabilities(&order.job, &mut |event| {
            if let Err(error) = channel.send(&event) {
                port::say(&format!("events: {error}"));
            }
        });
        return;
    }
    if let (Some(task), Some(tape)) = (&order.crash, tape) {
        let tape = TapeOfOrder { tape, region };
        trial::try_power_cuts(&order.job, task, &tape, &mut |event| {
            if let Err(error) = channel.send(&event) {
                port::say(&format!("events: {error}"));
            }
        });
        return;
    }
    if let Some(sabotage) = order.sabotage {
        sabotage::fail(sabotage, &order.front_end.device_path(0));
    }
    execute(order, &mut channel, &words, server);
}

/// Executes the trial itself.
fn execute(order: &Order, channel: &mut Channel, words: &Words, server: Option<ProgramCpu>) {
    let ordered_rebuild = order.disks.iter().any(models::is_rebuilding);
    let mut phases = 0;
    let mut readings = Readings::default();
    let mut held = None;
    if let Some(left) = order.available {
        held::limit_dirty(left).unwrap_or_else(|error| given_up(&error));
    }
    let switch_power = |on: bool| words.set(Word::PowerLost, u64::from(!on));
    trial::execute(&order.job, &Unguarded::with_power(&switch_power), &mut |mut event| {
        let mut starts = None;
        match &mut event {
            Event::Phase(PhaseEvent::Finished(result)) => {
                words.set(Word::Phase, 0);
                if ordered_rebuild && words.get(Word::Rebuilding) == 0 {
                    result.notes.push(FILLED.to_owned());
                }
                let now = server.map(|server| Reading::take(words, server, order.server_processor));
                if let Some((from, to)) = readings.of(&result.phase, now) {
                    from.add_overhead(to, result);
                    if order.front_end == FrontEndKind::Nbd {
                        unknown_share(result);
                    }
                }
            }
            Event::Phase(PhaseEvent::Started { phase, .. }) => starts = Some(phase.clone()),
            // The measurement is over, and a check may need more memory: with 96 MB left, a ZFS
            // scrub was seen to run without end.
            Event::Step(Step::Unmount) => held = None,
            _ => {}
        }
        if let Err(error) = channel.send(&event) {
            port::say(&format!("events: {error}"));
        }
        if let Some(phase) = starts {
            // Not earlier: mkfs and mounting may need more memory than is left to the trial.
            if let Some(left) = order.available.filter(|_| phases == 0) {
                let began = measure::now();
                held = Some(held::all_but(left).unwrap_or_else(|error| given_up(&error)));
                held::limit_dirty_by_share().unwrap_or_else(|error| given_up(&error));
                // A program that runs through several phases is already in the first one.
                measure::exclude_since(began);
            }
            phases += 1;
            words.set(Word::Phase, phases);
            if let Some(server) = server {
                readings.begin(phase, Reading::take(words, server, order.server_processor));
            }
        }
    });
}

/// A trial with more memory than requested would be a different trial.
fn given_up(error: &std::io::Error) -> ! {
    port::say(&format!("holding memory back: {error}"));
    std::process::exit(1)
}

/// Readings at the beginnings of phases. A phase is over when it is reported or when the next one
/// begins: the phases of a program that runs through several are reported together at its end.
#[derive(Default)]
struct Readings(Vec<(String, Reading, Option<Reading>)>);

impl Readings {
    fn begin(&mut self, phase: String, now: Reading) {
        if let Some((_, _, to)) = self.0.last_mut() {
            to.get_or_insert(now);
        }
        self.0.push((phase, now, None));
    }

    /// The beginning and the end of a phase that is reported `now`.
    fn of(&mut self, phase: &str, now: Option<Reading>) -> Option<(Reading, Reading)> {
        let place = self.0.iter().position(|(name, ..)| name == phase)?;
        let (_, from, to) = self.0.remove(place);
        Some((from, to.or(now)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    #[test]
    fn a_phase_is_over_when_the_next_one_begins_though_it_is_reported_later() {
        let at = |secs| Reading::at(Nanos::from_secs(secs));
        let mut readings = Readings::default();
        readings.begin("create".to_owned(), at(1));
        readings.begin("read".to_owned(), at(3));
        let mut of = |phase: &str| {
            let (from, to) = readings.of(phase, Some(at(7)))?;
            Some((from.moment(), to.moment()))
        };
        assert_eq!(of("create"), Some((Nanos::from_secs(1), Nanos::from_secs(3))));
        assert_eq!(of("read"), Some((Nanos::from_secs(3), Nanos::from_secs(7))));
        assert_eq!(of("read"), None);
    }
}
