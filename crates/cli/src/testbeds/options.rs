//! The options of all testbeds together, on the command line of `run` and of `study run`.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use runner::TestbedRequest;
use serde::Serialize;

use super::{DEFAULT, Description, TESTBEDS, TestbedKind, named};
use crate::exit::{Exit, Failure};

/// The heading in the help of `run`.
pub(super) const WHERE: &str = "Where";

/// The option that names a testbed.
const TESTBED: &str = "testbed";

/// The options that were given. Each testbed reads its own.
#[derive(Debug, Clone)]
pub(crate) struct Given(ArgMatches);

impl Given {
    /// The options of one testbed.
    ///
    /// # Errors
    /// Never once the command line is read: they were checked then.
    pub(super) fn read<T: FromArgMatches>(&self) -> Result<T, Failure> {
        T::from_arg_matches(&self.0).map_err(Failure::from(Exit::Usage))
    }

    /// These options as they were given, to be repeated: `--lab mine`.
    pub(super) fn words(&self, ids: &[&str]) -> String {
        let given = ids.iter().filter(|id| self.has(id));
        let words = given.flat_map(|id| {
            let option = id.replace('_', "-");
            let values = self.0.get_raw(id).into_iter().flatten();
            values.map(move |value| {
                format!("--{option} {}", report::quoted(&value.to_string_lossy()))
            })
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Whether an option was given; one that this command does not have was not.
    fn has(&self, id: &str) -> bool {
        self.0.try_contains_id(id).unwrap_or(false)
            && self.0.value_source(id) == Some(ValueSource::CommandLine)
    }

    /// Which testbed `--testbed` names.
    fn named(&self) -> Option<&'static dyn TestbedKind> {
        named(self.0.get_one::<String>(TESTBED)?)
    }

    /// Whether `--testbed` names this one.
    pub(super) fn names(&self, known: &Description) -> bool {
        self.named().is_some_and(|kind| kind.describe().name == known.name)
    }

    /// Whether an option of its own says where in this testbed trials run.
    pub(super) fn places_by_option(&self, known: &Description) -> bool {
        let mut own = known.own_options.iter().filter(|own| own.places);
        own.any(|own| own.ids.iter().any(|id| self.has(id)))
    }

    /// Whether anything says that trials run in this testbed.
    pub(super) fn places(&self, known: &Description) -> bool {
        self.names(known) || self.places_by_option(known)
    }

    /// The testbed that is meant.
    pub(super) fn chosen(&self) -> &'static dyn TestbedKind {
        let by_option = || {
            let mut known = TESTBEDS.iter().copied();
            known.find(|kind| kind.describe().chosen_by.is_some_and(|id| self.has(id)))
        };
        self.named().or_else(by_option).unwrap_or(DEFAULT)
    }

    /// Refuses what would have no effect on the testbed that was chosen, for `run`.
    pub(super) fn refuse_in_vain(&self, chosen: &Description) -> Result<(), Failure> {
        let others = others(chosen).flat_map(|other| other.own_options);
        let rules = others.map(|own| (own.ids, own.in_vain));
        let rules = chosen.refuses.iter().copied().chain(rules);
        for (ids, in_vain) in rules {
            if ids.iter().any(|id| self.has(id)) {
                return Err(Failure::new(Exit::Usage, in_vain));
            }
        }
        Ok(())
    }

    /// The same for `study run`.
    pub(super) fn refuse_in_vain_in_study(&self, chosen: &Description) -> Result<(), Failure> {
        match others(chosen).flat_map(|other| other.own_in_study).find(|id| self.has(id)) {
            None => Ok(()),
            Some(id) => {
                let option = id.replace('_', "-");
                let message = format!("--{option} belongs to another testbed than the one chosen");
                Err(Failure::new(Exit::Usage, message))
            }
        }
    }
}

fn others(chosen: &Description) -> impl Iterator<Item = &'static Description> {
    let known = TESTBEDS.iter().map(|kind| kind.describe());
    known.filter(|known| known.name != chosen.name)
}

/// A request with settings that came from the command line.
pub(super) fn request(
    known: &Description,
    settings: &impl Serialize,
) -> Result<TestbedRequest, Failure> {
    TestbedRequest::new(known.name, settings).map_err(|error| {
        let message = crate::surroundings::not_utf8().unwrap_or_else(|| error.to_string());
        Failure::new(Exit::Usage, message)
    })
}

/// `--testbed` with this help.
fn testbed(help: &str) -> Arg {
    let known = TESTBEDS.iter().map(|kind| kind.describe());
    let by_option = known.clone().filter_map(|known| {
        Some(format!("{} with --{}", known.name, known.chosen_by?.replace('_', "-")))
    });
    let default = DEFAULT.describe().name;
    let by_option = by_option.collect::<Vec<_>>().join(", ");
    let names = known.map(|known| PossibleValue::new(known.name).help(known.summary));
    Arg::new(TESTBED)
        .long(TESTBED)
        .value_name("TESTBED")
        .value_parser(PossibleValuesParser::new(names))
        .help(format!("{help} [default: {default}; {by_option}]"))
}

/// Those of `run` and `crosscheck`.
#[derive(Debug)]
pub(crate) struct RunOptions(pub(crate) Given);

impl Args for RunOptions {
    fn augment_args(command: Command) -> Command {
        let command = command.arg(testbed("Where trials run").help_heading(WHERE));
        TESTBEDS.iter().fold(command, |command, kind| kind.options(command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Those of `study run`.
#[derive(Debug)]
pub(crate) struct StudyOptions(pub(crate) Given);

impl Args for StudyOptions {
    fn augment_args(command: Command) -> Command {
        let known = TESTBEDS.iter().rev().map(|kind| kind.describe());
        let words: Vec<_> =
            known.map(|known| format!("{} {}", known.name, known.in_study)).collect();
        let command = command.arg(testbed(&format!("Where: {}", words.join(", "))));
        // What belongs to the study's own hardware comes first.
        let is_default = |kind: &&dyn TestbedKind| kind.describe().name == DEFAULT.describe().name;
        let kinds = TESTBEDS.iter().copied();
        let in_order =
            kinds.clone().filter(is_default).chain(kinds.filter(|kind| !is_default(kind)));
        in_order.fold(command, |command, kind| {
            let own = kind.study_options(Command::new(TESTBED));
            let plain = |option: &Arg| option.clone().help_heading(None).display_order(None);
            command.args(own.get_arguments().map(plain))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Keeps what was given for the testbed that is chosen.
macro_rules! kept {
    ($options:ident) => {
        impl FromArgMatches for $options {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                Ok($options(Given(matches.clone())))
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }
    };
}

kept!(RunOptions);
kept!(StudyOptions);
