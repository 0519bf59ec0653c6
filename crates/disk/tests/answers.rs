//! What each model answers to a fixed sequence of requests, to the nanosecond. Whoever changes a
//! model changes every figure that the lab gives on it: that is to be seen, and meant. If it is,
//! `INSTA_UPDATE=always cargo test -p disk --test answers` writes the new answers.

use std::fmt::Write as _;

use disk::{
    ArrayOf, ArrayState, Asked, DISKS, DiskDescription, Level, Operation, Options, Replay,
    Scheduler,
};
use units::{Bytes, Lba, Nanos, SECTOR_BYTES};

/// Sectors of 4 KiB.
const PAGE: u64 = 8;
/// Where sequential work begins.
const START: u64 = 4096;

fn find(name: &str) -> DiskDescription {
    DiskDescription::find(name).unwrap_or_else(|error| panic!("{error}"))
}

/// Numbers without a pattern, always the same ones (a linear congruential generator).
struct Places(u64);

impl Places {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(0x5851_f42d);
        (self.0 >> 24) % limit
    }
}

/// Requests, how many of them are outstanding at a time, and how long the device rests before.
struct Work {
    name: &'static str,
    rest: Nanos,
    depth: usize,
    requests: Vec<(Nanos, Asked)>,
}

fn work(name: &'static str, depth: usize, count: u64, asked: impl FnMut(u64) -> Asked) -> Work {
    let requests = (0..count).map(asked).map(|asked| (Nanos::ZERO, asked)).collect();
    Work { name, rest: Nanos::ZERO, depth, requests }
}

/// All of it, on a device of so many sectors.
fn all_work(sectors: u64) -> Vec<Work> {
    let mut places = Places(1);
    let mut anywhere = move || places.below(sectors / PAGE) * PAGE;
    let fua = |lba| Asked { fua: true, ..Asked::write(lba, PAGE) };
    let mut list = vec![
        // First, since a new member of an array is full by the end of it.
        Work { name: "of all kinds, at first", ..mixed() },
        work("reads, scattered, one at a time", 1, 16, |_| Asked::read(anywhere(), PAGE)),
        work("reads, scattered, 32 at a time", 32, 80, |_| Asked::read(anywhere(), PAGE)),
        work("reads of 256 KiB in a row, 4 at a time", 4, 24, |nth| {
            Asked::read(START + nth * 512, 512)
        }),
        work("reads of 4 KiB in a row", 1, 48, |nth| Asked::read(2 * START + nth * PAGE, PAGE)),
        work("writes, scattered, 16 at a time", 16, 80, |_| Asked::write(anywhere(), PAGE)),
        work("a flush", 1, 1, |_| Asked::FLUSH),
        work("writes of 256 KiB in a row, 4 at a time", 4, 24, |nth| {
            Asked::write(START + nth * 512, 512)
        }),
        work("writes in a row with a flush after each", 1, 16, |nth| match nth % 2 {
            0 => Asked::write(START + nth * PAGE, PAGE),
            _ => Asked::FLUSH,
        }),
        work("durable writes, 4 at a time", 4, 12, |nth| fua(START + nth * 24)),
        work("one MiB written over and over, 8 at a time", 8, 160, |nth| {
            Asked::write(START + nth * 37 % 256 * PAGE, PAGE)
        }),
        work("parts of physical sectors", 2, 12, |nth| Asked::write(START + nth * 1001, 3)),
        work("large and not aligned", 2, 4, |nth| Asked::write(START + 5 + nth * 8191, 8191)),
    ];
    list.push(Work { rest: Nanos::from_millis(700), ..mixed() });
    list.push(Work {
        rest: Nanos::from_secs(5),
        ..work("reads of what was written", 3, 24, |nth| Asked::read(START + nth * 40, PAGE))
    });
    list
}

