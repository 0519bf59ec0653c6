//! What was promised, and what is found instead.

use super::*;

fn content(seed: u64) -> Content {
    Content { seed, len: 2000 }
}

fn judged(allowed: Vec<Version>, seen: Seen) -> Option<Found> {
    let (column, path, because) = (Column::Promised, String::new(), String::new());
    judge(&Expectation { column, path, allowed, because }, &[], &seen)
}

#[test]
fn what_is_there_is_told_from_what_is_not() {
    let is = |bytes: &[u8]| judged(vec![Version::Is(content(1))], Seen::Bytes(bytes.to_vec()));
    let right = content(1).bytes();
    assert_eq!(is(&right), None);
    assert_eq!(is(&[]), Some(Found::Empty));
    assert_eq!(is(&right[..600]), Some(Found::Short(600)));
    assert_eq!(is(&[&right[..512], &[0; 1488]].concat()), Some(Found::Zeroes(512)));
    assert_eq!(is(&content(2).bytes()), Some(Found::Other(0)));
    assert_eq!(judged(vec![Version::Is(content(1))], Seen::Absent), Some(Found::Missing));
    let unreadable = || Seen::Unreadable("EIO".to_owned());
    assert_eq!(
        judged(vec![Version::Absent, Version::Is(content(1))], unreadable()),
        Some(Found::Unreadable("EIO".to_owned()))
    );
}

#[test]
fn old_or_new_is_neither_half_of_both_nor_empty() {
    let either = || vec![Version::Is(content(1)), Version::Is(content(2))];
    let (old, new) = (content(1).bytes(), content(2).bytes());
    assert_eq!(judged(either(), Seen::Bytes(old.clone())), None);
    assert_eq!(judged(either(), Seen::Bytes(new.clone())), None);
    let half = [&old[..512], &new[512..]].concat();
    assert_eq!(judged(either(), Seen::Bytes(half.clone())), Some(Found::Other(512)));
    assert_eq!(judged(either(), Seen::Bytes(vec![])), Some(Found::Empty));
    let mixed = || vec![Version::Mixed(content(1), content(2))];
    assert_eq!(judged(mixed(), Seen::Bytes(half)), None);
    let cut = [&old[..100], &new[100..]].concat();
    assert_eq!(judged(mixed(), Seen::Bytes(cut)), Some(Found::Other(100)), "not by sectors");
}

#[test]
fn a_log_may_be_longer_than_promised_and_not_shorter() {
    let begins =
        |bytes: &[u8]| judged(vec![Version::Begins(content(1), 700)], Seen::Bytes(bytes.to_vec()));
    let right = content(1).bytes();
    assert_eq!(begins(&right[..700]), None);
    assert_eq!(begins(&right[..1400]), None);
    assert_eq!(begins(&[&right[..700], &[0; 300]].concat()), None, "room without contents");
    assert_eq!(begins(&right[..699]), Some(Found::Short(699)));
    assert_eq!(begins(&[&right[..700], &[7; 300]].concat()), Some(Found::Other(700)), "foreign");
}

#[test]
fn the_last_expectation_of_a_file_holds() {
    let of = |path: &str, seed| Expectation {
        column: Column::Promised,
        path: path.to_owned(),
        allowed: vec![Version::Is(content(seed))],
        because: String::new(),
    };
    let all = [of("a", 1), of("b", 2), of("a", 3)];
    assert_eq!(in_force(&all, 2), [&all[0], &all[1]]);
    assert_eq!(in_force(&all, 3), [&all[2], &all[1]]);
    assert!(in_force(&all, 0).is_empty());
}

#[test]
fn another_version_is_told_from_what_the_file_never_was() {
    let of = |seed| Expectation {
        column: Column::Promised,
        path: "a".to_owned(),
        allowed: vec![Version::Is(content(seed))],
        because: String::new(),
    };
    let all = [of(1), of(2), Expectation { path: "b".to_owned(), ..of(3) }];
    let found = |seed| judge(&all[1], &all, &Seen::Bytes(content(seed).bytes())).unwrap();
    assert_eq!(found(1), Found::Version);
    assert_eq!(found(3), Found::Other(0), "another file's");
    assert!(found(3).is_wrong_contents() && !found(1).is_wrong_contents());
}

#[test]
fn what_should_be_whole_or_absent_is_called_empty_where_it_is() {
    let either = || vec![Version::Absent, Version::Is(content(1))];
    assert_eq!(judged(either(), Seen::Absent), None);
    assert_eq!(judged(either(), Seen::Bytes(vec![])), Some(Found::Empty));
    assert_eq!(judged(either(), Seen::Bytes(vec![0; 9])), Some(Found::Zeroes(0)));
    assert_eq!(judged(either(), Seen::Bytes(content(2).bytes())), Some(Found::Other(0)));
    assert_eq!(judged(vec![Version::Absent], Seen::Bytes(vec![])), Some(Found::Present));
}
