//! What `calibrate` does on machines, on invented data: with as few repeats as a verdict may
//! rest on, one contender does not differ from itself, and a slower one is found.

use crate::noise::Noise;
use stats::{compare_in_batches, compare_with_itself, most_by_chance};

const ALPHA: f64 = 0.05;

#[test]
fn the_same_differs_from_itself_no_more_often_than_by_chance_at_3_and_4_repeats() {
    let mut noise = Noise::new(31);
    for each in [3, 4] {
        for spread in [0.002, 0.05, 0.3] {
            let all = noise.table(2 * each * 2_000, 0.0, &[(0.0, spread)]);
            let answers = compare_with_itself(&all[0], each, ALPHA);
            assert_eq!(answers.comparisons(), 2_000);
            let most = most_by_chance(2_000, ALPHA);
            assert!(answers.differ() <= most, "{each}, {spread}: {answers:?}, at most {most}");
        }
    }
}

#[test]
fn what_is_slower_is_found_at_3_and_4_repeats_and_never_the_other_way_round() {
    let mut noise = Noise::new(32);
    for each in [3, 4] {
        let contenders = [(0.0, 0.005), (0.05f64.ln_1p(), 0.005)];
        let all = noise.table(each * 1_000, 0.1, &contenders);
        let answers = compare_in_batches(&all[0], &all[1], each, ALPHA);
        assert_eq!((answers.comparisons(), answers.smaller), (1_000, 0));
        assert!(answers.larger >= 950, "{each}: {answers:?}");
    }
}
