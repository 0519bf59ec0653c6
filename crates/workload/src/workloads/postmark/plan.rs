//! What PostMark does with given parameters: the whole sequence, drawn as it draws, before
//! any clock starts.

use super::twister::Twister;

/// PostMark's settings that decide what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) seed: u32,
    pub(super) number: u32,
    pub(super) transactions: u32,
    pub(super) subdirectories: u32,
    pub(super) size_low: u32,
    pub(super) size_high: u32,
    pub(super) bias_read: u32,
    pub(super) bias_create: u32,
}

/// A file by its name: a subdirectory, unless there is none, and a running number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct File {
    pub(super) number: u32,
    pub(super) subdirectory: u32,
}

/// One op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Create { file: File, bytes: u32 },
    Read { file: File, bytes: u32 },
    Append { file: File, bytes: u32 },
    Delete { file: File },
}

/// The sequence of a run.
pub(super) struct Plan {
    /// What every write is a beginning of.
    pub(super) text: Vec<u8>,
    pub(super) creates: Vec<Step>,
    pub(super) transactions: Vec<Step>,
    /// Transactions done; fewer than asked for when no file was left.
    pub(super) transactions_done: u32,
    /// What is left afterwards, in the order in which it is deleted, with the sizes of the
    /// pieces it was written in.
    pub(super) left: Vec<(File, Vec<u32>)>,
}

/// A place of the file table; in use while it holds bytes.
#[derive(Clone, Default)]
struct Slot {
    file: Option<File>,
    pieces: Vec<u32>,
    bytes: u32,
}

/// The table and the generator as they change.
struct Draft {
    settings: Settings,
    random: Twister,
    slots: Vec<Slot>,
    /// The place tried first for the next file.
    next_slot: usize,
    created: u32,
    deleted: u32,
}

impl Plan {
    pub(super) fn draw(settings: Settings) -> Plan {
        let mut random = Twister::new(settings.seed);
        let text = (0..2 * settings.size_high).map(|_| 32 + random.below(95) as u8).collect();
        let mut draft = Draft {
            settings,
            random,
            slots: vec![Slot::default(); 2 * settings.number as usize],
            next_slot: 0,
            created: 0,
            deleted: 0,
        };
        let creates = (0..settings.number).filter_map(|_| draft.create()).collect();
        let mut transactions = Vec::with_capacity(2 * settings.transactions as usize);
        let mut transactions_done = 0;
        while transactions_done < settings.transactions && draft.created > draft.deleted {
            let first = if draft.random.below(10) < settings.bias_read {
                Some(draft.read())
            } else {
                draft.append()
            };
            let second = if draft.random.below(10) < settings.bias_create {
                draft.create()
            } else {
                Some(draft.delete())
            };
            transactions.extend(first.into_iter().chain(second));
            transactions_done += 1;
        }
        let left =
            draft.slots.into_iter().filter_map(|slot| Some((slot.file?, slot.pieces))).collect();
        Plan { text, creates, transactions, transactions_done, left }
    }
}

impl Draft {
    /// Takes the next place of the table if it is free, else the first free one. Nothing
    /// when the table is full.
    fn create(&mut self) -> Option<Step> {
        let next = Some(self.next_slot).filter(|&at| self.slots.get(at).is_some_and(Slot::is_free));
        let at = next.or_else(|| self.slots.iter().position(Slot::is_free))?;
        self.next_slot = at + 1;
        let subdirectories = self.settings.subdirectories;
        let subdirectory = if subdirectories > 1 { self.random.below(subdirectories) } else { 0 };
        self.created += 1;
        let file = File { number: self.created, subdirectory };
        let range = self.settings.size_high - self.settings.size_low;
        let bytes = self.settings.size_low + self.random.below(range);
        self.slots[at] = Slot { file: Some(file), pieces: vec![bytes], bytes };
        Some(Step::Create { file, bytes })
    }

    /// Draws places until one is in use; at least one is.
    fn used(&mut self) -> (usize, File) {
        loop {
            let at = self.random.below(self.slots.len() as u32) as usize;
            if let Some(file) = self.slots[at].file {
                return (at, file);
            }
        }
    }

    fn read(&mut self) -> Step {
        let (at, file) = self.used();
        Step::Read { file, bytes: self.slots[at].bytes }
    }

    /// Nothing when the drawn file is as large as files get.
    fn append(&mut self) -> Option<Step> {
        let (at, file) = self.used();
        let room = self.settings.size_high.saturating_sub(self.slots[at].bytes);
        if room == 0 {
            return None;
        }
        let bytes = self.random.below(room) + 1;
        let slot = &mut self.slots[at];
        slot.bytes += bytes;
        slot.pieces.push(bytes);
        Some(Step::Append { file, bytes })
    }

    fn delete(&mut self) -> Step {
        let (at, file) = self.used();
        self.slots[at] = Slot::default();
        self.deleted += 1;
        Step::Delete { file }
    }
}

impl Slot {
    fn is_free(&self) -> bool {
        self.file.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::super::totals::Totals;
    use super::*;

    pub(super) fn settings(number: u32, transactions: u32, subdirectories: u32) -> Settings {
        Settings {
            seed: 42,
            number,
            transactions,
            subdirectories,
            size_low: 500,
            size_high: 10_000,
            bias_read: 5,
            bias_create: 5,
        }
    }

    /// Created, read, appended, megabytes read, megabytes written.
    fn counts(plan: &Plan) -> (u64, u64, u64, f64, f64) {
        let Totals { created, read, appended, read_mb, written_mb, .. } = Totals::of(plan);
        (created, read, appended, read_mb, written_mb)
    }

    #[test]
    fn golden_counts_of_the_published_runs() {
        let one = Plan::draw(settings(10_000, 10_000, 1));
        assert_eq!(counts(&one), (15043, 4982, 5017, 26.71, 84.83));
        for subdirectories in [10, 100] {
            let plan = Plan::draw(settings(10_000, 10_000, subdirectories));
            assert_eq!(counts(&plan), (15027, 4990, 5009, 27.14, 85.08));
        }
    }

    #[test]
    fn golden_counts_of_a_run_whose_bytes_single_precision_rounds() {
        // As PostMark 1.53 printed them; added up exactly it has 956.64 MB read.
        let plan = Plan::draw(settings(20_000, 300_000, 10));
        assert_eq!(counts(&plan), (170_397, 150_111, 148_817, 956.61, 1087.95));
    }

    #[test]
    fn every_file_is_deleted_once_or_left() {
        let plan = Plan::draw(settings(200, 2000, 7));
        let mut alive = std::collections::HashMap::new();
        for step in plan.creates.iter().chain(&plan.transactions) {
            match *step {
                Step::Create { file, bytes } => assert!(alive.insert(file.number, bytes).is_none()),
                Step::Append { file, bytes } => *alive.get_mut(&file.number).unwrap() += bytes,
                Step::Read { file, bytes } => assert_eq!(alive[&file.number], bytes),
                Step::Delete { file } => assert!(alive.remove(&file.number).is_some()),
            }
        }
        assert_eq!(plan.left.len(), alive.len());
        for (file, pieces) in &plan.left {
            assert_eq!(pieces.iter().sum::<u32>(), alive[&file.number]);
            assert!(pieces.iter().sum::<u32>() <= 10_000);
        }
    }

    #[test]
    fn a_pool_that_empties_ends_the_transactions() {
        let plan = Plan::draw(Settings { bias_create: 0, ..settings(10, 100, 0) });
        assert_eq!(plan.transactions_done, 10);
        assert!(plan.left.is_empty());
    }
}
