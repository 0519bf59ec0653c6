//! `cargo bench -p workload`: what the engine costs beside a bare system-call loop, on
//! tmpfs. Fails when the engine reaches less than 0.95 of the loop's rate for any op, or when the
//! course of a phase costs more than 1 % of the shortest one.

use std::path::Path;
use std::process::ExitCode;

/// What is asked of every op: the engine's ops a second over the bare loop's.
const LEAST: f64 = 0.95;

/// What the course of a phase may cost of an op.
const COURSE_MOST: f64 = 0.01;

fn main() -> ExitCode {
    let figures = match workload::overhead::measure(Path::new("/dev/shm"), 300) {
        Ok(figures) => figures,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{:<8} {:>9} {:>9} {:>7}  system calls", "op", "bare ns", "engine ns", "ratio");
    let mut enough = true;
    for figure in &figures {
        let ratio = figure.ratio;
        enough &= ratio >= LEAST;
        println!(
            "{:<8} {:>9.1} {:>9.1} {ratio:>7.3}  {}",
            figure.op, figure.bare_ns, figure.engine_ns, figure.calls
        );
    }
    let course = workload::overhead::course_ns();
    let shortest = figures.iter().map(|figure| figure.engine_ns).fold(f64::INFINITY, f64::min);
    println!("the course of a phase: {course:.2} ns an op, {:.2} %", course / shortest * 100.0);
    if course > COURSE_MOST * shortest {
        eprintln!("that is more than {COURSE_MOST} of the shortest op");
        return ExitCode::FAILURE;
    }
    if enough {
        return ExitCode::SUCCESS;
    }
    eprintln!("the engine is below {LEAST} of the bare loop");
    ExitCode::FAILURE
}
