//! Measures a model from outside, as one measures a drive, and compares the results with published
//! figures. Each measurement uses a new model, just as a drive is left to rest between two
//! measurements.

#[cfg(test)]
mod tests;

use std::fmt;

use units::{Nanos, SECTOR_BYTES};

use crate::models::draw::Draw;
use crate::replay::{Asked, Replay, Served, Stalled};
use crate::{Device, DiskDescription, Figure, Model, Options, Published};

/// Sectors of the small requests: 4 KiB.
const SMALL: u64 = 8;

/// Requests of a random measurement: enough for a mean within a half per cent or so.
const RANDOM_REQUESTS: usize = 4000;

/// Random writes to a controller. Its memory absorbs the first ones, so only the last quarter shows
/// the rate of its members.
const CONTROLLER_WRITES: usize = 60_000;

/// Sectors of an SSD that are written before they are read: never-written sectors answer too fast.
const PREPARED_SECTORS: u64 = 4 << 21;

/// One line of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckRow {
    /// What was measured.
    pub figure: Figure,
    /// The model's value, in [`Figure::unit`]; `None` where the figure does not apply to it.
    pub measured: Option<f64>,
    /// What was published, where anything was.
    pub published: Option<Published>,
}

impl CheckRow {
    /// By how many per cent the model misses the published value.
    fn deviation_percent(&self) -> Option<f64> {
        let (measured, published) = (self.measured?, self.published.as_ref()?);
        Some((measured / published.value - 1.0) * 100.0)
    }

    /// Whether it is within the tolerance; `None` where there is nothing to judge.
    pub fn holds(&self) -> Option<bool> {
        let tolerance = self.published.as_ref()?.tolerance_percent?;
        Some(self.deviation_percent()?.abs() <= tolerance)
    }
}

/// Sequential reading in one zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZoneRate {
    /// First sector read.
    pub lba: u64,
    /// MB/s (10⁶ bytes).
    pub mb_per_s: f64,
}

/// Access times over one distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeekPoint {
    /// Distance in sectors.
    pub sectors: u64,
    /// The shortest access: the seek alone, when there happened to be no rotational delay.
    pub least: Nanos,
    /// The mean access.
    pub mean: Nanos,
}

/// All that a check finds.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The figures, in the order of [`Figure::ALL`].
    pub rows: Vec<CheckRow>,
    /// Sequential reading along the device.
    pub zones: Vec<ZoneRate>,
    /// Access time by distance; empty for a device without an arm.
    pub seeks: Vec<SeekPoint>,
}

/// Measures a device with its options as given.
///
/// # Errors
/// When the model stalls.
pub fn check(disk: &DiskDescription, seed: u64, options: &Options) -> Result<Check, Stalled> {
    let probe = Probe { disk, seed, options };
    let zones = probe.zones()?;
    let rate = |zone: Option<&ZoneRate>| zone.map(|zone| zone.mb_per_s);
    let reads = probe.random_reads_ms(SMALL)?;
    let mut rows = Vec::new();
    for figure in Figure::ALL {
        let measured = match figure {
            Figure::RandomReadMs => Some(reads.iter().sum::<f64>() / reads.len() as f64),
            Figure::RandomReadMedianMs => quantile(&reads, 0.5),
            Figure::RandomReadP99Ms => quantile(&reads, 0.99),
            Figure::RandomReadDepth32Iops => Some(probe.random_iops(false)?),
            Figure::SequentialOuterMbPerS => rate(zones.first()),
            Figure::SequentialInnerMbPerS => rate(zones.last()),
            Figure::SequentialWriteOuterMbPerS => Some(probe.sequential_write()?),
            Figure::SeekAverageMs => probe.seek_average_ms()?,
            Figure::CachedWriteMs => Some(probe.cached_write_ms()?),
            Figure::RandomWriteDepth32Iops => Some(probe.random_iops(true)?),
            Figure::SyncWriteIops => Some(probe.sync_writes()?),
            Figure::DemeritMs => None,
        };
        // If an access takes no time, there is no rate.
        let measured = measured.filter(|value| value.is_finite());
        let published = disk.published.iter().find(|published| published.figure == *figure);
        rows.push(CheckRow { figure: *figure, measured, published: published.cloned() });
    }
    Ok(Check { rows, zones, seeks: probe.seeks()? })
}

/// The quantile `part` of ascending values.
fn quantile(values: &[f64], part: f64) -> Option<f64> {
    values.get((values.len() as f64 * part) as usize).copied()
}

struct Probe<'a> {
    disk: &'a DiskDescription,
    seed: u64,
    options: &'a Options,
}

/// Mean latency of what was served, in milliseconds, and the time from the first submission
/// to the last completion.
#[derive(Default)]
struct Tally {
    served: u64,
    latency_ms: f64,
    first: Option<Nanos>,
    last: Nanos,
}

