//! From the word that somebody types to a use or a machine.

use crate::{Guide, Machine, Use};

/// What a word stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum Found<'g> {
    /// One use.
    One(&'g Use),
    /// Several, in their order.
    Several(Vec<&'g Use>),
}

/// No use or machine has this word; what was meant perhaps, and all there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound(pub String);

impl Guide {
    /// The use with this name, or the uses with this word among theirs.
    ///
    /// # Errors
    /// With the nearest names and the list of uses.
    pub fn find(&self, word: &str) -> Result<Found<'_>, NotFound> {
        let word = plain(word);
        let by_word = |used: &&Use| used.words.iter().any(|known| plain(known) == word);
        if let Some(named) = self.uses.iter().find(|used| plain(&used.id) == word) {
            return Ok(Found::One(named));
        }
        let all: Vec<&Use> = self.uses.iter().filter(by_word).collect();
        match all[..] {
            [] => Err(NotFound(self.no_use(&word))),
            [one] => Ok(Found::One(one)),
            _ => Ok(Found::Several(all)),
        }
    }

    /// The other uses that the name of this one stands for too.
    pub(crate) fn related(&self, used: &Use) -> impl Iterator<Item = &str> {
        let by_word = |other: &&Use| other.words.iter().any(|word| plain(word) == used.id);
        self.uses.iter().filter(by_word).map(|other| other.id.as_str())
    }

    /// The machine with this name or word.
    ///
    /// # Errors
    /// With the nearest names.
    pub fn machine(&self, word: &str) -> Result<&Machine, NotFound> {
        let word = plain(word);
        let known = |machine: &&Machine| {
            plain(&machine.id) == word || machine.words.iter().any(|known| plain(known) == word)
        };
        self.machines.iter().find(known).ok_or_else(|| {
            let ids = self.machines.iter().map(|machine| machine.id.as_str());
            NotFound(nothing("machine", &word, ids.clone(), ids))
        })
    }

    fn no_use(&self, word: &str) -> String {
        let ids = self.uses.iter().map(|used| used.id.as_str());
        let words = self.uses.iter().flat_map(|used| used.words.iter().map(String::as_str));
        let mut known: Vec<&str> = ids.clone().chain(words).collect();
        known.sort_unstable();
        nothing("use", word, known.into_iter(), ids)
    }
}

fn nothing<'a>(
    what: &str,
    word: &str,
    known: impl Iterator<Item = &'a str>,
    ids: impl Iterator<Item = &'a str>,
) -> String {
    let list: Vec<&str> = ids.collect();
    let meant = text::alike(word, known).map_or(String::new(), |meant| format!("{meant} "));
    let word = text::line(word);
    format!("the guide has no {what} `{word}`; {meant}There is: {}", list.join(", "))
}

/// Without what people write differently.
fn plain(word: &str) -> String {
    word.trim().to_lowercase().replace(['_', ' '], "-")
}
