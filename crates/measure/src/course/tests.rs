//! Ops that end by an invented clock, on a disk that stands at known times.

use super::*;

const KINDS: [&str; 2] = ["write", "fsync"];

/// Something that ends ops by a clock of its own.
struct Teller {
    track: Track,
    now: Nanos,
    ops: u64,
    bytes: u64,
}

const BEGIN: Nanos = Nanos::from_secs(1000);

impl Teller {
    fn new() -> Teller {
        let mut track = Track::new(Nanos(1));
        track.begin(BEGIN);
        Teller { track, now: BEGIN, ops: 0, bytes: 0 }
    }

    fn op(&mut self, kind: usize, took: Nanos, bytes: u64) {
        self.now += took;
        self.bytes += bytes;
        self.track.ended(kind, self.now, took, self.ops, self.bytes);
        self.ops += 1;
    }

    fn thinks(&mut self, time: Nanos) {
        self.now += time;
    }

    fn finish(self) -> Course {
        self.track.finish(self.now, self.ops, self.bytes, &KINDS)
    }
}

/// Ops of 2 ms for a minute, on a disk that stands for `stands` every five seconds.
fn for_a_minute(teller: &mut Teller, stands: Nanos) {
    let mut next = BEGIN + Nanos::from_secs(5);
    while teller.now < BEGIN + Nanos::from_secs(60) {
        let stood = if teller.now >= next { stands } else { Nanos::ZERO };
        if teller.now >= next {
            next += Nanos::from_secs(5);
        }
        teller.op(0, Nanos::from_millis(2) + stood, 4096);
    }
}

#[test]
fn a_disk_that_stands_is_found_at_its_places() {
    let mut teller = Teller::new();
    for_a_minute(&mut teller, Nanos::from_millis(700));
    let course = teller.finish();
    assert_eq!(course.silences.len(), 11);
    for (nth, silence) in (1..).zip(&course.silences) {
        let late = silence.begins - Nanos::from_secs(5 * nth);
        assert!(late < Nanos::from_millis(2), "number {nth} begins at {}", silence.begins);
        assert_eq!((silence.lasts, &*silence.op), (Nanos::from_millis(702), "write"));
        // The intervals within it are those in which nothing ended.
        let first = (silence.begins.0 / course.width.0) as usize + 1;
        let last = ((silence.begins + silence.lasts).0 / course.width.0) as usize;
        assert!(last > first);
        assert!(course.intervals[first..last].iter().all(|interval| interval.ops == 0));
        assert!(course.intervals[first - 1].ops > 0 && course.intervals[last].ops > 0);
    }
    let empty = course.intervals.iter().filter(|interval| interval.ops == 0).count() as u64;
    assert!(empty <= 11 * Nanos::from_millis(702).0 / course.width.0, "{empty} are empty");
}

#[test]
fn without_it_none_is_found() {
    let mut teller = Teller::new();
    for_a_minute(&mut teller, Nanos::ZERO);
    let course = teller.finish();
    assert_eq!((course.silences.len(), course.left_out), (0, 0));
    let (last, whole) = course.intervals.split_last().unwrap();
    assert!(whole.iter().all(|interval| interval.ops.abs_diff(80) <= 1), "160 ms of 2 ms each");
    assert!(last.ops <= 80 && course.width == Nanos::from_millis(160));
}

#[test]
fn there_are_200_to_400_intervals_however_long_it_takes() {
    for seconds in [1, 2, 7, 60, 3600, 100_000] {
        let mut teller = Teller::new();
        while teller.now < BEGIN + Nanos::from_secs(seconds) {
            teller.op(0, Nanos::from_millis(seconds), 1);
        }
        let ops = teller.ops;
        let course = teller.finish();
        let count = course.intervals.len();
        assert!((200..=400).contains(&count), "{count} of {seconds} s");
        assert_eq!(course.intervals.iter().map(|interval| interval.ops).sum::<u64>(), ops);
        let json = serde_json::to_string(&course.intervals).unwrap();
        assert!(json.len() < 400 * 30, "{} bytes", json.len());
    }
}

#[test]
fn time_in_which_nothing_was_asked_for_is_no_silence() {
    let mut teller = Teller::new();
    teller.op(0, Nanos::from_millis(1), 0);
    teller.thinks(Nanos::from_secs(3));
    teller.op(0, Nanos::from_millis(1), 0);
    assert_eq!(teller.finish().silences, []);
}

#[test]
fn of_many_silences_the_longest_are_kept() {
    let mut teller = Teller::new();
    for nth in 0..300 {
        teller.op(nth % 2, Nanos::from_millis(100 + nth as u64), 7);
        teller.op(0, Nanos(10), 0);
    }
    let course = teller.finish();
    assert_eq!((course.silences.len(), course.left_out), (128, 172));
    let shortest = course.silences.iter().map(|silence| silence.lasts).min().unwrap();
    assert_eq!(shortest, Nanos::from_millis(100 + 172));
    assert!(course.silences.is_sorted_by_key(|silence| silence.begins));
    assert!(course.silences.iter().all(|silence| silence.bytes == Bytes(7)));
}

