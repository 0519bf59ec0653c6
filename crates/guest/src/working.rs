//! The process of the trial: [`trial::execute`], with the transport's tax added to what it
//! tells.

use rustix::process::Pid;
use trial::{Event, Unguarded};
use workload::PhaseEvent;

use crate::channel::Channel;
use crate::order::{Order, Sabotage};
use crate::region::{Region, Word};
use crate::transport::Reading;
use crate::{init, port};

/// Executes the order's job; the last event it sends is [`Event::Ended`].
pub(crate) fn work(order: &Order, region: &Region, server: Option<Pid>) {
    let (mut channel, words) = match (Channel::open(region), region.words()) {
        (Ok(channel), Ok(words)) => (channel, words),
        (Err(error), _) | (_, Err(error)) => {
            port::say(&format!("events: {error}"));
            return;
        }
    };
    match order.sabotage {
        Some(Sabotage::Panic) => {
            let _ = std::fs::write("/proc/sysrq-trigger", "c");
        }
        Some(Sabotage::Sleep | Sabotage::Kill) => loop {
            // Waits for ever, an hour at a time: each is over as soon as nothing else runs.
            let hour = rustix::time::Timespec { tv_sec: 3600, tv_nsec: 0 };
            let _ = rustix::thread::nanosleep(&hour);
        },
        Some(sabotage @ (Sabotage::Spin | Sabotage::Hang)) => {
            if sabotage == Sabotage::Hang {
                init::schedule_before_others(99);
            }
            loop {
                std::hint::spin_loop();
            }
        }
        None => {}
    }
    let server = server.map(|pid| pid.as_raw_nonzero().get());
    let mut phases = 0;
    let mut reading = None;
    trial::execute(&order.job, &Unguarded, &mut |mut event| {
        let mut starts = false;
        match &mut event {
            Event::Phase(PhaseEvent::Finished(result)) => {
                words.set(Word::Phase, 0);
                if let (Some(reading), Some(server)) = (reading.take(), server) {
                    Reading::tax(reading, &words, server, result);
                }
            }
            Event::Phase(PhaseEvent::Started { .. }) => starts = true,
            _ => {}
        }
        if let Err(error) = channel.send(&event) {
            port::say(&format!("events: {error}"));
        }
        if starts {
            phases += 1;
            words.set(Word::Phase, phases);
            reading = server.map(|server| Reading::take(&words, server));
        }
    });
}
