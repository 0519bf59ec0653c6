//! How far a model's response times are from a measured drive's: the demerit figure of Ruemmler and
//! Wilkes ("An introduction to disk drive modeling", IEEE Computer, 1994).

use std::fmt;

use units::{Lba, Nanos};

use crate::replay::{Asked, Replay, Stalled};
use crate::{Model, Operation};

/// One request of a validation trace: the request, how long the real drive took, and how long after
/// its end the next request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// The request.
    pub asked: Asked,
    /// How long the real drive took.
    pub took: Nanos,
    /// From its end to the next request.
    pub gap: Nanos,
}

/// A line of a trace that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} of the trace is not `R|W ACTION SECTOR SECTORS MICROSECONDS GAP` (as in \
     DiskSim's validation traces): `{text}`"
)]
pub struct TraceError {
    /// Counted from 1.
    pub line: usize,
    /// The line.
    pub text: String,
}

/// Reads a trace in the format of DiskSim's validation traces: `R` or `W`, what the buffer
/// did (not used), first sector, sectors, microseconds taken, microseconds to the next.
///
/// # Errors
/// At the first line that is something else.
pub fn read_trace(text: &str) -> Result<Vec<Measured>, TraceError> {
    let mut trace = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let measured = measured(line)
            .ok_or_else(|| TraceError { line: index + 1, text: line.trim().to_owned() })?;
        trace.push(measured);
    }
    Ok(trace)
}

fn measured(line: &str) -> Option<Measured> {
    let mut fields = line.split_whitespace();
    let operation = match fields.next()? {
        "R" => Operation::Read,
        "W" => Operation::Write,
        _ => return None,
    };
    let _buffer = fields.next()?;
    let (lba, sectors) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let mut micros = || -> Option<Nanos> {
        let micros: f64 = fields.next()?.parse().ok()?;
        (0.0..1e12).contains(&micros).then_some(Nanos((micros * 1e3) as u64))
    };
    let (took, gap) = (micros()?, micros()?);
    let asked = Asked { operation, lba: Lba(lba), sectors, fua: false };
    Some(Measured { asked, took, gap })
}

/// What a trace says about a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Root mean square of the horizontal distance between the two distributions, in
    /// milliseconds.
    pub demerit_ms: f64,
    /// The same over reads only; `None` without any.
    pub reads_ms: Option<f64>,
    /// The same over writes only.
    pub writes_ms: Option<f64>,
    /// Mean of the real drive's times, in milliseconds.
    pub measured_mean_ms: f64,
    /// Mean of the model's times, in milliseconds.
    pub model_mean_ms: f64,
    /// Requests compared.
    pub requests: usize,
}

impl Agreement {
    /// The demerit as a fraction of the measured mean.
    pub fn relative(&self) -> f64 {
        self.demerit_ms / self.measured_mean_ms
    }
}

/// Two or three lines for a terminal.
impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Agreement { demerit_ms, measured_mean_ms, model_mean_ms, requests, .. } = self;
        let percent = self.relative() * 100.0;
        writeln!(
            f,
            "demerit {demerit_ms:.3} ms ({percent:.1} % of the mean) over {requests} requests"
        )?;
        write!(f, "mean    {model_mean_ms:.3} ms, of the real drive {measured_mean_ms:.3} ms")?;
        if let (Some(reads), Some(writes)) = (self.reads_ms, self.writes_ms) {
            write!(f, "\nof reads alone {reads:.3} ms, of writes alone {writes:.3} ms")?;
        }
        Ok(())
    }
}

