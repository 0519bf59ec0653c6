//! What threads count, and the figures of the original's output row.

#[cfg(test)]
mod tests;

use units::Nanos;

use super::draws::Terms;
use crate::PhaseResult;

/// The sums of a thread for the original's output row.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) read: Sums,
    pub(super) write: Sums,
    /// I/Os that ended in each second.
    pub(super) seconds: Vec<u64>,
}

impl Tally {
    /// Without I/Os, and with room for each second of this time and for I/Os that end after it.
    pub(super) fn new(time: Option<Nanos>) -> Tally {
        let seconds = time.map_or(0, |time| (time.0 / 1_000_000_000) as usize + 2);
        Tally { seconds: vec![0; seconds], ..Tally::default() }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Sums {
    pub(super) count: u64,
    sum_ms: f64,
    squares_ms: f64,
    min_ms: f64,
    max_ms: f64,
}

impl Default for Sums {
    fn default() -> Sums {
        let min_ms = f64::INFINITY;
        Sums { count: 0, sum_ms: 0.0, squares_ms: 0.0, min_ms, max_ms: 0.0 }
    }
}

impl Sums {
    #[inline]
    pub(super) fn add(&mut self, latency: Nanos) {
        let ms = latency.0 as f64 / 1e6;
        self.count += 1;
        self.sum_ms += ms;
        self.squares_ms += ms * ms;
        self.min_ms = self.min_ms.min(ms);
        self.max_ms = self.max_ms.max(ms);
    }

    fn plus(self, other: Sums) -> Sums {
        Sums {
            count: self.count + other.count,
            sum_ms: self.sum_ms + other.sum_ms,
            squares_ms: self.squares_ms + other.squares_ms,
            min_ms: self.min_ms.min(other.min_ms),
            max_ms: self.max_ms.max(other.max_ms),
        }
    }

    fn mean(self) -> f64 {
        self.sum_ms / self.count as f64
    }

    /// The sample's standard deviation.
    fn deviation(self) -> Option<f64> {
        let count = self.count as f64;
        (self.count > 1).then(|| {
            ((self.squares_ms - self.sum_ms * self.sum_ms / count) / (count - 1.0)).max(0.0).sqrt()
        })
    }
}

pub(super) fn figures(tallies: &[Tally], terms: Terms, result: &mut PhaseResult) {
    let wall = result.wall.0.max(1) as f64 / 1e9;
    let sums = |of: fn(&Tally) -> Sums| tallies.iter().map(of).fold(Sums::default(), Sums::plus);
    let (reads, writes) = (sums(|tally| tally.read), sums(|tally| tally.write));
    let mut figure = |name: String, value: f64| {
        result.figures.insert(name, value);
    };
    let iops = (reads.count + writes.count) as f64 / wall;
    figure("iops".to_owned(), iops);
    let mut expected_ms = 0.0;
    for (name, sums, share) in
        [("read", reads, 1.0 - terms.write_share), ("write", writes, terms.write_share)]
    {
        if sums.count > 0 {
            figure(format!("{name}_iops"), sums.count as f64 / wall);
            figure(format!("{name}_min_ms"), sums.min_ms);
            figure(format!("{name}_avg_ms"), sums.mean());
            figure(format!("{name}_max_ms"), sums.max_ms);
            if let Some(deviation) = sums.deviation() {
                figure(format!("{name}_sdev_ms"), deviation);
            }
            expected_ms += share * sums.mean();
        }
    }
    if expected_ms > 0.0 {
        figure("consistency".to_owned(), iops * expected_ms / 1e3 / tallies.len() as f64);
    }
    // The last second is not complete.
    let whole = (result.wall.0 / 1_000_000_000) as usize;
    let longest = tallies.iter().map(|tally| tally.seconds.len()).max().unwrap_or(0);
    let rows: Vec<u64> = (0..whole.min(longest))
        .map(|second| tallies.iter().filter_map(|tally| tally.seconds.get(second)).sum())
        .collect();
    if let (Some(least), Some(most)) = (rows.iter().min(), rows.iter().max()) {
        figure("iops_least_second".to_owned(), *least as f64);
        figure("iops_most_second".to_owned(), *most as f64);
        let rows: Vec<String> = rows.iter().map(u64::to_string).collect();
        result.notes.push(format!("I/Os in each second: {}", rows.join(" ")));
    }
}
