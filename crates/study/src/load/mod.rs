//! Reads a study from text and reports everything that is wrong with it.

mod claims;
mod part;
mod published;
mod study;

use crate::reading::Reading;
use crate::{Problem, Source, Study};

/// Reads and checks a study.
///
/// # Errors
/// Everything that is wrong with its three files, file by file and line by line.
pub fn load(source: &Source) -> Result<Study, Vec<Problem>> {
    let reading = |file: &str| Reading::new(format!("{}{file}", source.prefix), source.text(file));
    let (of_study, of_published, of_claims) =
        (reading("study.toml"), reading("published.toml"), reading("claims.toml"));
    let mut study = study::read(&of_study, source);
    study.tables = published::read(&of_published, &study);
    study.claims = claims::read(&of_claims, &study);
    study::check_picture(&of_study, &study);
    let problems: Vec<Problem> =
        [of_study, of_published, of_claims].into_iter().flat_map(Reading::into_problems).collect();
    if problems.is_empty() { Ok(study) } else { Err(problems) }
}

#[cfg(test)]
mod tests;
