//! Writes a report of invented figures, to look at a format while working on it:
//! `cargo run -p report --example demo -- html > demo.html`; with `--small`, `--redact` or `--color`.

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use std::process::ExitCode;

use stack::Durability;
use synthetic::{Synthetic, fail, planted};
use trial::Step;

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_else(|| "terminal".to_owned());
    let Some(format) = report::find(&name) else {
        let known: Vec<&str> = report::FORMATS.iter().map(|format| format.name()).collect();
        eprintln!("there is no format `{name}`; there are: {}", known.join(", "));
        return ExitCode::FAILURE;
    };
    let small = std::env::args().any(|argument| argument == "--small");
    let mut synthetic = if small { Synthetic::small() } else { Synthetic::quickstart() };
    let mut without = planted("ext4:barrier=off", "ext4", 1.1, 0.03);
    without.contender.options.insert("barrier".to_owned(), "off".to_owned());
    without.durability = Durability::NoBarriers;
    synthetic.contenders.push(without);
    synthetic.contenders.push(planted("jfs", "jfs", 1.0, 0.02));
    let mut run = synthetic.run();
    fail(&mut run, "jfs", Step::Mount, "mount: unknown filesystem type 'jfs'");
    let options = report::Options {
        redact: std::env::args().any(|argument| argument == "--redact"),
        color: std::env::args().any(|argument| argument == "--color"),
        full: std::env::args().any(|argument| argument == "--full"),
        ..report::Options::default()
    };
    print!("{}", format.render(&report::analyse(&run), &run, &options));
    ExitCode::SUCCESS
}
