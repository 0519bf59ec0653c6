//! What a file may say of a drive, on both sides of every limit.

use super::tests_support::{small, zone};
use super::*;

type Change = fn(&mut DriveParameters);

fn checked(change: Change) -> Result<(), (&'static str, String)> {
    let mut drive = small();
    change(&mut drive);
    drive.check()
}

/// Every good change of a drive is accepted, and every bad one is reported as this problem of this
/// key.
fn judge(key: &'static str, problem: &str, good: &[Change], bad: &[Change]) {
    for (nth, change) in good.iter().enumerate() {
        assert_eq!(checked(*change), Ok(()), "{key}, good change {nth}");
    }
    for (nth, change) in bad.iter().enumerate() {
        let expected = Err((key, problem.to_owned()));
        assert_eq!(checked(*change), expected, "{key}, bad change {nth}");
    }
}

#[test]
fn what_stands_alone_lies_within_its_limits() {
    judge(
        "rpm",
        "must be between 500 and 100000",
        &[|d| d.rpm = 500, |d| d.rpm = 100_000],
        &[|d| d.rpm = 499, |d| d.rpm = 100_001],
    );
    judge(
        "heads",
        "must be between 1 and 1000",
        &[|d| (d.heads, d.sectors) = (1, 1000), |d| d.heads = 1000],
        &[|d| d.heads = 0, |d| d.heads = 1001],
    );
    judge(
        "link_mb_per_s",
        "must be above 0.01 and below 1000000",
        &[|d| d.link_mb_per_s = 0.011, |d| d.link_mb_per_s = 999_999.0],
        &[|d| d.link_mb_per_s = 0.01, |d| d.link_mb_per_s = 1e6, |d| d.link_mb_per_s = f64::NAN],
    );
    judge(
        "physical_sector",
        "must be a power of two, 512 or more",
        &[|d| d.physical_sector = 512, |d| d.physical_sector = 4096],
        &[|d| d.physical_sector = 256, |d| d.physical_sector = 1000],
    );
    judge(
        "queue_depth",
        "must be between 1 and 256",
        &[|d| d.queue_depth = 1, |d| d.queue_depth = 256],
        &[|d| d.queue_depth = 0, |d| d.queue_depth = 257],
    );
    judge(
        "skew",
        "is a part of a revolution: from 0 to below 1",
        &[|d| d.skew = None, |d| d.skew = Some(0.0), |d| d.skew = Some(0.99)],
        &[|d| d.skew = Some(-0.01), |d| d.skew = Some(1.0)],
    );
}

#[test]
fn only_a_write_cache_needs_a_buffer_and_only_a_serpentine_a_band() {
    judge(
        "write_buffer",
        "a write cache needs at least 4 KiB",
        &[
            |d| d.write_buffer = Bytes(4096),
            |d| (d.write_cache, d.write_buffer) = (false, Bytes::ZERO),
        ],
        &[|d| d.write_buffer = Bytes(4095)],
    );
    fn serpentine(drive: &mut DriveParameters, band: Option<u32>) {
        (drive.layout, drive.band) = (Layout::Serpentine, band);
    }
    judge(
        "band",
        "a serpentine layout needs its band: 1 to 1000000 cylinders",
        &[|d| d.band = None, |d| serpentine(d, Some(1)), |d| serpentine(d, Some(1_000_000))],
        &[|d| serpentine(d, None), |d| serpentine(d, Some(0)), |d| serpentine(d, Some(1_000_001))],
    );
}

/// Instead of its zones.
fn ramp(drive: &mut DriveParameters, outer: u32, inner: u32, zones: u32) {
    (drive.zones, drive.cylinders) = (Vec::new(), None);
    drive.ramp = Some(Ramp { outer, inner, zones });
}