/// Replays a trace, one request at a time with the trace's gaps, and compares. `None` for an
/// empty trace.
///
/// # Errors
/// When the model stalls.
pub fn agreement(model: &mut dyn Model, trace: &[Measured]) -> Result<Option<Agreement>, Stalled> {
    let gaps = [Nanos::ZERO].into_iter().chain(trace.iter().map(|measured| measured.gap));
    let requests = gaps.zip(trace).map(|(gap, measured)| (gap, measured.asked));
    let mut times = Vec::with_capacity(trace.len());
    Replay::new(model).closed(1, requests, |served| times.push(served.latency()))?;
    let of = |operation: Option<Operation>| {
        let kept = |measured: &Measured| operation.is_none_or(|op| op == measured.asked.operation);
        let pairs = trace.iter().zip(&times).filter(|(measured, _)| kept(measured));
        let (real, simulated): (Vec<f64>, Vec<f64>) = pairs
            .map(|(measured, time)| (measured.took.as_millis_f64(), time.as_millis_f64()))
            .unzip();
        demerit(real, simulated)
    };
    let mean = |times: &mut dyn Iterator<Item = Nanos>| {
        times.map(Nanos::as_millis_f64).sum::<f64>() / trace.len() as f64
    };
    Ok(of(None).map(|demerit_ms| Agreement {
        demerit_ms,
        reads_ms: of(Some(Operation::Read)),
        writes_ms: of(Some(Operation::Write)),
        measured_mean_ms: mean(&mut trace.iter().map(|measured| measured.took)),
        model_mean_ms: mean(&mut times.iter().copied()),
        requests: trace.len(),
    }))
}

/// The demerit figure of two samples of equal size: the root mean square distance between
/// the values of equal rank. `None` for empty samples or samples of unequal size.
pub fn demerit(mut real: Vec<f64>, mut simulated: Vec<f64>) -> Option<f64> {
    if real.is_empty() || real.len() != simulated.len() {
        return None;
    }
    real.sort_by(f64::total_cmp);
    simulated.sort_by(f64::total_cmp);
    let squares: f64 = real.iter().zip(&simulated).map(|(a, b)| (a - b) * (a - b)).sum();
    Some((squares / real.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::models::ideal::{Ideal, IdealParameters};

    #[test]
    fn order_does_not_matter_and_a_shift_is_its_own_demerit() {
        assert_eq!(demerit(vec![1.0, 2.0, 3.0], vec![3.0, 1.0, 2.0]), Some(0.0));
        assert_eq!(demerit(vec![1.0, 2.0], vec![2.5, 1.5]), Some(0.5));
        assert_eq!(demerit(vec![], vec![]), None);
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = read_trace("R Hit 10 4 100.0 5.0\nX Hit 1 1 1 1\n").unwrap_err();
        assert_eq!(error.line, 2);
        let trace = read_trace("W Miss 10 4 100.5 5.0\n").unwrap();
        assert_eq!(trace[0].took, Nanos(100_500));
        assert_eq!(trace[0].asked, Asked::write(10, 4));
    }

    /// The model takes 3 ms: 1 ms too long for the read, 7 ms too short for the write. The root of
    /// (1 + 49) / 2 is 5.
    #[test]
    fn an_agreement_is_over_all_requests_and_over_those_of_each_kind() {
        let request = |asked, millis| {
            let took = Nanos::from_millis(millis);
            Measured { asked, took, gap: Nanos::ZERO }
        };
        let trace = [request(Asked::read(0, 8), 2), request(Asked::write(64, 8), 10)];
        let parameters = IdealParameters { sectors: 1000, latency: Nanos::from_millis(3) };
        let mut model = Ideal::new(&parameters, &Options::default());
        let expected = Agreement {
            demerit_ms: 5.0,
            reads_ms: Some(1.0),
            writes_ms: Some(7.0),
            measured_mean_ms: 6.0,
            model_mean_ms: 3.0,
            requests: 2,
        };
        assert_eq!(agreement(&mut model, &trace), Ok(Some(expected)));
        assert_eq!(agreement(&mut model, &[]), Ok(None));
    }

    #[test]
    fn a_demerit_is_shown_as_a_share_of_the_measured_mean() {
        let found = Agreement {
            demerit_ms: 1.5,
            reads_ms: Some(1.0),
            writes_ms: Some(2.0),
            measured_mean_ms: 6.0,
            model_mean_ms: 5.0,
            requests: 7,
        };
        assert_eq!(found.relative(), 0.25);
        let both = "demerit 1.500 ms (25.0 % of the mean) over 7 requests\n\
                    mean    5.000 ms, of the real drive 6.000 ms";
        let each = "of reads alone 1.000 ms, of writes alone 2.000 ms";
        assert_eq!(found.to_string(), format!("{both}\n{each}"));
        assert_eq!(Agreement { writes_ms: None, ..found }.to_string(), both);
    }
}
