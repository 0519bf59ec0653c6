use report::Options;
use trial::Step;
use unicode_width::UnicodeWidthStr;

use crate::synthetic::{Synthetic, fail, planted};
use crate::{odd_runs, rendered};

fn shown(run: &store::StoredRun) -> String {
    rendered("terminal", run, Options { full: true, ..Options::default() })
}

#[test]
fn a_small_run_reads_like_this() {
    let mut run = Synthetic::small().run();
    fail(&mut run, "xfs", Step::Mkfs, "mkfs.xfs: not found");
    let text = shown(&run);
    let lines: Vec<&str> = text.lines().collect();
    let row = |label: &str| {
        let line = lines.iter().find(|line| line.starts_with(label)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("  rank"), "rank 2 1 –");
    assert!(row("wall time").contains("▲ 1.3") && row("wall time").contains("– [1]"), "{text}");
    assert!(row("wall time").starts_with("wall time ▼ 2."), "{text}");
    assert!(text.contains("  [1] xfs: trial failed at mkfs: mkfs.xfs: not found\n"));
    assert!(text.contains("cache: cold (remount)"));
    assert!(text.contains("xfs: never got as far as a filesystem"));
    assert!(text.contains("ext4: served by ext4.ko; kernel 6.18.5-amd64; on loop file"));
    assert!(text.contains("10 of 15 trials done, 5 failed"));
    assert!(!text.contains('\u{1b}'), "no colour unless asked for");
}

#[test]
fn lines_stay_within_the_width() {
    let mut runs = odd_runs();
    let many = (0..12)
        .map(|at| planted(&format!("ext4:journal_size={at}M:data=journal"), "ext4", 1.0, 0.02))
        .collect();
    runs.push(("twelve contenders", Synthetic { contenders: many, ..Synthetic::small() }.run()));
    for (what, run) in runs {
        for width in [60, 80, 100, 140] {
            let text =
                rendered("terminal", &run, Options { width, full: true, ..Options::default() });
            for line in text.lines() {
                assert!(line.width() <= width, "{what}, {width}: {} {line:?}", line.width());
            }
        }
    }
}

/// Whoever is compared is named to the last option, in the table and beside each other phase.
#[test]
fn no_contender_is_cut_off() {
    let names = ["ext4:data=journal:commit_interval=30", "btrfs:copy_on_write=off:compression=off"];
    let contenders = names.map(|name| planted(name, "ext4", 1.0 + name.len() as f64, 0.02));
    let run = Synthetic { contenders: contenders.to_vec(), ..Synthetic::quickstart() }.run();
    for (width, full) in [(80, false), (120, false), (80, true), (120, true)] {
        let text = rendered("terminal", &run, Options { width, full, ..Options::default() });
        let cut = text.lines().find(|line| line.contains('…'));
        assert_eq!(cut, None, "{width}, {full}: {text}");
    }
    let text = rendered("terminal", &run, Options { width: 120, ..Options::default() });
    for name in names {
        assert!(text.lines().any(|line| line.trim_start()[3..].starts_with(name)), "{text}");
    }
}

#[test]
fn many_contenders_wrap_into_several_tables_with_all_of_them() {
    let contenders: Vec<_> =
        (0..10).map(|at| planted(&format!("fs{at}"), "ext4", 1.0, 0.02)).collect();
    let text = shown(&Synthetic { contenders, ..Synthetic::small() }.run());
    assert!(text.lines().filter(|line| line.starts_with("wall time")).count() >= 2);
    for at in 0..10 {
        let name = format!("fs{at}");
        let heads = |line: &&str| line.starts_with("     ") && line.contains(&name);
        assert!(text.lines().any(|line| heads(&line)), "{name} heads no column\n{text}");
    }
}

#[test]
fn colour_is_only_added() {
    let run = Synthetic::small().run();
    let coloured =
        rendered("terminal", &run, Options { full: true, color: true, ..Options::default() });
    assert!(coloured.contains("\x1b[1;32m▲"), "the best is green");
    assert!(coloured.contains("\x1b[31m▼"), "the worst is red");
    let mut bare = coloured;
    for code in ["\x1b[1;32m", "\x1b[31m", "\x1b[1m", "\x1b[2m", "\x1b[0m"] {
        bare = bare.replace(code, "");
    }
    assert_eq!(bare, shown(&run));
}

#[test]
fn names_cannot_steer_the_terminal() {
    for (what, run) in odd_runs() {
        let text = shown(&run);
        let tame =
            |c: char| c == '\n' || !(c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
        assert!(text.chars().all(tame), "{what}");
        assert!(text.ends_with('\n'), "{what}");
    }
}

#[test]
fn contenders_without_barriers_are_flagged_in_the_table() {
    let mut synthetic = Synthetic::small();
    synthetic.contenders[1].durability = stack::Durability::NoBarriers;
    let text = shown(&synthetic.run());
    let flagged = text.lines().filter(|line| line.ends_with("(no barriers)")).count();
    assert_eq!(flagged, 1, "{text}");
}

#[test]
fn what_the_labs_transport_cost_is_left_to_the_other_formats() {
    let mut run = Synthetic::small().run();
    for trial in &mut run.trials {
        trial.phases[0].figures.insert("transport_tax_fraction".to_owned(), 0.01);
        trial.phases[0].figures.insert("disk_requests".to_owned(), 7.0);
    }
    let text = rendered("terminal", &run, Options { full: true, ..Options::default() });
    assert!(!text.contains("transport"), "{text}");
    assert!(text.contains("disk requests"), "{text}");
    for format in ["html", "json"] {
        assert!(rendered(format, &run, Options::default()).contains("transport"), "{format}");
    }
}
