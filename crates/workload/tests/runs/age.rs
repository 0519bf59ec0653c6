//! The workload `age`, run for real.

use skippable::Ending;
use workload::{Inputs, PhaseStatus};

use crate::support::{run, scratch};
use crate::tmpfs::{Said, needs_to_mount, run_on_tmpfs};
use crate::watching::{event, traced};

pub(crate) fn files_are_replaced_and_the_fullness_stays() {
    let target = tempfile::tempdir().unwrap();
    let settings = "capacity=40M fullness=0.5 overwrites=3 profile=mail";
    let ran = run("age", target.path(), &Inputs::default(), 1, settings);
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    let (fill, churn) = (ran.phase("fill"), ran.phase("churn"));
    let (mut files, mut held) = (0, 0);
    let mut directories = vec![target.path().join("age")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let metadata = entry.as_ref().unwrap().metadata().unwrap();
            if metadata.is_dir() {
                directories.push(entry.unwrap().path());
            } else {
                files += 1;
                held += metadata.len().next_multiple_of(4096);
            }
        }
    }
    let goal = 20 << 20;
    assert!(held <= goal && held > goal * 98 / 100, "{held} of {goal}");
    let deleted = churn.latencies["delete"].count();
    let made = fill.ops + churn.latencies["create"].count();
    assert_eq!(files, made - deleted);
    // Three times what the files take, rounding up to blocks included.
    assert!(churn.write_bytes.0 >= 3 * (goal * 98 / 100), "{}", churn.write_bytes);
    assert_eq!(churn.figures["files"], files as f64);
    if ran.phase("score").status == PhaseStatus::Completed {
        let score = ran.phase("score").figures["layout_score"];
        assert!((0.0..=1.0).contains(&score), "{score}");
    }
}

pub(crate) fn a_seed_is_a_history() {
    let digests = |seed| {
        let target = scratch();
        let settings = "capacity=4M overwrites=1 profile=mail";
        let ran = run("age", target.path(), &Inputs::default(), seed, settings);
        [ran.phase("fill").digest, ran.phase("churn").digest]
    };
    assert_eq!(digests(1), digests(1));
    assert_ne!(digests(1), digests(2));
}

pub(crate) fn a_phase_ends_with_a_sync_and_plans_its_ops_by_the_mean_size() {
    let settings = "capacity=256K fullness=1 overwrites=3 profile=mail";
    let (events, calls) = traced("trace=openat,write,syncfs", "age", settings);
    let below = |call: &&String| call.starts_with("openat(") && call.contains("\"age/");
    let mut seen: Vec<&str> = calls
        .iter()
        .filter_map(|call| match call {
            call if call.starts_with("syncfs(") => Some("sync"),
            call if call.starts_with("write(1, ") && call.contains("finished") => Some("end"),
            call if below(&call) && call.contains("O_CREAT") => Some("create"),
            _ => None,
        })
        .collect();
    // Many files, and the score's end right after the churn's.
    seen.dedup();
    assert_eq!(seen, ["create", "sync", "end", "create", "sync", "end"]);
    // Files of which a child would inherit none; those that are mapped are only read.
    let opened: Vec<&String> = calls.iter().filter(below).collect();
    assert!(opened.iter().any(|call| call.contains("O_RDONLY")));
    assert!(opened.iter().all(|call| call.contains("O_CLOEXEC")), "{opened:#?}");

    // 262144 bytes in files of 7193.
    assert_eq!(event(&events, "started", "fill")["ops_planned"], 36);
    let files = event(&events, "finished", "fill")["figures"]["files"].as_f64().unwrap();
    assert!(files > 0.0);
    // Each file is deleted and made three times.
    let planned = event(&events, "started", "churn")["ops_planned"].as_f64().unwrap();
    assert_eq!(planned, 6.0 * files);
}

/// Ages a filesystem of 4 MiB in which this many bytes are in use.
fn age_all(used: u64, settings: &str) -> Said {
    run_on_tmpfs("size=4m", used, &format!("age DIR {settings}"))
}

pub(crate) fn a_filesystem_that_is_half_full_is_filled_as_far_as_asked_for() -> Ending {
    needs_to_mount()?;
    let Said { events, error, .. } = age_all(2 << 20, "fullness=0.75 overwrites=1 profile=mail");
    assert_eq!(error, "");
    let (fill, churn) = (event(&events, "finished", "fill"), event(&events, "finished", "churn"));
    // On a tmpfs files take just their pages.
    assert_eq!(fill["figures"]["fullness"], 0.75);
    let left = churn["figures"]["fullness"].as_f64().unwrap();
    assert!((0.6..=0.75).contains(&left), "{left}");
    for phase in [fill, churn] {
        assert_eq!(phase["status"]["status"], "completed");
        assert_eq!(phase["notes"], serde_json::json!([]), "everything did fit");
        assert_eq!(phase["digest"], 0, "what is done depends on the filesystem, not only the seed");
    }
    Ok(())
}

pub(crate) fn a_filesystem_that_is_more_than_half_full_is_not_touched() -> Ending {
    needs_to_mount()?;
    let Said { events, error, .. } = age_all(3 << 20, "profile=mail");
    assert!(error.starts_with("the filesystem is in use, 3 MiB of 4 MiB: "), "{error}");
    assert!(error.contains("give capacity=SIZE"), "{error}");
    assert!(events.iter().all(|event| event["status"]["status"] == "skipped"), "{events:?}");
    Ok(())
}
