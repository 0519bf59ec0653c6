//! What PostMark counts, as it prints it.

use std::collections::BTreeMap;

use super::plan::{Plan, Step};

/// Counts of a whole run, in files and megabytes of 1024² bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::workloads) struct Totals {
    pub(in crate::workloads) created: u64,
    pub(in crate::workloads) read: u64,
    pub(in crate::workloads) appended: u64,
    pub(in crate::workloads) deleted: u64,
    pub(in crate::workloads) read_mb: f64,
    pub(in crate::workloads) written_mb: f64,
}

impl Totals {
    /// Of all that a plan has. The original adds bytes up in single precision: near a
    /// gigabyte each file rounds the sum to 64 bytes.
    pub(super) fn of(plan: &Plan) -> Totals {
        let (mut created, mut read, mut appended, mut deleted) = (0, 0, 0, plan.left.len() as u64);
        let (mut bytes_read, mut bytes_written) = (0_f32, 0_f32);
        for step in plan.creates.iter().chain(&plan.transactions) {
            match step {
                Step::Create { bytes, .. } => {
                    created += 1;
                    bytes_written += *bytes as f32;
                }
                Step::Read { bytes, .. } => {
                    read += 1;
                    bytes_read += *bytes as f32;
                }
                Step::Append { bytes, .. } => {
                    appended += 1;
                    bytes_written += *bytes as f32;
                }
                Step::Delete { .. } => deleted += 1,
            }
        }
        let (read_mb, written_mb) = (printed_mb(bytes_read), printed_mb(bytes_written));
        Totals { created, read, appended, deleted, read_mb, written_mb }
    }

    /// Adds them to a phase's figures.
    pub(in crate::workloads) fn figures(&self, figures: &mut BTreeMap<String, f64>) {
        let counts = [
            ("original_created", self.created as f64),
            ("original_read", self.read as f64),
            ("original_appended", self.appended as f64),
            ("original_deleted", self.deleted as f64),
            ("original_read_mb", self.read_mb),
            ("original_written_mb", self.written_mb),
        ];
        figures.extend(counts.map(|(name, value)| (name.to_owned(), value)));
    }
}

/// Bytes as the program prints them, two decimals of megabytes or of the smaller unit they
/// exceed, in MB.
fn printed_mb(bytes: f32) -> f64 {
    let bytes = f64::from(bytes);
    let units = [(1_048_576.0, 1.0), (1024.0, 1.0 / 1024.0)];
    let (unit, in_mb) =
        units.into_iter().find(|(unit, _)| bytes / unit > 1.0).unwrap_or((1.0, 1.0 / 1_048_576.0));
    // What was formatted as a number is one.
    let printed: f64 = format!("{:.2}", bytes / unit).parse().unwrap_or(f64::NAN);
    printed * in_mb
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_as_printed() {
        assert_eq!(printed_mb(30_188_543.0), 28.79);
        assert_eq!(printed_mb(166_881.0), 162.97 / 1024.0);
        // As PostMark 1.53 was seen to print it: 1087.95 megabytes, no gigabyte.
        assert_eq!(printed_mb(1_140_797_000.0), 1087.95);
    }
}
