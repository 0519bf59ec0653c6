//! Where a study's text comes from: the binary, or a folder of the user's.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::STUDIES;
use crate::problem::suggest;

/// The files a study must have.
pub(crate) const FILES: [&str; 3] = [STUDY, "published.toml", CLAIMS];
/// The one of them that says whether to believe the page, which comes after the results.
const STUDY: &str = "study.toml";
/// The one of them whose explanations come after the results.
const CLAIMS: &str = "claims.toml";

/// A study's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// How it is named on the command line: a shipped study's name, or a path.
    pub named: String,
    /// Where its files are, to be written before their names: `studies/maildir-2004/`.
    pub(crate) prefix: String,
    /// Name and text of each.
    pub(crate) files: Vec<(String, String)>,
}

/// Why there is no such study.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Neither shipped nor a folder.
    #[error("there is no study `{name}`{hint}; a study of your own is named by its folder's path")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What was probably meant, with a leading separator.
        hint: String,
    },
    /// A file that cannot be read.
    #[error("{}: {error}; a study has the files study.toml, published.toml, claims.toml", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

/// Digest of a text: sixteen hexadecimal digits.
pub fn digest(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

impl Source {
    /// A shipped study by name, or a folder by its path (it has a `/`, or is one here).
    ///
    /// # Errors
    /// When there is no such study, or a file of it cannot be read.
    pub fn find(named: &str) -> Result<Source, SourceError> {
        if let Some(shipped) = STUDIES.iter().find(|shipped| shipped.name == named) {
            let own = |text: &&str| (*text).to_owned();
            return Ok(Source {
                named: named.to_owned(),
                prefix: format!("studies/{named}/"),
                files: shipped.files.iter().map(|(name, text)| (own(name), own(text))).collect(),
            });
        }
        let path = Path::new(named);
        if named.contains('/') || path.is_dir() {
            return Source::folder(path);
        }
        let hint = suggest(named, STUDIES.iter().map(|shipped| shipped.name))
            .map_or(String::new(), |hint| format!(" ({hint})"));
        Err(SourceError::Unknown { name: named.to_owned(), hint })
    }

    /// The files of a folder.
    ///
    /// # Errors
    /// When one of the three cannot be read.
    pub fn folder(path: &Path) -> Result<Source, SourceError> {
        let read = |path: PathBuf| match std::fs::read_to_string(&path) {
            Ok(text) => Ok(text),
            Err(error) => Err(SourceError::Read { path, error }),
        };
        let mut files = Vec::new();
        for name in FILES {
            files.push((name.to_owned(), read(path.join(name))?));
        }
        // Machine profiles are in the same folder.
        let failed = |error| SourceError::Read { path: path.to_owned(), error };
        let mut beside: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed)? {
            beside.push(entry.map_err(failed)?.path());
        }
        beside.sort();
        for file in beside.into_iter().filter(|file| file.extension().is_some_and(|e| e == "toml"))
        {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !FILES.contains(&name.as_str()) {
                files.push((name, read(file)?));
            }
        }
        let shown = path.display().to_string();
        let prefix = format!("{}/", shown.trim_end_matches('/'));
        Ok(Source { named: shown, prefix, files })
    }

    /// The text of one file; empty where there is none.
    pub fn text(&self, name: &str) -> &str {
        self.files.iter().find(|(known, _)| known == name).map_or("", |(_, text)| text)
    }

    /// Whether there is such a file.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.files.iter().any(|(known, _)| known == name)
    }

    /// Digest of all files: sixteen hexadecimal digits. It leaves out what is written after a study
    /// has been run: explanations of claims, and whether to believe the page.
    pub fn digest(&self) -> String {
        self.digest_of(without_belief)
    }

    /// The same with the sentence on whether to believe the page.
    pub(crate) fn digest_with_belief(&self) -> String {
        self.digest_of(str::to_owned)
    }

    fn digest_of(&self, study: impl Fn(&str) -> String) -> String {
        let mut hash = Sha256::new();
        for (name, text) in &self.files {
            let text = match name.as_str() {
                CLAIMS => without_explanations(text),
                STUDY => study(text),
                _ => text.clone(),
            };
            for part in [name, &text] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part.as_bytes());
            }
        }
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The study without `believe`; the text as it is if it is not TOML.
fn without_belief(text: &str) -> String {
    let Ok(mut table) = text.parse::<toml::Table>() else { return text.to_owned() };
    table.remove("believe");
    table.to_string()
}

/// The claims without what is written after a run; the text as it is if it is not TOML.
fn without_explanations(text: &str) -> String {
    let Ok(mut table) = text.parse::<toml::Table>() else { return text.to_owned() };
    let claims = table.get_mut("claim").and_then(toml::Value::as_array_mut);
    for claim in claims.into_iter().flatten().filter_map(toml::Value::as_table_mut) {
        for written_afterwards in ["explanation", "because", "revised"] {
            claim.remove(written_afterwards);
        }
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_counts_and_its_explanation_does_not() {
        let source = |claims: &str| Source {
            named: "x".to_owned(),
            prefix: String::new(),
            files: vec![(CLAIMS.to_owned(), claims.to_owned())],
        };
        let plain = source("[[claim]]\nid = 'A'\n").digest();
        assert_eq!(plain, source("[[claim]]\nid = 'A'\nexplanation = 'so'\n").digest());
        let because = "because = { cause = 'not comparable', evidence = 'it' }\n";
        assert_eq!(plain, source(&format!("[[claim]]\nid = 'A'\n{because}")).digest());
        assert_ne!(plain, source("[[claim]]\nid = 'B'\n").digest());
        assert_ne!(source("[[claim").digest(), source("[[claims").digest());
    }

    #[test]
    fn whether_to_believe_the_page_does_not_count() {
        let source = |study: &str| Source {
            named: "x".to_owned(),
            prefix: String::new(),
            files: vec![(STUDY.to_owned(), study.to_owned())],
        };
        let (plain, believing) = (source("name = 'x'\n"), source("name = 'x'\nbelieve = 'it'\n"));
        assert_eq!(plain.digest(), believing.digest());
        assert_ne!(plain.digest_with_belief(), believing.digest_with_belief());
        assert_ne!(plain.digest(), source("name = 'y'\n").digest());
    }
}
