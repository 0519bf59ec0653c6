//! What a request costs the machine that runs the model, in nanoseconds and as a multiple of
//! the `ideal` model's: in a guest this is part of every figure.
//!
//! `cargo bench -p disk` or `cargo bench -p disk -- NAME` for one device.

use std::hint::black_box;
use std::time::Instant;

use disk::{DISKS, DiskDescription, Model, Operation, Options, Request, RequestId};
use units::{Lba, Nanos, SECTOR_BYTES};

const REQUESTS: u64 = 200_000;

/// Random requests, so many at a time; returns nanoseconds of wall time per request.
fn cost(model: &mut dyn Model, depth: u64, operation: Operation) -> f64 {
    let places = model.capacity().0 / SECTOR_BYTES / 8;
    let mut completed = Vec::with_capacity(64);
    let (mut now, mut asked, mut at) = (Nanos::ZERO, 0, 1u64);
    let started = Instant::now();
    let mut outstanding = 0;
    while asked < REQUESTS {
        while outstanding < depth {
            at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let lba = Lba((at >> 20) % places * 8);
            let request = Request { id: RequestId(asked), operation, lba, sectors: 8, fua: false };
            model.submit(now, request);
            asked += 1;
            outstanding += 1;
        }
        match model.next_event() {
            Some(event) => now = now.max(event),
            None => return f64::NAN,
        }
        model.advance(now, &mut completed);
        outstanding -= completed.len() as u64;
        black_box(&completed);
        completed.clear();
    }
    started.elapsed().as_nanos() as f64 / REQUESTS as f64
}

fn main() {
    let only: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let cases = [
        ("read, 1", 1, Operation::Read),
        ("read, 32", 32, Operation::Read),
        ("write, 1", 1, Operation::Write),
        ("write, 32", 32, Operation::Write),
    ];
    let measure = |disk: &DiskDescription| {
        cases.map(|(_, depth, operation)| {
            let cost = |seed| {
                let mut model = disk.build(seed, &Options::default());
                cost(model.as_mut(), depth, operation)
            };
            // The least of three: what is above it is the machine's, not the model's.
            (0..3).map(cost).fold(f64::INFINITY, f64::min)
        })
    };
    let Ok(ideal) = DiskDescription::find("ideal") else { return };
    let base = measure(&ideal);
    print!("{:<30}", "ns a request (× ideal)");
    cases.iter().for_each(|(title, ..)| print!("{title:>18}"));
    println!();
    for shipped in DISKS {
        if !only.is_empty() && !only.iter().any(|name| name == shipped.name) {
            continue;
        }
        match DiskDescription::find(shipped.name) {
            Ok(disk) => {
                print!("{:<30}", disk.name);
                for (cost, base) in measure(&disk).iter().zip(base) {
                    print!("{:>18}", format!("{cost:.0} (×{:.0})", cost / base));
                }
                println!();
            }
            Err(error) => eprintln!("{error}"),
        }
    }
}
