//! What holds for every shipped model, whatever it is asked.

use std::collections::BTreeMap;

use disk::{
    ArrayState, Asked, DISKS, DiskDescription, Model, Operation, Options, Replay, Request,
    RequestId, Scheduler,
};
use proptest::prelude::*;
use units::{Lba, Nanos, SECTOR_BYTES};

fn find(name: &str) -> DiskDescription {
    DiskDescription::find(name).unwrap_or_else(|error| panic!("{error}"))
}

/// A request somewhere on a device, and how long after the one before it comes.
#[derive(Debug, Clone)]
struct Step {
    gap_us: u64,
    operation: Operation,
    place: u64,
    sectors: u64,
    fua: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let operation = prop_oneof![
        4 => Just(Operation::Write),
        3 => Just(Operation::Read),
        1 => Just(Operation::Flush),
        1 => Just(Operation::Discard),
    ];
    // Few places, so that requests meet; some gaps long enough for a device to fall idle.
    let gap = prop_oneof![3 => 0u64..300, 1 => 0u64..50_000];
    let sectors = prop_oneof![4 => 1u64..64, 1 => 1u64..3000];
    (gap, operation, 0u64..400, sectors, prop::bool::weighted(0.15)).prop_map(
        |(gap_us, operation, place, sectors, fua)| Step { gap_us, operation, place, sectors, fua },
    )
}

fn request(step: &Step, id: u64, capacity: u64) -> Request {
    let flush = step.operation == Operation::Flush;
    // Half of the places lie close together, half all over the device.
    let spread = if step.place.is_multiple_of(2) { 64 } else { capacity / 400 };
    let sectors = if flush { 0 } else { step.sectors };
    let lba = if flush { 0 } else { (step.place * spread).min(capacity - sectors) };
    Request {
        id: RequestId(id),
        operation: step.operation,
        lba: Lba(lba),
        sectors,
        fua: step.fua && step.operation == Operation::Write,
    }
}

/// A request and its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answer {
    request: Request,
    submitted: Nanos,
    completed: Nanos,
}

/// Hands the steps to a model at their times, asks it for its state on the way, and lets it
/// finish. The arrivals do not wait for completions. Returns the answers in their order.
fn run(
    model: &mut dyn Model,
    steps: &[Step],
    mut look: impl FnMut(&dyn Model, &[Answer]),
) -> Vec<Answer> {
    let capacity = model.capacity().0 / SECTOR_BYTES;
    let mut outstanding = BTreeMap::new();
    let mut completed = Vec::new();
    let mut done: Vec<Answer> = Vec::new();
    let mut now = Nanos::ZERO;
    let mut last = Nanos::ZERO;
    let mut settle = |model: &mut dyn Model,
                      now: Nanos,
                      outstanding: &mut BTreeMap<u64, (Request, Nanos)>| {
        model.advance(now, &mut completed);
        for completion in completed.drain(..) {
            assert!(completion.at <= now, "completed in the future");
            assert!(completion.at >= last, "completions out of order");
            last = completion.at;
            let (request, submitted) = outstanding.remove(&completion.id.0).unwrap_or_else(|| {
                panic!("{:?} completed twice or was never asked", completion.id)
            });
            done.push(Answer { request, submitted, completed: completion.at });
        }
        look(model, &done);
    };
    for (id, step) in steps.iter().enumerate() {
        let arrival = now + Nanos::from_micros(step.gap_us);
        while let Some(event) = model.next_event().filter(|event| *event < arrival) {
            settle(model, event.max(now), &mut outstanding);
            now = now.max(event);
        }
        now = arrival;
        let request = request(step, id as u64, capacity);
        outstanding.insert(id as u64, (request, now));
        model.submit(now, request);
    }
    while !outstanding.is_empty() {
        let event = model.next_event().expect("requests outstanding and nothing will happen");
        now = now.max(event);
        settle(model, now, &mut outstanding);
    }
    done
}

