//! The server driven by a kernel of the test's own, with a clock that moves when it waits.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use disk::{
    Activity, Completion, Destaged, Model, Operation, RECORD_BYTES, Record, Request, RequestId,
};
use proptest::prelude::*;
use units::{Bytes, Lba, Nanos};

use crate::region::{REGION_BYTES, REQUESTS_AT, Region, Word};
use crate::server::{Arrival, Ending, FIXED, FrontEnd, Server, Service};
use crate::store::PageStore;

const CAPACITY: Bytes = Bytes::from_mib(4);

/// Takes a fixed time for each request, one after the other.
struct Steady {
    each: Nanos,
    free_at: Nanos,
    /// What it was told last, which never goes back.
    told: Nanos,
    queue: Vec<Completion>,
    /// What it was handed.
    handed: Arc<Mutex<Vec<Request>>>,
}

impl Model for Steady {
    fn capacity(&self) -> Bytes {
        CAPACITY
    }
    fn submit(&mut self, now: Nanos, request: Request) {
        assert!(now >= std::mem::replace(&mut self.told, now));
        self.handed.lock().unwrap().push(request);
        self.free_at = self.free_at.max(now) + self.each;
        self.queue.push(Completion { id: request.id, at: self.free_at });
    }
    fn next_event(&self) -> Option<Nanos> {
        self.queue.first().map(|completion| completion.at)
    }
    fn advance(&mut self, now: Nanos, completed: &mut Vec<Completion>) {
        assert!(now >= std::mem::replace(&mut self.told, now));
        let due = self.queue.iter().take_while(|completion| completion.at <= now).count();
        completed.extend(self.queue.drain(..due));
    }
    fn is_durable(&self, _: Lba, _: u64) -> bool {
        true
    }
    fn take_destaged(&mut self, _: &mut Vec<Destaged>) {}
    fn activity(&self) -> Activity {
        Activity::default()
    }
}

/// What the test sees of its kernel.
#[derive(Default)]
struct Seen {
    now: Nanos,
    /// What will arrive and when, soonest last.
    coming: Vec<(Nanos, Arrival)>,
    /// Data of requests by slot.
    data: BTreeMap<u16, Vec<u8>>,
    /// Completions in order.
    done: Vec<(Nanos, Arrival, Ending)>,
    /// What a wait takes for each completion that it sends off, and how much of that is processor
    /// time.
    takes: (Nanos, Nanos),
    /// Completions that the next wait sends off.
    sends: u64,
    spent: Nanos,
    /// How often the server's work was taken out of the trial's time.
    excluded: u64,
}

#[derive(Clone, Default)]
struct FakeKernel(Rc<RefCell<Seen>>);

impl FrontEnd for FakeKernel {
    fn now(&self) -> Nanos {
        self.0.borrow().now
    }
    fn exclude_since(&self, began: Nanos) {
        // Its clock moves only during its waits.
        assert_eq!(began, self.now());
        self.0.borrow_mut().excluded += 1;
    }
    fn spent(&self) -> Nanos {
        self.0.borrow().spent
    }
    fn wait(&mut self, deadline: Option<Nanos>, arrived: &mut Vec<Arrival>) -> io::Result<()> {
        let mut seen = self.0.borrow_mut();
        let sends = std::mem::take(&mut seen.sends);
        let (time, processor) = seen.takes;
        seen.now += Nanos(sends * time.0);
        seen.spent += Nanos(sends * processor.0);
        let next = seen.coming.last().map(|(at, _)| *at);
        let until = deadline.into_iter().chain(next).min();
        let Some(until) = until else { return Err(io::Error::other("nothing left to do")) };
        seen.now = seen.now.max(until);
        while let Some((at, arrival)) = seen.coming.last().copied()
            && at <= seen.now
        {
            seen.coming.pop();
            arrived.push(arrival);
        }
        Ok(())
    }
    fn fetch(&mut self, of: &Arrival, piece: &mut [u8], place: u64) -> io::Result<()> {
        let seen = self.0.borrow();
        piece.copy_from_slice(&seen.data[&of.slot][place as usize..][..piece.len()]);
        Ok(())
    }
    fn deliver(&mut self, of: &Arrival, piece: &[u8], place: u64) -> io::Result<()> {
        let mut seen = self.0.borrow_mut();
        let data = seen.data.entry(of.slot).or_default();
        let end = place as usize + piece.len();
        data.resize(data.len().max(end), 0);
        data[place as usize..end].copy_from_slice(piece);
        Ok(())
    }
    fn complete(&mut self, of: &Arrival, ending: Ending) -> io::Result<()> {
        let mut seen = self.0.borrow_mut();
        let now = seen.now;
        seen.done.push((now, *of, ending));
        seen.sends += 1;
        Ok(())
    }
}

