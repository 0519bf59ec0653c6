//! The job file of fio as it is written: what it includes, its `${NAME}`, what it may not do.

use std::path::{Path, PathBuf};

use super::allowed::{self, Verdict};
use super::jobs::{Jobs, Line};

/// How deep files include others.
const DEEPEST: usize = 8;
/// The most lines that a job file has with all that it includes.
const LINES_MAX: usize = 10_000;

/// Where a job file's includes and variables come from.
pub struct Surroundings<'a> {
    /// Reads a file.
    pub read: &'a dyn Fn(&Path) -> std::io::Result<String>,
    /// The value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// What fio itself has against a job file's text; nothing where it is not there to ask.
    pub objection: &'a dyn Fn(&str) -> Option<String>,
}

impl std::fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").finish_non_exhaustive()
    }
}

/// The text of a job file with what it includes and the values of its variables, and what was
/// changed in it.
///
/// # Errors
/// What cannot be run in a directory of its own, or not be read, with file and line.
pub fn fio_job_text(
    text: &str,
    path: &Path,
    surroundings: &Surroundings<'_>,
) -> Result<(String, Vec<String>), String> {
    let mut lines = Vec::new();
    expand(text, path, surroundings, 0, &mut lines)?;
    let mut notes = Vec::new();
    let mut kept = Vec::new();
    for line in lines {
        let (name, value) = line.option();
        match allowed::judge(name, value) {
            _ if line.section().is_some() => kept.push(line),
            Verdict::Allowed => kept.push(line),
            Verdict::Replaced(how) => notes.push(format!("{}: {} {how}", line.at, line.text)),
            Verdict::Refused(why) => return Err(format!("{}: {}: {why}", line.at, line.text)),
        }
    }
    let text: String = kept.iter().map(|line| format!("{}\n", line.text)).collect();
    Jobs::of(kept.clone()).map_err(|wrong| match wrong.at {
        Some(at) => format!("{at}: {}", wrong.what),
        None => format!("{}: {}", path.display(), wrong.what),
    })?;
    match (surroundings.objection)(&text) {
        Some(said) => Err(format!("{}: {said}", place_of(&said, &kept, path))),
        None => Ok((text, notes)),
    }
}

/// File and line that fio's words are about: those of the option that they name.
fn place_of(said: &str, lines: &[Line], path: &Path) -> String {
    let is_named = |line: &&Line| {
        let (name, value) = line.option();
        let written = [line.text.clone(), format!("{name}={value}"), format!("<{name}")];
        line.section().is_none() && written.iter().any(|words| said.contains(words))
    };
    match lines.iter().find(is_named) {
        Some(line) => line.at.clone(),
        None => path.display().to_string(),
    }
}

fn expand(
    text: &str,
    path: &Path,
    surroundings: &Surroundings<'_>,
    depth: usize,
    lines: &mut Vec<Line>,
) -> Result<(), String> {
    for (number, written) in text.lines().enumerate() {
        let at = format!("{}:{}", path.display(), number + 1);
        let Some(plain) = without_comment(written) else { continue };
        let plain = filled(plain, surroundings.variable);
        let is_include =
            plain.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t', '=']));
        let Some(included) = is_include else {
            if depth > 0 && plain.starts_with('[') {
                return Err(format!("{at}: {plain}: a file that is included has no sections"));
            }
            lines.push(Line { at, text: plain });
            if lines.len() > LINES_MAX {
                return Err(format!("{}: it has more than {LINES_MAX} lines", path.display()));
            }
            continue;
        };
        let named = included.trim_start_matches([' ', '\t', '=']).trim();
        if depth >= DEEPEST {
            return Err(format!("{at}: include {named}: files include each other too deep"));
        }
        let beside = path.parent().unwrap_or(Path::new("")).join(named);
        let places = [beside, PathBuf::from(named)];
        let read = places
            .iter()
            .find_map(|place| (surroundings.read)(place).ok().map(|text| (place.clone(), text)));
        let (place, text) = read.ok_or_else(|| {
            format!("{at}: include {named}: it cannot be read, beside the job's file or here")
        })?;
        expand(&text, &place, surroundings, depth + 1, lines)?;
    }
    Ok(())
}

