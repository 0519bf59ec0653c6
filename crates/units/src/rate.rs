//! Throughput: operations or bytes per second.

use std::fmt;

use crate::{Bytes, Nanos, significant};

/// An amount and the time it took. The two measured numbers are kept, so that a rate over zero time
/// is a missing figure instead of infinity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Operations, files or requests.
    Count(u64, Nanos),
    /// Bytes moved.
    Bytes(Bytes, Nanos),
}

impl Rate {
    /// Base units (operations or bytes) a second; `None` where no time passed.
    pub fn per_second(self) -> Option<f64> {
        let (amount, time) = match self {
            Rate::Count(count, time) => (count as f64, time),
            Rate::Bytes(bytes, time) => (bytes.0 as f64, time),
        };
        (time > Nanos::ZERO).then(|| amount / time.as_secs_f64())
    }
}

/// `1234 /s` or `85.3 MiB/s`; `–` where no time passed.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match (self, self.per_second()) {
            (_, None) => "–".to_owned(),
            (Rate::Count(..), Some(rate)) => format!("{} /s", significant(rate, 3)),
            (Rate::Bytes(..), Some(rate)) => {
                format!("{} MiB/s", significant(rate / 1_048_576.0, 3))
            }
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_a_missing_figure() {
        assert_eq!(Rate::Count(10, Nanos::ZERO).per_second(), None);
        assert_eq!(Rate::Count(10, Nanos::ZERO).to_string(), "–");
        assert_eq!(Rate::Count(500, Nanos::from_secs(2)).to_string(), "250 /s");
        let rate = Rate::Bytes(Bytes::from_mib(3), Nanos::from_millis(500));
        assert_eq!(rate.to_string(), "6.00 MiB/s");
    }
}
