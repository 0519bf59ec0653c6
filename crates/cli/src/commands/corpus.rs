//! `fstrial corpus`: making mails ready, and describing them.

use std::path::PathBuf;

use workload::corpora::{CorpusChoice, MailCorpus};

use crate::arguments::{Corpus, CorpusAction};
use crate::exit::{Ended, Exit, Failure};
use crate::files::cache_directory;
use crate::output::print;

/// Fetches, builds or describes.
pub(crate) fn corpus(arguments: Corpus) -> Ended {
    match arguments.action {
        CorpusAction::Fetch { corpus } => {
            let (path, mails) = open(&corpus)?;
            eprintln!("{}: {} mails, {}", path.display(), mails.len(), mails.total_size());
        }
        CorpusAction::Show { corpus } => {
            let (path, mails) = open(&corpus)?;
            mails.check_contents().map_err(Failure::from(Exit::Input))?;
            let text = [
                format!("corpus   {}", mails.label()),
                format!("mails    {}", mails.len()),
                format!("size     {} in all, {} on average", mails.total_size(), mails.mean_size()),
                format!("masked   {}", if mails.is_masked() { "yes" } else { "no" }),
                format!("identity {}", mails.identity()),
                format!("file     {}\n", path.display()),
            ];
            print(&text.join("\n"))?;
        }
    }
    Ok(Exit::Done)
}

/// The pack of the corpus named as on the command line, made first where it is not there.
pub(crate) fn open(name: &str) -> Result<(PathBuf, MailCorpus), Failure> {
    let choice: CorpusChoice = name.parse().map_err(Failure::from(Exit::Usage))?;
    let cache = cache_directory().join("mail");
    let began = std::time::Instant::now();
    let path = choice.ensure(&cache).map_err(Failure::from(Exit::Input))?;
    if began.elapsed().as_secs() >= 2 {
        eprintln!("mail corpus {choice} made ready in {}", path.display());
    }
    let mails = MailCorpus::open(&path).map_err(Failure::from(Exit::Input))?;
    Ok((path, mails))
}
