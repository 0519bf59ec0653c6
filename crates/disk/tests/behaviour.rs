//! How particular models behave: rates, queues, arrays, wear.

use disk::{
    ArrayOf, ArrayState, Asked, DISKS, Device, DiskDescription, Level, Operation, Options, Replay,
    Scheduler, Served,
};
use units::{Bytes, Lba, Nanos, SECTOR_BYTES};

fn find(name: &str) -> DiskDescription {
    DiskDescription::find(name).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn another_seed_is_another_platter_or_another_wait() {
    for shipped in DISKS {
        let disk = find(shipped.name);
        let first = |seed: u64| {
            let mut model = disk.build(seed, &Options::default());
            Replay::new(model.as_mut()).one(Asked::read(1 << 20, 8)).unwrap().completed
        };
        let times: std::collections::BTreeSet<Nanos> = (0..8).map(first).collect();
        let draws = match &disk.device {
            Device::Drive(_) | Device::Controller(..) | Device::Hypervisor(_) => true,
            Device::Ssd(_) | Device::Ideal(_) => false,
        };
        assert_eq!(times.len() > 4, draws, "{}: {times:?}", shipped.name);
    }
}

/// Bytes a second of the requests seen, from the first submission to the last completion.
fn mb_per_s(served: &[Served]) -> f64 {
    let bytes: u64 = served.iter().map(|served| served.asked.sectors * SECTOR_BYTES).sum();
    let (first, last) = (served[0].submitted, served[served.len() - 1].completed);
    bytes as f64 / 1e6 / (last - first).as_secs_f64()
}

fn sequential(disk: &DiskDescription, options: &Options, asked: fn(u64, u64) -> Asked) -> f64 {
    let mut model = disk.build(1, options);
    let mut served = Vec::new();
    let requests = (0..400).map(|index| (Nanos::ZERO, asked(index * 512, 512)));
    Replay::new(model.as_mut()).closed(4, requests, |each| served.push(each)).unwrap();
    mb_per_s(&served)
}

/// Sustained reading and writing is what the geometry allows: bytes of a cylinder over its
/// revolutions and switches; and never beyond the link.
#[test]
fn sequential_rates_are_those_of_the_geometry() {
    for shipped in DISKS {
        let disk = find(shipped.name);
        let Device::Drive(drive) = &disk.device else { continue };
        let slots = f64::from(disk.zones()[0].1);
        let heads = f64::from(drive.heads);
        let at_the_head = 512.0 * slots * f64::from(drive.rpm) / 60.0 / 1e6;
        let read = sequential(&disk, &Options::default(), Asked::read);
        let write = sequential(&disk, &Options::default(), Asked::write);
        let through = sequential(
            &disk,
            &Options { write_cache: Some(false), ..Options::default() },
            Asked::write,
        );
        for (what, rate) in [("read", read), ("cached write", write), ("write", through)] {
            assert!(rate <= drive.link_mb_per_s * 1.001, "{}: {what} {rate}", disk.name);
        }
        assert!(read <= at_the_head * 1.001, "{}: {read} over {at_the_head}", disk.name);
        assert!(through <= at_the_head * 1.001, "{}: {through}", disk.name);
        // Only where neither measured skews nor spare sectors nor a slow bus come between.
        if drive.skew.is_none() && drive.ramp.is_some() {
            let cylinder_switch =
                drive.cylinder_switch.or(drive.seek.single).unwrap_or_default().as_secs_f64();
            let revolution = 60.0 / f64::from(drive.rpm);
            let sustained = 512.0 * slots * heads
                / ((heads - 1.0) * drive.head_switch.as_secs_f64()
                    + cylinder_switch
                    + heads * revolution)
                / 1e6;
            let error = (read / sustained - 1.0).abs();
            assert!(error < 0.02, "{}: {read} for {sustained}", disk.name);
        }
    }
}

fn random_iops(disk: &DiskDescription, depth: usize, options: &Options) -> f64 {
    let mut model = disk.build(7, options);
    let places = model.capacity().0 / SECTOR_BYTES / 8;
    let mut at = 1u64;
    let requests = (0..1500).map(|_| {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (Nanos::ZERO, Asked::read((at >> 20) % places * 8, 8))
    });
    let mut last = Nanos::ZERO;
    Replay::new(model.as_mut()).closed(depth, requests, |each| last = each.completed).unwrap();
    1500.0 / last.as_secs_f64()
}

#[test]
fn more_at_once_is_faster_in_the_order_of_cleverness() {
    let disk = find("hitachi-7k500-400gb");
    let with = |scheduler| Options { scheduler: Some(scheduler), ..Options::default() };
    let alone = random_iops(&disk, 1, &Options::default());
    let fifo = random_iops(&disk, 32, &with(Scheduler::Fifo));
    let elevator = random_iops(&disk, 32, &with(Scheduler::Elevator));
    let satf = random_iops(&disk, 32, &with(Scheduler::Satf));
    assert!(fifo > alone * 0.99, "{fifo} {alone}");
    assert!(elevator > fifo * 1.2, "{elevator} {fifo}");
    assert!(satf > elevator * 1.1, "{satf} {elevator}");
}

/// No request starves: among 32 at a time none waits for much longer than the age limit.
#[test]
fn the_age_limit_holds() {
    let disk = find("hitachi-7k500-400gb");
    let mut model = disk.build(3, &Options::default());
    let mut longest = Nanos::ZERO;
    // All but one request lie close together.
    let requests = (0..4000u64).map(|index| {
        let lba = if index == 100 { 700_000_000 } else { index * 7919 % 500_000 };
        (Nanos::ZERO, Asked::read(lba, 8))
    });
    Replay::new(model.as_mut())
        .closed(32, requests, |each| longest = longest.max(each.latency()))
        .unwrap();
    assert!(longest < Nanos::from_millis(560), "{longest}");
}

/// A small write to RAID 5 costs each of two members a read and a write of the same place: a
/// revolution more than the access itself.
#[test]
fn a_small_write_to_raid_5_costs_a_revolution() {
    let disk = find("adaptec-2010s");
    let options = Options { battery: Some(false), ..Options::default() };
    let mean = |asked: fn(u64, u64) -> Asked| {
        let mut model = disk.build(5, &options);
        let places = model.capacity().0 / SECTOR_BYTES / 8;
        let mut sum = 0.0;
        let mut replay = Replay::new(model.as_mut());
        for index in 0..400u64 {
            let lba = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) % places * 8;
            sum += replay.one(asked(lba, 8)).unwrap().latency().as_millis_f64();
        }
        sum / 400.0
    };
    let (read, write) = (mean(Asked::read), mean(Asked::write));
    let revolution = 60_000.0 / 10_001.0;
    assert!(write > read + revolution * 0.95, "{write} {read}");
    let mut model = disk.build(5, &options);
    Replay::new(model.as_mut()).one(Asked::write(0, 8)).unwrap();
    let activity = model.activity();
    assert_eq!((activity.media_read_sectors, activity.media_written_sectors), (16, 16));
    // A whole stripe of two units of 16 KiB reads nothing.
    let mut model = disk.build(5, &options);
    Replay::new(model.as_mut()).one(Asked::write(0, 64)).unwrap();
    let activity = model.activity();
    assert_eq!((activity.media_read_sectors, activity.media_written_sectors), (0, 96));
}

