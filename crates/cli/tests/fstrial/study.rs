//! `fstrial study` with a study of two directories that is small enough for any machine.

use crate::sandbox::{Ran, Sandbox};

const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/studies/tiny");

fn run(sandbox: &Sandbox, words: &str) -> Ran {
    for name in ["a", "b"] {
        std::fs::create_dir_all(sandbox.path(name)).unwrap();
    }
    sandbox.run(&format!("study run {TINY} --quiet --dir ext2=a --dir ext3=b {words}"))
}

pub(crate) fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("one document on standard output")
}

pub(crate) fn what_is_wrong_with_a_study_is_told_at_once() {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("study check {TINY}")).ended_with(0);
    let own = sandbox.path("own");
    std::fs::create_dir(&own).unwrap();
    for (file, from, to) in [
        ("study.toml", "ext3@2004", "ext9@2004"),
        ("published.toml", "946.5, ", ""),
        ("claims.toml", "io: ext2 better", "oi: ext2 better"),
    ] {
        let text = std::fs::read_to_string(format!("{TINY}/{file}")).unwrap();
        std::fs::write(own.join(file), text.replace(from, to)).unwrap();
    }
    let ran = sandbox.run("study check ./own").ended_with(5);
    assert!(ran.stderr.contains("3 problems"), "{}", ran.stderr);
    for file in ["./own/study.toml:18:", "./own/published.toml:11:", "./own/claims.toml:4:"] {
        assert!(ran.stderr.contains(file), "{file} in {}", ran.stderr);
    }
    let unknown = sandbox.run("study show maildir-2044").ended_with(2);
    assert!(unknown.stderr.contains("there is no study `maildir-2044`"), "{}", unknown.stderr);
}

pub(crate) fn a_study_is_run_and_every_claim_judged() {
    let sandbox = Sandbox::new();
    let ran = run(&sandbox, "--json - --markdown report.md --html report.html").ended_with(0);
    let results = json(&ran.stdout);
    let verdict = |claim: &str, side: &str| {
        let claims = results["claims"].as_array().unwrap();
        let found = claims.iter().find(|it| it["id"] == claim).unwrap();
        found[side]["verdict"].as_str().map(str::to_owned)
    };
    let published = |claim| verdict(claim, "published");
    assert_eq!(published("A1").as_deref(), Some("holds"));
    // The page has no figure for reiser4, and its other question holds.
    assert_eq!(published("A2").as_deref(), Some("holds"));
    assert_eq!(published("A3").as_deref(), Some("holds"));
    assert_eq!(published("A5").as_deref(), Some("not_testable"));
    // Seconds of a scaled run are not those of the page.
    assert_eq!(verdict("A4", "measured").as_deref(), Some("undecided"));
    let cells = &results["tables"][0]["rows"][0]["measured"];
    assert_eq!(cells[0]["n"], 4);
    assert!(cells[1]["mean"].as_f64().unwrap() > 0.0);
    assert!(cells[2]["missing"].as_str().unwrap().contains("no released kernel"));

    let markdown = std::fs::read_to_string(sandbox.path("report.md")).unwrap();
    assert!(
        markdown.contains("| A5 | It can be managed well. | not testable | **not testable** |")
    );
    assert!(markdown.contains("| holds (1 of 2 questions, the others without figures) |"));
    let (main, _) = markdown.split_once("# Appendix").unwrap();
    assert!(main.find("](report-answer.svg)").unwrap() < main.find("It can be managed").unwrap());
    let charts: Vec<&str> = main.split("](report-").skip(1).collect();
    assert!(!charts.is_empty(), "{main}");
    for chart in charts {
        let name = format!("report-{}", chart.split(')').next().unwrap());
        let drawn = std::fs::read_to_string(sandbox.path(&name)).unwrap();
        assert!(drawn.starts_with("<svg") && drawn.contains("measured"), "{name}");
    }
    let html = std::fs::read_to_string(sandbox.path("report.html")).unwrap();
    assert!(html.len() < 2_000_000 && !html.contains("<script") && !html.contains("http"));

    let again = sandbox.run("study report --json -").ended_with(0);
    assert_eq!(json(&again.stdout), results, "the store has all that the report needs");
    let terminal = sandbox.run("study report").ended_with(0).stdout;
    assert!(terminal.lines().all(|line| line.chars().count() <= 100), "{terminal}");
    let single = sandbox.run("report r1 --full").ended_with(0);
    assert!(single.stdout.contains("maildir-write"), "each part is a run like any other");
}

