//! Completions and man pages, from the same types as the help.

use clap::CommandFactory;
use files::Directory;

use crate::arguments::{Arguments, Completions, Man};
use crate::exit::{EXIT_CODES, Ended, Exit, Failure};
use crate::files::write_whole_in;
use crate::output::print_document;

/// `fstrial completions SHELL`.
pub(crate) fn completions(arguments: &Completions) -> Ended {
    let script = crate::candidates::script(arguments.shell);
    let script = script.map_err(Failure::from(Exit::Output))?;
    print_document(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// `fstrial man DIR`: a page for fstrial and one for each command below it.
pub(crate) fn man(arguments: &Man) -> Ended {
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Output, format!("{}: {error}", arguments.directory.display()))
    };
    let directory = Directory::hold_or_make_for_outputs(&arguments.directory)
        .map_err(|error| failed(error.source))?;
    // With all commands, also those that the help only names.
    let mut command = Arguments::command().after_help(EXIT_CODES);
    command.build();
    let mut pages = Vec::new();
    add_pages("fstrial", &command, &mut pages);
    for (name, command) in pages {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
        write_whole_in(&directory, &format!("{name}.1"), &page).map_err(failed)?;
    }
    Ok(Exit::Done)
}

/// A command's page, and those of all below it: `fstrial-study-run` is one too.
fn add_pages(name: &str, command: &clap::Command, pages: &mut Vec<(String, clap::Command)>) {
    pages.push((name.to_owned(), command.clone().display_name(name.to_owned())));
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        add_pages(&format!("{name}-{}", sub.get_name()), sub, pages);
    }
}