/// Without a member of RAID 5, what it had costs a read of each of the others; what others have
/// costs what it did.
#[test]
fn a_lost_member_of_raid_5_is_computed_from_the_others() {
    let disk = find("adaptec-2010s");
    let read = |state, lba| {
        let options = Options { battery: Some(false), array_state: state, ..Options::default() };
        let mut model = disk.build(5, &options);
        Replay::new(model.as_mut()).one(Asked::read(lba, 8)).unwrap();
        model.activity().media_read_sectors
    };
    // Three members, units of 16 KiB: the third has the parity of the first stripe and the
    // second half of the second.
    let places = [0, 32, 64, 96];
    assert_eq!(places.map(|lba| read(ArrayState::Clean, lba)), [8; 4]);
    let degraded = places.map(|lba| read(ArrayState::Degraded, lba));
    assert_eq!(degraded.iter().sum::<u64>(), 5 * 8, "{degraded:?}");
}

/// A new member is filled with as much as the array has, beside what the host does, which it
/// makes slower; afterwards nothing is left of it.
#[test]
fn a_new_member_is_filled_and_then_is_one_as_any_other() {
    let disk = find("adaptec-2010s");
    let capacity = Some(Bytes::from_gib(1));
    let options =
        |array_state| Options { battery: Some(false), capacity, array_state, ..Options::default() };
    const READS: u64 = 3000;
    // One at a time; then all that the array does by itself.
    let scattered = |replay: &mut Replay<'_>| {
        let mut sum = 0.0;
        let places = (0..READS).map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 260_000);
        let reads = places.map(|place| (Nanos::ZERO, Asked::read(place * 8, 8)));
        replay.closed(1, reads, |read| sum += read.latency().as_millis_f64()).unwrap();
        sum / READS as f64
    };
    let mut clean = disk.build(5, &options(ArrayState::Clean));
    let alone = scattered(&mut Replay::new(clean.as_mut()));
    let mut model = disk.build(5, &options(ArrayState::Rebuilding));
    assert!(model.is_rebuilding() && model.next_event().is_none(), "it waits for the host");
    let mut replay = Replay::new(model.as_mut());
    let beside = scattered(&mut replay);
    assert!(beside > alone * 1.1, "{beside} {alone}");
    assert!(!replay.model().is_rebuilding());
    let activity = replay.model().activity();
    // RAID 5 of three: half of the array's size lies on each.
    assert_eq!(activity.media_written_sectors * SECTOR_BYTES, Bytes::from_mib(512).0);
    let after = scattered(&mut replay);
    let read = replay.model().activity().media_read_sectors - activity.media_read_sectors;
    assert_eq!(read, READS * 8, "each from one member");
    assert!((after / alone - 1.0).abs() < 0.05, "{after} {alone}");
}