fn merged(threads: Vec<Teller>) -> (Track, Nanos, u64, u64) {
    let mut main = Track::new(BEGIN);
    let end = threads.iter().map(|thread| thread.now).max().unwrap();
    let (mut ops, mut bytes) = (0, 0);
    for thread in threads {
        (ops, bytes) = (ops + thread.ops, bytes + thread.bytes);
        main.merge(thread.track, thread.ops, thread.bytes);
    }
    (main, end, ops, bytes)
}

#[test]
fn threads_are_silent_when_all_are() {
    let ms = Nanos::from_millis;
    // The first stands from 10 to 510 ms and from 520 to 1020, the second from 200 to 900 ms; the
    // third has ended before, the fourth thinks from 1 to 600 ms.
    let mut threads: Vec<Teller> = (0..4).map(|_| Teller::new()).collect();
    for took in [10, 500, 10, 500] {
        threads[0].op(0, ms(took), 1);
    }
    for took in [200, 700, 300] {
        threads[1].op(1, ms(took), 1);
    }
    threads[2].op(0, ms(1), 1);
    threads[3].op(0, ms(1), 1);
    threads[3].thinks(ms(599));
    threads[3].op(0, ms(1), 1);
    let (track, end, ops, bytes) = merged(threads);
    let course = track.finish(end, ops, bytes, &KINDS);
    let found: Vec<(u64, u64)> = course
        .silences
        .iter()
        .map(|silence| (silence.begins.0 / 1_000_000, silence.lasts.0 / 1_000_000))
        .collect();
    // From 520 to 601 is too short.
    assert_eq!(found, [(10, 190), (200, 310), (601, 299), (900, 120), (1020, 180)]);
    assert_eq!(course.intervals.iter().map(|interval| interval.ops).sum::<u64>(), 10);
}

#[test]
fn what_comes_after_the_threads_is_counted_once() {
    let mut threads: Vec<Teller> = (0..3).map(|_| Teller::new()).collect();
    threads.iter_mut().for_each(|thread| (0..900).for_each(|_| thread.op(0, Nanos(1_500_000), 3)));
    let (mut track, end, ops, bytes) = merged(threads);
    // A sync of all at the end, after a pause.
    let took = Nanos::from_millis(250);
    let synced = end + Nanos::from_millis(50) + took;
    track.ended(1, synced, took, ops, bytes);
    let course = track.finish(synced, ops + 1, bytes, &KINDS);
    let sum = |of: fn(&Interval) -> u64| course.intervals.iter().map(of).sum::<u64>();
    assert_eq!((sum(|it| it.ops), sum(|it| it.bytes.0)), (2701, 8100));
    let only = &course.silences[..];
    assert!(matches!(only, [it] if it.op == "fsync" && it.lasts == took), "{only:?}");
}

#[test]
fn what_is_read_back_is_checked() {
    let mut teller = Teller::new();
    for_a_minute(&mut teller, Nanos::from_millis(700));
    let course = teller.finish();
    let back: Course = serde_json::from_str(&serde_json::to_string(&course).unwrap()).unwrap();
    assert_eq!(back.checked().unwrap(), course);
    assert!(Course { width: Nanos::ZERO, ..course.clone() }.checked().is_err());
    let intervals = vec![Interval::default(); 401];
    assert!(Course { intervals, ..course }.checked().is_err());
}

proptest::proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_is_counted_twice(
        threads in proptest::collection::vec(
            proptest::collection::vec((0usize..2, 0u64..3_000_000_000, 0u64..9000), 0..60),
            1..5,
        ),
    ) {
        let tell = |ops: &Vec<(usize, u64, u64)>| {
            let mut teller = Teller::new();
            ops.iter().for_each(|&(kind, took, bytes)| teller.op(kind, Nanos(took), bytes));
            teller
        };
        let longest = threads.iter().flatten().map(|(_, took, _)| *took).max().unwrap_or(0);
        let (track, end, ops, bytes) = merged(threads.iter().map(tell).collect());
        let course = track.finish(end, ops, bytes, &KINDS);
        let sum = |of: fn(&Interval) -> u64| course.intervals.iter().map(of).sum::<u64>();
        proptest::prop_assert_eq!((sum(|it| it.ops), sum(|it| it.bytes.0)), (ops, bytes));
        let most = course.intervals.iter().map(|interval| interval.longest.0).max();
        proptest::prop_assert_eq!(most.unwrap_or(0), longest);
        proptest::prop_assert!(course.intervals.len() <= 400);
        let ends = course.silences.iter().map(|silence| silence.begins + silence.lasts);
        proptest::prop_assert!(ends.into_iter().all(|at| at <= end - BEGIN));
        proptest::prop_assert!(course.clone().checked().is_ok());
        let short = course.in_at_most(50);
        proptest::prop_assert!(short.intervals.len() <= 50);
        proptest::prop_assert_eq!(short.intervals.iter().map(|it| it.ops).sum::<u64>(), ops);
    }
}
