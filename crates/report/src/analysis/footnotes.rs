//! Remarks of a phase: why figures are missing, and what else has to be known of them.

use super::arrange::Phase;
use super::{Footnote, Reason};

/// Remarks of a phase; a text that comes again has one number.
#[derive(Default)]
pub(super) struct Footnotes(pub(super) Vec<Footnote>);

impl Footnotes {
    /// The number, from 1, of a remark on all trials.
    pub(super) fn add(&mut self, contender: usize, reason: Reason) -> usize {
        self.note(contender, reason.words(), reason, true)
    }

    fn note(&mut self, contender: usize, text: String, reason: Reason, all_trials: bool) -> usize {
        let at = self.0.iter().position(|known| known.text == text).unwrap_or_else(|| {
            self.0.push(Footnote { contenders: Vec::new(), text, reason, all_trials });
            self.0.len() - 1
        });
        if !self.0[at].contenders.contains(&contender) {
            self.0[at].contenders.push(contender);
        }
        at + 1
    }

    /// Why trials of this contender take no part: `2 of 5 trials: failed at mkfs: …`.
    pub(super) fn of_unusable(&mut self, phase: &Phase<'_>, contender: usize) -> Vec<usize> {
        let entries = &phase.trials[contender];
        let reasons = entries.iter().filter_map(|entry| entry.unusable.as_ref());
        self.of_reasons(reasons, entries.len(), contender)
    }

    /// The same for figures of the whole phase: time taken by the lab's transport is no reason to
    /// leave them out, but is noted.
    pub(super) fn of_timed(&mut self, phase: &Phase<'_>, contender: usize) -> Vec<usize> {
        let entries = &phase.trials[contender];
        let reasons = entries.iter().filter(|entry| entry.timed().is_none());
        let mut numbers = self.of_reasons(
            reasons.filter_map(|entry| entry.unusable.as_ref()),
            entries.len(),
            contender,
        );
        let partly = entries.iter().filter(|entry| entry.overhead().is_some());
        let most = partly
            .filter_map(|entry| entry.transport())
            .reduce(|one, other| (one.0.max(other.0), one.1 && other.1));
        if let Some((share, idle_known)) = most {
            numbers.push(self.add(contender, Reason::PartlyTransport { share, idle_known }));
        }
        numbers
    }

    /// A remark for each kind of reason.
    fn of_reasons<'t>(
        &mut self,
        reasons: impl Iterator<Item = &'t Reason>,
        trials: usize,
        contender: usize,
    ) -> Vec<usize> {
        let mut kinds: Vec<(&Reason, usize, bool)> = Vec::new();
        for reason in reasons {
            match kinds.iter_mut().find(|(first, ..)| first.is_like(reason)) {
                Some((first, count, same)) => {
                    *count += 1;
                    *same &= *first == reason;
                }
                None => kinds.push((reason, 1, true)),
            }
        }
        kinds
            .into_iter()
            .map(|(reason, count, same)| {
                let words = reason.words();
                let text = match (count == trials, same) {
                    (true, true) => words,
                    (true, false) => format!("all {count} trials, the first: {words}"),
                    (false, true) => format!("{count} of {trials} trials: {words}"),
                    (false, false) => format!("{count} of {trials} trials, the first: {words}"),
                };
                self.note(contender, text, reason.clone(), count == trials)
            })
            .collect()
    }

    /// The phase's own remarks, which concern no single cell.
    pub(super) fn of_notes(&mut self, phase: &Phase<'_>) {
        for (contender, entries) in phase.trials.iter().enumerate() {
            for result in entries.iter().filter_map(|entry| entry.usable()) {
                for text in &result.notes {
                    self.add(contender, Reason::Remark { text: text.clone() });
                }
            }
        }
    }
}