fn arrival(slot: u16, operation: Operation, lba: u64, sectors: u64) -> Arrival {
    Arrival { disk: 0, slot, operation, lba: Lba(lba), sectors, fua: false }
}

struct Bench {
    kernel: FakeKernel,
    region: Region,
    server: Server<FakeKernel>,
    handed: Arc<Mutex<Vec<Request>>>,
}

fn bench(each: Nanos, limit: Bytes) -> Bench {
    let region = Region::in_memory(REGION_BYTES).unwrap();
    let again = || Region::new(region.file().try_clone().unwrap(), 0, REGION_BYTES);
    let store = PageStore::new(again(), &[CAPACITY], limit).unwrap();
    let kernel = FakeKernel::default();
    let handed = Arc::default();
    let (free_at, told, queue) = (Nanos::ZERO, Nanos::ZERO, Vec::new());
    let model = Steady { each, free_at, told, queue, handed: Arc::clone(&handed) };
    let server =
        Server::new(kernel.clone(), again(), store, vec![Box::new(model)], |_| {}).unwrap();
    region.words().unwrap().set(Word::Service, Service::Models as u64);
    Bench { kernel, region, server, handed }
}

impl Bench {
    fn run(&mut self, mut coming: Vec<(Nanos, Arrival)>) -> Vec<(Nanos, Arrival, Ending)> {
        // Taken from the end; those of one time in the order given.
        coming.reverse();
        coming.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        self.kernel.0.borrow_mut().coming = coming;
        assert!(self.server.run().is_err(), "it ends when nothing is left");
        std::mem::take(&mut self.kernel.0.borrow_mut().done)
    }
}

const MS: Nanos = Nanos::from_millis(1);

#[test]
fn requests_complete_when_the_model_says_and_earlier_by_the_lead() {
    let mut bench = bench(Nanos(5 * MS.0), CAPACITY);
    let done = bench.run(vec![(MS, arrival(3, Operation::Read, 8, 8))]);
    assert_eq!(done, [(Nanos(6 * MS.0), arrival(3, Operation::Read, 8, 8), Ending::Done)]);
    let lead = Nanos::from_micros(30);
    bench.region.words().unwrap().set(Word::Lead, lead.0);
    let at = Nanos(20 * MS.0);
    let done = bench.run(vec![(at, arrival(3, Operation::Flush, 0, 0))]);
    assert_eq!(done[0].0, Nanos(25 * MS.0) - lead);
    let excluded = std::mem::take(&mut bench.kernel.0.borrow_mut().excluded);
    assert!(excluded > 0);
    bench.server = bench.server.on_own_processor(true);
    bench.run(vec![(Nanos(40 * MS.0), arrival(0, Operation::Flush, 0, 0))]);
    assert_eq!(bench.kernel.0.borrow().excluded, 0, "it takes nothing from the trial");
}

/// Two writes are due 10 µs after each other, and the kernel takes 80 µs to end the first.
#[test]
fn what_the_kernel_does_to_end_a_request_makes_the_next_one_no_later_than_on_a_real_drive() {
    let excess = |processor| {
        let mut bench = bench(Nanos::from_micros(10), CAPACITY);
        bench.kernel.0.borrow_mut().takes = (Nanos(80_000), Nanos(processor));
        let words = bench.region.words().unwrap();
        words.set(Word::RoundTrip, 2_000);
        let write = |slot: u16| arrival(slot, Operation::Write, 8 * u64::from(slot), 8);
        for slot in [0, 1] {
            bench.kernel.0.borrow_mut().data.insert(slot, vec![1; 4096]);
        }
        let done = bench.run(vec![(MS, write(0)), (MS, write(1))]);
        assert_eq!(done[1].0, MS + Nanos(90_000));
        words.get(Word::Excess)
    };
    assert_eq!(excess(80_000), 0);
    // As much of it as the empty way there and back takes is the transport's.
    assert_eq!(excess(71_000), 1_000);
    // It did not work but wait.
    assert_eq!(excess(0), 70_000);
}

