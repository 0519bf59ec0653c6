//! What the guide answers, on the figures that this program carries.

use std::path::Path;

use guide::{Cell, Found, Guide, Here};
use unicode_width::UnicodeWidthStr;

fn shipped() -> Guide {
    Guide::shipped().unwrap()
}

fn uses_of(guide: &Guide, word: &str) -> Vec<String> {
    match guide.find(word) {
        Ok(Found::One(used)) => vec![used.id.clone()],
        Ok(Found::Several(uses)) => uses.iter().map(|used| used.id.clone()).collect(),
        Err(_) => Vec::new(),
    }
}

#[test]
fn the_words_that_people_type_are_found() {
    let guide = shipped();
    let one = [
        ("postgres", "postgresql"),
        ("PostgreSQL", "postgresql"),
        ("mail", "mail"),
        ("maildir", "mail"),
        ("plex", "video"),
        ("steam", "video"),
        ("git", "git"),
        ("samba", "fileserver"),
        ("photos", "photos"),
        ("sqlite", "sqlite"),
        ("backup", "backup"),
        ("vm", "vm"),
        ("node_modules", "packages"),
        ("rocksdb", "kv"),
    ];
    for (word, used) in one {
        assert_eq!(uses_of(&guide, word), [used], "{word}");
    }
    assert_eq!(uses_of(&guide, "docker"), ["packages", "vm"]);
    assert_eq!(uses_of(&guide, "nas"), ["video", "backup", "fileserver"]);
    assert_eq!(guide.machine("raid").unwrap().id, "raid1");
}

#[test]
fn a_word_that_is_not_known_is_answered_with_the_nearest_and_with_all() {
    let guide = shipped();
    let said = guide.find("postgers").unwrap_err().0;
    assert!(said.contains("did you mean `postgres`?"), "{said}");
    assert!(said.contains("There is: mail, imap, postgresql"), "{said}");
    let said = guide.machine("server-nmve").unwrap_err().0;
    assert!(said.contains("did you mean `server-nvme`?"), "{said}");
}

#[test]
fn every_screen_has_80_columns_and_40_lines() {
    let guide = shipped();
    let here = Here { kernel: Some("5.10.0-38-amd64".to_owned()) };
    let mut screens = vec![("overview".to_owned(), guide.overview(None))];
    let all: Vec<_> = guide.uses.iter().collect();
    for machine in &guide.machines {
        screens.push((machine.id.clone(), guide.on_machine(&all, machine)));
    }
    for used in &guide.uses {
        screens.push((used.id.clone(), guide.on_all_machines(used)));
        for machine in &guide.machines {
            let name = format!("{} on {}", used.id, machine.id);
            screens.push((name, guide.screen(used, machine, &here)));
        }
    }
    for (name, screen) in screens {
        assert!(screen.lines().count() <= 40, "{name}:\n{screen}");
        for line in screen.lines() {
            assert!(line.width() <= 80, "{name}: {line}");
            assert_ne!(line.trim(), "\\", "{name}:\n{screen}");
        }
    }
}

/// However it is folded.
fn in_one_line(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_was_done_and_what_would_change_the_answer_is_not_cut_off() {
    let guide = shipped();
    for used in &guide.uses {
        let known = |machine: &&guide::Machine| guide.cell(used, machine).is_some();
        for machine in guide.machines.iter().filter(known) {
            let screen = in_one_line(&guide.screen(used, machine, &Here::default()));
            assert!(screen.contains(&used.size), "{screen}");
            assert!(screen.contains(&used.changes), "{screen}");
        }
    }
}

/// A shell reads the folded command as the one that was run.
#[test]
fn a_command_that_is_copied_is_the_one_that_was_run() {
    let guide = shipped();
    for used in &guide.uses {
        for machine in &guide.machines {
            let screen = guide.screen(used, machine, &Here::default());
            let joined = in_one_line(&screen.replace("\\\n", ""));
            assert!(joined.contains(&used.command(machine, &guide.lab)), "{screen}");
        }
    }
}

/// Nothing that was asked is silently left out.
#[test]
fn every_cell_is_shown_or_said_to_be_missing() {
    let guide = shipped();
    let page = guide.page("guide.svg");
    for used in &guide.uses {
        let all = guide.on_all_machines(used);
        for machine in &guide.machines {
            let screen = guide.screen(used, machine, &Here::default());
            let cell = guide.cell(used, machine);
            let Some(cell) = cell.filter(|cell| cell.failed.is_none()) else {
                assert!(in_one_line(&screen).contains("no figures: "), "{screen}");
                assert!(page.contains(&format!("* {} on {}: ", used.id, machine.id)));
                continue;
            };
            assert!(all.contains(&machine.id), "{all}");
            assert_eq!(
                cell.command,
                used.command(machine, &guide.lab),
                "the run of another question"
            );
            for contender in &used.contenders {
                let row = cell.rows.iter().find(|row| row.name == contender.name());
                let row = row.unwrap_or_else(|| panic!("{}: {}", cell.command, contender.name()));
                let shown = screen.lines().any(|line| line.contains(&format!(" {} ", row.name)));
                assert!(shown, "{}: {screen}", row.name);
            }
        }
    }
}

#[test]
fn file_and_program_agree_and_the_file_is_small() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guide");
    let read = Guide::of_folder(&folder).unwrap();
    let carried = read.carried();
    let agree = carried == std::fs::read_to_string(folder.join("guide.json")).unwrap();
    assert!(agree, "guide/guide.json is not what its folder says: cargo xtask pages");
    assert_eq!(shipped().cells.len(), read.cells.len());
    assert!(carried.len() < 300 * 1024, "{} bytes", carried.len());
}