pub(crate) fn what_is_exported_gives_the_same_page_and_does_not_name_this_machine() {
    let sandbox = Sandbox::new();
    run(&sandbox, "").ended_with(0);
    sandbox.run("study report --markdown own.md").ended_with(0);
    let ran = sandbox.run("study export given.db").ended_with(0);
    assert_eq!(ran.stdout, "given.db: 8 trials of ./tiny\n");
    let bytes = std::fs::read(sandbox.path("given.db")).unwrap();
    let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let here = sandbox.path("");
    assert!(has("maildir-write"), "the results are there");
    for private in [here.to_str().unwrap().trim_end_matches('/'), TINY, "kernel_command_line"] {
        assert!(!has(private), "{private}");
    }
    assert!(!has(&format!("\"{}\"", host.trim())), "{host}");
    // The study itself is looked for beside whoever reads the results.
    std::fs::create_dir(sandbox.path("tiny")).unwrap();
    for file in ["study.toml", "published.toml", "claims.toml"] {
        std::fs::copy(format!("{TINY}/{file}"), sandbox.path("tiny").join(file)).unwrap();
    }
    sandbox.run("study report --store given.db --markdown given.md").ended_with(0);
    let page = |name: &str| std::fs::read_to_string(sandbox.path(name)).unwrap();
    let own = page("own.md").replace("own-", "given-").replace(TINY, "./tiny");
    assert_eq!(page("given.md"), own);
    // Compressed, and read as it is.
    sandbox.run("study export small.db.xz").ended_with(0);
    assert!(std::fs::metadata(sandbox.path("small.db.xz")).unwrap().len() < bytes.len() as u64 / 2);
    sandbox.run("study report --store small.db.xz --markdown small.md").ended_with(0);
    assert_eq!(page("small.md").replace("small-", "given-"), page("given.md"));
    sandbox.run("list runs --store small.db.xz").ended_with(0);
    let refused = sandbox.run("run null --dir . --store small.db.xz").ended_with(4);
    assert!(refused.stderr.contains("is compressed"), "{}", refused.stderr);
    let again = sandbox.run("study export given.db").ended_with(2);
    assert!(again.stderr.contains("given.db is there already"), "{}", again.stderr);
    assert_eq!(std::fs::read(sandbox.path("given.db")).unwrap(), bytes, "left as it was");
}

pub(crate) fn too_few_seeds_decide_nothing_and_until_goes_on() {
    let sandbox = Sandbox::new();
    let ran = run(&sandbox, "--seeds 2 --json -").ended_with(0);
    let results = json(&ran.stdout);
    let reason = results["claims"][0]["measured"]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("2 of the 3 seeds"), "{reason}");
    // Every interval is within 99 % at once: what is missing is the least number of seeds.
    let ran = run(&sandbox, "--seeds 2 --until 99% --json -").ended_with(0);
    let results = json(&ran.stdout);
    assert!(results["tables"][0]["rows"][0]["measured"][0]["n"].as_u64().unwrap() >= 3);
    assert!(results["runs"].as_array().unwrap().len() >= 2, "what was added is a run of its own");
}

