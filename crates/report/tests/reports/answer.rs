//! The answer that a report begins with.

use report::Options;
use trial::Step;
use unicode_width::UnicodeWidthStr;
use units::{Bytes, Nanos};
use workload::NotComparable;

use crate::synthetic::{Synthetic, fail, parameters, phase, planted};
use crate::verdicts::run_of;
use crate::{odd_runs, rendered};

fn screen(run: &store::StoredRun, width: usize) -> String {
    rendered("terminal", run, Options { width, ..Options::default() })
}

fn json_answer(run: &store::StoredRun) -> serde_json::Value {
    let text = rendered("json", run, Options::default());
    serde_json::from_str::<serde_json::Value>(&text).unwrap()["answer"].take()
}

#[test]
fn a_screen_has_at_most_forty_lines_within_its_width_whatever_was_compared() {
    let mut runs = odd_runs();
    let many = (0..60)
        .map(|at| planted(&format!("ext4:journal_size={at}M"), "ext4", 1.0 + f64::from(at), 0.02))
        .collect();
    runs.push(("sixty contenders", Synthetic { contenders: many, ..Synthetic::small() }.run()));
    for (what, run) in runs {
        for width in [60, 80, 100] {
            let text = screen(&run, width);
            assert!(text.lines().count() <= 40, "{what}, {width}:\n{text}");
            // Commands are for copying: they stay whole.
            for line in text.lines().filter(|line| !line.contains("fstrial run")) {
                assert!(line.width() <= width, "{what}, {width}: {line:?}");
            }
        }
    }
}

#[test]
fn the_contenders_stand_in_the_order_of_rank_and_the_missing_last_with_the_reason() {
    let contenders = vec![
        planted("slow", "ext4", 3.0, 0.01),
        planted("gone", "jfs", 1.0, 0.01),
        planted("fast", "xfs", 1.0, 0.01),
    ];
    let mut run = Synthetic { contenders, ..Synthetic::small() }.run();
    fail(&mut run, "gone", Step::Mkfs, "mkfs.jfs: not found");
    let text = screen(&run, 100);
    let at = |name: &str| {
        let row = |line: &str| line.split_whitespace().any(|word| word == name);
        text.lines().skip(1).position(row).unwrap_or_else(|| panic!("{name}: {text}"))
    };
    assert!(at("fast") < at("slow") && at("slow") < at("gone"), "{text}");
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flowing.contains(": fast, "), "{text}");
    assert!(flowing.contains("; slow 3.") && flowing.contains("; gone has no figure."), "{text}");
    assert!(text.contains("– ") && text.contains("mkfs.jfs: not found"), "{text}");
    assert!(text.contains("5 failed"), "{text}");
}

#[test]
fn no_winner_is_named_where_there_is_none() {
    let twins = || vec![planted("a", "ext4", 1.0, 0.3), planted("b", "xfs", 1.0, 0.3)];
    let two = Synthetic { contenders: twins(), repeats: 2, ..Synthetic::small() };
    let tied = screen(&two.run(), 100);
    assert!(tied.contains("not shown with 2 repeats"), "{tied}");
    let contenders = vec![planted("a", "ext4", 9.0, 0.01), planted("b", "xfs", 1.0, 0.01)];
    let once = Synthetic { contenders, repeats: 1, ..Synthetic::small() };
    let text = screen(&once.run(), 100);
    assert!(text.contains("not decided by one repeat"), "{text}");
    assert!(text.contains("--repeats 5"), "it says what to do: {text}");
}

#[test]
fn pages_begin_with_the_same_sentence() {
    let contenders = vec![planted("slow", "ext4", 3.0, 0.01), planted("fast", "xfs", 1.0, 0.01)];
    let run = Synthetic { contenders, ..Synthetic::small() }.run();
    let text = screen(&run, 400);
    let sentence = text.lines().next().unwrap();
    for format in ["html", "markdown"] {
        let page = rendered(format, &run, Options::default()).replace("&#x2f;", "/");
        assert!(page.contains(sentence), "{format}: {sentence}");
    }
    let answer = json_answer(&run);
    assert_eq!(answer["workloads"][0]["sentence"], *sentence);
    assert_eq!(answer["workloads"][0]["best"], serde_json::json!(["fast"]));
    let metric = answer["workloads"][0]["metric"].as_str().unwrap();
    assert!(!metric.is_empty(), "it names the table that has the numbers");
}

#[test]
fn a_program_is_told_that_nobody_is_best_where_nothing_decides() {
    let contenders = vec![planted("a", "ext4", 9.0, 0.01), planted("b", "xfs", 1.0, 0.01)];
    let once = Synthetic { contenders, repeats: 1, ..Synthetic::small() };
    let answer = json_answer(&once.run());
    assert_eq!(answer["workloads"][0]["best"], serde_json::json!([]));
    let like = |step: &serde_json::Value| step["command"].as_str().unwrap().contains("--like");
    assert!(answer["next"].as_array().unwrap().iter().any(like), "{answer}");
}

