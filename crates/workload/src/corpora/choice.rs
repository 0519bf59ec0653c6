//! The choice of a mail corpus, as given on the command line.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use units::Bytes;

use super::{CorpusError, own, spamassassin, synthetic};

/// A corpus by name: `spamassassin`, `synthetic`, `synthetic:count=5000,seed=1`,
/// `own:PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CorpusChoice {
    /// 6,046 real mails of 2002 and 2003, see [`spamassassin`].
    SpamAssassin,
    /// Generated mails, see [`synthetic`].
    Synthetic {
        /// How many.
        count: u64,
        /// Which.
        seed: u64,
    },
    /// The user's own mail, masked, see [`own`].
    Own(PathBuf),
}

impl CorpusChoice {
    /// The pack of this corpus in `cache_dir`, built or fetched unless it is there and was
    /// made from the same source. May take minutes: a download, or reading all of a mailbox.
    ///
    /// # Errors
    /// When the source is missing, empty or unreadable, or the pack cannot be written.
    pub fn ensure(&self, cache_dir: &Path) -> Result<PathBuf, CorpusError> {
        match self {
            CorpusChoice::SpamAssassin => spamassassin::fetch(cache_dir),
            CorpusChoice::Synthetic { count, seed } => synthetic::ensure(cache_dir, *count, *seed),
            CorpusChoice::Own(path) => own::ensure(cache_dir, path),
        }
    }

    /// Total bytes of its mails, before they are made; `None` if that is only known after fetching
    /// them.
    ///
    /// # Errors
    /// When the user's own mail is missing or cannot be listed.
    pub fn total_size(&self) -> Result<Option<Bytes>, CorpusError> {
        Ok(match self {
            CorpusChoice::SpamAssassin => None,
            CorpusChoice::Synthetic { count, seed } => {
                Some(Bytes(synthetic::total_size(*count, *seed)))
            }
            CorpusChoice::Own(path) => Some(Bytes(own::total_size(path)?)),
        })
    }
}

impl FromStr for CorpusChoice {
    type Err = CorpusError;

    fn from_str(text: &str) -> Result<CorpusChoice, CorpusError> {
        let wrong = |problem: &str| CorpusError::Choice {
            text: text.to_owned(),
            problem: problem.to_owned(),
        };
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        match (name, rest) {
            ("spamassassin", None) => Ok(CorpusChoice::SpamAssassin),
            ("own", Some(path)) if !path.is_empty() => Ok(CorpusChoice::Own(path.into())),
            ("own", _) => {
                Err(wrong("write own:PATH, a Maildir, a directory of mails or an mbox file"))
            }
            ("synthetic", settings) => {
                let (mut count, mut seed) = (synthetic::DEFAULT_COUNT, 0);
                for setting in settings.iter().flat_map(|settings| settings.split(',')) {
                    let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
                    let number = value.replace('_', "").parse::<u64>();
                    match (key, number) {
                        ("count", Ok(number)) if (1..=10_000_000).contains(&number) => {
                            count = number
                        }
                        ("count", _) => return Err(wrong("count is a number from 1 to 10000000")),
                        ("seed", Ok(number)) => seed = number,
                        ("seed", Err(_)) => return Err(wrong("seed is a whole number")),
                        _ => return Err(wrong("synthetic takes count=N and seed=N")),
                    }
                }
                Ok(CorpusChoice::Synthetic { count, seed })
            }
            _ => Err(wrong("use spamassassin, synthetic, synthetic:count=N or own:PATH")),
        }
    }
}

impl fmt::Display for CorpusChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CorpusChoice::SpamAssassin => f.write_str("spamassassin"),
            CorpusChoice::Synthetic { count, seed: 0 } => write!(f, "synthetic:count={count}"),
            CorpusChoice::Synthetic { count, seed } => {
                write!(f, "synthetic:count={count},seed={seed}")
            }
            CorpusChoice::Own(path) => write!(f, "own:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_shown_alike() {
        let read = |text: &str| text.parse::<CorpusChoice>().unwrap();
        assert_eq!(read("spamassassin"), CorpusChoice::SpamAssassin);
        assert_eq!(read("synthetic"), CorpusChoice::Synthetic { count: 2000, seed: 0 });
        assert_eq!(read("synthetic:count=5_000"), CorpusChoice::Synthetic { count: 5000, seed: 0 });
        assert_eq!(read("own:/var/mail/a:b"), CorpusChoice::Own("/var/mail/a:b".into()));
        for text in ["spamassassin", "synthetic:count=7,seed=3", "own:mail"] {
            assert_eq!(read(text).to_string(), text);
        }
    }

    #[test]
    fn errors_say_what_is_accepted() {
        let message = |text: &str| text.parse::<CorpusChoice>().unwrap_err().to_string();
        assert_eq!(
            message("enron"),
            "`enron` names no mail corpus: use spamassassin, synthetic, synthetic:count=N or own:PATH"
        );
        assert!(message("own").contains("own:PATH"));
        assert!(message("synthetic:count=0").contains("from 1 to"));
        assert!(message("synthetic:size=3").contains("count=N and seed=N"));
        assert!(message("spamassassin:x").contains("use spamassassin"));
    }
}