pub(crate) fn a_budget_that_is_spent_leaves_trials_and_resume_runs_them() {
    let sandbox = Sandbox::new();
    let ran = run(&sandbox, "--seeds 2 --budget 1ms --json -").ended_with(1);
    assert!(ran.stderr.contains("the budget is spent"), "{}", ran.stderr);
    let next = ran.stderr.rsplit("fstrial ").next().unwrap().trim().to_owned();
    assert!(next.starts_with("study run --resume r"), "{next}");
    let outstanding = json(&ran.stdout);
    let cells = |results: &serde_json::Value| {
        let cells = results["tables"][0]["rows"][0]["measured"].clone();
        (cells[0]["n"].as_u64(), cells[1]["n"].as_u64())
    };
    assert_ne!(cells(&outstanding), (Some(2), Some(2)));
    let words = format!("{next} --quiet --dir ext2=a --dir ext3=b --json -");
    let ran = sandbox.run(&words).ended_with(0);
    assert_eq!(cells(&json(&ran.stdout)), (Some(2), Some(2)));
    let ran = sandbox.run(&words).ended_with(0);
    assert_eq!(cells(&json(&ran.stdout)), (Some(2), Some(2)), "what is done is not done again");
}

pub(crate) fn only_names_parts_contenders_and_workloads() {
    let sandbox = Sandbox::new();
    let ran = run(&sandbox, "--only ext2,write --seeds 1 --json -").ended_with(0);
    let cells = json(&ran.stdout)["tables"][0]["rows"][0]["measured"].clone();
    assert_eq!((cells[0]["n"].as_u64(), cells[1]["n"].as_u64()), (Some(1), Some(0)));
    let wrong = run(&sandbox, "--only ext22").ended_with(2);
    assert!(wrong.stderr.contains("did you mean `ext2`?"), "{}", wrong.stderr);
    let dry = run(&sandbox, "--dry-run").ended_with(0);
    assert!(dry.stdout.contains("8 trials in 1 run"), "{}", dry.stdout);
}

/// Trials that have ended, of all runs.
fn ended(sandbox: &Sandbox) -> i64 {
    let store = sandbox.path(".local/share/fstrial/results.db");
    let store = rusqlite::Connection::open(store).unwrap();
    let count = "SELECT count(*) FROM trials WHERE outcome IS NOT NULL";
    store.query_row(count, [], |row| row.get(0)).unwrap()
}

pub(crate) fn a_dry_run_of_a_study_that_goes_on_shows_what_is_then_run() {
    let sandbox = Sandbox::new();
    run(&sandbox, "--only ext2,write --seeds 2 --budget 1ms").ended_with(1);
    for (words, trials, why) in [
        // What --only names does not keep back what is unfinished.
        ("--scale 0.001 --only ext3 --seeds 1", 3, "2 unfinished trials"),
        (
            "--scale 0.002 --only ext2,write --seeds 3",
            1,
            "1 more trial for the seeds that were asked for",
        ),
        ("--scale 0.002 --only ext2,write --seeds 3", 0, "Nothing is left"),
        ("", 0, "Nothing is left"),
        // What --only left out is added: two seeds of ext3.
        ("--scale 0.002 --seeds 2", 2, "2 trials"),
        ("--scale 0.002 --seeds 2", 0, "Nothing is left"),
        // Two seeds of ext2, and one more of ext3.
        ("--scale 0.001,0.002 --seeds 2", 3, "time: "),
    ] {
        let words = format!("study run --resume r1 --dir ext2=a --dir ext3=b {words}");
        let shown = sandbox.run(&format!("{words} --dry-run")).ended_with(0).stdout;
        assert!(shown.contains(why), "{words}: {shown}");
        let before = ended(&sandbox);
        sandbox.run(&format!("{words} --quiet --json -"));
        assert_eq!(ended(&sandbox) - before, trials, "{words}: {shown}");
        let total = shown.lines().find(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        let said = total.map_or("0", |total| total.split(' ').next().unwrap());
        assert_eq!(said, trials.to_string(), "{words}: {shown}");
    }
}

pub(crate) fn a_report_at_another_scale_says_that_its_reasons_are_not_of_that_scale() {
    let sandbox = Sandbox::new();
    let what = "--only ext2,write --seeds 1";
    let says = |words: &str| {
        let ran = run(&sandbox, words).ended_with(0);
        ran.stdout.contains("The study says of the size of a trial run")
    };
    assert!(!says(what));
    assert!(says(&format!("{what} --scale 0.001")));
}