/// Requests of all kinds that meet each other, with pauses.
fn mixed() -> Work {
    let mut places = Places(2);
    let mut requests = Vec::new();
    for nth in 0..160 {
        let (lba, sectors) = (START + places.below(64) * 61, 1 + places.below(100));
        let asked = match places.below(10) {
            0 => Asked::FLUSH,
            1 => Asked { operation: Operation::Discard, ..Asked::write(lba, sectors) },
            2 => Asked { fua: true, ..Asked::write(lba, sectors) },
            3..=5 => Asked::read(lba, sectors),
            _ => Asked::write(lba, sectors),
        };
        let pause = if nth % 16 == 15 { 30_000 } else { places.below(400) };
        requests.push((Nanos::from_micros(pause), asked));
    }
    Work { name: "of all kinds, with pauses, 6 at a time", rest: Nanos::ZERO, depth: 6, requests }
}

/// The answers of a device: when each work ends, how long its requests took together, how much of
/// what was written is durable by then.
fn answers(disk: &DiskDescription, options: &Options) -> String {
    let mut model = disk.build(7, &Options { record_destaging: true, ..options.clone() });
    let sectors = model.capacity().0 / SECTOR_BYTES;
    let mut replay = Replay::new(model.as_mut());
    let mut text = format!("{sectors} sectors\n");
    let mut destaged = Vec::new();
    for Work { name, rest, depth, requests } in all_work(sectors) {
        replay.idle(rest);
        let mut took = 0;
        // By its place in the order of completion, so that another order is another sum.
        let (mut nth, mut order) = (0, 0);
        let written: Vec<(Lba, u64)> = requests
            .iter()
            .filter(|(_, asked)| asked.operation == Operation::Write)
            .map(|(_, asked)| (asked.lba, asked.sectors))
            .collect();
        replay
            .closed(depth, requests, |served| {
                nth += 1;
                took += served.latency().0;
                order += nth * (served.asked.lba.0 % 1009);
            })
            .unwrap();
        let durable =
            written.iter().filter(|(lba, count)| replay.model().is_durable(*lba, *count)).count();
        replay.model().take_destaged(&mut destaged);
        let moved: u64 = destaged.iter().map(|it| it.sectors).sum();
        let over: u64 = destaged.iter().map(|it| (it.finished - it.started).0).sum();
        destaged.clear();
        let (now, all) = (replay.now().0, written.len());
        writeln!(
            text,
            "{name}: ends at {now} ns, took {took} ns, order {order}; {durable} of {all} durable, \
             {moved} sectors moved in {over} ns"
        )
        .unwrap();
    }
    let rebuilding = if replay.model().is_rebuilding() { ", rebuilding" } else { "" };
    writeln!(text, "{:?}{rebuilding}", replay.model().activity()).unwrap();
    text
}

/// Adds the answers of a device to a page of them.
fn note(page: &mut String, name: &str, disk: &DiskDescription, options: &Options) {
    writeln!(page, "## {name}\n{}", answers(disk, options)).unwrap();
}

#[test]
fn shipped_devices_answer_as_ever() {
    let mut page = String::new();
    for shipped in DISKS {
        note(&mut page, shipped.name, &find(shipped.name), &Options::default());
    }
    insta::assert_snapshot!("shipped", page);
}

#[test]
fn a_drive_with_its_options_answers_as_ever() {
    let (mut page, none) = (String::new(), Options::default);
    for (name, options) in [
        ("without a write cache", Options { write_cache: Some(false), ..none() }),
        ("in order of arrival", Options { scheduler: Some(Scheduler::Fifo), ..none() }),
        ("upwards", Options { scheduler: Some(Scheduler::Elevator), ..none() }),
        ("by access time", Options { scheduler: Some(Scheduler::Satf), ..none() }),
        ("without reading ahead", Options { read_ahead: Some(false), ..none() }),
        ("three at a time", Options { queue_depth: Some(3), ..none() }),
        ("slower by 7 %", Options { slower: Some(70), ..none() }),
        ("of 100 MiB", Options { capacity: Some(Bytes::from_mib(100)), ..none() }),
    ] {
        for disk in ["hitachi-7k1000c-1tb", "seagate-st32171w-disksim"] {
            note(&mut page, &format!("{disk} {name}"), &find(disk), &options);
        }
    }
    insta::assert_snapshot!("drive-options", page);
}

