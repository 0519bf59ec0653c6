//! `fstrial study`: repeats published benchmarks.

mod export;
mod group;
mod run;
mod show;

use store::Store;
use study::{STUDIES, Source, SourceError, Study, load};

use crate::arguments::{StudyAction, StudyArguments, StudyReport};
use crate::documents::Documents;
use crate::exit::{Ended, Exit, Failure};
use crate::output::print;

/// Lists, shows, checks.
pub(crate) fn study(arguments: StudyArguments) -> Ended {
    match arguments.action {
        StudyAction::List => list(),
        StudyAction::Show(named) => show::show(&read(&named.study)?),
        StudyAction::Check(named) => check(&named.study),
        StudyAction::Run(arguments) => run::run(&arguments),
        StudyAction::Report(arguments) => report(&arguments),
        StudyAction::Export(arguments) => export::export(&arguments),
    }
}

/// The shipped studies, as text.
pub(crate) fn shipped() -> Result<String, Failure> {
    let mut text = String::new();
    for shipped in STUDIES {
        let study = read(shipped.name)?;
        let author = if study.author.is_empty() { "author unknown" } else { &study.author };
        text += &format!("{}\n    {}\n", study.name, study.title);
        text += &format!("    {author}, {}. {}\n", study.date, study.question);
        let seeds = report::counted(study.seeds as usize, "seed");
        text += &format!("    {}; scale {}, {seeds}\n\n", contents(&study), study.scale);
    }
    if text.is_empty() {
        text = "no studies ship with this version\n".to_owned();
    }
    Ok(text)
}

fn contents(study: &Study) -> String {
    [
        report::counted(study.parts.len(), "part"),
        report::counted(study.tables.len(), "table"),
        report::counted(study.claims.len(), "claim"),
    ]
    .join(", ")
}

/// Shows one.
pub(crate) fn show_named(named: &str) -> Ended {
    show::show(&read(named)?)
}

fn list() -> Ended {
    print(&shipped()?)?;
    Ok(Exit::Done)
}

fn check(named: &str) -> Ended {
    let study = read(named)?;
    print(&format!("{named} is sound: {}\n", contents(&study)))?;
    Ok(Exit::Done)
}

fn report(arguments: &StudyReport) -> Ended {
    let documents = Documents::of_study(&arguments.outputs)?;
    let path = arguments.store.path.clone().unwrap_or_else(Store::default_path);
    let store = crate::files::open_store(&path)?;
    let found = group::find(&store, &arguments.run)?;
    let study = read(&found.study)?;
    documents.write_study(&study::results(&study, &study::stored_runs(&store, &found.key)?))?;
    Ok(Exit::Done)
}

/// A study that is sound.
pub(crate) fn read(named: &str) -> Result<Study, Failure> {
    let source = Source::find(named).map_err(|error| match error {
        SourceError::Unknown { .. } => Failure::new(Exit::Usage, error.to_string()),
        SourceError::Read { .. } => Failure::new(Exit::Input, error.to_string()),
    })?;
    load(&source).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("{problem}\n")).collect();
        let count = report::counted(problems.len(), "problem");
        Failure::new(Exit::Input, format!("{named}: {count}\n{}", lines.concat().trim_end()))
    })
}
