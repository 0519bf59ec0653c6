//! Files to write a report to; `-` is standard output, which then carries that document alone. The
//! options, one for each format, are generated from the tables of formats.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches, value_parser};
use report::FORMATS;

/// The heading in the help.
const RESULTS: &str = "Results";
const ALL_PAIRS: &str = "all_pairs";
/// The group of formats to which `--all-pairs` applies.
const WITH_ALL_PAIRS: &str = "with_all_pairs";

/// Which documents to write for a run.
#[derive(Debug)]
pub(crate) struct Outputs {
    /// Formats by name, and where each goes.
    pub(crate) files: Vec<(&'static str, PathBuf)>,
    /// Compare every pair of contenders, where the format does so.
    pub(crate) all_pairs: bool,
    pub(crate) flags: OutputFlags,
}

#[derive(Debug, Args)]
pub(crate) struct OutputFlags {
    /// Leave out names, paths and serial numbers
    #[arg(long, help_heading = RESULTS)]
    pub(crate) redact: bool,

    /// Show every figure, not only the answer on one screen
    #[arg(long, help_heading = RESULTS)]
    pub(crate) full: bool,
}

/// Which documents to write for a study.
#[derive(Debug)]
pub(crate) struct StudyOutputs {
    /// As [`Outputs::files`].
    pub(crate) files: Vec<(&'static str, PathBuf)>,
}

/// `--NAME FILE`.
fn file(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf)).help(help)
}

/// `--all-pairs`, which needs one of the formats that have them.
fn all_pairs(command: Command) -> Command {
    let names = FORMATS.iter().filter(|it| it.has_all_pairs()).map(|it| it.name());
    let options: Vec<String> = names.clone().map(|name| format!("--{name}")).collect();
    let help = format!(
        "With {}: compare every pair of contenders, not only each with the best",
        options.join(" or ")
    );
    let all_pairs = Arg::new(ALL_PAIRS).long("all-pairs").action(ArgAction::SetTrue);
    let all_pairs = all_pairs.requires(WITH_ALL_PAIRS).help(help).help_heading(RESULTS);
    command.arg(all_pairs).group(ArgGroup::new(WITH_ALL_PAIRS).args(names).multiple(true))
}

/// Which of these formats were asked for.
fn files(
    names: impl Iterator<Item = &'static str>,
    matches: &ArgMatches,
) -> Vec<(&'static str, PathBuf)> {
    names.filter_map(|name| Some((name, matches.get_one::<PathBuf>(name)?.clone()))).collect()
}

impl Args for Outputs {
    fn augment_args(mut command: Command) -> Command {
        for format in FORMATS {
            let (name, Some(help)) = (format.name(), format.help()) else { continue };
            command = command.arg(file(name, help).help_heading(RESULTS));
        }
        OutputFlags::augment_args(all_pairs(command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Outputs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let written = FORMATS.iter().filter(|format| format.help().is_some());
        Ok(Outputs {
            files: files(written.map(|format| format.name()), matches),
            all_pairs: matches.get_flag(ALL_PAIRS),
            flags: OutputFlags::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The formats of a study's report that have an option, and its help.
fn of_study() -> impl Iterator<Item = (&'static str, &'static str)> {
    study::FORMATS.iter().filter_map(|format| Some((format.name, format.help?)))
}

impl Args for StudyOutputs {
    fn augment_args(command: Command) -> Command {
        command.args(of_study().map(|(name, help)| file(name, help)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for StudyOutputs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(StudyOutputs { files: files(of_study().map(|(name, _)| name), matches) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
