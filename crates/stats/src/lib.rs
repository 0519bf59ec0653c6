//! Intervals, tests, rankings and plans: pure functions over slices. Nothing here reads a
//! file, a clock or a random source, and nothing makes up a figure: too few data or a figure
//! without a logarithm gives a [`Missing`], never 0.
//!
//! # Why it is done this way
//!
//! **Logarithms.** Timings are positive, their noise grows with them, and the question is
//! "how many times", so figures are averaged and compared as logarithms: geometric means,
//! ratios with intervals (Fleming and Wallace, CACM 29, 1986).
//!
//! **Student's t, no bootstrap.** Repeats are few. On log figures the t interval has its nominal
//! coverage at every n from 3 to 10 (`tests/simulation/coverage.rs` simulates it); the percentile
//! bootstrap covers 74 to 89 % instead of 95 % at n of 3 to 8.
//!
//! **Pairs within a block, n − 1 degrees of freedom.** Trials of one block share a seed and a
//! time, so two contenders are compared by their differences within blocks, and a disturbance of
//! a whole block cancels out. The alternative, one variance pooled over all contenders of the
//! block design with (k − 1)(n − 1) degrees of freedom, finds more at 3 repeats, but assumes
//! that all pairs are equally noisy (sphericity; Maxwell and Delaney, *Designing Experiments
//! and Analyzing Data*, ch. 11 and 12, advise against pooling for pairs for this reason).
//! Filesystems are not: spreads of 1 to 8 % occur side by side. `tests/simulation/coverage.rs` shows
//! pooled intervals of a noisy pair falling far below 95 % while paired ones hold.
//!
//! **Holm over a table.** All pairwise comparisons of one metric are one family, with
//! Holm's step-down procedure at 5 % for the whole (Holm, Scand. J. Statist. 6, 1979); it
//! needs no independence. `tests/simulation/false_positives.rs` compares contenders with themselves.
//!
//! **Looking more than once.** Looking at results, adding repeats if they do not decide, and
//! looking again is wrong more often than once in twenty. So each look has a share of the error
//! rate, and all shares together do not exceed it (alpha spending: Lan and DeMets, Biometrika
//! 70, 1983; the shares are added, which needs no assumption on how looks depend on each other).
//! `tests/simulation/looks.rs` looks six times at contenders that are equal, and lets runs repeat
//! until their figures decide.
//!
//! **Rank intervals.** A contender's best possible rank is one more than the number of
//! contenders shown to be better; at its worst possible rank only those shown to be worse are
//! behind it. With family-wise control these intervals cover all true ranks together (Mogstad,
//! Romano, Shaikh and Wilhelm, Rev. Econ. Stud. 91, 2024). Contenders that cannot be told apart
//! share ranks.
#![forbid(unsafe_code)]

mod blocks;
mod calibration;
mod comparison;
mod equivalence;
mod estimate;
mod holm;
mod judging;
mod missing;
mod planning;
mod ranking;
mod region;
#[cfg(test)]
mod region_tests;
mod sequential;
mod standing;
mod stopping;
mod student;
mod table;

pub use calibration::{Answers, compare_in_batches, compare_with_itself, most_by_chance};
pub use comparison::{COMPARED_FROM, Comparison, Design, Observation, Resolution, paired, welch};
pub use equivalence::equivalence_p;
pub use estimate::{Estimate, Interval, arithmetic_mean, geometric_mean};
pub use holm::holm;
pub use judging::{Shown, judge};
pub use missing::Missing;
pub use planning::{Plan, Undecidable, coefficient_of_variation};
pub use ranking::{RankInterval, rank_intervals};
pub use region::{Decision, Estimated, Region, decide};
pub use sequential::{Enough, FirstPlace, LOOKS, Look, look, share_of_look, share_of_planned_look};
pub use standing::{Behind, Relation, Standing};
pub use stopping::{FixedWidth, Next};
pub use table::{Better, Pair, Settings, Table, compare_all, compare_variants};
