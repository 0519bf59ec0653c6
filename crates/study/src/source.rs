//! Where a study's text comes from: the binary, or a folder of the user's.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::STUDIES;
use crate::problem::suggest;

/// The files a study must have.
pub(crate) const FILES: [&str; 3] = [STUDY, PUBLISHED, CLAIMS];
const STUDY: &str = "study.toml";
const PUBLISHED: &str = "published.toml";
const CLAIMS: &str = "claims.toml";

/// Keys of `study.toml` that change no run: what is said of the page and of the results, and what is
/// only a default of the command line.
const SAID_OF_A_STUDY: [&str; 14] = [
    "title",
    "author",
    "date",
    "published",
    "question",
    "summary",
    "machine",
    "flaws",
    "scale_reason",
    "full_size",
    "believe",
    "picture",
    "sizes",
    "seeds",
];
/// Keys of a claim that are written after a run.
const SAID_OF_A_CLAIM: [&str; 3] = ["explanation", "because", "revised"];
/// Keys of a machine profile that are for people.
const SAID_OF_A_MACHINE: [&str; 2] = ["summary", "source"];

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
        let read = |path: PathBuf| {
            files::read_text(&path).map_err(|error| SourceError::Read { path, error: error.source })
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

    /// What runs rest on, read once: a study may have thousands of assumptions.
    pub(crate) fn basis(&self) -> Basis<'_> {
        let file = |(name, text): &'_ (String, String)| match name.as_str() {
            STUDY => BasisFile::study(text),
            CLAIMS => BasisFile::Text(edited(text, |claims| {
                each(claims, "claim", |claim| remove(claim, &SAID_OF_A_CLAIM));
            })),
            PUBLISHED => BasisFile::Text(text.clone()),
            _ => BasisFile::Text(edited(text, |machine| remove(machine, &SAID_OF_A_MACHINE))),
        };
        Basis(self.files.iter().map(|known| (known.0.as_str(), file(known))).collect())
    }
}

/// What the runs of a study rest on: its files without what is said of the page and of the results.
pub(crate) struct Basis<'s>(Vec<(&'s str, BasisFile)>);

enum BasisFile {
    Text(String),
    /// `study.toml` without assumptions, and the tables of each of them by its id.
    Study {
        rest: toml::Table,
        assumptions: BTreeMap<String, Vec<toml::Value>>,
    },
}

impl BasisFile {
    fn study(text: &str) -> BasisFile {
        let Ok(mut rest) = text.parse::<toml::Table>() else {
            return BasisFile::Text(text.to_owned());
        };
        remove(&mut rest, &SAID_OF_A_STUDY);
        each(&mut rest, "part", |part| remove(part, &["title"]));
        each(&mut rest, "assumption", |it| remove(it, &["text"]));
        let mut assumptions = BTreeMap::<String, Vec<toml::Value>>::new();
        if let Some(all) = rest.get_mut("assumption").and_then(toml::Value::as_array_mut) {
            for it in std::mem::take(all) {
                let id = it.get("id").and_then(toml::Value::as_str).map(str::to_owned);
                if let Some(id) = id {
                    assumptions.entry(id).or_default().push(it);
                }
            }
            rest.remove("assumption");
        }
        BasisFile::Study { rest, assumptions }
    }

    fn under(&self, assumption: Option<&str>) -> Cow<'_, str> {
        match self {
            BasisFile::Text(text) => Cow::Borrowed(text),
            BasisFile::Study { rest, assumptions } => {
                let mut table = rest.clone();
                if let Some(own) = assumption.and_then(|id| assumptions.get(id)) {
                    table.insert("assumption".to_owned(), toml::Value::Array(own.clone()));
                }
                Cow::Owned(table.to_string())
            }
        }
    }
}

