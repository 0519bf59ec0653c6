//! How long the arm takes. Only additions, multiplications, divisions and square roots,
//! which IEEE 754 rounds alike on every machine: `powf` or `ln` would not.

use units::Nanos;

use super::parameters::SeekParameters;

/// Where the square-root part ends, in parts of all cylinders. With it a continuous
/// two-piece curve came within 0.09–0.30 ms (weighted rms) of seven measured drives.
const KNEE: f64 = 0.15;

/// A seek curve.
#[derive(Debug, Clone)]
pub(crate) enum SeekCurve {
    /// `single + root·(√d − 1)` up to the knee, a straight line after it.
    TwoPiece { single_ns: f64, root_ns: f64, knee: f64, knee_ns: f64, slope_ns: f64 },
    /// Straight lines between measured points; the last slope goes on.
    Measured(Vec<(f64, f64)>),
}

impl SeekCurve {
    /// Builds the curve for a drive of `cylinders`. Parameters have been checked.
    pub(crate) fn new(parameters: &SeekParameters, cylinders: u32) -> SeekCurve {
        let (Some(single), Some(average), Some(full)) =
            (parameters.single, parameters.average, parameters.full)
        else {
            let knots = parameters.knots_ms.iter().map(|(d, ms)| (f64::from(*d), ms * 1e6));
            return SeekCurve::Measured(knots.collect());
        };
        let [single, average, full] = [single, average, full].map(|time| time.0 as f64);
        let cylinders = f64::from(cylinders.max(8));
        let knee = (KNEE * cylinders).floor().max(2.0);
        let curve = |knee_ns: f64| SeekCurve::TwoPiece {
            single_ns: single,
            root_ns: (knee_ns - single) / (knee.sqrt() - 1.0),
            knee,
            knee_ns,
            slope_ns: (full - knee_ns) / (cylinders - 1.0 - knee),
        };
        // The mean is linear in the knee's height, so bisection closes in on the one that
        // gives the published average; 60 halvings leave less than a nanosecond.
        let (mut low, mut high) = (single, full);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if curve(middle).mean_ns(cylinders) < average {
                low = middle;
            } else {
                high = middle;
            }
        }
        curve((low + high) / 2.0)
    }

    /// Time to move by `distance` cylinders; none for 0.
    #[inline]
    pub(crate) fn time(&self, distance: u32) -> Nanos {
        if distance == 0 { Nanos::ZERO } else { Nanos(self.ns(f64::from(distance)) as u64) }
    }

    fn ns(&self, distance: f64) -> f64 {
        match self {
            SeekCurve::TwoPiece { single_ns, root_ns, knee, knee_ns, slope_ns } => {
                if distance <= *knee {
                    single_ns + root_ns * (distance.sqrt() - 1.0)
                } else {
                    knee_ns + slope_ns * (distance - knee)
                }
            }
            SeekCurve::Measured(knots) => {
                let after = knots.partition_point(|knot| knot.0 < distance);
                if after == 0 {
                    return knots[0].1;
                }
                let after = after.min(knots.len() - 1).max(1);
                let ((d0, t0), (d1, t1)) = (knots[after - 1], knots[after]);
                (t0 + (t1 - t0) * (distance - d0) / (d1 - d0)).max(0.0)
            }
        }
    }

    /// Mean over random pairs of cylinders: `Σ 2(N−d)/N² · seek(d)`. Evaluated on a grid of
    /// at most 2048 distances, dense where the root bends.
    fn mean_ns(&self, cylinders: f64) -> f64 {
        const STEPS: u32 = 2048;
        let mut sum = 0.0;
        let mut weights = 0.0;
        for step in 0..STEPS {
            // Distances grow with the square of the step, so that short ones are not skipped.
            let place = |step: u32| {
                let part = f64::from(step) / f64::from(STEPS);
                1.0 + (cylinders - 2.0) * part * part
            };
            let (from, to) = (place(step), place(step + 1));
            let middle = (from + to) / 2.0;
            let weight = (cylinders - middle) * (to - from);
            sum += weight * self.ns(middle);
            weights += weight;
        }
        // Staying on the cylinder (probability 1/N) takes no time.
        sum / weights * (1.0 - 1.0 / cylinders)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> SeekParameters {
        SeekParameters {
            single: Some(Nanos::from_micros(800)),
            average: Some(Nanos::from_micros(8500)),
            full: Some(Nanos::from_micros(16_000)),
            knots_ms: Vec::new(),
            write_settle: Nanos::from_micros(1000),
        }
    }

    #[test]
    fn the_published_points_are_met() {
        let curve = SeekCurve::new(&spec(), 60_000);
        assert_eq!(curve.time(0), Nanos::ZERO);
        assert_eq!(curve.time(1), Nanos::from_micros(800));
        assert!((curve.time(59_999).as_millis_f64() - 16.0).abs() < 0.001);
        // The mean, counted out over every distance.
        let n = 60_000.0f64;
        let mean: f64 = (1..60_000u32)
            .map(|d| 2.0 * (n - f64::from(d)) / (n * n) * curve.time(d).as_millis_f64())
            .sum();
        assert!((mean - 8.5).abs() < 0.01, "{mean}");
    }

    #[test]
    fn a_measured_curve_passes_through_its_points() {
        let parameters = SeekParameters {
            single: None,
            average: None,
            full: None,
            knots_ms: vec![(1, 0.5), (10, 0.8), (100, 1.3)],
            write_settle: Nanos::ZERO,
        };
        let curve = SeekCurve::new(&parameters, 200);
        assert_eq!(curve.time(10), Nanos::from_micros(800));
        assert_eq!(curve.time(55), Nanos::from_micros(1050));
        assert!(curve.time(150) > curve.time(100), "the last slope goes on");
    }

    /// Of pairs among ten cylinders, one in ten is a cylinder with itself.
    #[test]
    fn staying_on_a_cylinder_counts_in_the_mean() {
        let flat = SeekCurve::Measured(vec![(1.0, 1e6), (9.0, 1e6)]);
        assert!((flat.mean_ns(10.0) - 900_000.0).abs() < 0.01, "{}", flat.mean_ns(10.0));
    }

    /// Where a seek takes as long as it is far, the mean is that of the distances. Over distances
    /// `d` from 1 to 9 the integral of `(10 - d)·d` is 472/3 and that of `10 - d` is 40.
    #[test]
    fn the_mean_is_over_the_distances_from_the_next_cylinder_to_the_farthest() {
        let line = SeekCurve::Measured(vec![(1.0, 1.0), (10.0, 10.0)]);
        let mean = 472.0 / 3.0 / 40.0 * 0.9;
        assert!((line.mean_ns(10.0) - mean).abs() < 0.001, "{} {mean}", line.mean_ns(10.0));
    }

    proptest::proptest! {
        #[test]
        fn farther_never_takes_less(a in 0u32..60_000, b in 0u32..60_000) {
            let curve = SeekCurve::new(&spec(), 60_000);
            let (near, far) = (a.min(b), a.max(b));
            proptest::prop_assert!(curve.time(near) <= curve.time(far));
        }
    }
}
