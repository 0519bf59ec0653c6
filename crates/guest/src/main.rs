//! The program in the lab's guest: its first process, and the programs that it starts. The code
//! that this program is built from is part of a lab's id.

use std::process::ExitCode;

fn main() -> ExitCode {
    if guest::is_guest() {
        guest::run();
    }
    let mut words = std::env::args_os().skip(1);
    // The preloader of a system that the guest boots.
    if words.next().is_some_and(|word| word == workload::PRELOAD_COMMAND) {
        return workload::preload_main(words.map(Into::into));
    }
    eprintln!("this is the first process of a guest of fstrial's lab; it does nothing elsewhere");
    ExitCode::from(2)
}