/// What never reached the disk compares processors, and it says what would.
#[test]
fn a_set_that_never_reached_the_disk_is_named_with_what_makes_it_larger() {
    let contenders = vec![planted("slow", "ext4", 3.0, 0.01), planted("fast", "xfs", 1.0, 0.01)];
    let mut run = Synthetic { contenders, ..Synthetic::small() }.run();
    run.header.scale = 0.05;
    for phase in run.trials.iter_mut().flat_map(|trial| &mut trial.phases) {
        phase.ops = 30_000;
    }
    assert!(!screen(&run, 100).contains("a larger set"));
    for phase in run.trials.iter_mut().flat_map(|trial| &mut trial.phases) {
        let traffic = phase.device.as_mut().expect("the disk is counted");
        (traffic.read_bytes, traffic.write_bytes) = (Bytes::ZERO, Bytes::ZERO);
        traffic.flushes = Some(0);
    }
    let text = screen(&run, 400);
    assert!(text.contains("Processors were compared: fast, "), "{text}");
    assert!(text.contains("a larger set") && text.contains("--scale 0.5"), "{text}");
    run.header.scale = 1.0;
    assert!(!screen(&run, 100).contains("a larger set"));
}

/// The figure that a user's own program prints decides, by the end that its file calls better;
/// the program is named.
#[test]
fn a_program_is_judged_by_the_figure_it_prints() {
    for (better, best) in [("higher", "slow"), ("lower", "fast")] {
        let contenders =
            vec![planted("slow", "ext4", 3.0, 0.01), planted("fast", "xfs", 1.0, 0.01)];
        let phases = vec![phase("program", "run", 1.0, &[])];
        let mut run = Synthetic { contenders, phases, ..Synthetic::small() }.run();
        let job = format!(
            "run = [\"./bench\"]\n[[metric]]\nname = \"rate\"\nunit = \"MB/s\"\n\
             better = \"{better}\"\npattern = 'rate (?<value>[0-9.]+)'\n"
        );
        for trial in &mut run.trials {
            for choice in &mut trial.spec.workloads {
                choice.parameters = parameters(&[("file", job.as_str())]);
            }
            for phase in &mut trial.phases {
                let rate = phase.wall.as_secs_f64() * 100.0;
                phase.figures.insert("own_rate_mb_per_sec".to_owned(), rate);
            }
        }
        let text = screen(&run, 400);
        let first = text.lines().next().unwrap();
        assert!(
            first.starts_with("For `bench`") && first.contains(&format!(": {best}, rate, MB/s ")),
            "{text}"
        );
        assert!(text.contains("rate, MB/s"), "{text}");
    }
}

/// Three rows that are cut off would say the same three times, and none of them all of it.
#[test]
fn a_reason_that_all_share_is_told_once_and_whole() {
    let mut run = Synthetic::small().run();
    let reason = "`./job`: it ended with exit code 127; its last words: date: not found in /sbin";
    for name in ["ext4", "xfs", "btrfs"] {
        fail(&mut run, name, Step::Work, reason);
    }
    let text = rendered("terminal", &run, Options { width: 80, ..Options::default() });
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(flowing.matches(reason).count(), 1, "{text}");
    assert_eq!(text.matches("no figure: see below").count(), 3, "{text}");
}

/// The phase that a workload is about was run and must not be compared: no other phase's time answers
/// in its place.
#[test]
fn a_phase_that_must_not_be_compared_is_not_replaced_by_another() {
    let phases = vec![
        phase("maildir-read", "unpack", 2.0, &[("extract", 6000)]),
        phase("maildir-read", "io", 1.0, &[("read", 9000)]),
    ];
    let mut run = Synthetic { phases, ..Synthetic::small() }.run();
    let with_figures = json_answer(&run);
    assert_eq!(with_figures["workloads"][0]["phase"], "io");
    for result in run.trials.iter_mut().flat_map(|trial| &mut trial.phases) {
        if result.phase == "io" {
            result.not_comparable = Some(NotComparable::DeviceNotReached);
        }
    }
    let answer = json_answer(&run);
    let about = &answer["workloads"][0];
    assert_eq!(about["phase"], "io", "{answer}");
    assert_eq!(about["best"].as_array().map(Vec::len), Some(0), "{answer}");
    assert!(about["verdict"].as_str().unwrap().contains("no contender has a figure"), "{answer}");
}

/// In a directory the whole disk is counted: what one trial of three has of reads may be others'.
#[test]
fn where_the_disk_is_shared_one_trial_that_did_not_reach_it_bars_all() {
    let figures = |testbed: &str| {
        let mut run = Synthetic { repeats: 3, ..Synthetic::small() }.run();
        run.header.testbed = testbed.to_owned();
        let one = run.trials.iter_mut().flat_map(|trial| &mut trial.phases).next().unwrap();
        one.not_comparable = Some(NotComparable::DeviceNotReached);
        let rows = json_answer(&run)["workloads"][0]["rows"].take();
        let rows = rows.as_array().unwrap();
        rows.iter().filter(|row| row["missing"].is_null()).count()
    };
    assert_eq!(figures("dir"), 0);
    // A device of our own: the others' trials count.
    assert_eq!(figures("device"), 3);
}

