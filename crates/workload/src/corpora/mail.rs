//! A corpus of mails in memory order: index and contents.

/// Mails, as bytes. Placeholder until the pack file lands.
#[derive(Debug, Default)]
pub struct MailCorpus {
    mails: Vec<Vec<u8>>,
}

impl MailCorpus {
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
