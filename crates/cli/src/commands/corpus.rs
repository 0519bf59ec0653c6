//! `fstrial corpus`: prepares mail corpora and source trees, and describes corpora.

use std::path::{Path, PathBuf};

use units::Bytes;
use workload::corpora::{CorpusChoice, MailCorpus, TreeChoice, TreeFacts, source_tree};

use crate::arguments::{Corpus, CorpusAction};
use crate::exit::{Ended, Exit, Failure};
use crate::files::private_cache;
use crate::output::{print, say};

/// Fetches, builds or describes.
pub(crate) fn corpus(arguments: Corpus) -> Ended {
    match arguments.action {
        CorpusAction::Fetch { corpus } if corpus.starts_with("linux-") => {
            let tree = open_tree(&corpus, 1.0)?;
            if let Some((path, facts)) = tree {
                let bytes = Bytes(facts.bytes);
                say!("{}: {} files, {bytes}", path.display(), facts.files);
            }
        }
        CorpusAction::Fetch { corpus } => {
            let (path, mails) = open(&corpus)?;
            say!("{}: {} mails, {}", path.display(), mails.len(), mails.total_size());
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

/// The corpus that is named as on the command line. For root, mail to which another user's link
/// leads is refused.
fn mail_choice(name: &str) -> Result<CorpusChoice, Failure> {
    let choice: CorpusChoice = name.parse().map_err(Failure::from(Exit::Usage))?;
    if let CorpusChoice::Own(path) = &choice {
        not_led_elsewhere(path)?;
    }
    Ok(choice)
}

fn not_led_elsewhere(path: &Path) -> Result<(), Failure> {
    let led = if path.is_dir() {
        files::Directory::hold(path).map(drop)
    } else if path.is_file() {
        files::HeldFile::hold(path).map(drop)
    } else {
        // Whoever reads it says why it cannot be read.
        Ok(())
    };
    led.map_err(Failure::from(Exit::Input))
}

/// Opens the pack of the corpus that is named as on the command line; makes it first if missing.
pub(crate) fn open(name: &str) -> Result<(PathBuf, MailCorpus), Failure> {
    let choice = mail_choice(name)?;
    let cache = private_cache()?.join("mail");
    let began = std::time::Instant::now();
    let path = choice.ensure(&cache).map_err(Failure::from(Exit::Input))?;
    if began.elapsed().as_secs() >= 2 {
        say!("mail corpus {choice} prepared in {}", path.display());
    }
    let mails = MailCorpus::open(&path).map_err(Failure::from(Exit::Input))?;
    check_once(&path, &mails)?;
    if matches!(choice, CorpusChoice::Own(_)) {
        say!("note: {}", mails.label());
    }
    Ok((path, mails))
}

/// Refuses a corpus that is too large for the lab's guests, before it is made or read.
pub(crate) fn fits_lab(name: &str) -> Result<(), Failure> {
    let choice = mail_choice(name)?;
    let most = lab::INPUTS_MAX;
    match choice.total_size().map_err(Failure::from(Exit::Input))? {
        Some(size) if size > most => Err(Failure::new(
            Exit::Refused,
            format!(
                "{choice}: {size} of mails, and a guest of the lab takes {most} at most; take \
                 fewer mails, or another testbed"
            ),
        )),
        _ => Ok(()),
    }
}

/// Checks a pack's contents against its identity, once for each version of the file: the version
/// that passed is noted in a file beside it.
fn check_once(path: &Path, mails: &MailCorpus) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt;
    let data = path.metadata().map_err(Failure::from(Exit::Input))?;
    let version = format!("{} {} {}.{}\n", data.ino(), data.len(), data.mtime(), data.mtime_nsec());
    let mut name = path.as_os_str().to_owned();
    name.push(".checked");
    let noted = Path::new(&name);
    if std::fs::read_to_string(noted).is_ok_and(|found| found == version) {
        return Ok(());
    }
    mails.check_contents().map_err(Failure::from(Exit::Input))?;
    // If the note cannot be written, the next run checks again.
    let _ = crate::files::write_whole(noted, version.as_bytes());
    Ok(())
}

/// The plain tar of the source tree that is named as on the command line, scaled; made first if
/// missing. `None` for a synthetic tree.
pub(crate) fn open_tree(name: &str, scale: f64) -> Result<Option<(PathBuf, TreeFacts)>, Failure> {
    let choice: TreeChoice = name.parse().map_err(Failure::from(Exit::Usage))?;
    let cache = private_cache()?.join("trees");
    let (archive, share) = match &choice {
        TreeChoice::Synthetic => return Ok(None),
        TreeChoice::Own(path) => {
            not_led_elsewhere(path)?;
            (path.clone(), 1.0)
        }
        TreeChoice::Linux { share } => (linux_source(&cache)?, *share),
    };
    let share = (share * scale).min(1.0);
    let tar = source_tree::ensure(&cache, &archive, share).map_err(Failure::from(Exit::Input))?;
    let facts = source_tree::facts(&tar).map_err(Failure::from(Exit::Input))?;
    Ok(Some((tar, facts)))
}

fn linux_source(cache: &Path) -> Result<PathBuf, Failure> {
    let package = source_tree::LINUX_PACKAGE;
    let within = Path::new("usr/src").join(format!("{package}.tar.xz"));
    lab::file_of_package(cache, package, &within, &mut |planned| {
        let size = Bytes(planned.size);
        say!("fetching {} {} ({size}) from Debian", planned.name, planned.version);
    })
    .map_err(|error| {
        let message = format!(
            "cannot fetch {package}: {error}; or give an archive of your own: own:PATH.tar.xz"
        );
        Failure::new(Exit::Input, message)
    })
}
