//! `fstrial study`: old pages run again.

mod show;

use study::{STUDIES, Source, Study, load};

use crate::arguments::{StudyAction, StudyArguments};
use crate::exit::{Ended, Exit, Failure};
use crate::output::print;

/// Lists, shows, checks.
pub(crate) fn study(arguments: StudyArguments) -> Ended {
    match arguments.action {
        StudyAction::List => list(),
        StudyAction::Show(named) => show::show(&read(&named.study)?),
        StudyAction::Check(named) => check(&named.study),
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
        text += &format!(
            "    {} parts, {} tables, {} claims; scale {}, {} seeds\n\n",
            study.parts.len(),
            study.tables.len(),
            study.claims.len(),
            study.scale,
            study.seeds
        );
    }
    if text.is_empty() {
        text = "no studies ship with this version\n".to_owned();
    }
    Ok(text)
}

fn list() -> Ended {
    print(&shipped()?)?;
    Ok(Exit::Done)
}

fn check(named: &str) -> Ended {
    let study = read(named)?;
    print(&format!(
        "{named} is sound: {} parts, {} tables, {} claims\n",
        study.parts.len(),
        study.tables.len(),
        study.claims.len()
    ))?;
    Ok(Exit::Done)
}

/// A study that is sound.
fn read(named: &str) -> Result<Study, Failure> {
    let source = Source::find(named).map_err(Failure::from(Exit::Usage))?;
    load(&source).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("{problem}\n")).collect();
        let count = match problems.len() {
            1 => "1 problem".to_owned(),
            count => format!("{count} problems"),
        };
        Failure::new(Exit::Input, format!("{named}: {count}\n{}", lines.concat().trim_end()))
    })
}