/// A line without blanks around it and without its comment; `None` where nothing is left.
fn without_comment(line: &str) -> Option<&str> {
    let end = line.find([';', '#']).unwrap_or(line.len());
    let plain = line[..end].trim();
    (!plain.is_empty()).then_some(plain)
}

/// The line with `${NAME}` replaced by the variable's value, or by nothing where there is none.
fn filled(line: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut filled = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        filled += before;
        filled += &variable(name).unwrap_or_default();
        rest = behind;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(written: &str) -> Result<(String, Vec<String>), String> {
        let read = |path: &Path| match path.to_str() {
            Some("place/common.inc") => Ok("bs=4k\nsize=1m\n".to_owned()),
            Some("place/round.inc") => Ok("include round.inc\n".to_owned()),
            Some("place/section.inc") => Ok("[x]\n".to_owned()),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        };
        let variable = |name: &str| (name == "SIZE").then(|| "8m".to_owned());
        let objection = |text: &str| {
            text.contains("rw=nosuch").then(|| "fio: failed parsing rw=nosuch".to_owned())
        };
        let surroundings = Surroundings { read: &read, variable: &variable, objection: &objection };
        fio_job_text(written, Path::new("place/my.fio"), &surroundings)
    }

    fn jobs(written: &str) -> Jobs {
        Jobs::read(&text(written).unwrap().0).unwrap()
    }

    #[test]
    fn globals_act_on_the_jobs_below_them_and_includes_are_read_where_they_stand() {
        let jobs = jobs(
            "; a comment\n[global]\ninclude common.inc\n[a]\nrw=read ; of all\n[global]\nbs=${SIZE}\n\
             [b]\nsize=${NONE}2m\n",
        );
        let [a, b] = &jobs.sections[..] else { panic!("{jobs:?}") };
        assert_eq!((a.value(&["bs"]), a.value(&["rw"])), (Some("4k"), Some("read")));
        assert_eq!((b.value(&["bs"]), b.value(&["size"])), (Some("8m"), Some("2m")));
        assert!(text("[a]\ninclude round.inc").unwrap_err().contains("too deep"));
        assert!(text("[a]\ninclude none.inc").unwrap_err().contains("place/my.fio:2: include"));
        assert!(text("[a]\ninclude section.inc").unwrap_err().contains("no sections"));
    }

    #[test]
    fn what_leaves_the_directory_or_runs_programs_is_refused_with_its_line() {
        for (line, why) in [
            ("filename=/dev/sda", "device"),
            ("filename=a:/dev/nvme0n1", "device"),
            ("filename=/etc/passwd", "outside"),
            ("filename=../x", "outside"),
            ("directory=../x", "outside"),
            ("filename_format=/tmp/$jobnum", "outside"),
            ("exec_prerun=rm -rf /", "program"),
            ("ioengine=rbd", "engine"),
            ("ioengine=external:x.so", "engine"),
            ("write_bw_log=x", "file"),
            ("read_iolog=x", "file"),
            ("ioscheduler=none", "disk"),
            ("zonemode=zbd", "device"),
            ("rw=randtrim", "only devices"),
            ("rw=nosuch", "fio: failed parsing"),
        ] {
            let error = text(&format!("[a]\n{line}\n")).unwrap_err();
            assert!(error.starts_with("place/my.fio:2: "), "{error}");
            assert!(error.contains(why), "{line}: {error}");
        }
        let first = text("rw=read\n").unwrap_err();
        assert!(first.starts_with("place/my.fio:1: rw=read: it stands before"), "{first}");
        let none = text("[global]\nrw=read\n").unwrap_err();
        assert!(none.starts_with("place/my.fio: it has no job"), "{none}");
        let of_global = text("[global]\nrw=trim\n[a]\n[b]\n").unwrap_err();
        assert!(of_global.starts_with("place/my.fio:2: rw=trim: only devices"), "{of_global}");
        assert!(text("[a]\nrw=trim\nioengine=falloc\n").is_ok());
        let (kept, notes) = text("[a]\ndirectory=/mnt/x\nfilename=data\n").unwrap();
        assert_eq!(kept, "[a]\nfilename=data\n");
        assert!(notes[0].contains("place/my.fio:2: directory=/mnt/x"), "{notes:?}");
    }
}
