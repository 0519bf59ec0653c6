//! Why a figure is missing, takes no part in a comparison or has a remark: as data, and in words.

use serde::Serialize;
use trial::Outcome;
use workload::NotComparable;

/// The reason; only [`Reason::words`] makes a sentence of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum Reason {
    /// The trial's turn has not come.
    NotRunYet,
    /// The run has no such trial.
    NotPlanned,
    /// The trial went well and did not report the phase.
    NotReported,
    /// The trial did not end well.
    Trial {
        /// How it ended.
        end: Outcome,
    },
    /// The phase failed.
    PhaseFailed {
        /// Op, path and the system's reason.
        reason: String,
    },
    /// The phase was left out.
    PhaseSkipped {
        /// What is missing.
        reason: String,
    },
    /// The phase must not be compared.
    NotComparable {
        /// Why not.
        why: NotComparable,
    },
    /// Nothing counts the device's requests.
    NoRequestCounts,
    /// The kernel does not count flushes.
    NoFlushCounts,
    /// The kernel does not report the machine's processor time.
    NoMachineCpu,
    /// A rate over no time.
    NoTimePassed,
    /// No op of this kind took place.
    NoOp {
        /// The kind.
        op: String,
    },
    /// A percentile of too few ops.
    TooFewOps {
        /// Which percentile.
        percentile: &'static str,
        /// How many ops it needs.
        least: u64,
        /// Of which kind.
        op: String,
    },
    /// The workload did not give this figure.
    NoFigure {
        /// Its name.
        name: String,
    },
    /// Not a finite number.
    NotFinite,
    /// Times of single ops contain the lab's transport, which can only be subtracted from the phase.
    SingleOps {
        /// The share of the measured time that was subtracted (0.1: 10 %).
        share: f64,
    },
    /// A remark on a time that is shown: the lab's transport took a part of it.
    PartlyTransport {
        /// The largest share of a trial's time.
        share: f64,
        /// Whether the kernel records how long the processor was idle.
        idle_known: bool,
    },
    /// A remark of the workload on its own work.
    Remark {
        /// The remark.
        text: String,
    },
}

impl Reason {
    /// Whether the phase was left out because nobody asked for it or something is missing.
    pub fn is_skipped(&self) -> bool {
        matches!(self, Reason::PhaseSkipped { .. })
    }

    /// Whether the two are of one kind: they differ at most in a path, a share or a message.
    pub(super) fn is_like(&self, other: &Reason) -> bool {
        use std::mem::discriminant;
        match (self, other) {
            (Reason::Trial { end: one }, Reason::Trial { end: other }) => match (one, other) {
                (Outcome::Failed { step, .. }, Outcome::Failed { step: same, .. }) => step == same,
                (one, other) => discriminant(one) == discriminant(other),
            },
            (Reason::NotComparable { why: one }, Reason::NotComparable { why: other }) => {
                discriminant(one) == discriminant(other)
            }
            (one, other) => discriminant(one) == discriminant(other),
        }
    }

    /// As a fragment of a sentence, for a reader.
    pub fn words(&self) -> String {
        match self {
            Reason::NotRunYet => "not run yet".to_owned(),
            Reason::NotPlanned => "not part of this run".to_owned(),
            Reason::NotReported => "the phase was not reported".to_owned(),
            Reason::Trial { end } => format!("trial {end}"),
            Reason::PhaseFailed { reason } => format!("phase failed: {reason}"),
            Reason::PhaseSkipped { reason } => format!("not run: {reason}"),
            Reason::NotComparable { why } => format!("not comparable: {}", not_comparable(why)),
            Reason::NoRequestCounts => "nothing counts the requests of this target".to_owned(),
            Reason::NoFlushCounts => "this kernel does not count flushes".to_owned(),
            Reason::NoMachineCpu => "the kernel does not report it".to_owned(),
            Reason::NoTimePassed => "no time passed".to_owned(),
            Reason::NoOp { op } => format!("no op `{op}` took place"),
            Reason::TooFewOps { percentile, least, op } => {
                format!("{percentile} needs at least {least} ops of kind {op}")
            }
            Reason::NoFigure { name } => format!("no figure {name}"),
            Reason::NotFinite => "not a finite number".to_owned(),
            Reason::SingleOps { share } => format!(
                "the simulation's own transport had the processor for {:.0} % of the measured \
                 time: that is taken off the phase's time, and cannot be taken off the times of \
                 single ops",
                share * 100.0
            ),
            Reason::PartlyTransport { share, idle_known } => format!(
                "up to {:.1} % of the time is the simulation's own transport{}; the interval \
                 holds the figure with and without it",
                share * 100.0,
                idle(*idle_known)
            ),
            Reason::Remark { text } => text.clone(),
        }
    }
}

/// Why so much counts as the transport's, where the kernel is the reason.
pub(crate) fn idle(known: bool) -> &'static str {
    match known {
        true => "",
        false => {
            " (this kernel does not record how long the processor was idle, so that what the \
             workload only waited for counts as well)"
        }
    }
}

/// Why a phase must not be compared, as a fragment of a sentence.
pub(crate) fn not_comparable(why: &NotComparable) -> String {
    match why {
        NotComparable::Transport { share, limit, idle_known } => format!(
            "the simulation's own transport took {:.1} % of its time (limit {:.0} %){}",
            share * 100.0,
            limit * 100.0,
            idle(*idle_known)
        ),
        NotComparable::AfterPhase { phase } => format!("follows the phase {phase}, which failed"),
        NotComparable::AfterWorkload { workload } => {
            format!("follows the workload {workload}, which failed")
        }
        NotComparable::DeviceNotReached => {
            "meant to reach the device, but caused no device reads or writes".to_owned()
        }
        NotComparable::Other { why } => why.clone(),
    }
}