#[test]
fn an_ssd_with_its_options_answers_as_ever() {
    let (mut page, none) = (String::new(), Options::default);
    for (name, options) in [
        ("without a write cache", Options { write_cache: Some(false), ..none() }),
        ("three at a time", Options { queue_depth: Some(3), ..none() }),
        ("slower by 7 %", Options { slower: Some(70), ..none() }),
    ] {
        for disk in ["samsung-870-evo", "samsung-970-pro", "samsung-pm883", "virtual-machine"] {
            note(&mut page, &format!("{disk} {name}"), &find(disk), &options);
        }
    }
    insta::assert_snapshot!("ssd-options", page);
}

/// So small that the work above fills it, and that it collects garbage.
#[test]
fn a_worn_ssd_answers_as_ever() {
    let shipped = DISKS.iter().find(|disk| disk.name == "samsung-870-evo").unwrap();
    let text = shipped.text.replace("pages_per_block = 256", "pages_per_block = 16");
    let disk = DiskDescription::parse("worn.toml", &text).unwrap();
    let options = Options { capacity: Some(Bytes::from_mib(48)), ..Options::default() };
    let mut model = disk.build(7, &options);
    let pages = model.capacity().0 / SECTOR_BYTES / PAGE;
    let mut replay = Replay::new(model.as_mut());
    let fill = (0..pages / 256).map(|nth| (Nanos::ZERO, Asked::write(nth * 2048, 2048)));
    replay.closed(4, fill, |_| {}).unwrap();
    let mut places = Places(3);
    let mut text = String::new();
    for round in 0..4 {
        let over: Vec<_> = (0..4000)
            .map(|_| (Nanos::ZERO, Asked::write(places.below(pages) * PAGE, PAGE)))
            .collect();
        let mut took = 0;
        replay.closed(16, over, |served| took += served.latency().0).unwrap();
        let erases = replay.model().activity().erases;
        writeln!(
            text,
            "round {round}: ends at {} ns, took {took} ns, {erases} erases",
            replay.now().0
        )
        .unwrap();
    }
    insta::assert_snapshot!("worn", text);
}

/// `fstrial self disk check`, of one device of each kind.
#[test]
fn a_check_measures_as_ever() {
    let mut page = String::new();
    for name in ["ideal", "ide-2gb-1998", "samsung-pm883", "virtual-machine", "adaptec-2010s"] {
        let found = disk::check(&find(name), 7, &Options::default()).unwrap();
        writeln!(page, "## {name}").unwrap();
        for row in found.rows.iter().filter(|row| row.measured.is_some()) {
            writeln!(page, "{}: {:?}, holds: {:?}", row.figure.title(), row.measured, row.holds())
                .unwrap();
        }
        writeln!(page, "{found}").unwrap();
        writeln!(page, "{:?}\n{:?}", found.zones, found.seeks).unwrap();
    }
    insta::assert_snapshot!("check", page);
}

fn array(level: Level, members: u32, member: &str) -> DiskDescription {
    let controller = DISKS.iter().find(|disk| disk.name == "areca-arc-1220").unwrap();
    let (stripe_unit, write_memory) = (Some(Bytes::from_kib(32)), Some(Bytes::from_mib(2)));
    let array = ArrayOf { level, members, stripe_unit, write_memory, member: find(member) };
    DiskDescription::parse_array("array", controller.text, array).unwrap()
}

#[test]
fn arrays_answer_as_ever() {
    use ArrayState::{Clean, Degraded, Rebuilding};
    let mut page = String::new();
    for (level, members) in
        [(Level::Raid0, 3), (Level::Raid1, 2), (Level::Raid5, 5), (Level::Raid10, 4)]
    {
        let disk = array(level, members, "ide-2gb-1998");
        for array_state in [Clean, Degraded, Rebuilding] {
            for battery in [true, false] {
                let name = format!("{level:?} {array_state:?} battery {battery}");
                let options = Options { array_state, battery: Some(battery), ..Options::default() };
                note(&mut page, &name, &disk, &options);
            }
        }
    }
    insta::assert_snapshot!("arrays", page);
}
