//! What a mechanical drive does before and after a write, to the nanosecond where that is known.

use disk::{Asked, DISKS, Device, DiskDescription, Options, Replay};
use units::Nanos;

/// Whoever writes elsewhere waits until the head has settled. Asked for at moments spread evenly
/// over a revolution, a write is later by as much as it settles longer, and a read is not.
#[test]
fn a_write_elsewhere_settles_first() {
    const STARTS: u64 = 200;
    let shipped = DISKS.iter().find(|disk| disk.name == "hitachi-7k1000c-1tb").unwrap();
    let options =
        Options { write_cache: Some(false), read_ahead: Some(false), ..Options::default() };
    let mean_ms = |settle: &str, asked: fn(u64, u64) -> Asked| {
        let text = shipped.text.replace("write_settle = \"1ms\"", settle);
        assert!(text.contains(settle), "the file writes its settling differently now");
        let disk = DiskDescription::parse("settles.toml", &text).unwrap();
        let revolution = disk.revolution().unwrap();
        let mut sum = 0.0;
        for start in 0..STARTS {
            let mut model = disk.build(3, &options);
            let mut replay = Replay::new(model.as_mut());
            replay.idle(Nanos(revolution.0 * start / STARTS));
            sum += replay.one(asked(1 << 20, 8)).unwrap().latency().as_millis_f64();
        }
        sum / STARTS as f64
    };
    let longer =
        |asked| mean_ms("write_settle = \"3ms\"", asked) - mean_ms("write_settle = \"1ms\"", asked);
    let (read, write) = (longer(Asked::read), longer(Asked::write));
    assert_eq!(read, 0.0);
    assert!((write - 2.0).abs() < 0.05, "{write} ms for 2 ms of settling more");
}

/// A part of a physical sector is read and comes round once more before it is written.
#[test]
fn a_part_of_a_physical_sector_costs_a_revolution() {
    let mut larger_sectors = 0;
    for shipped in DISKS {
        let disk = DiskDescription::find(shipped.name).unwrap();
        let Device::Drive(drive) = &disk.device else { continue };
        if drive.physical_sector != 4096 {
            continue;
        }
        larger_sectors += 1;
        let options = Options { write_cache: Some(false), ..Options::default() };
        let completed = |lba, sectors| {
            let mut model = disk.build(3, &options);
            Replay::new(model.as_mut()).one(Asked::write(lba, sectors)).unwrap().completed
        };
        let revolution = disk.revolution().unwrap();
        let whole = completed(1 << 20, 8);
        // The second half ends where the whole does; the first a few microseconds before.
        assert_eq!(completed((1 << 20) + 4, 4), whole + revolution, "{}", disk.name);
        let first_half = completed(1 << 20, 4);
        assert!(first_half > whole && first_half < whole + revolution, "{}", disk.name);
    }
    assert!(larger_sectors > 0, "no shipped drive has sectors larger than 512 bytes");
}
