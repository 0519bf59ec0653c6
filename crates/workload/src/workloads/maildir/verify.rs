//! Reading everything back: every delivered mail is there, once, byte by byte.

use std::os::fd::BorrowedFd;

use super::super::copying::{holds, list};
use super::plan::Plan;
use super::retrieve::Stored;
use crate::Failure;
use crate::corpora::MailCorpus;
use crate::path_buffer::PathBuffer;

/// Compares each delivery of `plan` with its mail, then counts: as many mails in the
/// maildirs as were found and delivered, none in `tmp`. Not for use within a clock.
pub(in crate::workloads) fn verify(
    plan: &Plan,
    stored: Stored<'_>,
    target: BorrowedFd<'_>,
    corpus: &MailCorpus,
) -> Result<(), Failure> {
    let wrong = |what: String| Err(Failure::Verify(what));
    let mut path = PathBuffer::new();
    for (delivery, (mail, _)) in plan.deliveries.iter().enumerate() {
        let number = stored.found.len() + delivery as u32;
        stored.path(number, plan.is_seen(number), &mut path);
        match holds(target, path.c_str(), corpus.mail(*mail as usize % corpus.len())) {
            Ok(true) => {}
            Ok(false) => return wrong(format!("{path} has other contents than delivered")),
            Err(error) => return wrong(format!("{path} was delivered but: {error}")),
        }
    }
    let expected = u64::from(stored.found.len()) + plan.deliveries.len() as u64;
    let (mut mails, mut unfinished) = (0, 0);
    for maildir in 0..stored.tree.maildirs {
        for part in ["/new", "/cur", "/tmp"] {
            stored.tree.maildir(maildir, &mut path);
            path.text(part);
            match list(target, path.c_str(), |_| {}) {
                Ok(found) if part == "/tmp" => unfinished += found,
                Ok(found) => mails += found,
                Err(error) => return wrong(format!("{path}: {error}")),
            }
        }
    }
    if mails != expected || unfinished > 0 {
        return wrong(format!(
            "{mails} mails in the maildirs and {unfinished} in tmp, {expected} and 0 expected"
        ));
    }
    Ok(())
}