impl Basis<'_> {
    /// Digest of what a run under this assumption rests on, without all other assumptions: sixteen
    /// hexadecimal digits.
    pub(crate) fn digest(&self, assumption: Option<&str>) -> String {
        let mut hash = Sha256::new();
        for (name, file) in &self.0 {
            for part in [*name, &file.under(assumption)] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part.as_bytes());
            }
        }
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The text after an edit; as it is if it is not TOML.
fn edited(text: &str, edit: impl Fn(&mut toml::Table)) -> String {
    let Ok(mut table) = text.parse::<toml::Table>() else { return text.to_owned() };
    edit(&mut table);
    table.to_string()
}

fn remove(table: &mut toml::Table, keys: &[&str]) {
    for key in keys {
        table.remove(*key);
    }
}

/// Edits each table of a list, where there is one.
fn each(table: &mut toml::Table, list: &str, edit: impl Fn(&mut toml::Table)) {
    let list = table.get_mut(list).and_then(toml::Value::as_array_mut);
    list.into_iter().flatten().filter_map(toml::Value::as_table_mut).for_each(edit);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest_of(name: &str, text: &str, assumption: Option<&str>) -> String {
        let files = vec![(name.to_owned(), text.to_owned())];
        let source = Source { named: "x".to_owned(), prefix: String::new(), files };
        source.basis().digest(assumption)
    }

    #[test]
    fn a_claim_counts_and_its_explanation_does_not() {
        let digest = |claims: &str| digest_of(CLAIMS, claims, None);
        let plain = digest("[[claim]]\nid = 'A'\n");
        assert_eq!(plain, digest("[[claim]]\nid = 'A'\nexplanation = 'so'\n"));
        let because = "because = { cause = 'not comparable', evidence = 'it' }\n";
        assert_eq!(plain, digest(&format!("[[claim]]\nid = 'A'\n{because}")));
        assert_ne!(plain, digest("[[claim]]\nid = 'B'\n"));
        assert_ne!(digest("[[claim"), digest("[[claims"));
    }

    #[test]
    fn what_runs_counts_and_what_is_said_of_it_does_not() {
        let digest = |study: &str| digest_of(STUDY, study, None);
        let plain = digest("scale = 0.1\n[[part]]\nsize = '2G'\n");
        let said =
            "scale = 0.1\nscale_reason = 'days'\nbelieve = 'it'\npicture = ['A']\nsizes = [1]\n";
        assert_eq!(plain, digest(&format!("{said}[[part]]\ntitle = 'One'\nsize = '2G'\n")));
        assert_ne!(plain, digest("scale = 0.2\n[[part]]\nsize = '2G'\n"));
        assert_ne!(plain, digest("scale = 0.1\n[[part]]\nsize = '3G'\n"));
        let machine = |text: &str| digest_of("server.toml", text, None);
        assert_eq!(machine("ram = '1G'"), machine("ram = '1G'\nsource = 'guessed'"));
        assert_ne!(machine("ram = '1G'"), machine("ram = '2G'"));
        assert_ne!(digest_of(PUBLISHED, "a = 1", None), digest_of(PUBLISHED, "a = 2", None));
    }

    #[test]
    fn an_assumption_counts_for_the_runs_under_it() {
        let one = "[[assumption]]\nid = 'slow'\ntext = 'it is'\nchange = { ns = 2 }\n";
        let other = "[[assumption]]\nid = 'fast'\nchange = { ns = 1 }\n";
        let both = format!("{one}{other}");
        let digest = |study: &str, assumption| digest_of(STUDY, study, assumption);
        assert_eq!(digest("", None), digest(&both, None));
        assert_eq!(digest(one, Some("slow")), digest(&both, Some("slow")));
        assert_eq!(digest(one, Some("slow")), digest(&one.replace("it is", "is"), Some("slow")));
        assert_ne!(digest(one, Some("slow")), digest(&one.replace("2", "3"), Some("slow")));
        assert_ne!(digest(&both, Some("slow")), digest(&both, Some("fast")));
        assert_ne!(digest(&both, Some("slow")), digest(&both, None));
    }
}
