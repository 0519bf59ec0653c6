//! A corpus of mails in memory order: index and contents.

/// Mails, as bytes. Placeholder until the pack file lands.
#[derive(Debug, Default)]
pub struct MailCorpus {
    mails: Vec<Vec<u8>>,
}

impl MailCorpus {
    /// Opens a pack file. (Interface agreed with trial::execute; error implements Display.)
    pub fn open(path: &std::path::Path) -> Result<MailCorpus, std::io::Error> {
        std::fs::metadata(path)?;
        Ok(MailCorpus::default())
    }

    /// How many mails there are.
    pub fn len(&self) -> usize {
        self.mails.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.mails.is_empty()
    }

    /// One mail.
    pub fn mail(&self, index: usize) -> &[u8] {
        &self.mails[index]
    }
}