/// The drive has 1000 sectors a head, so ten tracks of 100.
#[test]
fn a_ramp_falls_and_has_no_more_zones_than_tracks() {
    judge(
        "ramp",
        "needs zones > 0 and outer >= inner > 0",
        &[|d| ramp(d, 100, 50, 3), |d| ramp(d, 100, 100, 1)],
        &[|d| ramp(d, 100, 50, 0), |d| ramp(d, 100, 0, 3), |d| ramp(d, 99, 100, 3)],
    );
    judge(
        "ramp",
        "has more zones than the capacity needs tracks",
        &[|d| ramp(d, 100, 50, 10)],
        &[|d| ramp(d, 100, 50, 11)],
    );
}

#[test]
fn a_ramp_stands_instead_of_zones_and_what_belongs_to_them() {
    judge("zones", "give `zones` or `ramp`", &[], &[|d| d.zones.clear()]);
    let both: Change = |d| {
        ramp(d, 100, 50, 3);
        d.zones = vec![zone(0, 100)];
    };
    judge("ramp", "give `zones` or `ramp`, not both", &[], &[both]);
    let spares: Change = |d| {
        ramp(d, 100, 50, 3);
        d.spares = Some(Spares { cylinders: 5, sectors: 1 });
    };
    judge("spares", "go with `zones` only", &[], &[spares]);
    let cylinders: Change = |d| {
        ramp(d, 100, 50, 3);
        d.cylinders = Some(10);
    };
    judge("cylinders", "a `ramp` takes as many as the capacity needs", &[], &[cylinders]);
}

#[test]
fn a_drive_has_at_least_one_sector_and_at_most_2_to_the_40() {
    judge(
        "sectors",
        "must be between 1 and 1099511627776 (512 TiB)",
        &[|d| d.sectors = 1],
        &[|d| d.sectors = 0],
    );
    fn large(drive: &mut DriveParameters, sectors: u64) {
        ramp(drive, 1 << 20, 1 << 20, 1);
        drive.sectors = sectors;
    }
    judge(
        "sectors",
        "must be between 1 and 1099511627776 (512 TiB)",
        &[|d| large(d, 1_099_511_627_776)],
        &[|d| large(d, 1_099_511_627_777)],
    );
}

/// Zones of 100 sectors per track, from these cylinders.
fn from(drive: &mut DriveParameters, cylinders: &[u32]) {
    drive.zones = cylinders.iter().map(|cylinder| zone(*cylinder, 100)).collect();
}

#[test]
fn zones_follow_each_other_from_the_first_cylinder_to_the_last() {
    judge("cylinders", "is needed with `zones`", &[], &[|d| d.cylinders = None]);
    judge("zones", "the first zone must start at cylinder 0", &[], &[|d| from(d, &[1])]);
    judge(
        "zones",
        "zones must ascend and end below `cylinders`",
        &[|d| from(d, &[0, 4]), |d| from(d, &[0, 4, 9])],
        &[|d| from(d, &[0, 4, 4]), |d| from(d, &[0, 5, 4]), |d| from(d, &[0, 10])],
    );
    judge(
        "zones",
        "a zone needs at least one sector per track",
        &[],
        &[|d| d.zones = vec![zone(0, 200), zone(5, 0)]],
    );
    /// The second of two zones has six cylinders and uses so many.
    fn uses(drive: &mut DriveParameters, cylinders: u32) {
        let second = ZoneParameters { cylinders: Some(cylinders), ..zone(4, 100) };
        drive.zones = vec![zone(0, 100), second];
    }
    judge(
        "zones",
        "a zone's `cylinders` must be above 0 and end before the next zone",
        &[|d| uses(d, 6)],
        &[|d| uses(d, 0), |d| uses(d, 7)],
    );
}

/// Ten cylinders of 200 sectors hold 2000; with 50 spare ones after every four cylinders, and after
/// the last two, 1850.
#[test]
fn the_zones_hold_what_is_offered_beside_the_spare_sectors() {
    judge(
        "sectors",
        "the zones hold only 2000 sectors",
        &[|d| d.sectors = 2000],
        &[|d| d.sectors = 2001],
    );
    fn spared(drive: &mut DriveParameters, cylinders: u32, spare: u32, sectors: u64) {
        drive.spares = Some(Spares { cylinders, sectors: spare });
        drive.sectors = sectors;
    }
    judge(
        "sectors",
        "the zones hold only 1850 sectors",
        &[|d| spared(d, 4, 50, 1850)],
        &[|d| spared(d, 4, 50, 1851)],
    );
    judge(
        "spares",
        "must leave sectors to use",
        &[|d| spared(d, 1, 199, 10)],
        &[|d| spared(d, 1, 200, 10), |d| spared(d, 0, 1, 10)],
    );
}

