//! The fstrial command: reads arguments, calls the other crates, shows progress on standard
//! error and one document on standard output, ends with a documented exit code.

mod arguments;
mod candidates;
mod cluster;
mod commands;
mod destination;
mod documents;
mod ending;
mod exit;
mod files;
mod labs;
mod memory;
mod output;
mod places;
mod progress;
mod surroundings;
mod testbeds;
mod writing;

use clap::FromArgMatches;
use clap_complete::CompleteEnv;

use crate::arguments::{Arguments, Command, SelfCheck};
use crate::output::say;

fn main() -> std::process::ExitCode {
    memory::tell_of_threads();
    // Hidden entry: this binary executing one trial in a process of its own.
    if std::env::args_os().nth(1).is_some_and(|word| word == testbed::CHILD_COMMAND) {
        return testbed::child_main();
    }
    // A shell that completes a command line: answers and ends.
    CompleteEnv::with_factory(|| candidates::known(arguments::command()))
        .var(candidates::VARIABLE)
        .complete();
    let matches = arguments::command().get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = surroundings::enough_descriptors().and_then(|()| command(arguments.command));
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            say!("fstrial: {}", failure.message);
            failure.exit.into()
        }
    }
}

fn command(command: Command) -> exit::Ended {
    match command {
        Command::Guide(guide) => commands::guide::guide(&guide),
        Command::Run(run) => commands::run::run(run),
        Command::Study(study) => commands::study::study(study),
        Command::Report(report) => commands::report::report(report),
        Command::Compare(compare) => commands::compare::compare(&compare),
        Command::Crash(crash) => commands::crash::crash(&crash),
        Command::List(list) => commands::list::list(&list),
        Command::Doctor => commands::doctor::doctor(),
        Command::Corpus(corpus) => commands::corpus::corpus(corpus),
        Command::Lab(lab) => commands::lab::lab(lab),
        Command::Itself(itself) => check_itself(itself.what),
        Command::Clean(clean) => commands::clean::clean(&clean),
        Command::Completions(completions) => commands::manual::completions(&completions),
        Command::Man(man) => commands::manual::man(&man),
        Command::SlurmTask(task) => commands::slurm_task::run(&task),
    }
}

fn check_itself(what: SelfCheck) -> exit::Ended {
    match what {
        SelfCheck::Bench => commands::bench::bench(),
        SelfCheck::Calibrate(calibrate) => commands::calibrate::calibrate(calibrate),
        SelfCheck::Crosscheck(check) => commands::crosscheck::crosscheck(&check),
        SelfCheck::Agreement(of) => commands::lab::agreement(of.lab.as_deref(), &of.check),
        SelfCheck::LabBench(of) => commands::lab::bench(of.lab.as_deref(), &of.check),
        SelfCheck::Disk(disk) => commands::disk::disk(disk),
    }
}