#[test]
fn another_kernel_than_that_of_the_figures_is_told() {
    let guide = shipped();
    let Some(cell) = guide.cells.iter().find(|cell| cell.failed.is_none()) else { return };
    let used = guide.uses.iter().find(|used| used.id == cell.used).unwrap();
    let machine = guide.machines.iter().find(|machine| machine.id == cell.machine).unwrap();
    let on = |kernel: &str| guide.screen(used, machine, &Here { kernel: Some(kernel.to_owned()) });
    assert!(on("4.19.0").contains("this machine runs Linux 4.19.0"));
    assert!(!on(&cell.made.kernel).contains("this machine runs"));
}

/// What a report says is kept, and nothing is concluded here.
#[test]
fn a_report_becomes_a_cell() {
    let guide = shipped();
    let (used, machine) = (&guide.uses[0], &guide.machines[0]);
    let phase = if used.phase.is_empty() { "io" } else { &used.phase };
    let report = serde_json::json!({
        "run": { "created": "2026-11-29T05:00:00+00:00", "fstrial_version": "0.1.0",
                 "lab_id": "ab", "repeats": 3 },
        "environment": { "lab_kernel": "6.12.1", "lab_disk": "d" },
        "analysis": {
            "trials": { "planned": 6, "done": 5 },
            "contenders": [{ "name": "ext4" }, { "name": "xfs" }],
            "workloads": [{ "phases": [{ "name": phase, "tables": [
                { "metric": { "id": "ops_rate" }, "cells": [
                    { "mean": 10.0, "low": 9.0, "high": 11.0, "figures": [{ "value": 10.0 }] },
                    { "mean": null, "low": null, "high": null, "figures": [] } ] },
                { "metric": { "id": "device_flushes" }, "cells": [{ "mean": 4.0 }, { "mean": null }] }
            ] }] }],
        },
        "answer": { "workloads": [{
            "verdict": "only ext4 has a figure.", "phase": phase, "metric": "ops_rate",
            "standing": { "decision": "alone", "leader": null, "behind": [],
                          "not_compared": ["ext4"], "missing": ["xfs"], "repeats": 0 },
            "columns": ["mails/s"], "why": null,
            "rows": [{ "rank": "", "name": "ext4", "cells": ["10"], "missing": null },
                     { "rank": "", "name": "xfs", "cells": [], "missing": "timed out" }],
            "measured": { "ops_least": 10, "seconds_least": 1.0, "seconds_most": 1.0,
                          "enough": false, "words": "10 mails" },
            "others": [{ "phase": "setup", "ahead": "ext4 1" }],
        }] },
    });
    let cell = Cell::of_report(used, machine, &guide.lab, &report).unwrap();
    assert_eq!((cell.made.planned, cell.made.done), (6, 5));
    assert!(cell.disk_reached, "flushes reached it");
    assert_eq!(cell.figures["ext4"].mean, 10.0);
    assert!(!cell.figures.contains_key("xfs"), "missing is missing, never 0");
    assert_eq!(cell.rows[1].missing.as_deref(), Some("timed out"));
    let read: Cell = serde_json::from_str(&serde_json::to_string(&cell).unwrap()).unwrap();
    assert_eq!(read, cell);
}