fn options() -> impl Strategy<Value = Options> {
    (
        prop::option::of(any::<bool>()),
        prop::option::of(1u32..40),
        prop::option::of(prop::sample::select(vec![
            Scheduler::Fifo,
            Scheduler::Elevator,
            Scheduler::Satf,
        ])),
        prop::option::of(any::<bool>()),
        prop::option::of(0u32..300),
        prop::sample::select(vec![ArrayState::Clean, ArrayState::Degraded, ArrayState::Rebuilding]),
    )
        .prop_map(|(write_cache, queue_depth, scheduler, battery, slower, array_state)| {
            Options {
                write_cache,
                queue_depth,
                scheduler,
                battery,
                slower,
                array_state,
                record_destaging: true,
                ..Options::default()
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing completes before it was submitted; everything completes once; a flush leaves
    /// every write durable that had completed before it was submitted; a FUA write is
    /// durable when it completes; the same seed gives the same answers.
    #[test]
    fn every_model_keeps_its_contract(
        steps in prop::collection::vec(step(), 1..60),
        options in options(),
        seed: u64,
    ) {
        for shipped in DISKS {
            let disk = find(shipped.name);
            let mut model = disk.build(seed, &options);
            let once = run(model.as_mut(), &steps, |_, _| {});
            for answer in &once {
                prop_assert!(answer.completed >= answer.submitted, "{}", shipped.name);
            }
            let again = run(disk.build(seed, &options).as_mut(), &steps, |_, _| {});
            prop_assert!(once == again, "{}: not repeatable", shipped.name);
        }
    }

    /// After a flush, what had completed before it was submitted is durable: shown by sending
    /// the writes, waiting for them, flushing, and asking the model.
    #[test]
    fn a_flush_covers_what_was_completed(
        steps in prop::collection::vec(step(), 1..40),
        options in options(),
        seed: u64,
    ) {
        for shipped in DISKS {
            let disk = find(shipped.name);
            let mut model = disk.build(seed, &options);
            let capacity = model.capacity().0 / SECTOR_BYTES;
            let mut replay = Replay::new(model.as_mut());
            let mut written = Vec::new();
            for (id, step) in steps.iter().enumerate() {
                let request = request(step, id as u64, capacity);
                let Request { operation, lba, sectors, fua, .. } = request;
                replay.one(Asked { operation, lba, sectors, fua }).unwrap();
                match operation {
                    Operation::Write => {
                        if fua {
                            let durable = replay.model().is_durable(lba, sectors);
                            prop_assert!(durable, "{}: FUA {lba} {sectors}", shipped.name);
                        }
                        written.push((lba, sectors));
                    }
                    Operation::Flush => {
                        for (lba, sectors) in &written {
                            let durable = replay.model().is_durable(*lba, *sectors);
                            prop_assert!(durable, "{}: {lba} {sectors}", shipped.name);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// With many requests at once a flush still orders: a write that completed before the
    /// flush was submitted is never lost behind it.
    #[test]
    fn a_flush_among_others_covers_what_was_completed(
        steps in prop::collection::vec(step(), 20..60),
        seed: u64,
    ) {
        for shipped in DISKS {
            let disk = find(shipped.name);
            let mut model = disk.build(seed, &Options::default());
            let capacity = model.capacity().0 / SECTOR_BYTES;
            // For each flush: the writes that had completed when it was submitted.
            let mut covered: BTreeMap<u64, Vec<(Lba, u64)>> = BTreeMap::new();
            let mut outstanding: BTreeMap<u64, Request> = BTreeMap::new();
            let mut safe: Vec<(Lba, u64)> = Vec::new();
            // Everything sent, with its turn among the completions; for each flush, how many
            // had completed when it was sent.
            let mut sent: Vec<(Request, Option<u64>)> = Vec::new();
            let mut flushed: BTreeMap<u64, u64> = BTreeMap::new();
            let mut steps_done = 0u64;
            let mut completed = Vec::new();
            let mut now = Nanos::ZERO;
            for (id, step) in steps.iter().enumerate() {
                let id = id as u64;
                now += Nanos::from_micros(step.gap_us);
                while let Some(event) = model.next_event().filter(|event| *event <= now) {
                    model.advance(event, &mut completed);
                    for completion in completed.drain(..) {
                        let request = outstanding.remove(&completion.id.0).unwrap();
                        sent[completion.id.0 as usize].1 = Some(steps_done);
                        steps_done += 1;
                        match request.operation {
                            Operation::Write => safe.push((request.lba, request.sectors)),
                            Operation::Flush => {
                                for (lba, sectors) in covered.remove(&completion.id.0).unwrap() {
                                    let end = lba.0 + sectors;
                                    // What is written again by a request that was not done
                                    // when the flush came is not defined.
                                    let again = sent.iter().any(|(other, done)| {
                                        matches!(
                                            other.operation,
                                            Operation::Write | Operation::Discard
                                        ) && done.is_none_or(|done| done >= flushed[&request.id.0])
                                            && other.lba.0 < end + 8
                                            && lba.0 < other.lba.0 + other.sectors + 8
                                    });
                                    if !again {
                                        prop_assert!(
                                            model.is_durable(lba, sectors),
                                            "{}: {lba} {sectors}", shipped.name
                                        );
                                    }
                                }
                            }
                            _ => {}
                        }
                    }
                }
                let request = request(step, id, capacity);
                if request.operation == Operation::Flush {
                    covered.insert(id, safe.clone());
                    flushed.insert(id, steps_done);
                }
                outstanding.insert(id, request);
                sent.push((request, None));
                model.submit(now, request);
            }
        }
    }

    /// What a device reports as destaged is what is durable, and what is not durable has not
    /// been reported since it was written.
    #[test]
    fn destaging_is_reported(steps in prop::collection::vec(step(), 1..40), seed: u64) {
        let options = Options { record_destaging: true, ..Options::default() };
        for name in ["maxtor-atlas-10k-v", "hitachi-7k500-400gb", "samsung-870-evo"] {
            let mut model = find(name).build(seed, &options);
            let capacity = model.capacity().0 / SECTOR_BYTES;
            let mut replay = Replay::new(model.as_mut());
            let mut pending: Vec<(u64, u64)> = Vec::new();
            for (id, step) in steps.iter().enumerate() {
                let request = request(step, id as u64, capacity);
                let Request { operation, lba, sectors, .. } = request;
                if operation != Operation::Write {
                    continue;
                }
                replay.one(Asked::write(lba.0, sectors)).unwrap();
                if !replay.model().is_durable(lba, sectors) {
                    pending.push((lba.0, lba.0 + sectors));
                }
            }
            replay.one(Asked::FLUSH).unwrap();
            let mut destaged = Vec::new();
            replay.model().take_destaged(&mut destaged);
            prop_assert!(destaged.is_sorted_by_key(|entry| entry.finished));
            for (start, end) in pending {
                for sector in start..end {
                    let reported = destaged.iter().any(|entry| {
                        (entry.lba.0..entry.lba.0 + entry.sectors).contains(&sector)
                    });
                    prop_assert!(reported, "{name}: sector {sector}");
                }
            }
        }
    }
}