#[test]
fn a_model_faster_than_the_way_to_it_shows_as_excess() {
    let mut bench = bench(Nanos::from_micros(10), CAPACITY);
    let words = bench.region.words().unwrap();
    words.set(Word::Lead, 30_000);
    words.set(Word::Floor, 25_000);
    let done = bench.run(vec![(MS, arrival(0, Operation::Read, 0, 8))]);
    assert_eq!(done[0].0, MS, "never before it arrived");
    assert_eq!(words.get(Word::Excess), 15_000);
    // Two that are late at the same time are waited for once.
    bench.run(vec![
        (Nanos(5 * MS.0), arrival(0, Operation::Read, 0, 8)),
        (Nanos(5 * MS.0), arrival(1, Operation::Read, 64, 8)),
    ]);
    assert_eq!(words.get(Word::Excess), 30_000);
}

#[test]
fn calibration_asks_no_model_and_leaves_no_record() {
    let mut bench = bench(Nanos(50 * MS.0), CAPACITY);
    let words = bench.region.words().unwrap();
    words.set(Word::Service, Service::Immediate as u64);
    assert_eq!(bench.run(vec![(MS, arrival(0, Operation::Read, 0, 8))])[0].0, MS);
    words.set(Word::Service, Service::Fixed as u64);
    let at = Nanos(2 * MS.0);
    assert_eq!(bench.run(vec![(at, arrival(0, Operation::Read, 0, 8))])[0].0, at + FIXED);
    assert_eq!(words.get(Word::Requests), 0);
}

#[test]
fn every_request_is_logged_with_the_models_times_and_its_phase() {
    let mut bench = bench(Nanos(2 * MS.0), CAPACITY);
    let words = bench.region.words().unwrap();
    words.set(Word::Phase, 4);
    let write = Arrival { fua: true, ..arrival(1, Operation::Write, 16, 8) };
    bench.kernel.0.borrow_mut().data.insert(1, vec![7; 4096]);
    bench.run(vec![(MS, write), (MS, arrival(2, Operation::Flush, 0, 0))]);
    assert_eq!(words.get(Word::Requests), 2);
    let window = bench.region.map(REQUESTS_AT, 4096).unwrap();
    let record = |nth: usize| {
        let bytes = &window.bytes()[nth * RECORD_BYTES..][..RECORD_BYTES];
        Record::decode(bytes.try_into().unwrap(), nth as u64).unwrap()
    };
    let first = Record {
        disk: 0,
        operation: Operation::Write,
        fua: true,
        phase: 4,
        lba: Lba(16),
        sectors: 8,
        submitted: MS,
        completed: Some(Nanos(3 * MS.0)),
        payload: 0,
    };
    assert_eq!(record(0), first);
    assert_eq!(record(1).completed, Some(Nanos(5 * MS.0)));
}

#[test]
fn the_model_is_handed_each_request_as_it_arrived() {
    let mut bench = bench(MS, CAPACITY);
    let asked = [
        (Operation::Write, 16, 8, true),
        (Operation::Write, 32, 4, false),
        (Operation::Read, 48, 2, false),
        (Operation::Discard, 64, 8, false),
        (Operation::Flush, 0, 0, false),
    ];
    let arrivals = (0..).zip(asked).map(|(slot, (operation, lba, sectors, fua))| {
        bench.kernel.0.borrow_mut().data.insert(slot, vec![7; 4096]);
        (MS, Arrival { fua, ..arrival(slot, operation, lba, sectors) })
    });
    let arrivals: Vec<_> = arrivals.collect();
    bench.run(arrivals);
    let handed = bench.handed.lock().unwrap();
    let shown: Vec<_> =
        handed.iter().map(|one| (one.operation, one.lba.0, one.sectors, one.fua)).collect();
    assert_eq!(shown, asked);
    let ids: Vec<_> = handed.iter().map(|one| one.id).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4].map(RequestId), "by the slot they came in");
}

#[test]
fn a_full_store_is_no_space_and_is_told() {
    let mut bench = bench(MS, Bytes(4096));
    let data: Vec<u8> = (0..8192_u32).map(|at| at as u8).collect();
    bench.kernel.0.borrow_mut().data.insert(0, data);
    let done = bench.run(vec![(MS, arrival(0, Operation::Write, 0, 16))]);
    assert_eq!(done[0].2, Ending::NoSpace);
    assert_eq!(bench.region.words().unwrap().get(Word::StoreFull), 1);
    let done = bench.run(vec![(Nanos(9 * MS.0), arrival(1, Operation::Read, 1 << 40, 8))]);
    assert_eq!(done[0].2, Ending::Error);
    assert_eq!(bench.region.words().unwrap().get(Word::Defects), 1);
}

