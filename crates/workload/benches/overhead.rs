//! `cargo bench -p workload`: what the engine costs beside a bare system-call loop, on
//! tmpfs. Fails when the engine reaches less than 0.95 of the loop's rate for any op.

use std::path::Path;
use std::process::ExitCode;

/// What is asked of every op: the engine's ops a second over the bare loop's.
const LEAST: f64 = 0.95;

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
    if enough {
        return ExitCode::SUCCESS;
    }
    eprintln!("the engine is below {LEAST} of the bare loop");
    ExitCode::FAILURE
}
