//! Pairs of trials, and what both say of a phase.

use store::StoredTrial;
use workload::{PhaseResult, PhaseStatus};

use crate::analysis::not_comparable;

/// A trial of ours and one of the original, of the same block.
pub(super) struct Pair<'a> {
    pub(super) block: u32,
    pub(super) ours: &'a StoredTrial,
    pub(super) original: &'a StoredTrial,
}

/// Wall, CPU and time outside the program's own code, in seconds.
pub(super) type Times = [f64; 3];
pub(super) const TIMES: [&str; 3] = ["wall", "cpu", "outside"];

/// One phase of one pair.
pub(super) struct PairedPhase {
    pub(super) block: u32,
    pub(super) ours: Times,
    pub(super) original: Times,
    /// Name, ours and the original's.
    pub(super) counts: Vec<(String, f64, f64)>,
    pub(super) remarks: Vec<String>,
}

impl Pair<'_> {
    /// A phase that both completed and neither calls not comparable.
    pub(super) fn phase(&self, name: &str) -> Option<PairedPhase> {
        let find = |trial: &'_ StoredTrial| {
            trial
                .phases
                .iter()
                .find(|phase| phase.phase == name && phase.status == PhaseStatus::Completed)
                .cloned()
        };
        let (ours, original) = (find(self.ours)?, find(self.original)?);
        let remarks = [&ours, &original]
            .into_iter()
            .filter_map(|result| {
                let why = not_comparable(result.not_comparable.as_ref()?);
                Some(format!("{}: {why}", result.workload))
            })
            .collect();
        Some(PairedPhase {
            block: self.block,
            ours: times(&ours),
            original: times(&original),
            counts: counts(&ours, &original),
            remarks,
        })
    }
}

impl PairedPhase {
    pub(super) fn add(&mut self, other: &PairedPhase) {
        for at in 0..TIMES.len() {
            self.ours[at] += other.ours[at];
            self.original[at] += other.original[at];
        }
    }

    pub(super) fn without_counts(self) -> PairedPhase {
        PairedPhase { counts: Vec::new(), remarks: Vec::new(), ..self }
    }
}

fn times(result: &PhaseResult) -> Times {
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    let (wall, user) = (seconds(result.wall.0), seconds(result.cpu.user.0));
    [wall, seconds(result.cpu.total().0), wall - user]
}

/// The counts that both report. Those that the original does not report are not compared.
fn counts(ours: &PhaseResult, original: &PhaseResult) -> Vec<(String, f64, f64)> {
    let fixed = [
        ("ops", ours.ops, original.ops),
        ("bytes read", ours.read_bytes.0, original.read_bytes.0),
        ("bytes written", ours.write_bytes.0, original.write_bytes.0),
    ];
    let told = fixed.into_iter().filter(|(_, _, original)| *original > 0);
    let mut counts: Vec<_> =
        told.map(|(name, a, b)| (name.to_owned(), a as f64, b as f64)).collect();
    for (name, theirs) in &original.figures {
        let is_rate = name.ends_with("_s") || name.ends_with("_sec");
        if let Some(what) = name.strip_prefix("original_")
            && !is_rate
            && let Some(mine) = ours.figures.get(name)
        {
            counts.push((what.to_owned(), *mine, *theirs));
        }
    }
    counts
}