/// A difference of 2 % that is the processor's is told, however small its ratio is.
#[test]
fn processor_time_is_a_cause_by_its_share_of_the_difference() {
    let mut run = run_of(&[
        ("a", &[5760.0, 5761.0, 5759.0]),
        ("b", &[5870.0, 5871.0, 5869.0]),
        ("c", &[5900.0, 5901.0, 5899.0]),
    ]);
    for trial in &mut run.trials {
        let ms = match trial.spec.contender.name.as_str() {
            "a" => 778,
            "b" => 876,
            _ => 919,
        };
        let result = &mut trial.record.phases[0];
        let device = result.device.as_mut().unwrap();
        (device.flushes, device.writes) = (Some(1000), 5000);
        (device.write_bytes, device.read_bytes) = (Bytes::from_mib(40), Bytes::ZERO);
        (result.cpu.user, result.cpu.sys) = (Nanos::from_millis(ms), Nanos::ZERO);
        result.machine_cpu = Some(Nanos::from_millis(ms + 10));
    }
    let answer = json_answer(&run);
    let why = answer["workloads"][0]["why"].as_str().unwrap_or_default();
    assert_eq!(why, "c takes 1.2 times the processor time of a, b 1.1 times", "{answer}");
}

/// A run of contenders with these times (ms), flushes and KiB written.
fn counted(times: &[(&str, [f64; 3], u64, u64)]) -> store::StoredRun {
    let given: Vec<(&str, &[f64])> = times.iter().map(|it| (it.0, &it.1[..])).collect();
    let mut run = run_of(&given);
    for trial in &mut run.trials {
        let name = trial.spec.contender.name.as_str();
        let (_, _, flushes, kib) = times.iter().find(|it| it.0 == name).unwrap();
        let result = &mut trial.record.phases[0];
        let device = result.device.as_mut().unwrap();
        (device.flushes, device.writes) = (Some(*flushes), 5000);
        (device.write_bytes, device.read_bytes) = (Bytes::from_kib(*kib), Bytes::ZERO);
        (result.cpu.user, result.cpu.sys) = (Nanos::from_millis(10), Nanos::ZERO);
        result.machine_cpu = Some(Nanos::from_millis(12));
    }
    run
}

fn why(run: &store::StoredRun) -> String {
    json_answer(run)["workloads"][0]["why"].as_str().unwrap_or_default().to_owned()
}

/// All three wait for a second flush: it is said of all, and what else they write is no cause.
#[test]
fn a_cause_is_told_of_all_whom_it_explains_and_nothing_beside_it() {
    let run = counted(&[
        ("f2fs", [3000.0, 3001.0, 3002.0], 402, 800),
        ("xfs", [6000.0, 6001.0, 6002.0], 802, 900),
        ("ext4", [6030.0, 6031.0, 6032.0], 802, 1700),
        ("btrfs", [6200.0, 6201.0, 6202.0], 802, 7200),
    ]);
    assert_eq!(
        why(&run),
        "xfs flushes 2.0 times as often as f2fs, ext4 2.0 times, btrfs 2.0 times"
    );
}

/// xfs is as slow and writes less than the leader: bytes are not what makes btrfs slow.
#[test]
fn what_leaves_another_as_slow_unexplained_is_no_cause() {
    let run = counted(&[
        ("nj", [127.0, 127.5, 128.0], 400, 816),
        ("xfs", [253.0, 253.5, 254.0], 400, 510),
        ("btrfs", [255.0, 255.5, 256.0], 400, 7300),
    ]);
    assert_eq!(why(&run), "not explained by flushes, bytes, requests or processor time");
}

/// Times that were counted by ticks, or are longer than the machine's, explain nothing.
#[test]
fn processor_time_that_is_not_known_is_no_cause() {
    let with = |cpu: &dyn Fn(&str, u32) -> u64, machine: &dyn Fn(&str, u64) -> u64| {
        let mut run =
            counted(&[("a", [25.0, 25.1, 25.2], 100, 800), ("b", [35.0, 35.1, 35.2], 100, 800)]);
        for trial in &mut run.trials {
            let name = trial.spec.contender.name.clone();
            let micros = cpu(&name, trial.spec.block);
            let result = &mut trial.record.phases[0];
            result.cpu.user = Nanos::from_micros(micros);
            result.machine_cpu = Some(Nanos::from_micros(machine(&name, micros)));
        }
        why(&run)
    };
    let unknown = "not explained by flushes, bytes or requests";
    let own = |name: &str, _: u32| if name == "a" { 2600 } else { 8900 };
    let more = |_: &str, micros: u64| micros + 100;
    let less = |name: &str, micros: u64| if name == "b" { 6860 } else { micros + 100 };
    assert_eq!(with(&own, &more), "b takes 3.4 times the processor time of a");
    assert_eq!(with(&own, &less), unknown);
    let ticks = |name: &str, block: u32| match (name, block) {
        ("a", _) => 1700,
        (_, 0) => 2790,
        _ => 8910,
    };
    assert_eq!(with(&ticks, &more), unknown);
}