/// The battery makes a write as fast as the memory until the memory is full.
#[test]
fn a_battery_hides_the_members_until_its_memory_is_full() {
    let disk = find("areca-arc-1220");
    let mut model = disk.build(1, &Options::default());
    let capacity = model.capacity().0 / SECTOR_BYTES;
    let mut replay = Replay::new(model.as_mut());
    let first = replay.one(Asked::write(0, 8)).unwrap();
    assert!(first.latency() < Nanos::from_micros(100), "{}", first.latency());
    let sync = replay.one(Asked::FLUSH).unwrap();
    assert!(sync.latency() < Nanos::from_micros(100), "{}", sync.latency());
    let mut slowest = Nanos::ZERO;
    let scattered = (0..60_000u64).map(|index| {
        let lba = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (capacity / 8) * 8;
        (Nanos::ZERO, Asked::write(lba, 8))
    });
    replay.closed(1, scattered, |each| slowest = slowest.max(each.latency())).unwrap();
    assert!(slowest > Nanos::from_millis(1), "the memory never filled: {slowest}");
}

/// A request that does not fit goes in as room is made, not when there is room for all of it:
/// through a memory that barely holds one long requests are not slower than short ones, and none is
/// lost.
#[test]
fn a_small_memory_takes_long_writes_in_parts() {
    let text = DISKS.iter().find(|shipped| shipped.name == "areca-arc-1220").unwrap().text;
    let array = ArrayOf {
        level: Level::Raid10,
        members: 6,
        stripe_unit: None,
        write_memory: Some(Bytes::from_kib(1280)),
        member: find("hitachi-7k500-400gb"),
    };
    let disk = DiskDescription::parse_array("areca-arc-1220", text, array).unwrap();
    let rate = |sectors: u64| {
        let mut model = disk.build(1, &Options::default());
        let mut served = Vec::new();
        let count = (256 << 20) / SECTOR_BYTES / sectors;
        let asked = |index| (Nanos::ZERO, Asked::write(index * sectors, sectors));
        Replay::new(model.as_mut())
            .closed(4, (0..count).map(asked), |each| served.push(each))
            .unwrap();
        assert_eq!(served.len() as u64, count);
        mb_per_s(&served)
    };
    let (short, long, longer_than_the_memory) = (rate(256), rate(2048), rate(4096));
    assert!(long > short * 0.95, "{long} {short}");
    assert!(longer_than_the_memory > short * 0.95, "{longer_than_the_memory} {short}");
}