#[test]
fn a_seek_curve_has_three_points_or_knots_that_ascend() {
    fn knots(drive: &mut DriveParameters, knots: &[(u32, f64)]) {
        drive.seek.knots_ms = knots.to_vec();
    }
    fn points(drive: &mut DriveParameters, [single, average, full]: [u64; 3]) {
        let millis = |time| Some(Nanos::from_millis(time));
        drive.seek.knots_ms.clear();
        drive.seek.single = millis(single);
        drive.seek.average = millis(average);
        drive.seek.full = millis(full);
    }
    judge(
        "seek",
        "knots_ms must ascend from 1 cylinder or more, times above 0 and at most 10000 ms",
        &[|d| knots(d, &[(1, 0.1), (2, 0.1)])],
        &[
            |d| knots(d, &[(0, 1.0), (9, 2.0)]),
            |d| knots(d, &[(1, 1.0), (1, 2.0)]),
            |d| knots(d, &[(9, 1.0), (1, 2.0)]),
            |d| knots(d, &[(1, 0.0), (9, 2.0)]),
        ],
    );
    judge(
        "seek",
        "needs single <= average <= full",
        &[|d| points(d, [1, 5, 9]), |d| points(d, [5, 5, 5])],
        &[|d| points(d, [6, 5, 9]), |d| points(d, [1, 5, 4])],
    );
    judge(
        "seek",
        "give `single`, `average` and `full`, or at least two `knots_ms`",
        &[],
        &[|d| knots(d, &[(1, 1.0)]), |d| d.seek.single = Some(Nanos::from_millis(1))],
    );
}

/// Times that no drive takes, amounts that none has, and a curve that falls.
#[test]
fn amounts_and_curves_are_those_of_a_drive() {
    const LONG: Nanos = Nanos::from_secs(11);
    type Change = fn(&mut DriveParameters);
    let changes: [(&str, Change); 7] = [
        ("seek", |d| d.seek.full = Some(LONG)),
        ("seek", |d| d.seek.write_settle = Nanos(u64::MAX)),
        ("overhead", |d| d.overhead.read_miss = LONG),
        ("head_switch", |d| d.head_switch = LONG),
        ("cylinder_switch", |d| d.cylinder_switch = Some(LONG)),
        ("read_segment", |d| d.read_segment = Bytes(u64::MAX)),
        ("read_segments", |d| d.read_segments = u32::MAX),
    ];
    for (key, change) in changes {
        let mut drive = small();
        change(&mut drive);
        let (found, problem) = drive.check().unwrap_err();
        assert!(found == key && problem.contains("at most"), "{key}: {found} {problem}");
    }
    let curve = |knots: &[(u32, f64)]| {
        let mut drive = small();
        (drive.seek.single, drive.seek.average, drive.seek.full) = (None, None, None);
        drive.seek.knots_ms = knots.to_vec();
        drive.check()
    };
    assert_eq!(curve(&[(1, 1.0), (10, 5.0), (11, 4.6), (500, 9.0)]), Ok(()), "as measured");
    for ms in [1e308, f64::INFINITY, f64::NAN, -1.0, 0.0] {
        let (key, problem) = curve(&[(1, 1.0), (10, ms)]).unwrap_err();
        assert!(key == "seek" && problem.contains("at most 10000 ms"), "{problem}");
    }
    let (_, problem) = curve(&[(1, 1.0), (10, 5.0), (500, 4.0)]).unwrap_err();
    assert!(problem.contains("4 ms over 500 cylinders is less than over fewer"), "{problem}");
}
