//! What others wrote (names of directories, TOML) steers no terminal and no document.

use crate::sandbox::{Ran, Sandbox};

/// A name that colours, retitles the window, links and would be a formula.
const NAME: &str = "=d\u{1b}[31m\u{7}\u{9b}2J\u{202e}[x](y)`z`";

#[track_caller]
fn tame(what: &str, text: &str) {
    let steers = |c: &char| (c.is_control() && !"\n\t".contains(*c)) || *c == '\u{202e}';
    let found: Vec<char> = text.chars().filter(steers).collect();
    assert!(found.is_empty(), "{what} has {found:?}:\n{text:?}");
}

#[track_caller]
fn tame_output(what: &str, ran: Ran) -> Ran {
    tame(what, &ran.stdout);
    tame(what, &ran.stderr);
    ran
}

pub(crate) fn a_directorys_name_is_nothing_but_text_in_progress_and_in_every_report() {
    let sandbox = Sandbox::new();
    for name in [NAME, "plain"] {
        std::fs::create_dir(sandbox.path(name)).unwrap();
    }
    let words = format!("run null:ops=1000 --repeats 1 --dir {NAME} --dir plain");
    let ran = tame_output("a run", sandbox.run(&words).ended_with(0));
    assert!(ran.stderr.contains("=d [31m"), "progress names it: {}", ran.stderr);
    assert!(ran.stdout.contains("=d [31m"), "the report names it: {}", ran.stdout);
    for format in ["html", "json", "markdown", "csv"] {
        let ran = sandbox.run(&format!("report --{format} -")).ended_with(0);
        let document = tame_output(format, ran).stdout;
        assert!(document.contains("[31m"), "{format} names it");
        match format {
            "markdown" => assert!(document.contains("\\[x\\](y)\\`z\\`"), "{document}"),
            "json" => {
                let report: serde_json::Value = serde_json::from_str(&document).unwrap();
                let mut names = report["analysis"]["contenders"].as_array().unwrap().iter();
                assert!(names.any(|contender| contender["name"] == NAME), "the very name");
            }
            "csv" => assert!(!document.contains(",="), "{document}"),
            _ => {}
        }
    }
    tame_output("a list", sandbox.run("list runs").ended_with(0));
    tame_output("a plan", sandbox.run(&format!("{words} --dry-run")).ended_with(0));
    tame_output("an error", sandbox.run(&format!("run null --dir absent{NAME}")).ended_with(3));
}

pub(crate) fn a_disks_title_is_nothing_but_text() {
    let sandbox = Sandbox::new();
    let shipped = sandbox.run("self disk show maxtor-atlas-10k-v").ended_with(0).stdout;
    let mut lines: Vec<&str> = shipped.lines().collect();
    let title = lines.iter().position(|line| line.starts_with("title = ")).unwrap();
    lines[title] = "title = \"disk \\u001B[31m \\u009B2J of another\"";
    std::fs::write(sandbox.path("own.toml"), lines.join("\n")).unwrap();
    let ran = tame_output("a check", sandbox.run("self disk check ./own.toml"));
    assert!(ran.stdout.contains("of another"), "{}{}", ran.stdout, ran.stderr);
    std::fs::write(sandbox.path("bad.toml"), "name = \"\u{1b}[31m\"\n").unwrap();
    let ran = tame_output("a faulty file", sandbox.run("self disk check ./bad.toml").ended_with(5));
    assert!(ran.stderr.contains("bad.toml"), "{}", ran.stderr);
}