#[test]
fn without_power_a_disk_keeps_what_it_had() {
    let mut bench = bench(MS, CAPACITY);
    let words = bench.region.words().unwrap();
    let mut write = |at: u64, byte: u8| {
        bench.kernel.0.borrow_mut().data.insert(0, vec![byte; 4096]);
        bench.run(vec![(Nanos(at * MS.0), arrival(0, Operation::Write, 0, 8))])[0].2
    };
    assert_eq!(write(1, 7), Ending::Done);
    words.set(Word::PowerLost, 1);
    assert_eq!(write(10, 8), Ending::Done, "who waits is answered");
    words.set(Word::PowerLost, 0);
    bench.run(vec![(Nanos(20 * MS.0), arrival(0, Operation::Read, 0, 8))]);
    assert_eq!(bench.kernel.0.borrow().data[&0], vec![7; 4096]);
}

#[test]
fn a_completion_nobody_waits_for_is_a_defect_and_not_the_end() {
    struct Wrong(bool);
    impl Model for Wrong {
        fn capacity(&self) -> Bytes {
            CAPACITY
        }
        fn submit(&mut self, _: Nanos, _: Request) {
            self.0 = true;
        }
        fn next_event(&self) -> Option<Nanos> {
            self.0.then_some(Nanos(5))
        }
        fn advance(&mut self, now: Nanos, completed: &mut Vec<Completion>) {
            if std::mem::take(&mut self.0) {
                completed.push(Completion { id: RequestId(99), at: now });
            }
        }
        fn is_durable(&self, _: Lba, _: u64) -> bool {
            true
        }
        fn take_destaged(&mut self, _: &mut Vec<Destaged>) {}
        fn activity(&self) -> Activity {
            Activity::default()
        }
    }
    let region = Region::in_memory(REGION_BYTES).unwrap();
    let again = || Region::new(region.file().try_clone().unwrap(), 0, REGION_BYTES);
    let words = region.words().unwrap();
    words.set(Word::Service, Service::Models as u64);
    let store = PageStore::new(again(), &[CAPACITY], CAPACITY).unwrap();
    let kernel = FakeKernel::default();
    kernel.0.borrow_mut().coming = vec![(MS, arrival(0, Operation::Flush, 0, 0))];
    let mut server =
        Server::new(kernel, again(), store, vec![Box::new(Wrong(false))], |_| {}).unwrap();
    assert!(server.run().is_err());
    assert_eq!(words.get(Word::Defects), 1);
}

proptest! {
    /// Whatever arrives, each request completes exactly once, none before its model's time
    /// less the lead, and reads give what was written last.
    #[test]
    fn every_request_completes_once_and_in_time(
        places in prop::collection::vec((0u64..64, 1u64..8, any::<bool>()), 1..40),
        lead in 0u64..50_000,
    ) {
        let mut bench = bench(Nanos::from_micros(200), CAPACITY);
        bench.region.words().unwrap().set(Word::Lead, lead);
        let mut plain = vec![0u8; 80 * 512];
        let mut at = MS;
        for (nth, &(lba, sectors, write)) in places.iter().enumerate() {
            let slot = (nth % 32) as u16;
            let range = (lba * 512) as usize..((lba + sectors) * 512) as usize;
            let operation = if write {
                let data: Vec<u8> = range.clone().map(|at| (at ^ nth) as u8).collect();
                plain[range.clone()].copy_from_slice(&data);
                bench.kernel.0.borrow_mut().data.insert(slot, data);
                Operation::Write
            } else {
                bench.kernel.0.borrow_mut().data.remove(&slot);
                Operation::Read
            };
            let done = bench.run(vec![(at, arrival(slot, operation, lba, sectors))]);
            prop_assert_eq!(done.len(), 1);
            prop_assert_eq!(done[0].2, Ending::Done);
            prop_assert_eq!(done[0].0, Nanos(at.0 + 200_000 - lead));
            if !write {
                let seen = bench.kernel.0.borrow();
                prop_assert_eq!(&seen.data[&slot], &plain[range]);
            }
            at = Nanos(at.0 + 300_000);
        }
    }
}