/// An SSD that is overwritten at random wears: garbage collection moves data, and less of it
/// with more spare flash.
#[test]
fn random_overwriting_amplifies_writes() {
    let amplification = |over_provisioning: f64| {
        let shipped = DISKS.iter().find(|disk| disk.name == "samsung-870-evo").unwrap();
        let text = shipped
            .text
            .replace(
                "over_provisioning = 0.07",
                &format!("over_provisioning = {over_provisioning}"),
            )
            .replace("pages_per_block = 256", "pages_per_block = 16");
        let disk = DiskDescription::parse("worn.toml", &text).unwrap();
        let small = Options { capacity: Some(Bytes::from_mib(256)), ..Options::default() };
        let mut model = disk.build(1, &small);
        let places = model.capacity().0 / 4096;
        let mut replay = Replay::new(model.as_mut());
        let fill = (0..places / 256).map(|index| (Nanos::ZERO, Asked::write(index * 2048, 2048)));
        replay.closed(4, fill, |_| {}).unwrap();
        let before = replay.model().activity();
        assert_eq!(before.write_amplification(), Some(1.0), "filling moves nothing");
        let mut at = 1u64;
        let random = (0..places * 3).map(|_| {
            at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (Nanos::ZERO, Asked::write((at >> 20) % places * 8, 8))
        });
        replay.closed(32, random, |_| {}).unwrap();
        let after = replay.model().activity();
        assert!(after.erases > 0);
        (after.media_written_sectors - before.media_written_sectors) as f64
            / (after.host_written_sectors - before.host_written_sectors) as f64
    };
    let (tight, ample) = (amplification(0.07), amplification(0.5));
    assert!(tight > 2.0 && tight < 20.0, "{tight}");
    assert!(ample > 1.0 && ample < tight / 1.5, "{ample} {tight}");
}

#[test]
fn a_discard_makes_room() {
    let disk = find("samsung-870-evo");
    let mut model = disk.build(1, &Options::default());
    let mut replay = Replay::new(model.as_mut());
    replay.one(Asked::write(0, 2048)).unwrap();
    replay.idle(Nanos::from_secs(1));
    let written = replay.one(Asked::read(0, 8)).unwrap().latency();
    let discard = Asked { operation: Operation::Discard, lba: Lba(0), sectors: 2048, fua: false };
    replay.one(discard).unwrap();
    let discarded = replay.one(Asked::read(0, 8)).unwrap().latency();
    assert!(discarded + Nanos::from_micros(40) < written, "{discarded} {written}");
}

/// The write cache off costs a sequential writer a revolution a request; on, it does not.
#[test]
fn the_write_cache_can_be_turned_off() {
    let disk = find("maxtor-atlas-10k-v");
    let mean = |write_cache| {
        let options = Options { write_cache: Some(write_cache), ..Options::default() };
        let mut model = disk.build(1, &options);
        let mut sum = Nanos::ZERO;
        let requests = (0..100).map(|index| (Nanos::ZERO, Asked::write(index * 8, 8)));
        Replay::new(model.as_mut()).closed(1, requests, |each| sum += each.latency()).unwrap();
        Nanos(sum.0 / 100)
    };
    assert!(mean(true) < Nanos::from_micros(500), "{}", mean(true));
    assert!(mean(false) > Nanos::from_micros(5000), "{}", mean(false));
}

#[test]
fn less_can_be_offered_than_there_is() {
    for shipped in DISKS {
        let options = Options { capacity: Some(Bytes::from_mib(64)), ..Options::default() };
        let model = find(shipped.name).build(1, &options);
        assert_eq!(model.capacity(), Bytes::from_mib(64), "{}", shipped.name);
    }
}

/// One request after another: every completion comes at exactly 1.05 times its time.
#[test]
fn a_slowed_device_takes_longer_by_its_share_and_does_the_same() {
    for shipped in DISKS {
        let disk = find(shipped.name);
        let completed = |slower| {
            let options = Options { slower, ..Options::default() };
            let mut model = disk.build(3, &options);
            let mut completed = Vec::new();
            let requests = (0..60u64).map(|nth| {
                let lba = nth * 7919 % 100_000 * 8;
                let asked = if nth % 3 == 0 { Asked::write(lba, 8) } else { Asked::read(lba, 8) };
                (Nanos::ZERO, asked)
            });
            let each = |served: Served| completed.push(served.completed.0);
            Replay::new(model.as_mut()).closed(1, requests, each).unwrap();
            completed
        };
        let slowed: Vec<u64> = completed(None).iter().map(|at| at * 1050 / 1000).collect();
        assert_eq!(completed(Some(50)), slowed, "{}", shipped.name);
    }
}