impl Tally {
    fn add(&mut self, served: Served) {
        self.served += 1;
        self.latency_ms += served.latency().as_millis_f64();
        self.first.get_or_insert(served.submitted);
        self.last = self.last.max(served.completed);
    }

    fn mean_ms(&self) -> f64 {
        self.latency_ms / self.served as f64
    }

    fn seconds(&self) -> f64 {
        (self.last - self.first.unwrap_or_default()).as_secs_f64()
    }
}

impl Probe<'_> {
    /// A fresh model, and how many of its sectors may be read from the medium.
    fn model(&self) -> Result<(Box<dyn Model>, u64), Stalled> {
        let mut model = self.disk.build(self.seed, self.options);
        let sectors = model.capacity().0 / SECTOR_BYTES;
        if !matches!(self.disk.device, Device::Ssd(_)) {
            return Ok((model, sectors));
        }
        let sectors = sectors.min(PREPARED_SECTORS);
        let fill = (0..sectors / 2048).map(|index| (Nanos::ZERO, Asked::write(index * 2048, 2048)));
        Replay::new(model.as_mut()).closed(8, fill, |_| {})?;
        Ok((model, sectors))
    }

    /// Starts a replay after the time that preparing the model took.
    fn start<'m>(&self, model: &'m mut dyn Model) -> Replay<'m> {
        let mut replay = Replay::new(model);
        replay.idle(Nanos::from_secs(3600));
        replay
    }

    fn random(
        &self,
        span: u64,
        sectors: u64,
        write: bool,
        requests: usize,
    ) -> impl Iterator<Item = (Nanos, Asked)> {
        let mut draw = Draw::new(self.seed, "check");
        let places = (span / sectors).max(1);
        (0..requests).map(move |_| {
            let lba = draw.below(places) * sectors;
            let asked = if write { Asked::write(lba, sectors) } else { Asked::read(lba, sectors) };
            (Nanos::ZERO, asked)
        })
    }

    /// The times of random reads, one at a time, in milliseconds and ascending.
    fn random_reads_ms(&self, sectors: u64) -> Result<Vec<f64>, Stalled> {
        let (mut model, span) = self.model()?;
        let mut taken = Vec::with_capacity(RANDOM_REQUESTS);
        self.start(model.as_mut()).closed(
            1,
            self.random(span, sectors, false, RANDOM_REQUESTS),
            |served| taken.push(served.latency().as_millis_f64()),
        )?;
        taken.sort_by(f64::total_cmp);
        Ok(taken)
    }

    /// Random requests a second, 32 at a time. The first ones are not counted: they fill
    /// queues and caches.
    fn random_iops(&self, write: bool) -> Result<f64, Stalled> {
        let (mut model, span) = self.model()?;
        let many = write && matches!(self.disk.device, Device::Controller(..));
        let requests = if many { CONTROLLER_WRITES } else { RANDOM_REQUESTS };
        let requests = self.random(span, SMALL, write, requests);
        let mut ends = Vec::new();
        self.start(model.as_mut()).closed(32, requests, |served| ends.push(served.completed))?;
        let from = ends.len() / 4 * if many { 3 } else { 1 };
        let time = ends[ends.len() - 1] - ends[from - 1];
        Ok((ends.len() - from) as f64 / time.as_secs_f64())
    }

    /// Sequential reading: one request at a time from a device with an arm, eight from others.
    fn zones(&self) -> Result<Vec<ZoneRate>, Stalled> {
        let (mut model, span) = self.model()?;
        let zones = self.disk.zones();
        let mut starts: Vec<u64> = zones.iter().map(|(lba, _)| *lba).collect();
        if starts.is_empty() {
            starts = vec![0, span - span / 8];
        }
        let depth = if matches!(self.disk.device, Device::Drive(_)) { 1 } else { 8 };
        let mut replay = self.start(model.as_mut());
        let mut rates = Vec::new();
        for (index, lba) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(span).min(span);
            let length = (end.saturating_sub(*lba)).min(128 << 11) / 512 * 512;
            if length == 0 {
                continue;
            }
            let requests =
                (0..length / 512).map(|index| (Nanos::ZERO, Asked::read(lba + index * 512, 512)));
            let mut tally = Tally::default();
            replay.closed(depth, requests, |served| tally.add(served))?;
            let mb_per_s = (length * SECTOR_BYTES) as f64 / 1e6 / tally.seconds();
            rates.push(ZoneRate { lba: *lba, mb_per_s });
            replay.idle(Nanos::from_secs(1));
        }
        rates.retain(|rate| rate.mb_per_s.is_finite());
        Ok(rates)
    }

    /// Sequential writing far beyond any cache, the first half not counted.
    fn sequential_write(&self) -> Result<f64, Stalled> {
        let mut model = self.disk.build(self.seed, self.options);
        let sectors = (model.capacity().0 / SECTOR_BYTES).min(2 << 21) / 2048 * 2048;
        let requests =
            (0..sectors / 2048).map(|index| (Nanos::ZERO, Asked::write(index * 2048, 2048)));
        let mut ends = Vec::new();
        self.start(model.as_mut()).closed(1, requests, |served| ends.push(served.completed))?;
        let Some(half) = ends.get(ends.len() / 2) else { return Ok(f64::NAN) };
        let bytes = (ends.len() - 1 - ends.len() / 2) as u64 * 2048 * SECTOR_BYTES;
        Ok(bytes as f64 / 1e6 / (ends[ends.len() - 1] - *half).as_secs_f64())
    }

    /// The mean seek: a random read of one sector, less half a revolution, the overhead and
    /// the sector itself.
    fn seek_average_ms(&self) -> Result<Option<f64>, Stalled> {
        let (Device::Drive(drive), Some(revolution)) = (&self.disk.device, self.disk.revolution())
        else {
            return Ok(None);
        };
        let reads = self.random_reads_ms(1)?;
        let mean = reads.iter().sum::<f64>() / reads.len() as f64;
        let half = revolution.as_millis_f64() / 2.0;
        Ok(Some(mean - half - drive.overhead.read_miss.as_millis_f64()))
    }

    fn cached_write_ms(&self) -> Result<f64, Stalled> {
        let mut model = self.disk.build(self.seed, self.options);
        let span = model.capacity().0 / SECTOR_BYTES;
        let mut tally = Tally::default();
        let requests = self.random(span, SMALL, true, 100);
        let spaced = requests.map(|(_, asked)| (Nanos::from_millis(100), asked));
        self.start(model.as_mut()).closed(1, spaced, |served| tally.add(served))?;
        Ok(tally.mean_ms())
    }

    /// Writes as to a log: 4 KiB after 4 KiB, each followed by a flush.
    fn sync_writes(&self) -> Result<f64, Stalled> {
        let mut model = self.disk.build(self.seed, self.options);
        let mut tally = Tally::default();
        let pairs = (0..500).flat_map(|index| [Asked::write(index * SMALL, SMALL), Asked::FLUSH]);
        self.start(model.as_mut()).closed(
            1,
            pairs.map(|asked| (Nanos::ZERO, asked)),
            |served| tally.add(served),
        )?;
        Ok(500.0 / tally.seconds())
    }

    /// Pairs of reads at growing distances.
    fn seeks(&self) -> Result<Vec<SeekPoint>, Stalled> {
        if !matches!(self.disk.device, Device::Drive(_)) {
            return Ok(Vec::new());
        }
        let (mut model, span) = self.model()?;
        let mut draw = Draw::new(self.seed, "seeks");
        let mut replay = self.start(model.as_mut());
        let mut points = Vec::new();
        for share in [100_000u64, 30_000, 10_000, 3000, 1000, 300, 100, 30, 10, 5, 3, 2, 1] {
            let distance = (span / share).clamp(1, span - 2048);
            let (mut least, mut sum) = (Nanos(u64::MAX), Nanos::ZERO);
            for _ in 0..256 {
                let from = draw.below(span - distance - 1024);
                replay.one(Asked::read(from, 1))?;
                // A little farther each time, so that the rotational position varies.
                let took =
                    replay.one(Asked::read(from + distance + draw.below(1024), 1))?.latency();
                least = least.min(took);
                sum += took;
            }
            points.push(SeekPoint { sectors: distance, least, mean: Nanos(sum.0 / 256) });
        }
        Ok(points)
    }
}

