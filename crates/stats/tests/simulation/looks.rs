//! Who looks again and again, adding repeats in between, is wrong no more often than stated.

use crate::noise::Noise;
use stats::{
    Better, Enough, Estimated, FirstPlace, LOOKS as PLANNED, Look, Region, Resolution, Settings,
    compare_all, decide, look, paired, share_of_look, share_of_planned_look,
};
use std::time::Duration;

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

/// A run that repeats until its figures decide: its last number of repeats, why it ended, and which
/// contender is said to be first alone.
fn adaptive(noise: &mut Noise, contenders: &[(f64, f64)]) -> (u32, Enough, Option<usize>) {
    let alpha = share_of_planned_look(0.05);
    let settings = Settings { alpha, ..Settings::new(Better::Lower) };
    let all = noise.table(PLANNED[PLANNED.len() - 1] as usize, 0.1, contenders);
    let mut repeats = PLANNED[0];
    loop {
        let seen: Vec<Vec<_>> = all.iter().map(|row| row[..repeats as usize].to_vec()).collect();
        let table = compare_all(&seen, &settings);
        match look(repeats, table.first_place(), Duration::ZERO, Duration::MAX) {
            Look::Further(next) => repeats = next,
            Look::Enough(why) => {
                let alone = (0..all.len())
                    .find(|at| table.ranks[*at].is_some_and(|it| (it.best, it.worst) == (1, 1)));
                return (repeats, why, alone);
            }
        }
    }
}

/// 2 to 8 contenders that differ in nothing, quiet, noisy or both: in how many of 200 runs one of
/// them is said to be first.
#[test]
fn a_run_that_repeats_until_decided_names_a_first_of_equals_in_at_most_5_of_100() {
    let mut noise = Noise::new(23);
    let unequal = [0.01, 0.02, 0.04, 0.08].map(|spread| (0.0, spread));
    for contenders in [
        &[(0.0, 0.005); 2][..],
        &[(0.0, 0.05); 2],
        &[(0.0, 0.02); 3],
        &[(0.0, 0.1); 5],
        &[(0.0, 0.03); 8],
        &unequal,
    ] {
        let runs: Vec<_> = (0..200).map(|_| adaptive(&mut noise, contenders)).collect();
        let wrong = runs.iter().filter(|(_, _, alone)| alone.is_some()).count();
        let of = |why| runs.iter().filter(|run| run.1 == why).count();
        let (level, most) = (of(Enough::Level), of(Enough::Most));
        println!("{contenders:?}: {wrong} of 200 wrong, {level} level, {most} with 12 repeats");
        assert!(wrong <= 10, "{contenders:?}: {wrong} of 200");
    }
    let many = (0..4_000).filter(|_| adaptive(&mut noise, &[(0.0, 0.03); 2]).2.is_some()).count();
    println!("two equals: {many} of 4000");
    assert!(many as f64 <= 0.05 * 4_000.0, "{many} of 4000");
}

/// The first of three that are 20 and 60 % apart is found with few repeats, and is the right one; two
/// within 2 % are level.
#[test]
fn a_run_that_repeats_until_decided_ends_early_where_it_can() {
    let mut noise = Noise::new(24);
    let apart = [(0.0, 0.01), (0.2, 0.01), (0.5, 0.02)];
    let runs: Vec<_> = (0..200).map(|_| adaptive(&mut noise, &apart)).collect();
    assert!(runs.iter().all(|(_, _, alone)| *alone == Some(0)), "{runs:?}");
    assert!(runs.iter().filter(|run| run.0 <= 5).count() >= 190, "{runs:?}");
    let near = [(0.0, 0.005), (0.02, 0.005)];
    let runs: Vec<_> = (0..200).map(|_| adaptive(&mut noise, &near)).collect();
    assert!(runs.iter().all(|(repeats, ..)| *repeats <= 8), "{runs:?}");
}

#[test]
fn who_cannot_be_compared_leaves_the_first_place_open() {
    let mut noise = Noise::new(25);
    let mut all = noise.table(5, 0.1, &[(0.0, 0.01), (0.5, 0.01), (0.5, 0.01)]);
    let settings = Settings::new(Better::Lower);
    assert_eq!(compare_all(&all, &settings).first_place(), FirstPlace::Decided);
    all[2].truncate(1);
    assert_eq!(compare_all(&all, &settings).first_place(), FirstPlace::Open);
    all[2].clear();
    assert_eq!(compare_all(&all, &settings).first_place(), FirstPlace::Decided);
    assert_eq!(compare_all(&[], &settings).first_place(), FirstPlace::Level);
}
