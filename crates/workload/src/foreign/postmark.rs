//! PostMark's configuration: `set number 500`, …, `run`.

use std::path::Path;

use super::{Brought, Reader, at};

pub(super) const READER: Reader = Reader {
    what: "a configuration of PostMark",
    workload: "postmark",
    endings: &["pm", "postmark"],
    is: |text| {
        let mut words = text.lines().map(|line| line.split_whitespace());
        let first = words.find_map(|mut line| (line.next() == Some("set")).then(|| line.next()));
        first.flatten().is_some_and(|word| SETTINGS.contains(&word)) && !text.contains('=')
    },
    read: |text, path, _| read(text, path),
};

/// What PostMark sets.
const SETTINGS: [&str; 11] = [
    "size",
    "number",
    "seed",
    "transactions",
    "location",
    "subdirectories",
    "read",
    "write",
    "buffering",
    "bias",
    "report",
];

fn read(text: &str, path: &Path) -> Result<Brought, String> {
    let mut brought = Brought::default();
    let mut has_run = false;
    let mut locations = 0;
    for (number, line) in text.lines().enumerate() {
        let line_number = number + 1;
        let wrong = |what: String| Err(at(path, line_number, format!("{}: {what}", line.trim())));
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        if has_run && words[0] != "quit" {
            return wrong("it stands behind `run`; a configuration runs once here".to_owned());
        }
        match words[..] {
            ["quit"] => break,
            ["run"] => has_run = true,
            ["run", _] => {
                return wrong(
                    "its report would go to a file; leave the file's name out".to_owned(),
                );
            }
            ["show" | "help", ..] => {}
            ["load", ..] => {
                let what = "it reads another file; put what stands there in its place";
                return wrong(what.to_owned());
            }
            ["set", "location", ..] => {
                locations += 1;
                if locations > 1 || words.len() > 3 {
                    let what = "files of several locations are not known here; leave one";
                    return wrong(what.to_owned());
                }
            }
            ["set", ..] => match setting(&words[1..], &mut brought) {
                Ok(()) => {}
                Err(what) => return wrong(what),
            },
            _ => {
                let what = "this is no command of PostMark; set, run, show, quit are";
                return wrong(what.to_owned());
            }
        }
    }
    if !has_run {
        brought.notes.push(format!("{}: it has no `run`; it is run once", path.display()));
    }
    Ok(brought)
}

/// One thing that PostMark sets.
fn setting(words: &[&str], brought: &mut Brought) -> Result<(), String> {
    let number = |value: &str| match value.parse::<u64>() {
        Ok(_) => Ok(value.to_owned()),
        Err(_) => Err(format!("`{value}` is no whole number")),
    };
    match *words {
        ["size", low, high] => {
            brought.set("size_low", number(low)?);
            brought.set("size_high", number(high)?);
        }
        ["size", ..] => return Err("two sizes are expected".to_owned()),
        ["buffering", "true" | "1"] => brought.set("buffered", "on"),
        ["buffering", "false" | "0"] => brought.set("buffered", "off"),
        ["buffering", ..] => return Err("true or false is expected".to_owned()),
        ["bias", "read", bias] => brought.set("bias_read", number(bias)?),
        ["bias", "create", bias] => brought.set("bias_create", number(bias)?),
        ["bias", ..] => return Err("`read N` or `create N` is expected".to_owned()),
        ["report", ..] => {}
        [name @ ("number" | "transactions" | "subdirectories"), value] => {
            brought.set(name, number(value)?);
        }
        ["seed", value] => brought.set("pm_seed", number(value)?),
        ["read", value] => brought.set("read_block", number(value)?),
        ["write", value] => brought.set("write_block", number(value)?),
        [name, ..] => {
            let meant = text::meant(name, SETTINGS).unwrap_or_default();
            return Err(format!("PostMark sets no `{name}` of this form; {meant}"));
        }
        [] => return Err("what is set is missing".to_owned()),
    }
    Ok(())
}
