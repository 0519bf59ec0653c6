//! Who looks again and again, adding repeats in between, is wrong no more often than stated.

use crate::noise::Noise;
use stats::{Estimated, Region, Resolution, decide, paired, share_of_look};

/// Repeats at each look.
const LOOKS: [usize; 6] = [3, 4, 6, 8, 12, 16];

/// Whether any of the five questions between six contenders is decided at any look: whether
/// each is faster than the first. `apart` is by how much they are.
fn decided(noise: &mut Noise, spread: f64, apart: f64, share: impl Fn(usize) -> f64) -> bool {
    let mut contenders = [(apart, spread); 6];
    contenders[0].0 = 0.0;
    let all = noise.table(LOOKS[LOOKS.len() - 1], 0.1, &contenders);
    let below = Region { low: f64::NEG_INFINITY, high: 0.0 };
    LOOKS.iter().enumerate().any(|(look, n)| {
        let questions: Vec<(Estimated, Region)> = all[1..]
            .iter()
            .map(|one| {
                let found = paired(&all[0][..*n], &one[..*n], Resolution::Fine).unwrap();
                (Estimated::from(found), below)
            })
            .collect();
        decide(&questions, share(look)).iter().any(|decision| decision.inside.is_some())
    })
}

#[test]
fn six_looks_at_equals_are_wrong_in_at_most_5_of_100_studies() {
    let mut noise = Noise::new(21);
    let runs = 2_000;
    let allowed = 0.05 + 4.0 * (0.05f64 * 0.95 / runs as f64).sqrt();
    let mut rate = |share: &dyn Fn(usize) -> f64| {
        let wrong = (0..runs).filter(|_| decided(&mut noise, 0.03, 0.0, share)).count();
        wrong as f64 / runs as f64
    };
    let spent = rate(&|look| share_of_look(0.05, look));
    assert!(spent <= 0.05, "{spent}");
    // The whole rate at each look is what must not be done.
    let whole = rate(&|_| 0.05);
    assert!(whole > allowed, "{whole}");
}

/// What is half as much again slower is found at three or four repeats.
#[test]
fn what_differs_much_is_found_with_few_repeats() {
    let mut noise = Noise::new(22);
    let share = |look: usize| if look < 2 { share_of_look(0.05, look) } else { 0.0 };
    let found = (0..500).filter(|_| decided(&mut noise, 0.01, 0.4, share)).count();
    assert!(found >= 480, "{found} of 500");
}
