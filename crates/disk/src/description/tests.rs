//! Arrays of other disks than a controller's own, what the options are to the disks behind one, and
//! what a description says of itself.

use super::*;
use crate::{Asked, Replay, Scheduler};

/// The text of a shipped device.
fn text_of(name: &str) -> &'static str {
    DISKS.iter().find(|disk| disk.name == name).unwrap().text
}

fn behind_the_areca(array: ArrayOf) -> DiskDescription {
    DiskDescription::parse_array("areca.toml", text_of("areca-arc-1220"), array).unwrap()
}

/// A controller with a single disk, which so decides in which order things are done.
fn one_disk() -> DiskDescription {
    behind_the_areca(ArrayOf {
        level: Level::Raid0,
        members: 1,
        stripe_unit: None,
        write_memory: None,
        member: shipped("hitachi-7k500-400gb").unwrap(),
    })
}

#[test]
fn an_array_is_what_was_asked_for() {
    let disk = behind_the_areca(ArrayOf {
        level: Level::Raid5,
        members: 4,
        stripe_unit: Some(Bytes::from_kib(32)),
        write_memory: Some(Bytes::from_mib(2)),
        member: shipped("maxtor-atlas-10k-v").unwrap(),
    });
    let Device::Controller(controller, member) = disk.device else { panic!("no controller") };
    assert_eq!(member.name, "maxtor-atlas-10k-v");
    assert_eq!(controller.member, "maxtor-atlas-10k-v");
    assert_eq!((controller.level, controller.members), (Level::Raid5, 4));
    assert_eq!(controller.stripe_unit, Bytes::from_kib(32));
    assert_eq!(controller.write_memory, Bytes::from_mib(2));
}

#[test]
fn what_is_not_asked_of_an_array_is_the_controllers_own() {
    let Device::Controller(controller, _) = one_disk().device else { panic!("no controller") };
    assert_eq!(controller.stripe_unit, Bytes::from_kib(64));
    assert_eq!(controller.write_memory, Bytes::from_mib(128));
    assert_eq!(controller.command, Nanos::from_micros(50));
}

/// Whatever else a text describes, there is nothing that disks could be put behind.
#[test]
fn disks_are_put_behind_nothing_but_a_controller() {
    for name in ["hitachi-7k500-400gb", "samsung-870-evo", "virtual-machine", "ideal"] {
        let array = ArrayOf {
            level: Level::Raid1,
            members: 2,
            stripe_unit: None,
            write_memory: None,
            member: shipped("hitachi-7k500-400gb").unwrap(),
        };
        let error = DiskDescription::parse_array("it.toml", text_of(name), array).unwrap_err();
        assert_eq!(
            error.to_string(),
            "it.toml, line 1: `controller` is needed to put disks behind it: this describes none",
            "{name}"
        );
    }
}

/// Reads near the start of the disk and far from it in turn, all at once. In order of access time
/// the near ones come first, since a far one costs a seek of more than a revolution.
#[test]
fn the_queue_and_its_order_are_those_of_the_disks_behind_a_controller() {
    const ASKED: [u64; 5] = [0, 700_000_000, 20_000, 700_050_000, 40_000];
    let disk = one_disk();
    let order = |options: &Options| {
        let mut model = disk.build(1, options);
        let mut order = Vec::new();
        let requests = ASKED.map(|lba| (Nanos::ZERO, Asked::read(lba, 8)));
        Replay::new(model.as_mut()).open(requests, |each| order.push(each.asked.lba.0)).unwrap();
        order
    };
    let own = order(&Options::default());
    assert_eq!(own.len(), 5);
    assert!(own[..3].iter().all(|lba| *lba < 100_000), "{own:?}");
    let fifo = Options { scheduler: Some(Scheduler::Fifo), ..Options::default() };
    assert_eq!(order(&fifo), ASKED);
    let one_at_a_time = Options { queue_depth: Some(1), ..Options::default() };
    assert_eq!(order(&one_at_a_time), ASKED);
}

#[test]
fn the_disks_behind_a_controller_read_ahead_unless_told_not_to() {
    let disk = one_disk();
    let reads_of_the_platter = |read_ahead| {
        let mut model = disk.build(1, &Options { read_ahead, ..Options::default() });
        let mut replay = Replay::new(model.as_mut());
        replay.one(Asked::read(0, 8)).unwrap();
        replay.idle(Nanos::from_secs(1));
        replay.one(Asked::read(8, 8)).unwrap();
        replay.model().activity().media_operations
    };
    assert_eq!(reads_of_the_platter(None), 1);
    assert_eq!(reads_of_the_platter(Some(false)), 2);
}

/// 100000 bytes of each of three members are six whole units of 16 KiB, two of which hold data in
/// every stripe of three.
#[test]
fn an_array_offers_the_whole_stripes_of_its_members() {
    let array = shipped("adaptec-2010s").unwrap();
    assert_eq!(array.offered(Bytes(100_000)), Bytes(6 * 2 * 16_384));
    let drive = shipped("maxtor-atlas-10k-v").unwrap();
    assert_eq!(drive.offered(Bytes(100_000)), Bytes(100_000));
}

#[test]
fn a_variant_is_shown_as_the_file_has_it() {
    let names = ["spec", "fitted", "measured", "synthetic"];
    let variants = [Variant::Spec, Variant::Fitted, Variant::Measured, Variant::Synthetic];
    assert_eq!(variants.map(|variant| variant.to_string()), names);
}