/// A table for a terminal.
impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: f64| units::significant(value, 3);
        writeln!(
            f,
            "{:<34} {:>10} {:>10} {:<5} {:>8}  source",
            "", "model", "published", "", "differs"
        )?;
        for row in &self.rows {
            let model = row.measured.map_or("–".to_owned(), shown);
            let value = row.published.as_ref().map(|published| published.value);
            let published = value.map_or("–".to_owned(), shown);
            let differs =
                row.deviation_percent().map_or(String::new(), |percent| format!("{percent:+.1} %"));
            let verdict = match row.holds() {
                Some(false) => " BEYOND TOLERANCE",
                _ => "",
            };
            let source = row.published.as_ref().map_or("", |published| published.source.as_str());
            writeln!(
                f,
                "{:<34} {model:>10} {published:>10} {:<5} {differs:>8}  {source}{verdict}",
                row.figure.title(),
                row.figure.unit(),
            )?;
        }
        if !self.zones.is_empty() {
            writeln!(f, "\nsequential read by place")?;
            for zone in &self.zones {
                let (lba, rate) = (zone.lba, shown(zone.mb_per_s));
                writeln!(f, "{:<34} {rate:>10} MB/s", format!("from sector {lba}"))?;
            }
        }
        if !self.seeks.is_empty() {
            writeln!(f, "\naccess by distance, overhead included")?;
            for point in &self.seeks {
                let (least, mean) = (point.least.to_string(), point.mean.to_string());
                let distance = format!("{} sectors", point.sectors);
                writeln!(f, "{distance:<34} least {least:>10}   mean {mean:>10}")?;
            }
        }
        Ok(())
    }
}
